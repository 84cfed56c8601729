# ruff: noqa: INP001 - a script, not a package
"""Compiles the hashed lock files under requirements/ from the dependencies that pyproject.toml names.

One file for each image, holding only what that image runs, and one for the development environment, holding all. They
name no index: whoever installs them uses their own.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "dev": ("", "injector", "local", "runner", "dev"),
    "operator": ("",),
    "injector": ("injector",),
    "runner": ("runner",),
    "audit": ("audit",),
}
"""Lock file to the extras that it holds; the empty name is the package's own dependencies.

The first is made first and binds the others, so that images run the versions that were tested.
"""


def main() -> int:
    """Writes every lock file; versions that are already locked are kept unless `--upgrade` is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        sys.stderr.write("`uv` is not installed: pip install uv\n")
        return 1
    (ROOT / "requirements").mkdir(exist_ok=True)
    for name, extras in SETS.items():
        wanted = "\n".join(line for extra in extras for line in groups[extra]) + "\n"
        output = f"requirements/{name}.txt"
        options = ["--generate-hashes", "--universal", "--python-version", "3.11", "--no-header", "--quiet"]
        options += [] if name == "dev" else ["--constraint", "requirements/dev.txt", "--no-annotate"]
        options += ["--no-emit-index-url", "--no-emit-find-links", "--output-file", output, *sys.argv[1:]]
        command = [uv, "pip", "compile", *options, "-"]
        done = subprocess.run(command, input=wanted, text=True, cwd=ROOT, check=False)  # noqa: S603 - our own words
        if done.returncode:
            return done.returncode
        sys.stdout.write(f"{output}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
