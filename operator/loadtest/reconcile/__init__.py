"""The loop: observe, decide, execute, project, and the status patched; for the cluster and the laptop alike."""
