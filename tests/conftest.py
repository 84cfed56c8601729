"""What holds for all tests."""

import os

from hypothesis import HealthCheck, settings

# These machines are small and shared: how long an example took says nothing about the code.
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")

# In a pod, injectors refuse loopback; the tests' own load it, wherever they run.
os.environ.pop("KUBERNETES_SERVICE_HOST", None)
