"""The three operations on a release. Each compares what is live with what is wanted and acts only on a difference."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from loadtest.adapters.helm_job import chart as charts
from loadtest.adapters.helm_job import gitops, helm
from loadtest.adapters.helm_job import release as releases
from loadtest.adapters.helm_job import values as chart_values
from loadtest.adapters.helm_job.errors import GONE, JobError, Reason
from loadtest.adapters.helm_job.helm import Helm
from loadtest.adapters.helm_job.release import Release
from loadtest.adapters.helm_job.request import Request
from loadtest.adapters.helm_job.standing import Standing, standing, wanted_values
from loadtest.adapters.helm_job.store import Store

_ANY_RUN = re.compile(r"loadtest run (\S+) variant (.+)")
_TERMINATING = "because it is being terminated"
"""In the API server's refusal to create anything in a namespace that is being deleted."""


@dataclass(frozen=True)
class Result:
    """What an operation did.

    Attributes:
        changed: whether helm changed the release.
        live: the release afterwards, None if there is none.
        unsupported: settings whose path the chart does not know (of a snapshot).
        reason: a CamelCase word where there is something to note.
    """

    changed: bool
    message: str
    live: Release | None
    reason: str = ""
    unsupported: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


class Operations:
    """The operations of one request.

    Args:
        store: what the API server holds.
        make_helm: makes a helm that hides the given scalars in its messages.
        scratch: a writable folder for the chart and the values.
        holder: who must hold the Lease of the release for it to be changed; nobody may, too.
    """

    def __init__(
        self, request: Request, store: Store, make_helm: Callable[[tuple[str, ...]], Helm], scratch: Path, holder: str
    ) -> None:
        self._request = request
        self._store = store
        self._make_helm = make_helm
        self._scratch = scratch
        self._holder = holder
        self._target = helm.Target(request.release, request.namespace, request.timeout_seconds)

    def snapshot(self) -> Result:
        """Keeps the release as it is, unless this run has done so before; checks that every variant would render.

        Raises:
            JobError: the release is not one that could be changed and put back.
        """
        kept = self._store.snapshot()
        if kept is None:
            live = self._changeable(self._store.latest())
            if not self._unsupported(live):
                self._rehearse(live)
            kept = self._store.keep(live)
        original = kept.original
        message = f"kept revision {original.revision} of release {original.name}"
        return Result(changed=False, message=message, live=original, unsupported=self._unsupported(original))

    def apply(self, variant: str) -> Result:
        """Brings a variant live.

        Raises:
            JobError: somebody else deployed, helm failed, or there is no snapshot to come back to.
        """
        self._fence()
        original = self._original()
        wanted = wanted_values(original, self._request, variant)
        live = self._store.latest()
        standing_now = standing(live, original, self._request)
        if standing_now is Standing.GONE or live is None:
            raise JobError(Reason.RELEASE_NOT_FOUND, f"release {self._request.release} is gone")
        self._refuse_foreign(standing_now, live)
        if live.status == releases.DEPLOYED and live.values_sha256 == chart_values.sha256(wanted):
            return Result(changed=False, message=f"variant {variant} is live already", live=live)
        if live.status != releases.DEPLOYED:
            # Back to the original first: an upgrade refuses a pending release, and over a failed one it would leave
            # behind what the failed one had created.
            self._rollback(original)
        self._helm(original).run(
            self._target.upgrade(self._chart(original), self._write(wanted), self._request.description(variant)),
            self._request.timeout_seconds,
        )
        live = self._store.latest()
        if live is None or live.status != releases.DEPLOYED or live.values_sha256 != chart_values.sha256(wanted):
            raise JobError(Reason.HELM_FAILED, f"after helm upgrade the values of variant {variant} are not live")
        return Result(changed=True, message=f"variant {variant} is live as revision {live.revision}", live=live)

    def restore(self) -> Result:
        """Brings the original back, by rollback to its revision, which is put back if helm has pruned it.

        A rollback replays what was rendered then. An upgrade would render anew, and a chart with random or
        revision-dependent templates, or with subcharts, would not come back as it was.

        Raises:
            JobError: somebody else deployed, helm failed, or what came back is not the original.
        """
        self._fence()
        live = self._store.latest()
        if live is None:
            return self._gone("is gone")
        original = self._original()
        standing_now = standing(live, original, self._request)
        if standing_now is Standing.GONE:
            return self._gone("was uninstalled", live)
        self._refuse_foreign(standing_now, live)
        if standing_now is Standing.ORIGINAL:
            return Result(changed=False, message=f"the original is live as revision {live.revision}", live=live)
        try:
            self._rollback(original)
        except JobError as error:
            if _TERMINATING in error.message:
                return self._gone("cannot come back: its namespace is being deleted", live)
            raise
        live = self._store.latest()
        if standing(live, original, self._request) is not Standing.ORIGINAL or live is None:
            raise JobError(
                Reason.RESTORE_VERIFICATION_FAILED,
                f"after helm rollback to revision {original.revision} values or manifest are not those of the original;"
                f" compare with Secret {self._request.snapshot}",
            )
        return Result(changed=True, message=f"the original is live again as revision {live.revision}", live=live)

    def _fence(self) -> None:
        """A Job that was ordered before the Lease was lost, and starts after it, must not touch the release."""
        found = self._store.lease_holder()
        if found not in {"", self._holder}:
            raise JobError(Reason.LEASE_LOST, f"{found} holds the Lease {self._request.lease}: nothing was touched")

    def _original(self) -> Release:
        kept = self._store.snapshot()
        if kept is None:
            raise JobError(Reason.SNAPSHOT_MISSING, f"there is no snapshot {self._request.snapshot} of this run")
        return kept.original

    def _gone(self, how: str, live: Release | None = None) -> Result:
        message = f"release {self._request.release} {how}: there is nothing to put back"
        return Result(changed=False, message=message, live=live, reason=GONE)

    def _changeable(self, live: Release | None) -> Release:
        """The release, if it may be changed and can be put back."""
        name, namespace = self._request.release, self._request.namespace
        if live is None:
            raise JobError(
                Reason.RELEASE_NOT_FOUND,
                f"no release {name} in namespace {namespace}, or not stored in Secrets: see `helm list -n {namespace}`",
            )
        if live.status != releases.DEPLOYED:
            raise JobError(
                Reason.RELEASE_NOT_DEPLOYED,
                f"release {name} is {live.status} at revision {live.revision}: bring it to `deployed` first, "
                f"with `helm rollback {name} -n {namespace}` or an upgrade that succeeds",
            )
        left = _ANY_RUN.fullmatch(live.description)
        if left:
            raise JobError(
                Reason.RESTORE_CONFLICT,
                f"release {name} still is variant {left[2]} of run {left[1]}, which was not put back: "
                f"see `helm history {name} -n {namespace}` and roll back to what was before it",
            )
        owner = gitops.owner(live.labels, live.manifest, self._store.live_object, namespace)
        if owner:
            raise JobError(
                Reason.RELEASE_MANAGED_BY_GITOPS,
                f"release {name} is managed by {owner}, which would undo every variant: load a release that it does "
                "not manage, or leave out target.release to load this one as it is",
            )
        if self._request.chart is None and charts.has_subcharts(live.chart, live.manifest):
            raise JobError(
                Reason.CHART_NOT_REBUILDABLE,
                f"chart {charts.title(live.chart)} has subcharts, which Helm does not store with a release: "
                "name the chart in target.release.chart",
            )
        return live

    def _refuse_foreign(self, found: Standing, live: Release) -> None:
        if found is Standing.FOREIGN:
            raise JobError(
                Reason.RESTORE_CONFLICT,
                f"release {live.name} is at revision {live.revision} ({live.status}), which is neither the original "
                f"nor of this run: somebody else deployed; it is left as it is (`helm history {live.name} "
                f"-n {self._request.namespace}`)",
            )

    def _unsupported(self, original: Release) -> tuple[Mapping[str, Any], ...]:
        known = (original.user_values, original.chart.get("values") or {})
        return tuple(
            {"setting": each.setting, "path": each.path}
            for each in self._request.settings
            if not any(chart_values.has_path(values, each.path) for values in known)
        )

    def _rehearse(self, original: Release) -> None:
        """Renders every variant without writing, so that one that cannot work is refused before anything changed.

        A named chart is first rendered with the release's own values: what comes out must be the release's chart in
        every part, or variants would be measured with another one.
        """
        chart, named = self._chart(original), self._request.chart
        if named and charts.digest(self._render(original, chart, original.user_values)) != original.chart_sha256:
            self._refuse_other_chart(original, f"chart {named.name} {named.version} of {named.repo}")
        for variant in self._request.variants:
            try:
                rendered = self._render(original, chart, wanted_values(original, self._request, variant))
            except JobError as error:
                raise JobError(error.reason, f"variant {variant} would fail: {error.message}") from error
            if not charts.same(rendered, original.chart):
                self._refuse_other_chart(original, "the rebuilt chart")

    def _render(self, original: Release, chart: Path, values: chart_values.Values) -> Mapping[str, Any]:
        """The chart as helm would store it after an upgrade to these values."""
        command = self._target.render(chart, self._write(values))
        rendered = self._helm(original).run_json(command, self._request.timeout_seconds)
        stored: Mapping[str, Any] = rendered.get("chart") or {}
        return stored

    def _refuse_other_chart(self, original: Release, which: str) -> NoReturn:
        title = charts.title(original.chart)
        raise JobError(
            Reason.CHART_NOT_REBUILDABLE, f"{which} is not what release {original.name} was made from ({title})"
        )

    def _chart(self, original: Release) -> Path:
        if self._request.chart is None:
            return charts.write_archive(original.chart, self._scratch)
        folder = self._scratch / "pulled"
        folder.mkdir(exist_ok=True)
        self._helm(original).run(helm.pull(self._request.chart, folder), self._request.timeout_seconds)
        return next(folder.glob("*.tgz"))

    def _write(self, values: chart_values.Values) -> Path:
        path = self._scratch / "values.json"
        path.touch(mode=0o600)
        path.write_text(chart_values.to_helm(values))
        return path

    def _rollback(self, original: Release) -> None:
        stored = self._store.stored(original.revision)
        if stored is None:
            self._store.put_back(original)
        elif not stored.same_content(original):
            raise JobError(
                Reason.RESTORE_CONFLICT,
                f"revision {original.revision} of release {original.name} is not the one that was kept: "
                "somebody installed the release anew",
            )
        self._helm(original).run(self._target.rollback(original.revision), self._request.timeout_seconds)

    def _helm(self, original: Release) -> Helm:
        overlays = list(self._request.variants.values())
        return self._make_helm(tuple(chart_values.scalars([original.user_values, overlays])))
