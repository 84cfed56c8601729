"""Changes a Helm release for a run and puts it back; runs as a Job in the namespace of the target.

Three operations, each done any number of times with the effect of once: `snapshot` keeps the release as it was,
`apply` brings one variant live, `restore` brings the original back. Each writes its outcome under its own key into the
run's state ConfigMap, which is all that the operator reads of it: the operator itself has no right to Secrets.

The Job runs under a service account that the target's owner granted (chart `loadtest-target`). By itself it touches
only Secrets (the stored release, the snapshot) and that one ConfigMap; everything else goes through `helm`.

Nothing here imports the `kubernetes` client: importing that takes about a second and 60 MB, for a Job that makes a
handful of JSON calls (see `access` and `kube`).
"""

from loadtest.adapters.helm_job.entry import run

__all__ = ["run"]
