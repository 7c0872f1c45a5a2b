"""One `muster gate`, as Run is one `muster run`. Shared, not a test."""
import json

import support
from support import Run


class GateRun(Run):
    """`checks`: text of a check file; empty: the shipped ones. `command`: what is to be started; empty: nothing."""

    def __init__(self, checks, *options, need=1, command=(), **more):
        super().__init__(checks, **more)
        driver = self.argv.index(str(support.DRIVER))
        own = ["--checks", str(self.checks)] if checks else []
        self.argv = [*self.argv[:driver + 1], "gate", "--need", str(need), "--agent", str(support.AGENT), "--output",
                     str(self.output), *own, *map(str, options), *(["--", *map(str, command)] if command else [])]

    def reports(self):
        """Of all rounds, the first one first."""
        found = sorted(path for path in self.output.glob("*") if not path.is_symlink())
        return [json.loads((path / "report.json").read_text()) for path in found]
