"""The command `loadtest`."""
