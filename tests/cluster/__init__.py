"""A real one-node Kubernetes for the tests, on a machine that has neither a container engine nor an image registry.

Standard library only: this is what runs before anything is installed. ``python3 -m tests.cluster up`` starts it.
"""
