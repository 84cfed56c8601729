"""The application as web servers load it: `sample_runner.wsgi:app`."""

import os

from sample_runner.app import create_app
from sample_runner.settings import Settings

app = create_app(Settings.from_environment(os.environ))
