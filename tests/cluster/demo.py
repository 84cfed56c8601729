"""`make cluster-demo`: from nothing to a result, on a real one-node Kubernetes, saying all the time what it does."""

import subprocess
import sys
import time

from tests.cluster.log import ClusterError, doing, say
from tests.cluster.paths import KUBECONFIG
from tests.cluster.stand import SAMPLES, SYSTEM, TARGET, TESTS, Stand

NAME = "gunicorn-threads"


def main() -> int:
    """Run the demonstration; an error is one message and exit code 1."""
    begun = time.monotonic()
    try:
        return demonstrate(begun)
    except ClusterError as error:
        say(f"failed: {error}")
        return 1


def demonstrate(begun: float) -> int:
    """Cluster, images, charts, the sample LoadTest, its result, and the proof that nothing is left."""
    for command in ("up", "images"):
        subprocess.run([sys.executable, "-m", "tests.cluster", command], check=True, stdout=sys.stderr)
    stand = Stand(KUBECONFIG)
    with doing("installing the operator (charts/loadtest-operator)"):
        stand.operator()
    with doing("installing the target: Redis, Datastore emulator, the sample Runner (charts/runner)"):
        stand.target()
    stand.kubectl("delete", "loadtest", NAME, "-n", TESTS, "--ignore-not-found")
    before = stand.release("runner")
    say("kubectl apply -f manifests/samples/gunicorn-threads.yaml")
    stand.kubectl("apply", "-f", str(SAMPLES / "gunicorn-threads.yaml"))
    code = follow(stand)
    after = stand.release("runner")
    sys.stdout.write(stand.kubectl("get", "loadtests", "-n", TESTS))
    run = str((stand.loadtest(NAME).get("status") or {}).get("runId"))
    left = stand.leftovers(run)
    say(f"the release's values and manifest: {'byte for byte as before' if before == after else 'CHANGED'}")
    say(f"left of the run but its results: {', '.join(left) or 'nothing'}")
    say(f"{time.monotonic() - begun:.0f} s in all. To look further:")
    sys.stdout.write(
        f"  export KUBECONFIG={KUBECONFIG}\n"
        f"  kubectl describe loadtest {NAME} -n {TESTS}          # conditions and events\n"
        f"  kubectl get loadtest {NAME} -n {TESTS} -o yaml       # every figure\n"
        f"  .venv/bin/loadtest report {NAME} -n {TESTS} --verify  # recomputed from the stored records\n"
        f"  kubectl get configmaps -n {TESTS}                              # the records\n"
        f"  kubectl logs deployment/loadtest-operator -n {SYSTEM}      # what the operator did\n"
        f"  helm history runner -n {TARGET}                               # each variant was a revision\n"
        "  make cluster-down                                           # ends the cluster\n"
    )
    return code if code or (before == after and not left) else 1


def follow(stand: Stand) -> int:
    """The live view, then the tables; the exit code of the run."""
    loadtest = [sys.executable, "-m", "loadtest"]
    code = subprocess.run([*loadtest, "watch", NAME, "-n", TESTS], env=stand.environment, check=False).returncode
    say("the result:")
    subprocess.run([*loadtest, "report", NAME, "-n", TESTS, "--brief", "--verify"], env=stand.environment, check=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
