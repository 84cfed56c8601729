from __future__ import annotations

import csv
import io
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.results.locust_csv import BadCsv, Imported, combine, parse
from loadtest.results.locust_import import document, hidden, markdown

PUBLISHED = Path(__file__).with_name("locust_2020_09_22_stats.csv")

NOW = ["50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%"]
HEADINGS = {
    "2.x": ["Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average Response Time",
            "Min Response Time", "Max Response Time", "Average Content Size", "Requests/s", "Failures/s", *NOW],
    "1.0": ["Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average response Time",
            "Min Response Time", "Max Response Time", "Average Content Size", "Requests/s", "Failures/s",
            *NOW[:-1], "99.999%", "100%"],
    "0.14": ["Type", "Name", "# requests", "# failures", "Median response time", "Average response time",
             "Min response time", "Max response time", "Average Content Size", "Requests/s", "Requests Failed/s",
             *NOW[:-1], "99.999", "100%"],
}  # fmt: skip
"""The headings that Locust wrote, by version; 0.14 forgot a sign."""


def text(headings: list[str], *rows: tuple[str, str, int, int, int]) -> str:
    """A file with rows of (method, name, requests, failures, every percentile)."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(headings)
    for method, name, requests, failures, millis in rows:
        known = {1: name, 0: method, 2: requests, 3: failures}
        writer.writerow([known.get(at, millis) for at in range(len(headings))])
    return out.getvalue()


def imported(*texts: str) -> Imported:
    return combine("folder", [parse(f"{number}_stats.csv", each) for number, each in enumerate(texts)])


def test_the_published_gevent_baseline_gives_the_published_figures_unrounded() -> None:
    found = document(combine("baseline", [parse(PUBLISHED.name, PUBLISHED.read_text())]))
    assert (found["requests"], found["failures"]) == (140_895, 0)
    old = found["oldDefinition"]
    assert [round(old[key], 2) for key in ("gets", "posts", "all")] == [111.67, 109.56, 110.63]
    assert [int(old[key]) for key in ("gets", "posts", "all")] == [111, 109, 110], "as published: cut, not rounded"
    assert old["percentiles"]["99"] == old["all"] != round(old["all"], 2)
    assert found["percentiles"] == {
        "50": 43, "66": 48, "75": 52, "80": 54, "90": 62, "95": 72, "98": 90, "99": 110, "99.9": 400, "99.99": 1800,
        "99.999": 2200, "100": 2200,
    }  # fmt: skip


def test_the_published_baseline_shows_what_its_old_figures_hide() -> None:
    told = "\n".join(hidden(combine("baseline", [parse(PUBLISHED.name, PUBLISHED.read_text())])))
    assert "99.9th percentile of all requests is 400 ms; the old definition says 244.71 ms" in told
    assert "go from 61 to 2,100 ms; the slowest are GET /session 2,100 ms" in told
    assert "the 99th percentile of all requests" not in told, "110 and 110.63 differ by less than Locust's rounding"


@pytest.mark.parametrize("version", HEADINGS)
def test_the_columns_of_every_version_are_read(version: str) -> None:
    rows = ("GET", "/a/", 3, 0, 10), ("POST", "/b/", 1, 1, 50), ("", "Aggregated", 4, 1, 40)
    found = imported(text(HEADINGS[version], *rows))
    assert (found.requests, found.failures) == (4, 1)
    assert [found.old(method=method) for method in ("GET", "POST", None)] == [10, 50, 20]
    assert found.percentiles["99"] == 40
    assert set(found.percentiles) == {heading.rstrip("%") for heading in HEADINGS[version] if heading[0].isdigit()}


def test_the_two_files_of_the_oldest_versions_are_read_as_one() -> None:
    requests = 'Method,Name,"# requests","# failures"\nGET,/a/,3,0\nPOST,/a/,1,0\nNone,Total,4,0\n'
    shares = 'Name,"# requests",50%,99%,100%\nGET /a/,3,5,10,11\nPOST /a/,1,6,50,51\nTotal,4,5,40,51\n'
    found = combine("old", [parse("x_requests.csv", requests, shares)])
    assert (found.old(), found.percentiles["99"], found.percentiles["100"]) == (20, 40, 51)


@pytest.mark.parametrize("spelling", ["99.9%", "99.90%", "99.9"])
def test_a_percentile_has_one_name_however_it_is_spelled(spelling: str) -> None:
    found = imported(f"Type,Name,Request Count,Failure Count,{spelling}\nGET,/,1,0,7\n,Aggregated,1,0,8\n")
    assert (found.percentiles, found.old("99.9")) == ({"99.9": 8}, 7)


def test_an_endpoint_named_aggregated_is_no_row_of_all_requests() -> None:
    found = imported(text(HEADINGS["2.x"], ("GET", "Aggregated", 2, 0, 10)))
    assert found.requests == 2
    assert found.old() == 10
    assert found.percentiles == {}, "Locust's own row is missing, and percentiles of endpoints cannot be merged"


def test_of_several_files_counts_add_up_and_percentiles_are_only_bounded() -> None:
    first = text(HEADINGS["2.x"], ("GET", "/", 30, 1, 10), ("", "Aggregated", 30, 1, 10))
    second = text(HEADINGS["2.x"], ("GET", "/", 10, 0, 50), ("", "Aggregated", 10, 0, 50))
    found = document(imported(first, second))
    assert (found["requests"], found["failures"], found["oldDefinition"]["all"]) == (40, 1, 20)
    assert found["percentiles"] == {"100": 50}
    assert found["percentileBounds"]["99"] == {"low": 10, "high": 50}
    assert [file["percentiles"]["99"] for file in found["files"]] == [10, 50]
    assert "| 99th       |        10 to 50 |" in markdown(imported(first, second))


@given(
    st.lists(
        st.lists(
            st.sampled_from(["", "GET", "Name", "Type", "# requests", "# failures", "99%", "1", "1e9", "N/A", "nan"])
        )
    ),
    st.none() | st.text("Name,99%\n1", max_size=30),
)
def test_any_cells_are_read_or_refused_in_a_sentence(rows: list[list[str]], distribution: str | None) -> None:
    written = "Type,Name,# requests,# failures,99%\n" + "\n".join(",".join(cells) for cells in rows)
    with suppress(BadCsv):  # any other error would end the command with a traceback
        document(combine("x", [parse("x_stats.csv", written, distribution)]))


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 60_000)), min_size=1, max_size=20))
def test_the_old_definition_is_the_request_weighted_mean_and_exact(rows: list[tuple[int, int]]) -> None:
    written = [("GET", f"/{number}/", requests, 0, millis) for number, (requests, millis) in enumerate(rows)]
    expected = Fraction(sum(requests * millis for requests, millis in rows), sum(requests for requests, _ in rows))
    assert imported(text(HEADINGS["2.x"], *written)).old() == expected


def test_what_is_not_applicable_is_absent_and_not_zero() -> None:
    found = imported(
        "Type,Name,Request Count,Failure Count,50%,99%\n"
        "GET,/a/,5,0,N/A,9\nPOST,/b/,0,0,N/A,N/A\n,Aggregated,5,0,N/A,9\n"
    )
    assert found.percentiles == {"99": 9}
    assert found.old("50") is None
    assert found.old("99") == 9, "an endpoint without requests weighs nothing"
    shown = document(found)
    assert "posts" not in shown["oldDefinition"]
    assert shown["oldDefinition"]["percentiles"] == {"99": 9}


def test_failed_requests_among_the_times_are_told() -> None:
    told = hidden(imported(text(HEADINGS["2.x"], ("GET", "/", 50, 2, 10), ("", "Aggregated", 50, 2, 10))))
    assert any("2 failed requests are among the response times" in line for line in told)
    assert any("1 endpoints have fewer than 100 requests" in line for line in told)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "has no column for failures, method, name, requests"),
        ("Type,Name,Request Count,Failure Count\nGET,/\n", "line 2 has 2 cells under 4 headings: is the file cut off?"),
        ("Type,Name,Request Count,Failure Count\nGET,/,many,0\n", "line 2: 'many' is not a number"),
        ("Type,Name,Request Count,Failure Count\nGET,/,1.5,0\n", "line 2: '1.5' is not a count of requests"),
        ("Type,Name,Request Count,Failure Count\nGET,/,-1,0\n", "line 2: '-1' is not a count of requests"),
        ("Type,Name,Request Count,Failure Count\nGET,/,NaN,0\n", "line 2: 'NaN' is not a number"),
        ("Type,Name,Request Count,Failure Count\nGET,/,1e999999999,0\n", "line 2: '1e999999999' is not a number"),
        ("Type,Name,Request Count,Failure Count,99%\nGET,/,1,0,1e-99\n", "line 2: '1e-99' is not a number"),
        ('Type,"' + "x" * 200_000, "is not CSV: field larger than field limit"),
        (text(HEADINGS["2.x"], ("", "Aggregated", 1, 0, 1), ("", "Aggregated", 1, 0, 1)), "2 rows of all requests"),
    ],
)
def test_what_is_not_a_statistics_file_is_refused_with_place_and_remedy(content: str, problem: str) -> None:
    with pytest.raises(BadCsv, match="x_stats") as error:
        parse("x_stats.csv", content)
    assert problem in str(error.value)
