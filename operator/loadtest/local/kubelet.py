"""Pods of injectors as processes: the same arguments and environment, with folders in the place of volumes.

The pods are those that the operator makes in a cluster (`core.injector_pods`). A mount path in the environment or in
the scenario becomes the folder that stands for the volume; addresses and ports become those of loopback.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import loadtest_injector
from loadtest.core.manifests import SCENARIO_DIR, SCENARIO_FILE
from loadtest.core.measuring import SECRETS_DIR
from loadtest.local.documents import content
from loadtest.local.programs import LOOPBACK, Program

Json = dict[str, Any]
Lookup = Callable[[str, str], Json | None]
"""Plural name of a kind and a name -> the object."""

INJECTOR_ROOT = Path(loadtest_injector.__file__).parents[1]
SIGNALLED = 128


class ProcessKubelet:
    """Runs each pod's only container.

    Args:
        folder: where volumes and logs are.
        find: looks up the ConfigMaps and Secrets of the LoadTest's namespace.
        control_port: the port on which a master is driven; one master lives at a time.
        locust_port: the port on which it waits for its workers.
    """

    def __init__(self, folder: Path, find: Lookup, control_port: int, locust_port: int) -> None:
        self._folder, self._find = folder, find
        self._ports = {
            "LOADTEST_CONTROL_PORT": str(control_port),
            "LOADTEST_BIND_PORT": str(locust_port),
            "LOADTEST_MASTER_PORT": str(locust_port),
            "LOADTEST_BIND_HOST": LOOPBACK,
        }
        self._programs: dict[str, Program] = {}
        self._endings: set[asyncio.Task[int]] = set()

    async def run(self, pod: Json) -> None:
        """Start the pod's process."""
        name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
        folder = self._folder / "pods" / name
        places = self._mount(pod, container, folder)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(INJECTOR_ROOT),
            **{entry["name"]: translated(entry.get("value", ""), places) for entry in container["env"]},
            "LOADTEST_SCENARIO": translated(f"{SCENARIO_DIR}/{SCENARIO_FILE}", places),
            "LOADTEST_SECRETS": translated(SECRETS_DIR, places),
            **self._ports,
        }
        self._programs[name] = await Program.start(
            [sys.executable, "-m", "loadtest_injector", *container["args"]],
            environment,
            self._folder / "logs" / f"{name}.log",
            folder,
            grace=float(pod["spec"].get("terminationGracePeriodSeconds", 5)),
        )

    def status(self, pod: Json) -> Json:
        """The status that a kubelet would write."""
        program = self._programs[pod["metadata"]["name"]]
        if program.code is None:
            state: Json = {"running": {}}
            phase = "Running"
        else:
            said = program.last_words()
            state = {"terminated": {"exitCode": program.code, "reason": said, "message": said}}
            phase = "Failed" if program.code else "Succeeded"
        return {
            "phase": phase,
            "podIP": LOOPBACK,
            "containerStatuses": [{"name": pod["spec"]["containers"][0]["name"], "state": state}],
        }

    def end(self, pod: Json) -> None:
        """Ask the pod's process to end; its grace is short."""
        program = self._programs[pod["metadata"]["name"]]
        ending = asyncio.ensure_future(program.stop())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def gone(self, pod: Json) -> bool:
        """Whether the process and its descendants have ended."""
        return self._programs[pod["metadata"]["name"]].code is not None

    async def close(self) -> None:
        """End what still runs, at once."""
        for program in self._programs.values():
            program.cut()
        await asyncio.gather(*(program.wait() for program in self._programs.values()))

    def _mount(self, pod: Json, container: Json, folder: Path) -> dict[str, Path]:
        """Make a folder of each volume; mount path -> folder."""
        places = {}
        for mount in container["volumeMounts"]:
            volume = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == mount["name"])
            places[mount["mountPath"]] = place = folder / mount["name"]
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(0o700)
            for key, data in self._files(volume).items():
                (place / key).parent.mkdir(exist_ok=True)
                (place / key).write_bytes(data)
        if (scenario := places.get(SCENARIO_DIR)) is not None:
            file = scenario / SCENARIO_FILE
            file.write_text(json.dumps(_walk(json.loads(file.read_text()), places)))
        return places

    def _files(self, volume: Json) -> dict[str, bytes]:
        """The files of a volume, by path; none of an empty folder, or of what is missing."""
        if "projected" in volume:
            return {path: data for part in volume["projected"]["sources"] for path, data in self._files(part).items()}
        config_map, secret = volume.get("configMap"), volume.get("secret")
        source, plural = (config_map, "configmaps") if config_map else (secret, "secrets")
        body = self._find(plural, source.get("name") or source["secretName"]) if source else None
        data = content(body) if body else {}
        if source and "items" in source:
            return {item["path"]: data[item["key"]] for item in source["items"] if item["key"] in data}
        return data


def translated(text: str, places: Mapping[str, Path]) -> str:
    """`text` with a mount path at its beginning replaced by the folder that stands for it."""
    for path, folder in places.items():
        if text == path or text.startswith(f"{path}/"):
            return f"{folder}{text.removeprefix(path)}"
    return text


def _walk(value: Any, places: Mapping[str, Path]) -> Any:
    """A JSON value with the mount paths in all its texts translated."""
    if isinstance(value, dict):
        return {key: _walk(entry, places) for key, entry in value.items()}
    if isinstance(value, list):
        return [_walk(entry, places) for entry in value]
    return translated(value, places) if isinstance(value, str) else value
