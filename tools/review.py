"""What a reviewer of the package looks at first; stops with 1 if anything is found.

Scientific Python's checks of a repository, zizmor on the workflows (offline) and codespell.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CHECKS = (
    ("repo-review", ".", "--show", "errskip", "--format", "rich"),
    ("zizmor", "--offline", "--quiet", "--no-progress", ".github"),
    ("codespell", "."),
)


def main() -> int:
    failed = []
    for name, *words in CHECKS:
        print(f"{name}:", flush=True)
        failed += [name] * bool(subprocess.run([BIN / name, *words], cwd=ROOT).returncode)
    print("failed: " + ", ".join(failed) if failed else "nothing found")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
