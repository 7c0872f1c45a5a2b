"""The sandbox of the shipped unit: systemd's own score of it, which docs/security.md states."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("MUSTER_SOURCE", Path(__file__).resolve().parents[2]))
UNIT = SOURCE / "packaging/examples/systemd/muster-night.service"


def score():
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", UNIT], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    found = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    return float(found[1]) if found else None


class Sandbox(unittest.TestCase):
    def test_the_page_states_the_score(self):
        if shutil.which("systemd-analyze") is None or (found := score()) is None:
            self.skipTest("there is no systemd-analyze with --offline (systemd 250)")
        stated = re.search(r"systemd-analyze security --offline=yes[^.]*?\*\*([0-9.]+)\*\*",
                           (SOURCE / "docs/security.md").read_text(), re.S)
        self.assertIsNotNone(stated)
        # Other versions weigh a setting differently.
        self.assertAlmostEqual(found, float(stated[1]), delta=0.3)

    def test_state_and_reports_are_for_their_owner_alone(self):
        """Others could hold the lock file, and read reports."""
        settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.M))
        self.assertEqual([settings.get(name) for name in ("StateDirectory", "StateDirectoryMode", "LogsDirectoryMode", "UMask")],
                         ["muster", "0700", "0700", "0077"])

    def test_each_capability_of_the_unit_is_explained(self):
        granted = re.search(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.M)[1].split()
        page = (SOURCE / "docs/security.md").read_text()
        for name in granted:
            self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    unittest.main()
