"""Whose the live release is."""

from typing import Any

import pytest

from loadtest.adapters.helm_job.standing import Standing, standing
from tests.unit.helm_job.releases import CHART, USER_VALUES, release, request

_SEVEN = {"webServer": {"threads": "7"}, "password": "hunter22"}
_MARK = "loadtest run 0123456789abcdef variant seven"
_OTHER_CHART = {**CHART, "values": {}}
_NEW = "kind: A # new\n"


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ({}, Standing.ORIGINAL),
        ({"revision": 9, "description": "Rollback to 3"}, Standing.ORIGINAL),
        ({"revision": 9, "description": _MARK}, Standing.ORIGINAL),
        ({"values": _SEVEN, "description": _MARK, "manifest": _NEW}, Standing.OURS),
        ({"values": USER_VALUES, "description": _MARK, "manifest": _NEW}, Standing.OURS),
        ({"values": _SEVEN, "description": _MARK, "manifest": _NEW, "chart": _OTHER_CHART}, Standing.FOREIGN),
        ({"values": _SEVEN, "manifest": _NEW}, Standing.FOREIGN),
        ({"values": _SEVEN, "manifest": _NEW, "description": "loadtest run ffff variant seven"}, Standing.FOREIGN),
        ({"values": {"a": 1}, "description": _MARK, "manifest": _NEW}, Standing.FOREIGN),
        ({"manifest": _NEW}, Standing.FOREIGN),
        ({"status": "pending-upgrade", "values": _SEVEN, "description": "Preparing upgrade"}, Standing.OURS),
        ({"status": "pending-upgrade", "values": {"a": 1}, "description": "Preparing upgrade"}, Standing.FOREIGN),
        ({"status": "pending-upgrade", "values": _SEVEN, "chart": _OTHER_CHART}, Standing.FOREIGN),
        ({"status": "failed", "values": _SEVEN, "description": 'Upgrade "runner" failed: x'}, Standing.OURS),
        ({"status": "failed", "values": {}, "description": 'Upgrade "runner" failed: x'}, Standing.FOREIGN),
        ({"status": "pending-rollback", "description": "Rollback to 3"}, Standing.OURS),
        ({"status": "pending-rollback", "description": "Rollback to 2", "manifest": _NEW}, Standing.FOREIGN),
        ({"status": "pending-install"}, Standing.FOREIGN),
        ({"status": "uninstalled"}, Standing.GONE),
        ({"status": "uninstalling"}, Standing.GONE),
    ],
)
def test_the_live_release_is_recognised(live: dict[str, Any], expected: Standing) -> None:
    assert standing(release(**live), release(), request()) is expected


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ({"status": "failed", "description": 'Rollback "runner" failed: x'}, Standing.OURS),
        ({"status": "failed", "description": 'Upgrade "runner" failed: x'}, Standing.FOREIGN),
        ({"status": "pending-rollback", "description": "Rollback to 30"}, Standing.FOREIGN),
        ({"status": "pending-upgrade", "description": "Preparing upgrade"}, Standing.FOREIGN),
    ],
)
def test_an_unfinished_return_to_the_original_is_ours_only_as_a_rollback_to_it(
    live: dict[str, Any], expected: Standing
) -> None:
    only_seven = request(variants={"seven": {"webServer": {"threads": "7"}}})
    assert standing(release(**live), release(), only_seven) is expected


def test_no_release_at_all_is_gone() -> None:
    assert standing(None, release(), request()) is Standing.GONE
