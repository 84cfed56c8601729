"""One outside system each: the Kubernetes API, helm in Jobs, the Locust master, stored records.

Adapters implement the ports and know nothing of the loop or of kopf.
"""
