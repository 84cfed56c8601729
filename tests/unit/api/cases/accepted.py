"""Specs that models and API server accept."""

from tests.unit.api.cases.base import (
    BARE,
    CHART,
    STAGE,
    Accepted,
    axes,
    google,
    matrix,
    measurement,
    one_setting,
    pods,
    query,
    rate,
    runner,
    settings_of_its_own,
    share,
    stage_of,
    stages,
    transport,
)

ACCEPTED = [
    Accepted("the shortest spec", {}, BARE),
    Accepted("two variants"),
    Accepted("a baseline that is a variant", {"baseline": "two-threads"}),
    Accepted("the implicit baseline", {"baseline": "current"}, BARE),
    Accepted("a matrix", matrix()),
    Accepted("a matrix with a baseline", matrix() | {"baseline": "threads-2-workers-5"}),
    Accepted("a matrix with exclusions", matrix(exclude=[{"threads": "7", "workers": "7"}])),
    Accepted("a matrix of 200", axes([str(i) for i in range(20)], [str(i) for i in range(10)])),
    Accepted(
        "gevent and gRPC in a matrix, kept apart", transport({"workerClass": "gevent", "datastoreTransport": "grpc"})
    ),
    Accepted("gevent over HTTP", runner(workerClass="gevent", datastoreTransport="http")),
    Accepted("gRPC with gthread", runner(workerClass="gthread", datastoreTransport="grpc")),
    Accepted("gevent with the release's own transport", runner(workerClass="gevent")),
    Accepted("uwsgi with async cores", runner(workerClass="uwsgi-async", uwsgiAsyncCores=20, cpu="500m")),
    Accepted("sessions by our word", runner(sessionBackend="redis", cpu="3")),
    Accepted("sessions by the Runner's word", runner(sessionBackend="ephemeral_storage", cpu="0.5")),
    Accepted("a variant as the release is", {"variants": [{"name": "as-is"}]}),
    Accepted("200 variants of one stage", {"variants": [{"name": f"v{i}"} for i in range(200)]} | stages(STAGE)),
    Accepted(
        "values with nulls and odd keys", {"variants": [{"name": "a", "values": {"a.b,c": None, "ü": [1, {"x": 1.5}]}}]}
    ),
    Accepted("values of 260 kB", {"variants": [{"name": "a", "values": {"big": "x" * 260_000}}]}),
    Accepted("settings of one's own", settings_of_its_own({"poolSize": "7"})),
    Accepted(
        "settings of one's own beside the preset's",
        settings_of_its_own({"poolSize": "7", "threads": "2"}, "eq-questionnaire-runner"),
    ),
    Accepted("a setting with all its fields", one_setting(env="WEB_SERVER_WORKERS", values={"one": "1"})),
    Accepted("a chart from a repository", {"target": {"release": {"chart": CHART}}}),
    Accepted(
        "a chart from an OCI registry", {"target": {"release": {"chart": CHART | {"repo": "oci://a.example/charts"}}}}
    ),
    Accepted("no settling", {"target": {"release": {"settle": "0s", "rolloutTimeout": "1h30m"}}}),
    Accepted("a name of 40 characters", {"variants": [{"name": "v" * 40}]}),
    Accepted(
        "a target over TLS",
        {"target": {"url": "https://runner.example.org", "tls": {"caConfigMap": {"name": "ca", "key": "ca.crt"}}}},
        BARE,
    ),
    Accepted("a target by IPv6", {"target": {"url": "http://[fd00::1]:8080/"}}, BARE),
    Accepted("a port of 65535", {"target": {"url": "http://a:65535"}}, BARE),
    Accepted("headers", {"target": {"headers": {"X-Forwarded-Proto": "https"}}}, BARE),
    Accepted("pods by selector", {"target": {"selector": {"matchLabels": {"app.kubernetes.io/name": "runner"}}}}, BARE),
    Accepted(
        "pods by selector in another namespace",
        {"target": {"namespace": "runner", "selector": {"matchLabels": {"app": "runner"}}}},
        BARE,
    ),
    Accepted("the longest stage", stage_of("24h")),
    Accepted("the shortest stage", stage_of("1s")),
    Accepted("a duration in several units", stage_of("1h2m3s4ms")),
    Accepted("a duration in milliseconds", stage_of("1500ms")),
    Accepted("one million users", stages({"injectors": 1000, "duration": "1s"}) | {"repeats": 1}),
    Accepted("fixed waits", {"load": {"waitTime": {"min": "1s", "max": "1s"}}}),
    Accepted("no waits", {"load": {"waitTime": {"min": "0s", "max": "0s"}}}),
    Accepted("no warm-up and no reruns", {"load": {"warmUp": "0s", "maxStageReruns": 0}}),
    Accepted("50 stages", stages(*[STAGE] * 50)),
    Accepted("interleaved repeats", {"repeats": 50, "order": "Interleaved"}),
    Accepted("suspended and aborted from the start", {"suspend": True, "abort": True, "rerun": "2"}),
    Accepted(
        "a launch", {"scenario": {"requests": {"launch": {"keysSecret": {"name": "keys"}, "claims": {"ru_ref": "1"}}}}}
    ),
    Accepted("an open load", {"load": {"mode": "Open", "ratePerInjector": 100}}),
    Accepted(
        "a locustfile",
        {"scenario": {"requests": None, "locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}}},
    ),
    Accepted(
        "injectors with everything",
        {
            "injector": {
                "image": "example.org/injector:1",
                "imagePullPolicy": "Always",
                "resources": {"requests": {"cpu": 1, "memory": "512Mi"}, "limits": {"cpu": "1500m"}},
                "nodeSelector": {"pool": "injectors"},
                "tolerations": [{"key": "pool", "operator": "Equal", "value": "injectors", "effect": "NoSchedule"}],
                "affinity": {"podAntiAffinity": {"x": [1]}},
                "imagePullSecrets": [{"name": "pull"}],
            }
        },
    ),
    Accepted(
        "objectives of every kind",
        {
            "objectives": [
                {"name": "p99", "latency": {"percentile": "99", "below": "1s"}, "onMiss": "StopVariant"},
                {"name": "errors", "failureRatio": {"below": "0.1%"}, "onMiss": "Fail"},
                {"name": "rate", "throughput": {"above": "2400.5/s"}, "stages": [0, 1]},
            ]
        },
    ),
    Accepted("a margin within which differences do not matter", {"equivalenceMargin": "3%"}),
    Accepted("an earlier LoadTest as baseline", {"baselineRef": {"name": "earlier", "variant": "two-threads"}}),
    Accepted(
        "an objective of a measurement",
        {
            "measurements": [{"name": "cache", "redis": {"address": "redis:6379"}}],
            "objectives": [
                {"name": "few", "measurement": {"name": "cache", "field": "connectionsPeak", "below": 500}},
                {"name": "many", "measurement": {"name": "cache", "field": "opsPerSecond", "above": 0}},
            ],
        },
    ),
    *(Accepted(f"a share of {text}", share(text)) for text in ("100%", "99.999999%", "0.000001%", "5%", "0.10%")),
    *(Accepted(f"a rate of {text}", rate(text)) for text in ("0/s", "1/s", "999999999.999/s")),
    Accepted("a Redis", measurement()),
    Accepted(
        "a Redis with all that it can have",
        measurement(
            address="[fd00::3]:6378",
            username="watcher",
            passwordSecret={"name": "redis", "key": "auth"},
            tls={"caConfigMap": {"name": "ca", "key": "ca.pem"}},
        ),
    ),
    Accepted("the pods of a release", pods()),
    Accepted("another account for measuring", pods("loadtest-measure-gke")),
    Accepted("the pods of a selector", pods() | {"target": {"selector": {"matchLabels": {"app": "a"}}}}, BARE),
    Accepted("a query", query()),
    Accepted("a query through TLS", query(url="https://[::1]:9090/a/prom", tls={}, step="1m", delay="0s")),
    Accepted(
        "several queries", {"measurements": [{"name": n, "prometheus": {"url": "http://p", "query": n}} for n in "ab"]}
    ),
    Accepted("Cloud Monitoring by preset", google(preset="MemorystoreCpu", filter='resource.labels.instance_id="a"')),
    Accepted("Cloud Monitoring by filter", google(filter="a", aligner="Rate", reducer="Max", alignment="90s")),
]
