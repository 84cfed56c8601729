"""The Locust pods of a run, as plain functions of the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping

from loadtest.api import names
from loadtest.core import measuring
from loadtest.core.expand import RunPlan
from loadtest.core.manifests import (
    CA_DIR,
    KEYS_DIR,
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    SCENARIO_DIR,
    Json,
    metadata,
)
from loadtest.core.observed import Resource

CONTROL_PORT = 8090
LOCUST_PORT = 5557
RESULTS_HOLD_SECONDS = 86_400
WORKER_RESOURCES: Json = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
MASTER_RESOURCES: Json = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


def master_pod(
    resource: Resource,
    plan: RunPlan,
    position: int,
    generation: int,
    *,
    image: str,
    pull_policy: str,
    token_sha256: str,
) -> Json:
    """The Locust master of one repeat. The pod's spec holds only the hash of the control port's token."""
    env = {
        "LOADTEST_TOKEN_SHA256": token_sha256,
        "LOADTEST_CONTROL_PORT": str(CONTROL_PORT),
        "LOADTEST_BIND_PORT": str(LOCUST_PORT),
        "LOADTEST_RESULTS_HOLD_SECONDS": str(RESULTS_HOLD_SECONDS),
    }
    pod = _injector_pod(resource, plan, position, generation, -1, env, MASTER_RESOURCES, image, pull_policy)
    container = pod["spec"]["containers"][0]
    container["args"] = ["master"]
    if plan.spec.injector.master_service_account is not None:
        pod["spec"] |= {
            "serviceAccountName": plan.spec.injector.master_service_account,
            "automountServiceAccountToken": True,
        }
    if (secrets := measuring.secrets_volume(plan.spec)) is not None:
        pod["spec"]["volumes"].append(secrets)
        container["volumeMounts"].append(
            {"name": secrets["name"], "mountPath": measuring.SECRETS_DIR, "readOnly": True}
        )
    container["ports"] = [
        {"name": "control", "containerPort": CONTROL_PORT},
        {"name": "locust", "containerPort": LOCUST_PORT},
    ]
    return pod


def worker_pod(
    resource: Resource,
    plan: RunPlan,
    position: int,
    generation: int,
    index: int,
    master_ip: str,
    *,
    image: str,
    pull_policy: str,
) -> Json:
    """One Locust worker of a repeat."""
    env = {
        "LOADTEST_MASTER_HOST": master_ip,
        "LOADTEST_MASTER_PORT": str(LOCUST_PORT),
        "LOADTEST_WORKER_NAME": names.worker(plan.run, position, generation, index),
    }
    own = plan.spec.injector.resources
    resources = own.to_wire() if own else WORKER_RESOURCES
    pod = _injector_pod(resource, plan, position, generation, index, env, resources, image, pull_policy)
    container = pod["spec"]["containers"][0]
    container["args"] = ["worker"]
    if (resources.get("limits") or {}).get("cpu"):
        field = {"containerName": "locust", "resource": "limits.cpu", "divisor": "1m"}
        container["env"].append({"name": "LOADTEST_CPU_LIMIT_MILLIS", "valueFrom": {"resourceFieldRef": field}})
    return pod


def load_deadline_seconds(plan: RunPlan) -> int:
    """Seconds after which injectors stop by themselves, whatever happened to the operator.

    A repeat's injectors live through its stages; reruns, joining and rollouts between them take time too.
    """
    load = plan.spec.load
    one_pass = load.warm_up.seconds + sum(
        stage.seconds + load.request_timeout.seconds + 120 + measuring.longest_wait_seconds(plan.spec)
        for stage in plan.stages
    )
    wanted = one_pass * (1 + load.max_stage_reruns) + 1800
    return math.ceil(min(wanted, plan.spec.deadline.seconds + 600))


def _injector_pod(
    resource: Resource,
    plan: RunPlan,
    position: int,
    generation: int,
    index: int,
    env: Mapping[str, str],
    resources: Json,
    image: str,
    pull_policy: str,
) -> Json:
    own, launch = plan.spec.injector, plan.spec.scenario.requests and plan.spec.scenario.requests.launch
    common = {
        "LOADTEST_RUN": plan.run,
        "LOADTEST_REPEAT": str(position),
        "LOADTEST_LOAD_DEADLINE_SECONDS": str(load_deadline_seconds(plan)),
        "HOME": "/tmp",  # noqa: S108 - an emptyDir of the pod alone
    }
    master = index < 0
    name = (
        names.master(plan.run, position, generation) if master else names.worker(plan.run, position, generation, index)
    )
    labels = {
        names.LABEL_ROLE: names.ROLE_MASTER if master else names.ROLE_WORKER,
        names.LABEL_POSITION: str(position),
        names.LABEL_GENERATION: str(generation),
        names.LABEL_WORKER: str(index) if index >= 0 else "master",
    }
    volumes: list[Json] = [
        {"name": "scenario", "configMap": {"name": names.scenario(plan.run)}},
        {"name": "tmp", "emptyDir": {}},
    ]
    mounts: list[Json] = [
        {"name": "scenario", "mountPath": SCENARIO_DIR, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
    ]
    if launch and not master:
        volumes.append({"name": "keys", "secret": {"secretName": launch.keys_secret.name, "defaultMode": 0o440}})
        mounts.append({"name": "keys", "mountPath": KEYS_DIR, "readOnly": True})
    if plan.spec.target.tls and not master:
        volumes.append({"name": "ca", "configMap": {"name": plan.spec.target.tls.ca_config_map.name}})
        mounts.append({"name": "ca", "mountPath": CA_DIR, "readOnly": True})
    spec: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": RESTRICTED_POD,
        "containers": [
            {
                "name": "locust",
                "image": own.image or image,
                "imagePullPolicy": own.image_pull_policy or pull_policy,
                "env": [{"name": key, "value": value} for key, value in (common | dict(env)).items()],
                "resources": resources,
                "securityContext": RESTRICTED_CONTAINER,
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }
    spec |= {
        key: value
        for key, value in own.to_wire().items()
        if key in {"nodeSelector", "tolerations", "affinity", "imagePullSecrets"}
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(resource, plan.run, name, resource.namespace, labels),
        "spec": spec,
    }
