"""Imports Locust without its monkey patches, which would change sockets and threads for every test of this process."""

from __future__ import annotations

import os
from unittest import mock

with mock.patch.dict(os.environ, {"LOCUST_SKIP_MONKEY_PATCH": "1"}):
    import locust.contrib.fasthttp  # noqa: F401
