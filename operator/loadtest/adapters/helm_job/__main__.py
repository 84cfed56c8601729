"""`python -m loadtest.adapters.helm_job`, the same as `loadtest helm-job`."""

import sys

from loadtest.adapters.helm_job.entry import run

sys.exit(run(sys.argv[1:]))
