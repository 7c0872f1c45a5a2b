"""docs/checks.md is what `muster selftest --markdown` prints, and every check that is shipped is in it."""
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["MUSTER_SOURCE"])
MUSTER = Path(os.environ["MUSTER_BUILD"], "bin", "muster")

made = subprocess.run([MUSTER, "selftest", "--markdown"], capture_output=True, text=True)
assert made.returncode == 0, made.stderr
checks = [file.stem for file in (SOURCE / "checks").glob("*/*.toml") if file.parent.name not in ("systems", "selftest")]
missing = [name for name in checks if f"| `{name}` |" not in made.stdout]
if missing or len(checks) < 20:
    sys.exit(f"not on the page: {missing}")
if made.stdout != (SOURCE / "docs" / "checks.md").read_text():
    sys.exit("docs/checks.md is not up to date: muster selftest --markdown > docs/checks.md")
print(f"{len(checks)} checks are on the page")
