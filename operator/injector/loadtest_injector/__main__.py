"""`python -m loadtest_injector master` and `python -m loadtest_injector worker`; see the package for the flow.

Exit codes: 0 it was asked to end (SIGTERM, the master's quit, the load deadline of a worker, results held long enough);
1 it failed, and the log says how; 2 its arguments or environment are wrong; 3 a worker has no master (never found
within 5 minutes, or silent for 5 s); 4 the scenario cannot be used. An exit code says nothing of a stage: its record
does.
"""

from __future__ import annotations

import os
import sys

EXIT_FAILED = 1
EXIT_CONFIGURATION = 2


def main(arguments: list[str]) -> int:
    """Run the process that the only argument names."""
    if arguments not in (["master"], ["worker"]):
        sys.stderr.write("usage: python -m loadtest_injector master|worker\n")
        return EXIT_CONFIGURATION
    import logging  # noqa: PLC0415

    import locust  # noqa: F401, PLC0415 - it patches sockets and clocks, and must come before everything that uses them

    from loadtest_injector.scenario import ScenarioError  # noqa: PLC0415
    from loadtest_injector.settings import SettingsError, master_settings, worker_settings  # noqa: PLC0415
    from loadtest_injector.termination import tell_scenario  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        if arguments == ["master"]:
            from loadtest_injector.master import run_master  # noqa: PLC0415

            return run_master(master_settings(os.environ))
        from loadtest_injector.worker import run_worker  # noqa: PLC0415

        return run_worker(worker_settings(os.environ))
    except ScenarioError as error:
        return tell_scenario(str(error))
    except SettingsError as error:
        logging.error("%s", error)  # noqa: TRY400, LOG015 - a wrong setting is not a bug: no traceback
        return EXIT_CONFIGURATION
    except Exception:
        logging.exception("failed")  # noqa: LOG015
        return EXIT_FAILED


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: unsent messages to a peer that is gone would keep the process from ending.
    os._exit(code)
