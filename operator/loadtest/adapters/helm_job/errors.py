"""What can go wrong in a helm Job, each with the reason that the operator shows as a condition."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why an operation failed: CamelCase words of the API."""

    RELEASE_NOT_FOUND = "ReleaseNotFound"
    """No release of this name is stored in the namespace."""
    RELEASE_NOT_DEPLOYED = "ReleaseNotDeployed"
    """The release is pending, failed or uninstalled: there is no original state to come back to."""
    RELEASE_MANAGED_BY_GITOPS = "ReleaseManagedByGitOps"
    """Flux or Argo CD owns the release and would undo, or be undone by, every variant."""
    CHART_NOT_REBUILDABLE = "ChartNotRebuildable"
    """The chart cannot be made from the stored release, or the named chart is not the release's."""
    HELM_FAILED = "HelmFailed"
    """Helm ended with an error, or did not end in time."""
    RESTORE_CONFLICT = "RestoreConflict"
    """The live release is neither the original nor one of this run's variants: somebody else deployed."""
    RESTORE_VERIFICATION_FAILED = "RestoreVerificationFailed"
    """Helm said that it restored, but values or manifest are not those of the original."""
    SNAPSHOT_MISSING = "SnapshotMissing"
    """The run's snapshot is not there, so the original is not known."""
    LEASE_LOST = "LeaseLost"
    """The Lease of the release is not the run's any more: nothing is touched."""
    FORBIDDEN = "Forbidden"
    """The Job's service account lacks a right; chart `loadtest-target` grants them."""
    API_FAILED = "ApiFailed"
    """The API server could not be reached for long, or refused a request for another cause."""
    INTERNAL = "InternalError"
    """A defect of this program."""


GONE = "ReleaseGone"
"""Reason of a restore that is done because there is nothing left to restore; no error."""


class JobError(Exception):
    """An operation that failed for a reason that a person can act on; the message holds no values."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
