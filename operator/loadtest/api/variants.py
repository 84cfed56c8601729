"""`spec.variants` and `spec.matrix`: the settings of the target that are tried."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from loadtest.api.fields import CpuQuantity, SettingName, SettingValue, VariantName
from loadtest.api.model import ListMap, Rule, SpecModel

MAX_VARIANTS = 200
"""Most variants of one LoadTest."""

MAX_AXES = 5
"""Most axes of a matrix."""

GEVENT_WITH_GRPC = "gevent and gRPC do not work together: use workerClass gthread, or datastoreTransport http"

Settings = Annotated[dict[str, SettingValue], Field(max_length=32)]
"""Settings and their values."""


class Runner(SpecModel):
    """Settings of an eq-questionnaire-runner. What is left out stays as the release has it."""

    rules = (
        Rule(
            "!(has(self.workerClass) && self.workerClass == 'gevent' && "
            "has(self.datastoreTransport) && self.datastoreTransport == 'grpc')",
            GEVENT_WITH_GRPC,
            lambda runner: not (runner.worker_class == "gevent" and runner.datastore_transport == "grpc"),
        ),
    )

    worker_class: Literal["gevent", "gthread", "uwsgi", "uwsgi-threads", "uwsgi-async"] | None = Field(
        default=None, description="Kind of web server: gunicorn with gevent or gthread workers, or a kind of uWSGI."
    )
    workers: Annotated[StrictInt, Field(ge=1, le=256)] | None = Field(
        default=None, description="Worker processes of each pod."
    )
    threads: Annotated[StrictInt, Field(ge=1, le=1024)] | None = Field(
        default=None, description="Threads of each worker process."
    )
    uwsgi_async_cores: Annotated[StrictInt, Field(ge=1, le=10000)] | None = Field(
        default=None, description="Asynchronous cores of each worker process, for workerClass uwsgi-async."
    )
    datastore_transport: Literal["grpc", "http"] | None = Field(
        default=None, description="How the Runner speaks to Datastore."
    )
    session_backend: Literal["redis", "datastore", "ephemeral_storage", "storage"] | None = Field(
        default=None,
        description="Where sessions are kept: redis or datastore; ephemeral_storage and storage are the Runner's own "
        "words for the two.",
    )
    replicas: Annotated[StrictInt, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Pods of the Runner: both bounds of its autoscaler."
    )
    cpu: CpuQuantity | None = Field(default=None, description='CPU request of each pod, such as "3" or "500m".')


RUNNER_SETTINGS = tuple(str(field.alias) for field in Runner.model_fields.values())
"""The settings that `runner` can name, as the wire calls them."""

_RUNNER_NAMES = ", ".join(f"'{name}'" for name in RUNNER_SETTINGS)


def _says_once(variant: Any) -> bool:
    return variant.runner is None or variant.settings is None or not set(RUNNER_SETTINGS) & set(variant.settings)


def _not_gevent_with_grpc(settings: dict[str, str] | None) -> bool:
    return not settings or (settings.get("workerClass"), settings.get("datastoreTransport")) != ("gevent", "grpc")


class Variant(SpecModel):
    """One set of settings of the target."""

    rules = (
        Rule(
            f"!(has(self.runner) && has(self.settings)) || ![{_RUNNER_NAMES}].exists(name, name in self.settings)",
            "settings repeats what runner is for: in a variant with runner, write the Runner's settings under runner "
            "alone",
            _says_once,
        ),
        Rule(
            "!has(self.settings) || !('workerClass' in self.settings && 'datastoreTransport' in self.settings && "
            "self.settings['workerClass'] == 'gevent' && self.settings['datastoreTransport'] == 'grpc')",
            GEVENT_WITH_GRPC,
            lambda variant: _not_gevent_with_grpc(variant.settings),
        ),
    )

    name: VariantName = Field(description="Name of the variant, in status, results and report.")
    runner: Runner | None = Field(default=None, description="Settings of an eq-questionnaire-runner.")
    settings: Settings | None = Field(
        default=None,
        description="Values of the settings that target.release.settings names, for targets that are not a Runner.",
    )
    values: dict[str, Any] | None = Field(
        default=None,
        description="Further values of the chart, merged last. A null removes the chart's own value, as in Helm; "
        "kubectl apply without --server-side drops nulls.",
    )


Combination = Annotated[dict[str, SettingValue], Field(min_length=1, max_length=MAX_AXES)]
"""Settings and values that name combinations of a matrix."""


class Axis(SpecModel):
    """One setting of a matrix and the values it takes."""

    setting: SettingName = Field(description="Name of the setting, as in runner or target.release.settings.")
    values: Annotated[tuple[SettingValue, ...], Field(min_length=1, max_length=32)] = Field(
        description="The values it takes, in the order in which they are tried."
    )


def _axis(index: int) -> str:
    return f"(size(self.axes) > {index} ? size(self.axes[{index}].values) : 1)"


def _combinations(matrix: Any) -> int:
    count = 1
    for axis in matrix.axes:
        count *= len(axis.values)
    return count


def _has_value(name: str, value: str) -> str:
    return f"self.axes.exists(a, a.setting == '{name}' && '{value}' in a.values)"


def _excludes(name: str, value: str) -> str:
    return f"self.exclude.exists(e, '{name}' in e && e['{name}'] == '{value}')"


def _keeps_gevent_from_grpc(matrix: Any) -> bool:
    values = {axis.setting: axis.values for axis in matrix.axes}
    if "gevent" not in values.get("workerClass", ()) or "grpc" not in values.get("datastoreTransport", ()):
        return True
    return any(
        one.get("workerClass") == "gevent" or one.get("datastoreTransport") == "grpc" for one in matrix.exclude or ()
    )


class Matrix(SpecModel):
    """Makes a variant of every combination of the axes' values, but the excluded ones."""

    rules = (
        Rule(
            " * ".join(_axis(index) for index in range(MAX_AXES)) + f" <= {MAX_VARIANTS}",
            f"matrix makes more than {MAX_VARIANTS} combinations, counted before exclude: take axes or values away",
            lambda matrix: _combinations(matrix) <= MAX_VARIANTS,
        ),
        Rule(
            f"!({_has_value('workerClass', 'gevent')} && {_has_value('datastoreTransport', 'grpc')}) || "
            f"(has(self.exclude) && ({_excludes('workerClass', 'gevent')} || "
            f"{_excludes('datastoreTransport', 'grpc')}))",
            f"{GEVENT_WITH_GRPC}, or add {{workerClass: gevent, datastoreTransport: grpc}} to matrix.exclude",
            _keeps_gevent_from_grpc,
        ),
    )

    axes: Annotated[tuple[Axis, ...], Field(min_length=1, max_length=MAX_AXES), ListMap("setting")] = Field(
        description="Settings that vary, each with its values; the last axis varies fastest."
    )
    exclude: Annotated[tuple[Combination, ...], Field(max_length=64)] | None = Field(
        default=None,
        description="Combinations to leave out: each entry names settings and values, and leaves out every "
        "combination that has them all.",
    )
