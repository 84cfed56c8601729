"""The application for gevent: patches the standard library before anything else of the application is imported.

gunicorn and uwsgi patch it themselves, but only after a preloaded application: its thread-local data (the Datastore
client has some) would then be shared by all greenlets of a worker.
"""

from gevent import monkey

monkey.patch_all()

from sample_runner.wsgi import app  # noqa: E402 - see above

__all__ = ["app"]
