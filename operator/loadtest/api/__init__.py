"""The contract of the resource: models of spec and status, conditions and reasons, names, and the CRD made of them."""
