"""What all models of the wire have in common: names, rules, and the marks of the CRD schema.

A rule is stated once and holds twice: as CEL in the CRD, where the API server refuses a bad object at `kubectl apply`,
and as a Python check when a model is parsed, so that `loadtest plan` refuses the same file with the same message.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from loadtest.api.durations import FORMAT_HINT, PATTERN, parse_millis

VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True)
class Rule:
    """A condition on a value: `cel` for the API server, `check` the same in Python, `message` with field and remedy.

    Usable in `Annotated` for a single field, or in a model's `rules` for conditions between fields. `check` is None
    for transition rules, which compare with the stored object and can only be judged by the API server. `field` is the
    path of the field to blame, below where the rule stands, such as `.baseline`.
    """

    cel: str
    message: str
    check: Callable[[Any], bool] | None = None
    field: str = ""

    def require(self, value: Any) -> Any:
        """The value, if the rule holds for it.

        Raises:
            ValueError: it does not; the text is the rule's message.
        """
        if self.check is not None and not self.check(value):
            raise ValueError(self.message)
        return value

    def as_schema(self) -> dict[str, str]:
        """The entry of `x-kubernetes-validations`."""
        schema = {"rule": self.cel, "message": self.message}
        if self.field:
            schema["fieldPath"] = self.field
        if self.check is None:
            schema["reason"] = "FieldValueForbidden"
        return schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check after the annotated type has parsed."""
        return core_schema.no_info_after_validator_function(self.require, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the CEL form."""
        schema = handler(core)
        schema.setdefault(VALIDATIONS, []).append(self.as_schema())
        return schema


def matches(pattern: str, message: str) -> Rule:
    """A rule that a string matches a pattern (anchored, understood alike by Python and RE2)."""
    compiled = re.compile(pattern, re.ASCII)
    literal = pattern.replace("\\", "\\\\").replace("'", "\\'")
    return Rule(f"self.matches('{literal}')", message, lambda text: compiled.fullmatch(text) is not None)


def between(field: str, low: str, high: str, *, whole_seconds: bool = False) -> Rule:
    """A rule that a duration lies in [low, high]; `whole_seconds` also refuses milliseconds."""
    pattern = PATTERN.replace("([0-9]{1,9}ms)?", "") if whole_seconds else PATTERN
    whole = "a duration in whole seconds" if whole_seconds else "a duration"
    lowest, highest = parse_millis(low), parse_millis(high)
    return Rule(
        f"self != '' && self.matches('{pattern}') && "
        f"duration(self) >= duration('{low}') && duration(self) <= duration('{high}')",
        f"{field} must be {whole} from {low} to {high}: {FORMAT_HINT}",
        lambda text: lowest <= parse_millis(text) <= highest and not (whole_seconds and "ms" in text),
    )


@dataclass(frozen=True)
class ListMap:
    """Marks a list whose entries are told apart by one field: merged by it, and never twice the same."""

    key: str

    def _unique(self, entries: Sequence[Any]) -> Sequence[Any]:
        keys = [getattr(entry, self.key) for entry in entries]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(
                f"duplicate {self.key}: {', '.join(map(str, twice))}; give each entry a {self.key} of its own"
            )
        return entries

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Refuse duplicates."""
        return core_schema.no_info_after_validator_function(self._unique, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the list type."""
        schema = handler(core)
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = [self.key]
        return schema


class WireModel(BaseModel):
    """A JSON object of the resource: camelCase on the wire, snake_case in Python."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        # The API server drops a null where the schema does not allow one, and then applies the default.
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data

    @model_validator(mode="after")
    def _obeys_rules(self) -> Self:
        for rule in self.rules:
            rule.require(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the model's rules in their CEL form."""
        schema = handler(core)
        if cls.rules:
            handler.resolve_ref_schema(schema)[VALIDATIONS] = [rule.as_schema() for rule in cls.rules]
        return schema

    def to_wire(self) -> dict[str, Any]:
        """The JSON object; fields without a value are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class SpecModel(WireModel):
    """A part of the spec: immutable, and strict about fields it does not know, which are most often misspelt."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StatusModel(WireModel):
    """A part of the status: ignores unknown fields, so that an older operator can read a newer status."""

    model_config = ConfigDict(extra="ignore")


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time must say its zone, such as 2026-01-02T03:04:05Z")
    return moment.astimezone(UTC)


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


Timestamp = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(_rfc3339, return_type=str)]
"""An instant: RFC 3339 in UTC on the wire (a fraction of a second only where there is one), an aware datetime here."""
