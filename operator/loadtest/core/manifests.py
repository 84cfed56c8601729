"""The objects that the cluster adapters create, as plain functions of the plan. Nothing is created here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from loadtest.api import names
from loadtest.api.spec import LoadTestSpec
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Resource

Json = dict[str, Any]

HELM_TIMEOUT_SECONDS = 300
SCENARIO_FILE = "scenario.json"
REQUESTS_FILE = "requests.json"
SCENARIO_DIR = "/etc/loadtest/scenario"
KEYS_DIR = "/etc/loadtest/keys"
CA_DIR = "/etc/loadtest/ca"
HELM_DIR = "/etc/loadtest/helm"
NON_ROOT = 65532

RESTRICTED_POD: Json = {
    "runAsNonRoot": True,
    "runAsUser": NON_ROOT,
    "runAsGroup": NON_ROOT,
    "fsGroup": NON_ROOT,
    "seccompProfile": {"type": "RuntimeDefault"},
}
RESTRICTED_CONTAINER: Json = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""Pod Security "restricted", for every pod that the operator makes."""

HELM_RESOURCES: Json = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}


def owner_reference(resource: Resource) -> Json:
    """Makes the garbage collector delete an object with its LoadTest; only within the LoadTest's namespace."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": resource.name,
        "uid": resource.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(resource: Resource, run: str, name: str, namespace: str, extra: Mapping[str, str] | None = None) -> Json:
    """Name, labels and owner of an object of a run; `extra` labels mark those in the LoadTest's own namespace."""
    meta: Json = {
        "name": name,
        "namespace": namespace,
        "labels": names.labels(run, resource.uid) | dict(extra or {}),
        "annotations": {names.ANNOTATION_OWNER: resource.owner},
    }
    if namespace == resource.namespace and extra is not None:
        meta["ownerReferences"] = [owner_reference(resource)]
    return meta


def config_map(resource: Resource, run: str, name: str, data: Mapping[str, str], kind: str) -> Json:
    """An immutable ConfigMap of the run in the LoadTest's namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(resource, run, name, resource.namespace, {names.LABEL_ROLE: kind}),
        "immutable": True,
        "data": dict(data),
    }


def state_config_map(resource: Resource, plan: RunPlan, namespace: str) -> Json:
    """The ConfigMap into which helm Jobs write their outcomes. It owns all else of the run beside the target."""
    meta = metadata(resource, plan.run, names.state(plan.run), namespace)
    meta["labels"][names.LABEL_ROLE] = "state"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}}


def helm_request(resource: Resource, plan: RunPlan, state: Json) -> Json:
    """The immutable ConfigMap that tells the helm Jobs what the run may do to the release."""
    release = plan.spec.target.release
    if release is None:
        raise ValueError("a run without a release has no helm Jobs")
    paths: dict[str, Json] = {}
    for variant in plan.variants:
        for path, setting in variant.paths.items():
            entry = paths.setdefault(path, {"setting": setting, "path": path, "variants": []})
            entry["variants"].append(variant.name)
    request = {
        "run": plan.run,
        "owner": resource.owner,
        "release": release.name,
        "namespace": release.namespace,
        "chart": release.chart.to_wire() if release.chart else None,
        "state": names.state(plan.run),
        "snapshot": names.snapshot(plan.run),
        "variants": {variant.name: variant.values for variant in plan.variants},
        "settings": list(paths.values()),
        "timeoutSeconds": HELM_TIMEOUT_SECONDS,
        "lease": names.release_lease(release.name),
        "holder": f"{resource.owner}/{resource.uid}/{plan.run}",
    }
    meta = metadata(resource, plan.run, names.helm_request(plan.run), release.namespace)
    meta["ownerReferences"] = [state_owner(state)]
    data = {"request.json": json.dumps(request, sort_keys=True)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "immutable": True, "data": data}


def state_owner(state: Json) -> Json:
    """Owner reference to the state ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": state["metadata"]["name"], "uid": state["metadata"]["uid"]}


def helm_job(
    resource: Resource,
    plan: RunPlan,
    op: str,
    key: str,
    variant: str,
    *,
    state: Json,
    image: str,
    pull_policy: str,
    account: str,
    lease_seconds: int,
) -> Json:
    """A helm Job. It never retries by itself: each try has a name of its own, so that each can be observed."""
    release = plan.spec.target.release
    if release is None:
        raise ValueError("a run without a release has no helm Jobs")
    dead_man = op == names.DEAD_MAN
    command = ["loadtest", "helm-job", op, "--key", key, *(("--variant", variant) if variant else ())]
    command += ["--silence", str(lease_seconds)] if dead_man else []
    meta = metadata(resource, plan.run, names.helm_job(plan.run, key), release.namespace)
    meta["labels"][names.LABEL_KEY] = key
    meta["ownerReferences"] = [state_owner(state)]
    container = {
        "name": "helm",
        "image": image,
        "imagePullPolicy": pull_policy,
        "command": command,
        "resources": HELM_RESOURCES,
        "securityContext": RESTRICTED_CONTAINER,
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - an emptyDir of the pod alone
        "volumeMounts": [
            {"name": "request", "mountPath": HELM_DIR, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - an emptyDir that only this pod sees
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "serviceAccountName": account,
        "securityContext": RESTRICTED_POD,
        "terminationGracePeriodSeconds": 30,
        "containers": [container],
        "volumes": [
            {"name": "request", "configMap": {"name": names.helm_request(plan.run)}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        # The dead-man Job alone stays as long as the run, and is made anew wherever its pod is lost.
        "spec": {
            "backoffLimit": 1000 if dead_man else 0,
            **({} if dead_man else {"activeDeadlineSeconds": 2 * HELM_TIMEOUT_SECONDS + 60}),
            "template": {"metadata": {"labels": meta["labels"], "annotations": meta["annotations"]}, "spec": pod},
        },
    }


def lease_place(spec: LoadTestSpec, operator_namespace: str) -> tuple[str, str]:
    """Namespace and name of the target's Lease: beside the release, or by the URL's host beside the operator."""
    release = spec.target.release
    if release is not None:
        return release.namespace, names.release_lease(release.name)
    url = urlsplit(spec.target.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    return operator_namespace, names.host_lease(f"{url.hostname}:{port}")
