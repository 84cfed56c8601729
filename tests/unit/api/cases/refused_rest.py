"""What is missing, misspelt or bad beside target, variants and load."""

from tests.unit.api.cases.base import Refused

REFUSED = [
    Refused("an unknown field", {"stages": []}, at="spec.stages"),
    Refused("a misspelt field deep inside", {"load": {"warmup": "1m"}}, at="spec.load.warmup"),
    Refused("no target", {"target": None}, at="spec.target"),
    Refused("no load", {"load": None}, at="spec.load"),
    Refused("no scenario", {"scenario": None}, at="spec.scenario"),
    Refused("no kind of scenario", {"scenario": {"requests": None}}, at="spec.scenario", says="exactly one kind"),
    Refused(
        "two kinds of scenario",
        {"scenario": {"locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}}},
        at="spec.scenario",
        says="exactly one kind of scenario: requests or locustfile",
    ),
    Refused(
        "a locustfile by its address",
        {"scenario": {"requests": None, "locustfile": {"url": "https://example.org/shop.py"}}},
        at="spec.scenario.locustfile.url",
    ),
    Refused("an unknown kind of scenario", {"scenario": {"grpc": {}}}, at="spec.scenario.grpc"),
    Refused(
        "a ConfigMap without a key",
        {"scenario": {"requests": {"configMap": {"key": None}}}},
        at="spec.scenario.requests.configMap.key",
    ),
    Refused(
        "a bad key",
        {"scenario": {"requests": {"configMap": {"key": "a/b"}}}},
        at="spec.scenario.requests.configMap.key",
        says="a key of a ConfigMap",
    ),
    Refused(
        "a bad name of a ConfigMap",
        {"scenario": {"requests": {"configMap": {"name": "A"}}}},
        at="spec.scenario.requests.configMap.name",
        says="Kubernetes object",
    ),
    Refused(
        "a launch without keys",
        {"scenario": {"requests": {"launch": {}}}},
        at="spec.scenario.requests.launch.keysSecret",
    ),
    Refused("an empty image", {"injector": {"image": ""}}, at="spec.injector.image"),
    Refused(
        "an unknown pull policy", {"injector": {"imagePullPolicy": "Sometimes"}}, at="spec.injector.imagePullPolicy"
    ),
    Refused(
        "a bad quantity",
        {"injector": {"resources": {"limits": {"cpu": "three"}}}},
        at="spec.injector.resources.limits.cpu",
    ),
    Refused(
        "a bad node label",
        {"injector": {"nodeSelector": {"a b": "c"}}},
        at="spec.injector.nodeSelector",
        says="the key of a label",
    ),
    Refused("a whole pod spec", {"injector": {"containers": []}}, at="spec.injector.containers"),
]
