"""The web server that the environment asks for. This process becomes it, so that the process list shows it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from sample_runner.settings import SettingsError, number

APPLICATION = "sample_runner.wsgi:app"
GEVENT_APPLICATION = "sample_runner.gevent_wsgi:app"
GRACE_SECONDS = 10
"""How long requests that are being served may take after SIGTERM."""

_BACKLOG = 1024
# The address of a launch is longer than the 4 kB of headers that uwsgi takes by itself.
_UWSGI_HEADER_BYTES = 32_768
_GUNICORN_CLASSES = {"gunicorn-async": "gevent", "gunicorn-threads": "gthread"}
_UWSGI_KINDS = ("uwsgi", "uwsgi-threads", "uwsgi-async")


def command(environment: Mapping[str, str]) -> list[str]:
    """The argv of the web server; SettingsError names a variable that cannot be used."""
    kind = environment.get("WEB_SERVER_TYPE") or "gunicorn-async"
    if kind in _GUNICORN_CLASSES:
        return _gunicorn(environment, _GUNICORN_CLASSES[kind])
    if kind in _UWSGI_KINDS:
        return _uwsgi(environment, kind)
    known = ", ".join([*_GUNICORN_CLASSES, *_UWSGI_KINDS])
    raise SettingsError(f"WEB_SERVER_TYPE must be one of {known}, not {kind!r}")


def _gunicorn(environment: Mapping[str, str], worker_class: str) -> list[str]:
    argv = ["gunicorn", f"--bind={_bind(environment)}", f"--backlog={_backlog()}", f"--worker-class={worker_class}"]
    argv += [f"--workers={number(environment, 'WEB_SERVER_WORKERS', 3)}"]
    if worker_class == "gthread":
        argv += [f"--threads={number(environment, 'WEB_SERVER_THREADS', 10)}"]
    argv += [f"--keep-alive={_keep_alive(environment)}", "--timeout=0", f"--graceful-timeout={GRACE_SECONDS}"]
    return [*argv, "--preload", "--no-control-socket", GEVENT_APPLICATION if worker_class == "gevent" else APPLICATION]


def _uwsgi(environment: Mapping[str, str], kind: str) -> list[str]:
    keep_alive = _keep_alive(environment)
    # uwsgi's router keeps the clients' connections and gives each request to a worker that is free.
    argv = ["uwsgi", f"--http={_bind(environment)}", f"--http-keepalive={keep_alive}", f"--http-timeout={keep_alive}"]
    argv += [f"--module={GEVENT_APPLICATION if kind == 'uwsgi-async' else APPLICATION}"]
    argv += ["--master", f"--processes={number(environment, 'WEB_SERVER_WORKERS', 3)}"]
    if kind == "uwsgi-threads":
        argv += [f"--threads={number(environment, 'WEB_SERVER_THREADS', 10)}"]
    if kind == "uwsgi-async":
        argv += [f"--gevent={number(environment, 'WEB_SERVER_UWSGI_ASYNC_CORES', 10)}"]
    # gRPC has threads of its own, also where uwsgi has none.
    argv += ["--enable-threads", "--need-app", "--disable-logging", "--tcp-nodelay"]
    argv += [f"--buffer-size={_UWSGI_HEADER_BYTES}", f"--listen={_backlog()}", f"--worker-reload-mercy={GRACE_SECONDS}"]
    # Without this uwsgi takes SIGTERM for "reload".
    return [*argv, "--hook-master-start=unix_signal:15 gracefully_kill_them_all"]


def _bind(environment: Mapping[str, str]) -> str:
    return environment.get("RUNNER_BIND") or "0.0.0.0:5000"


def _keep_alive(environment: Mapping[str, str]) -> int:
    return number(environment, "HTTP_KEEP_ALIVE", 2)


def _backlog() -> int:
    limit = Path("/proc/sys/net/core/somaxconn")
    return min(_BACKLOG, int(limit.read_text()) if limit.exists() else socket.SOMAXCONN)


def _listen(address: str) -> socket.socket:
    """A listening socket whose connections send small packets at once.

    uwsgi's router sends head and body apart and cannot be told TCP_NODELAY: every answer then waits 40 ms for the
    client's delayed acknowledgement. Connections inherit the option from a socket that listens with it.
    """
    host, _, port = address.rpartition(":")
    listening = socket.create_server((host, int(port)), backlog=_backlog())
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.set_inheritable(True)
    return listening


def main() -> None:
    """Become the web server."""
    try:
        argv = command(os.environ)
    except SettingsError as error:
        sys.exit(str(error))
    if argv[0] == "uwsgi":
        address = _bind(os.environ)
        argv[argv.index(f"--http={address}")] = f"--http=fd://{_listen(address).detach()}"
    # The server belongs to the Python that runs this, also where its folder is not on the path.
    folder = os.path.dirname(sys.executable)  # noqa: PTH120 - a symlink must not be followed
    path = os.environ.get("PATH", os.defpath)
    os.execvpe(argv[0], argv, {**os.environ, "PATH": f"{folder}:{path}"})  # noqa: S606 - an argv, no shell
