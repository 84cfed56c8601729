"""The operator, its helm Job and the `loadtest` command; `core` holds the rules, `app` puts the parts together."""
