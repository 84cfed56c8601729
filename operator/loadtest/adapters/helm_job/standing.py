"""Whose the live release is: the original, this run's, or somebody else's. Pure.

A restore must never undo what somebody deployed meanwhile, and must recognise whatever a killed helm of ours left.
"""

from __future__ import annotations

from enum import Enum, auto

from loadtest.adapters.helm_job import chart as charts
from loadtest.adapters.helm_job import release as releases
from loadtest.adapters.helm_job import values as chart_values
from loadtest.adapters.helm_job.release import Release
from loadtest.adapters.helm_job.request import Request


class Standing(Enum):
    """What may be done with the live release."""

    ORIGINAL = auto()
    """Deployed, with the values and the manifest of the snapshot, whatever its revision."""
    OURS = auto()
    """A variant of this run, or an upgrade or rollback of this run that did not finish."""
    FOREIGN = auto()
    """Anything else: not to be touched."""
    GONE = auto()
    """Uninstalled."""


def wanted_values(original: Release, request: Request, variant: str) -> chart_values.Values:
    """The values of a variant: the release's own, with the variant's on top."""
    return chart_values.merge(original.user_values, request.variants[variant])


def standing(live: Release | None, original: Release, request: Request) -> Standing:
    """Judges the live release.

    A finished upgrade of ours has the original's chart, the values of a variant and our description. While it runs, and
    when it failed, helm has not written the description yet: then chart and values have to do. An unfinished
    rollback of ours has the original's content and helm's description of a rollback to the snapshot's revision.
    """
    if live is None or live.status in {releases.UNINSTALLED, releases.UNINSTALLING}:
        return Standing.GONE
    if live.status == releases.DEPLOYED:
        if live.same_content(original):
            return Standing.ORIGINAL
        marked = live.description in {request.description(variant) for variant in request.variants}
        return Standing.OURS if marked and _has_variant(live, original, request) else Standing.FOREIGN
    if live.status in {releases.PENDING_UPGRADE, releases.FAILED} and _has_variant(live, original, request):
        return Standing.OURS
    if live.status in {releases.PENDING_ROLLBACK, releases.FAILED} and live.same_content(original):
        begun = live.description == f"Rollback to {original.revision}"
        failed = live.description.startswith(f'Rollback "{original.name}" failed')
        return Standing.OURS if begun or failed else Standing.FOREIGN
    return Standing.FOREIGN


def _has_variant(live: Release, original: Release, request: Request) -> bool:
    ours = {chart_values.sha256(wanted_values(original, request, variant)) for variant in request.variants}
    return live.values_sha256 in ours and charts.same(live.chart, original.chart)
