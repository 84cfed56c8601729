"""The one source of every name: group and kind, labels, annotations, run ids and derived object names.

Names of objects are derived from the run id alone, so any legal name of a LoadTest will do, and every derived name and
label value has at most 63 characters.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

GROUP = "loadtest.eqrunner.dev"
VERSION = "v1alpha1"
KIND = "LoadTest"
PLURAL = "loadtests"
SINGULAR = "loadtest"
SHORT_NAME = "ldt"
CATEGORY = "loadtest"
API_VERSION = f"{GROUP}/{VERSION}"
CRD_NAME = f"{PLURAL}.{GROUP}"

FINALIZER = f"{GROUP}/restore-target"
"""Held while a target may have to be put back or objects in its namespace removed."""

MANAGER = "loadtest-operator"
"""Value of the label `app.kubernetes.io/managed-by`, and field manager of what the operator writes."""

LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_COMPONENT = "app.kubernetes.io/component"
LABEL_RUN = f"{GROUP}/run"
LABEL_UID = f"{GROUP}/uid"
LABEL_NAME = f"{GROUP}/name"
LABEL_NAMESPACE = f"{GROUP}/namespace"
LABEL_POSITION = f"{GROUP}/position"
LABEL_GENERATION = f"{GROUP}/generation"
LABEL_ROLE = f"{GROUP}/role"
LABEL_WORKER = f"{GROUP}/worker"
LABEL_KEY = f"{GROUP}/key"
LABEL_STAGE = f"{GROUP}/stage"
LABEL_VARIANT = f"{GROUP}/variant"

ROLE_MASTER = "master"
ROLE_WORKER = "worker"


ANNOTATION_GIVE_UP_RESTORE = f"{GROUP}/give-up-restore"
"""Set to `true` on a LoadTest by a person: the operator stops trying to put the target back and lets go of it."""

ANNOTATION_ALLOWED_FROM = f"{GROUP}/allowed-from"
"""On a namespace: names of the namespaces, between commas, whose LoadTests may load it and change its releases."""

ANNOTATION_RAN_ON = f"{GROUP}/ran-on"
"""On a LoadTest that `loadtest run --local` has run: what was loaded, in words, in the place of `target.url`."""

ANNOTATION_RESTORE = f"{GROUP}/restore"
"""Set on a LoadTest whose target is not restored: the operator tries again while it is there. Its value is free."""

ANNOTATION_OWNER = f"{GROUP}/owner"
"""`namespace/name` of the LoadTest for which an object was made; unlike a label it holds names of any length."""

MAX_NAME = 63
"""Longest name of an object that is also a DNS label, and longest label value."""

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_NOT_IN_LABEL = re.compile(r"[^-A-Za-z0-9_.]+", re.ASCII)
_HASH_LENGTH = 10


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and without white space: equal values give equal text.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has not.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def run_id(uid: str, test_defining: Mapping[str, Any], rerun: str) -> str:
    """Identity of one run: 16 hexadecimal digits of hash(uid, test-defining spec, rerun).

    Computed when a run is admitted, stored in `status.runId`, and then only compared with.
    """
    return sha256_of(canonical_json({"uid": uid, "spec": test_defining, "rerun": rerun}))[:16]


def label_value(text: str) -> str:
    """The text as a label value: itself where it can be one, else a readable beginning and a hash of the whole."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    digest = sha256_of(text)[:_HASH_LENGTH]
    beginning = _NOT_IN_LABEL.sub("-", text)[: MAX_NAME - _HASH_LENGTH - 1].strip("-_.")
    return f"{beginning}-{digest}" if beginning else digest


def labels(run: str, uid: str) -> dict[str, str]:
    """Labels of every object that is made for a run."""
    return {LABEL_MANAGED_BY: MANAGER, LABEL_RUN: run, LABEL_UID: uid}


def run_selector(run: str) -> str:
    """Label selector of everything that was made for a run."""
    return f"{LABEL_MANAGED_BY}={MANAGER},{LABEL_RUN}={run}"


def _prefix(run: str) -> str:
    return f"ldt-{run}"


def plan(run: str) -> str:
    """The immutable ConfigMap with the resolved plan."""
    return f"{_prefix(run)}-plan"


def state(run: str) -> str:
    """The ConfigMap in the target's namespace into which helm Jobs write their outcome; owner of all else there."""
    return f"{_prefix(run)}-state"


def helm_request(run: str) -> str:
    """The immutable ConfigMap with the request to the helm Jobs."""
    return f"{_prefix(run)}-helm"


def snapshot(run: str) -> str:
    """The immutable Secret with the release as it was."""
    return f"{_prefix(run)}-snapshot"


def snapshot_key(attempt: int) -> str:
    """Key of a snapshot Job: its outcome's key in the state ConfigMap, and the end of its name."""
    return f"snapshot-{attempt}"


def apply_key(position: int, attempt: int) -> str:
    """Key of the Job that applies the variant of the repeat at `position`."""
    return f"apply-{position}-{attempt}"


def restore_key(attempt: int) -> str:
    """Key of a restore Job."""
    return f"restore-{attempt}"


DEAD_MAN = "dead-man"
"""The Job that restores a target whose operator is dead: beginning of its key, and mark of its hold on the Lease."""


def dead_man_holder(holder: str) -> str:
    """How the dead-man Job of a run signs the run's Lease once it has taken it."""
    return f"{holder}/{DEAD_MAN}"


def helm_job(run: str, key: str) -> str:
    """The helm Job with this key."""
    return f"{_prefix(run)}-{key}"


def network_policy(run: str, role: str) -> str:
    """The NetworkPolicy of a run's injectors of one role."""
    return f"{_prefix(run)}-{role}"


def scenario(run: str) -> str:
    """The immutable ConfigMap with the scenario, mounted into the injectors."""
    return f"{_prefix(run)}-scenario"


def injectors(run: str, position: int, generation: int) -> str:
    """What the pods of one repeat's injectors have in common; `generation` counts masters made anew."""
    return f"{_prefix(run)}-{position}-{generation}"


def master(run: str, position: int, generation: int) -> str:
    """The master pod of a repeat, and the Service in front of it."""
    return f"{injectors(run, position, generation)}-master"


def worker(run: str, position: int, generation: int, index: int) -> str:
    """A worker pod of a repeat; `index` counts from 0."""
    return f"{injectors(run, position, generation)}-w{index}"


def result(run: str, position: int, stage: int, attempt: int, part: int | None = None) -> str:
    """The stored record of one attempt at a stage: its common name, or the ConfigMap of one part of it."""
    name = f"{_prefix(run)}-r{position}-s{stage}-a{attempt}"
    return name if part is None else f"{name}-p{part}"


def release_lease(release: str) -> str:
    """The Lease, in the target's namespace, of those who may change a release."""
    return f"loadtest-{release}"


def host_lease(host: str) -> str:
    """The Lease of those who may load a host without a release; `host` is host and port of the URL."""
    return f"loadtest-url-{sha256_of(host.lower())[:16]}"
