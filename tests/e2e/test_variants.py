"""Every kind of variant, in small: during each, the pods' specs and the process list show it."""

import json

from tests.cluster.stand import TARGET, Stand
from tests.e2e.runs import Runs, spec, stages

VARIANTS = {
    "gthread-7x7-http-redis": (
        {"workerClass": "gthread", "workers": 7, "threads": 7, "datastoreTransport": "http", "sessionBackend": "redis"},
        "--worker-class=gthread --workers=7 --threads=7",
    ),
    "gthread-7x2-grpc-datastore": (
        {
            "workerClass": "gthread",
            "workers": 7,
            "threads": 2,
            "datastoreTransport": "grpc",
            "sessionBackend": "datastore",
        },
        "--worker-class=gthread --workers=7 --threads=2",
    ),
    "gevent-http-datastore": (
        {"workerClass": "gevent", "workers": 2, "datastoreTransport": "http", "sessionBackend": "datastore"},
        "--worker-class=gevent --workers=2",
    ),
    "uwsgi-threads-grpc-redis": (
        {
            "workerClass": "uwsgi-threads",
            "workers": 2,
            "threads": 3,
            "datastoreTransport": "grpc",
            "sessionBackend": "redis",
        },
        "--processes=2 --threads=3",
    ),
}
ENVIRONMENT = {
    "gthread-7x7-http-redis": ("gunicorn-threads", "7", "7", "False", "ephemeral_storage"),
    "gthread-7x2-grpc-datastore": ("gunicorn-threads", "7", "2", "True", "storage"),
    "gevent-http-datastore": ("gunicorn-async", "2", None, "False", "storage"),
    "uwsgi-threads-grpc-redis": ("uwsgi-threads", "2", "3", "True", "ephemeral_storage"),
}
NAMES = ("WEB_SERVER_TYPE", "WEB_SERVER_WORKERS", "WEB_SERVER_THREADS", "DATASTORE_USE_GRPC", "EQ_SESSION_BACKEND")
PROGRAM = """
import glob
for path in glob.glob('/proc/[0-9]*/cmdline'):
    try: print(open(path, 'rb').read().replace(bytes(1), b' ').decode())
    except OSError: pass
"""


def test_each_kind_of_variant_is_live_while_it_is_measured(runs: Runs, stand: Stand) -> None:
    variants = [{"name": name, "runner": {**runner, "replicas": 1}} for name, (runner, _) in VARIANTS.items()]
    runs.apply("kinds", spec(variants=variants, stages=((1, "6s"),)))
    for name, (_, command) in VARIANTS.items():

        def measured(status: dict[str, object], name: str = name) -> bool:
            return any(s["variant"] == name and s["valid"] == "Unknown" for s in stages(status))

        runs.until("kinds", f"{name} measured", measured)
        pods = [
            pod
            for pod in stand.items("pods", TARGET, "app.kubernetes.io/name=runner")
            if not pod["metadata"].get("deletionTimestamp")
        ]
        assert len(pods) == 1
        shown = {e["name"]: e.get("value") for e in pods[0]["spec"]["containers"][0]["env"]}
        for variable, value in zip(NAMES, ENVIRONMENT[name], strict=True):
            assert value is None or shown[variable] == value, (name, variable)
        processes = stand.kubectl("exec", "-n", TARGET, pods[0]["metadata"]["name"], "--", "python3", "-c", PROGRAM)
        assert command in processes, (name, processes)
    status = runs.finished("kinds")
    assert [(s["variant"], s["valid"], s["failures"]) for s in stages(status)] == [
        (name, "True", 0) for name in VARIANTS
    ], json.dumps(status, indent=1)[:4000]


def test_gevent_with_grpc_is_refused_at_apply(runs: Runs) -> None:
    body = spec(variants=[{"name": "both", "runner": {"workerClass": "gevent", "datastoreTransport": "grpc"}}])
    said = runs.try_apply("refused", body)
    assert "gevent and gRPC do not work together" in said


def test_the_real_requests_file_is_replayed_without_a_failure(runs: Runs, stand: Stand) -> None:
    runs.apply("census", spec(journey="census_household_gb_eng", stages=((1, "40s"),), users=2, wait=("0s", "0s")))
    status = runs.finished("census")
    (stage,) = stages(status)
    assert (status["phase"], stage["valid"], stage["failures"]) == ("Succeeded", "True", 0), status.get("conditions")
    assert stage["submissions"] >= 1, "at least one whole journey of 233 requests"
    # 233 of the file and two of the launch; each of the two users cuts a journey at both ends of the window.
    assert abs(stage["requests"] - 235 * stage["submissions"]) <= 2 * 235
