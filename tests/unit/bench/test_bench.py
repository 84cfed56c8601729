from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.bench import master, replay
from tests.bench.__main__ import fill
from tests.bench.cases import CASES
from tests.bench.injector import label
from tests.bench.master import Taken
from tests.bench.programs import BenchError
from tests.bench.replay import Replayed
from tests.bench.site import PAGE_BYTES, page
from tests.bench.think import Thinking, most_carried, table
from tests.bench.throughput import Rates, document, missed
from tests.bench.throughput import table as rates_table
from tests.bench.tools import Counted, check

ANSWERS = Counter({(200, "GET", "-"): 60, (302, "POST", "-"): 40})


def counted(total: int, failures: int = 0) -> Counted:
    return Counted(total, 1e6, failures, total)


def test_a_count_that_is_the_servers_is_believed():
    check(counted(100), ANSWERS, unfinished=0)
    check(counted(97), ANSWERS, unfinished=3)


@pytest.mark.parametrize(
    ("total", "failures", "answers", "unfinished"),
    [
        (99, 0, ANSWERS, 0),
        (101, 0, ANSWERS, 0),
        (101, 0, ANSWERS, 3),
        (96, 0, ANSWERS, 3),
        (100, 1, ANSWERS, 0),
        (100, 0, Counter({(200, "GET", "-"): 99, (500, "GET", "-"): 1}), 0),
        (100, 0, Counter({(200, "GET", "-"): 99, (403, "POST", "-"): 1}), 3),
    ],
)
def test_a_count_that_is_not_the_servers_is_refused(
    total: int, failures: int, answers: Counter[tuple[int, str, str]], unfinished: int
):
    with pytest.raises(BenchError):
        check(counted(total, failures), answers, unfinished=unfinished)


@pytest.mark.parametrize("size", PAGE_BYTES.values())
def test_pages_have_exactly_their_size(size: int):
    assert len(page(size)) == size
    assert page(size).count(b'name="csrf_token"') == (1 if size >= 10_000 else 0)


@pytest.mark.parametrize("most", [0, 1, 2, 17, 29, 30, 31, 44, 74, 75])
def test_the_most_injectors_are_found_in_few_stages(most: int):
    asked: list[int] = []

    def carried(count: int) -> bool:
        asked.append(count)
        return count <= most

    assert most_carried(carried, 30, 75, 12) == most
    assert asked[0] == 30
    assert len(set(asked)) == len(asked)


def test_a_search_that_is_cut_short_says_only_what_was_seen():
    assert most_carried(lambda count: count <= 50, 30, 75, 2) == 40


def thinking(injectors: int, **changes: object) -> Thinking:
    facts = {
        "rate": injectors * 266.0,
        "cpu_percent": 80.0,
        "delay_micros": 900,
        "p99_micros": 4_000,
        "server_percent": 30.0,
        "problems": (),
    }
    return Thinking(injectors, **(facts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "carried"),
    [
        ({}, True),
        ({"cpu_percent": 90.1}, False),
        ({"delay_micros": 5_000}, False),
        ({"rate": 30 * 266 * 0.94}, False),
        ({"problems": ("WorkerSaturated",)}, False),
    ],
)
def test_injectors_are_carried_where_nothing_of_them_is_lost(changes: dict[str, object], carried: bool):
    assert thinking(30, **changes).carried is carried


def test_the_table_of_thinking_users_names_the_most_that_were_carried():
    text = table([thinking(30), thinking(45, cpu_percent=95.0), thinking(37)])
    assert "carried 37 injectors (7,400 users)" in text


def rates(**medians: float) -> Rates:
    return Rates({tool: [median * 0.5, median, median * 3] for tool, median in medians.items()})


def test_the_document_has_the_median_of_every_tool():
    assert document({"tiny": rates(ours=4, fasthttpuser=1, k6=2, wrk=8)}) == {
        "tiny": {"ours": 4, "fasthttpuser": 1, "k6": 2, "wrk": 8}
    }


def test_the_table_leaves_out_what_was_not_measured():
    whole = {"ours": 16.0, "fasthttpuser": 4.0, "k6": 10.0, "wrk": 32.0}
    text = rates_table({"tiny": rates(**whole), "journey": rates(**whole, ceiling=64.0)}, rounds=3, seconds=8)
    assert "| tiny page | 16 | 4 | 10 | 32 |  | 4.00 (4.0) | 1.60 (1.8) | 0.50 (0.2) |  |" in text
    assert "| journey pair | 16 | 4 | 10 | 32 | 64 | 4.00 (4.0) | 1.60 (1.6) | 0.50 (0.3) | 0.25 |" in text


def test_every_ratio_below_what_is_wanted_is_named():
    found = missed({"journey": rates(ours=16, fasthttpuser=4, k6=10.1, wrk=50)})
    assert found == [f"{CASES['journey'].title}: 1.58 x k6, wanted 1.6"]


def test_tables_go_between_their_markers_and_nothing_else_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.bench.__main__.OUT", tmp_path)
    (tmp_path / "think.md").write_text("| new |\n")
    kept = "before\n<!-- bench:throughput -->\nkept\n<!-- bench:end -->\n"
    text = kept + "<!-- bench:think -->\nold\n<!-- bench:end -->\nend\n"
    doc = tmp_path / "page.md"
    doc.write_text(text)
    fill(doc)
    assert doc.read_text() == text.replace("old\n", "| new |\n")
    fill(doc)
    assert doc.read_text() == text.replace("old\n", "| new |\n")


def test_the_table_of_crews_says_what_a_master_takes_in():
    text = master.table([Taken(30, 7380.0, 30.0, 396_000.0, 6.6, 74.2)], seconds=15)
    assert "| 30 | 7,380 | 30 | 13,200 | 396 | 7 % | 74 MiB |" in text


def test_memory_that_grows_is_seen_and_one_high_sample_is_not_growth():
    flat = Replayed(90, 1, 0, 0, 0, tuple((float(at), 1_000 if at != 50 else 9_000) for at in range(0, 90, 10)))
    growing = Replayed(90, 1, 0, 0, 0, tuple((float(at), 1_000 + 10 * at) for at in range(0, 90, 10)))
    assert flat.growth_percent == 0
    assert growing.growth_percent == pytest.approx((1_700 / 1_100 - 1) * 100)
    assert "| 90 | 1 | 0 | 0 | 0 | 1.0 to 1.0 MiB | 0.0 % |" in replay.table(flat)


def test_a_submission_that_the_target_did_not_see_is_refused():
    last = json.loads(master.JOURNEY.read_text())["requests"][-1]
    window = {"window": label(0)}
    lines = [
        *({"method": "GET", "path": "/session", **window} for _ in range(3)),
        *({"method": last["method"], "path": last["url"], **window} for _ in range(2)),
        *({"method": "GET", "path": "/page", **window} for _ in range(5)),
        {"method": "GET", "path": "/page", "window": label(0, "tail")},
    ]
    replay.compare(Replayed(1, 10, 0, 3, 2, ()), lines)
    for said in (Replayed(1, 11, 0, 3, 2, ()), Replayed(1, 10, 0, 4, 2, ()), Replayed(1, 10, 0, 3, 1, ())):
        with pytest.raises(BenchError, match="the Runner's log"):
            replay.compare(said, lines)
