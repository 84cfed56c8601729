# ruff: noqa: INP001 - a script, not a package
"""Puts the two source roots on the path of a virtual environment, and its commands into it.

Not `pip install -e`: that would fetch a build back end, which no lock file pins.
"""

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = "0.1.0"


def main(venv: Path) -> None:
    """Write a .pth file, the distribution's metadata, and the console script."""
    python = (venv / "bin" / "python").absolute()
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(venv.absolute())}))
    (site / "loadtest-operator.pth").write_text(f"{ROOT / 'operator'}\n{ROOT / 'operator' / 'injector'}\n")
    info = site / f"loadtest_operator-{VERSION}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: loadtest-operator\nVersion: {VERSION}\n")
    (info / "INSTALLER").write_text("build/develop.py\n")
    for name in ("loadtest", "kubectl-loadtest"):
        script = venv / "bin" / name
        script.write_text(f"#!{python}\nimport sys\n\nfrom loadtest.cli.main import main\n\nsys.exit(main())\n")
        script.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
