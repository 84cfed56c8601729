"""What serves the target: the sample Runner, a command of the user's, or nothing, where it stands elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadtest.api.spec import LoadTestSpec
from loadtest.local import sample
from loadtest.local.documents import BadFile, Documents, content
from loadtest.local.programs import LOOPBACK, free_port
from loadtest.local.serving import Command, Serving

GiveSecret = Callable[[str, Mapping[str, str]], None]
"""Makes a Secret of a name, with texts by key."""


@dataclass(frozen=True)
class Options:
    """How to run: `command` (of a shell, in `directory`) serves the target; none is the sample Runner.

    Attributes:
        results: the folder under which each run gets one of its own.
        backends: also start Redis and the Datastore emulator for a command.
    """

    results: Path
    command: str | None = None
    directory: Path | None = None
    backends: bool = False


@dataclass(frozen=True)
class Served:
    """The target, and what stands behind it; both None where the spec's own address is loaded."""

    serving: Serving | None = None
    backends: sample.Backends | None = None
    what: str = ""

    @property
    def url(self) -> str | None:
        """Where the target answers; None where the spec says it."""
        return self.serving.url if self.serving else None

    @property
    def redis(self) -> str | None:
        """Host and port of Redis, where it was started."""
        return self.backends.redis if self.backends else None


def is_sample(spec: LoadTestSpec, options: Options) -> bool:
    """Whether the sample Runner is the target: no command, and a release that something must stand for."""
    return options.command is None and spec.target.release is not None


def check(spec: LoadTestSpec, documents: Documents, options: Options) -> None:
    """Say at once what would fail after minutes of waiting.

    Raises:
        BadFile: the Secret of the launch keys, or the authorities of TLS, are not there.
        sample.Missing: a program is not on this machine.
    """
    if is_sample(spec, options) or options.backends:
        sample.redis_server()
        sample.root()
    requests, tls = spec.scenario.requests, spec.target.tls
    keys = requests.launch.keys_secret.name if requests and requests.launch else None
    if keys and not is_sample(spec, options) and not documents.find("Secret", keys):
        raise BadFile(
            f"spec.scenario.requests.launch.keysSecret.name: Secret {keys} is not in the file: add it there, or give "
            f"--file {keys}/signing.pem=... --file {keys}/encryption.pem=..."
        )
    elsewhere = options.command is None and not is_sample(spec, options)
    if tls and elsewhere and not documents.find("ConfigMap", tls.ca_config_map.name):
        name = tls.ca_config_map.name
        raise BadFile(f"spec.target.tls.caConfigMap.name: ConfigMap {name} is not in the file: add it there")


def served(spec: LoadTestSpec, documents: Documents, options: Options, folder: Path, give: GiveSecret) -> Served:
    """Put together what serves the target; nothing is started yet. `folder` is the run's own."""
    backends = sample.Backends(folder) if is_sample(spec, options) or options.backends else None
    port = free_port()
    if options.command is not None:
        command = _own(options.command, options.directory, port, backends)
    elif backends is not None and spec.target.release is not None:
        command = _sample(spec, documents, port, backends, folder, give)
    else:
        return Served()
    return Served(Serving(command, port, folder / "logs"), backends, command.what)


def _own(command: str, directory: Path | None, port: int, backends: sample.Backends | None) -> Command:
    """A command of the user's, with the user's own environment."""
    return Command(
        what=f"`{command}`",
        argv=("/bin/sh", "-c", command),
        folder=(directory or Path.cwd()).resolve(),
        environment={**os.environ, **(backends.environment if backends else {}), "PORT": str(port)},
        path="/",
        before=backends.start if backends else None,
    )


def _sample(
    spec: LoadTestSpec, documents: Documents, port: int, backends: sample.Backends, folder: Path, give: GiveSecret
) -> Command:
    """The sample Runner, which serves the very journey that is sent to it, and whose keys are made here."""
    keys, journeys = folder / "work" / "keys", folder / "work" / "journeys"
    for place in (keys, journeys):
        place.mkdir(parents=True, mode=0o700)
    requests = spec.scenario.requests
    secret = requests.launch.keys_secret.name if requests and requests.launch else None
    environment = {
        **sample.environment(),
        **backends.environment,
        "EQ_KEYS_DIR": str(keys),
        "RUNNER_BIND": f"{LOOPBACK}:{port}",
        "HTTP_KEEP_ALIVE": "650",  # as in its chart
        "HOME": str(folder / "work"),
    }
    body = documents.find("ConfigMap", requests.config_map.name) if requests else None
    journey = content(body).get(requests.config_map.key) if requests and body else None
    if journey is not None:  # where it is missing, the loop says so
        (journeys / "journey.json").write_bytes(journey)
        environment["RUNNER_JOURNEY"] = str(journeys)

    async def before() -> None:
        if backends.running:
            return
        await sample.make_keys(keys, folder / "logs" / "keys.log")
        if secret is not None:  # the injectors get the other half of the keys
            give(secret, {name: (keys / name).read_text() for name in ("signing.pem", "encryption.pem")})
        await backends.start()

    argv = (sys.executable, "-m", "sample_runner")
    return Command("the sample Runner", argv, folder, environment, sample.READY_PATH, before)
