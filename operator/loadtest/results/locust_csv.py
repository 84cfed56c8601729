"""Published Locust CSVs of any version -> what they say, what past reports made of them, and what those hide.

Locust's own percentiles are rounded to two significant digits and have failed requests in them; they cannot be merged.
So nothing here becomes a `Latency`, whose percentiles are exact: an import keeps its own names.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

_COLUMNS = {
    "type": "method",
    "method": "method",
    "name": "name",
    "request count": "requests",
    "# requests": "requests",
    "failure count": "failures",
    "# failures": "failures",
    "median response time": "median",
    "average response time": "mean",
    "min response time": "min",
    "max response time": "max",
    "average content size": "content",
    "requests/s": "rate",
}
"""Heading in lower case -> what it holds: `# requests` until Locust 0.14, `Request Count` since 1.0."""

_PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)%?")  # Locust 0.14 wrote "99.999" without its sign
_AGGREGATED = {"Aggregated", "Total"}  # Total until Locust 0.9
_NO_METHOD = {"", "None"}
_ABSENT = {"", "N/A", "None"}
_OLD_PERCENTILE = "99"
_DIGITS = 30  # before or behind the point: as an exact fraction, 1e999999 would fill the memory


class BadCsv(ValueError):  # noqa: N818 - named for the fact
    """The text is not a statistics file of Locust. The message names the place and the remedy."""


@dataclass(frozen=True)
class Row:
    """One row, times in milliseconds as Locust wrote them; `percentiles` by percent ("99.9"), what is N/A left out."""

    method: str
    name: str
    requests: int
    failures: int
    percentiles: Mapping[str, Fraction]
    mean: Fraction | None = None
    min: Fraction | None = None
    max: Fraction | None = None
    content_bytes: Fraction | None = None
    per_second: Fraction | None = None


@dataclass(frozen=True)
class Table:
    """One file: the endpoints' rows, and Locust's own row of all requests."""

    file: str
    endpoints: tuple[Row, ...]
    total: Row | None

    @property
    def requests(self) -> int:
        """All requests, failed ones too."""
        return self.total.requests if self.total else sum(row.requests for row in self.endpoints)

    @property
    def failures(self) -> int:
        """Failed requests."""
        return self.total.failures if self.total else sum(row.failures for row in self.endpoints)


def parse(file: str, text: str, distribution: str | None = None) -> Table:
    """Read the text of a `*_stats.csv`, or of a `*_requests.csv` with its `*_distribution.csv` (Locust until 0.13).

    Raises:
        BadCsv: where it is neither.
    """
    lines = _lines(file, text)
    keys = [_key(cell) for cell in lines[0]]
    missing = {"method", "name", "requests", "failures"} - set(keys)
    if missing:
        raise BadCsv(
            f"{file} has no column for {', '.join(sorted(missing))} (it has: {', '.join(lines[0])[:200]}): "
            "name statistics files of Locust, *_stats.csv"
        )
    rows = [_row(file, number, keys, cells) for number, cells in enumerate(lines[1:], start=2) if any(cells)]
    if distribution is not None:
        rows = _with_distribution(file, rows, distribution)
    totals = [row for row in rows if row.name in _AGGREGATED and row.method in _NO_METHOD]
    if len(totals) > 1:
        raise BadCsv(f"{file} has {len(totals)} rows of all requests: give it one run's rows only")
    return Table(file, tuple(row for row in rows if row not in totals), totals[0] if totals else None)


def _lines(file: str, text: str) -> list[list[str]]:
    try:
        lines = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    except csv.Error as error:
        raise BadCsv(f"{file} is not CSV: {error}: name statistics files of Locust, *_stats.csv") from error
    if not lines:
        raise BadCsv(f"{file} is empty: take the CSV files that Locust wrote at the end of its run")
    return lines


def _key(heading: str) -> str:
    word = heading.strip().strip('"').lower()
    found = _PERCENTILE.fullmatch(word)
    return f"{percent(found[1])}%" if found else _COLUMNS.get(word, "")


def percent(text: str) -> str:
    """A percentile in one spelling: 99.90 is 99.9."""
    return f"{Decimal(text).normalize():f}"


def _row(file: str, number: int, keys: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) != len(keys):
        raise BadCsv(f"{file}, line {number} has {len(cells)} cells under {len(keys)} headings: is the file cut off?")
    read = dict(zip(keys, cells, strict=True))

    def number_of(key: str) -> Fraction | None:
        return _number(f"{file}, line {number}", read.get(key, ""))

    def count_of(key: str) -> int:
        found = number_of(key)
        if found is None or found.denominator != 1 or found < 0:
            raise BadCsv(f"{file}, line {number}: {read.get(key)!r} is not a count of {key}")
        return int(found)

    values = {key.removesuffix("%"): number_of(key) for key in keys if key.endswith("%")}
    return Row(
        method=read["method"].strip(),
        name=read["name"],
        requests=count_of("requests"),
        failures=count_of("failures"),
        percentiles={key: value for key, value in values.items() if value is not None},
        mean=number_of("mean"),
        min=number_of("min"),
        max=number_of("max"),
        content_bytes=number_of("content"),
        per_second=number_of("rate"),
    )


def _number(where: str, text: str) -> Fraction | None:
    """A number as Locust writes them; None where it wrote that there is none."""
    if text.strip() in _ABSENT:
        return None
    try:
        value = Decimal(text.strip())
        if value.is_finite() and abs(value.adjusted()) <= _DIGITS:
            return Fraction(value)
    except InvalidOperation:
        pass
    raise BadCsv(f"{where}: {text[:40]!r} is not a number: is the file a Locust statistics CSV?")


def _with_distribution(file: str, rows: Sequence[Row], text: str) -> list[Row]:
    """Rows with the percentiles of the other file, which names them "GET /page/"."""
    where = f"the distribution beside {file}"
    lines = _lines(where, text)
    keys = [_key(cell) for cell in lines[0]]
    if "name" not in keys:
        raise BadCsv(f"{where} has no column for name: take the two files that Locust wrote together")
    found: dict[str, dict[str, Fraction]] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) == len(keys):
            read = dict(zip(keys, cells, strict=True))
            values = {key: _number(f"{where}, line {number}", read[key]) for key in keys if key.endswith("%")}
            found[read["name"]] = {key.removesuffix("%"): value for key, value in values.items() if value is not None}
    return [
        Row(**{**vars(row), "percentiles": found.get(f"{row.method} {row.name}", found.get(row.name, {}))})
        for row in rows
    ]


@dataclass(frozen=True)
class Imported:
    """The files of one folder, as one result."""

    name: str
    tables: tuple[Table, ...]

    @property
    def requests(self) -> int:
        """All requests of all files, failed ones too."""
        return sum(table.requests for table in self.tables)

    @property
    def failures(self) -> int:
        """Failed requests of all files."""
        return sum(table.failures for table in self.tables)

    @property
    def endpoints(self) -> list[Row]:
        """The rows of all endpoints of all files."""
        return [row for table in self.tables for row in table.endpoints]

    @property
    def percentiles(self) -> dict[str, Fraction]:
        """Locust's percentiles of all requests, in milliseconds.

        Of several files only the 100th, the slowest request of all: percentiles of files cannot be merged.
        """
        if any(table.total is None for table in self.tables):
            return {}
        totals = [table.total.percentiles for table in self.tables if table.total]
        if len(totals) == 1:
            return dict(totals[0])
        return {"100": max(each["100"] for each in totals)} if all("100" in each for each in totals) else {}

    @property
    def bounds(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Of several files: the lowest and highest of their percentiles; that of all requests lies between."""
        totals = [table.total.percentiles for table in self.tables if table.total and table.requests]
        if len(totals) < 2 or any(table.total is None for table in self.tables):  # noqa: PLR2004 - one file needs none
            return {}
        shared = [key for key in totals[0] if all(key in each for each in totals)]
        return {key: (min(each[key] for each in totals), max(each[key] for each in totals)) for key in shared}

    def old(self, percentile: str = _OLD_PERCENTILE, method: str | None = None) -> Fraction | None:
        """The old definition: the mean of the endpoints' percentiles, weighted by their requests, in milliseconds.

        Over several files the rows of all are taken, as past reports did over the injectors of a stage. None where a
        row that counts has no such percentile.
        """
        rows = [row for row in self.endpoints if row.requests and method in {None, row.method}]
        if not rows or any(percentile not in row.percentiles for row in rows):
            return None
        return sum((row.requests * row.percentiles[percentile] for row in rows), Fraction()) / sum(
            row.requests for row in rows
        )

    @property
    def old_percentiles(self) -> dict[str, Fraction]:
        """The old definition of every percentile that the files have."""
        keys = dict.fromkeys(key for row in self.endpoints for key in row.percentiles)
        return {key: value for key in keys if (value := self.old(key)) is not None}


def combine(name: str, tables: Iterable[Table]) -> Imported:
    """One result of the files of a folder.

    Raises:
        BadCsv: where there are none.
    """
    found = tuple(tables)
    if not found:
        raise BadCsv(f"{name} has no *_stats.csv: name the folder in which Locust wrote its CSV files")
    return Imported(name, found)
