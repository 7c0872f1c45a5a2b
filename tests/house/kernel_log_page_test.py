"""docs/kernel-log.md lists every kind of message that muster reads in the kernel's log, with the verdict of the source."""
import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("MUSTER_SOURCE", Path(__file__).resolve().parents[2]))


class KernelLogPage(unittest.TestCase):
    def test_every_kind_is_listed_with_its_verdict(self):
        files = [SOURCE / "src/device/kernel_log_rules.cpp", *sorted((SOURCE / "src/device").glob("*/terms/kernel_log.hpp"))]
        self.assertGreater(len(files), 2)
        source = "".join(path.read_text() for path in files)
        kinds = dict(re.findall(r'\{"(\w+)", is_(fault|note), "', source))
        self.assertGreater(len(kinds), 30)
        page = (SOURCE / "docs/kernel-log.md").read_text()
        rows = re.findall(r"^\| `(\w+)` \| .* \| (`fail`|note) \| [^|]+ \| [^|]+ \|$", page, re.M)
        self.assertEqual({kind: {"`fail`": "fault"}.get(verdict, verdict) for kind, verdict in rows}, kinds)


if __name__ == "__main__":
    unittest.main()
