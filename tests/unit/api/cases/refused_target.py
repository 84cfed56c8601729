"""Bad targets and releases."""

from tests.unit.api.cases.base import BARE, CHART, Refused, one_setting

REFUSED = [
    *(
        Refused(f"{url!r} for a URL", {"target": {"url": url}}, BARE, at="spec.target.url", says="http:// or https://")
        for url in (
            "",
            "runner",
            "runner:80",
            "ftp://runner",
            "http://",
            "http://:80",
            "http://user:pass@runner",
            "http://runner?a=b",
            "http://runner/path",
            "http://runner#x",
            "http://runner:0",
            "http://runner:65536",
            "http://run ner",
            "http://rünner",
            "http://runner\n",
            "HTTP://runner",
            "http://-runner",
            "http://runner:",
            "//runner",
            "javascript:alert(1)",
        )
    ),
    Refused("a very long URL", {"target": {"url": "http://" + "a" * 300}}, BARE, at="spec.target.url"),
    Refused("TLS without authorities", {"target": {"tls": {}}}, BARE, at="spec.target.tls.caConfigMap"),
    Refused(
        "a header of ours",
        {"target": {"headers": {"X-loadtest-window": "a"}}},
        BARE,
        at="spec.target.headers",
        says="leave it out",
    ),
    Refused(
        "a header's name with a colon",
        {"target": {"headers": {"X:": "a"}}},
        BARE,
        at="spec.target.headers",
        says="letters",
    ),
    Refused(
        "a header without a name", {"target": {"headers": {"": "a"}}}, BARE, at="spec.target.headers", says="letters"
    ),
    Refused(
        "a header that goes on",
        {"target": {"headers": {"X": "a\r\nY: b"}}},
        BARE,
        at="spec.target.headers",
        says="ASCII",
    ),
    Refused("33 headers", {"target": {"headers": {f"X-{i}": "" for i in range(33)}}}, BARE, at="spec.target.headers"),
    Refused("truth as text", {"target": {"allowScaling": "true"}}, BARE, at="spec.target.allowScaling"),
    Refused(
        "an empty selector",
        {"target": {"selector": {"matchLabels": {}}}},
        BARE,
        at="spec.target.selector.matchLabels",
        says="add one",
    ),
    Refused(
        "a selector with a bad key",
        {"target": {"selector": {"matchLabels": {"a b": "c"}}}},
        BARE,
        at="spec.target.selector.matchLabels",
        says="the key of a label",
    ),
    Refused(
        "a selector with a bad value",
        {"target": {"selector": {"matchLabels": {"a": "b,c"}}}},
        BARE,
        at="spec.target.selector.matchLabels",
        says="the value of a label",
    ),
    Refused(
        "a selector beside a release",
        {"target": {"selector": {"matchLabels": {"app": "runner"}}}},
        at="spec.target.selector",
        says="remove target.selector",
    ),
    Refused(
        "a namespace without a selector",
        {"target": {"namespace": "runner"}},
        BARE,
        at="spec.target.namespace",
        says="add target.selector or remove target.namespace",
    ),
    Refused(
        "a release without a name",
        {"target": {"release": {"name": ""}}},
        at="spec.target.release.name",
        says="Helm release",
    ),
    Refused(
        "a release's name of 54 characters", {"target": {"release": {"name": "r" * 54}}}, at="spec.target.release.name"
    ),
    Refused(
        "a release without namespace", {"target": {"release": {"namespace": None}}}, at="spec.target.release.namespace"
    ),
    Refused(
        "a namespace that is none",
        {"target": {"release": {"namespace": "Runner_1"}}},
        at="spec.target.release.namespace",
        says="DNS label",
    ),
    Refused("an unknown preset", {"target": {"release": {"preset": "other"}}}, at="spec.target.release.preset"),
    Refused(
        "a chart's repository with a password",
        {"target": {"release": {"chart": CHART | {"repo": "https://u:p@charts.example.org"}}}},
        at="spec.target.release.chart.repo",
        says="without user and query",
    ),
    Refused(
        "a chart without a version",
        {"target": {"release": {"chart": {"repo": "https://a", "name": "b"}}}},
        at="spec.target.release.chart.version",
    ),
    Refused("a setting without paths", one_setting(paths=[]), at="spec.target.release.settings[0].paths"),
    Refused(
        "a setting with nine paths",
        one_setting(paths=[f"a.b{i}" for i in range(9)]),
        at="spec.target.release.settings[0].paths",
    ),
    *(
        Refused(
            f"{path!r} for a path",
            one_setting(paths=[path]),
            at="spec.target.release.settings[0].paths[0]",
            says="keys of the chart's values joined by dots",
        )
        for path in ("", ".", "a.", "a..b", "a,b", "a=b", "a[0]", "a b")
    ),
    Refused(
        "a bad variable", one_setting(env="1A"), at="spec.target.release.settings[0].env", says="environment variable"
    ),
    Refused(
        "a setting named with a dot",
        one_setting(name="a.b"),
        at="spec.target.release.settings[0].name",
        says="workerClass",
    ),
    Refused(
        "a setting twice",
        {"target": {"release": {"settings": [{"name": "a", "paths": ["b"]}, {"name": "a", "paths": ["c"]}]}}},
        at="spec.target.release.settings[1]",
    ),
]
