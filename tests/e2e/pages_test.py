"""The commands of README and docs that need one machine, typed as they stand there, in the order of each page, in a folder that looks
like a checkout. tests/cluster/page_tests.py lists which test runs which command."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]
import page_commands  # noqa: E402
import page_tests  # noqa: E402
import support  # noqa: E402

SOURCE = page_commands.SOURCE
# Shipped checks that are no default ones here, by MUSTER_CHECKS: they time something, which tests beside this one disturb.
TIMED = ("memory_bandwidth", "p2p", "allreduce", "training")
# What a page has of the reader's, and what it is here (page_tests.SUBSTITUTED).
SUBSTITUTIONS = {"nid003": support.HOST}
# Checks that `muster selftest` and `my_checks/` are here (page_tests.ADDED).
SHOWN = ("hello", "gpu_memory")
# Page, command -> exit status, where it is not 0: what the page itself says, or a check that finds something.
STATUS = {
    ("README", "muster doctor"): {0, 2},
    ("README", "muster compare"): {0, 1},  # as on the page of history
    ("check-files", "muster lint"): {1, 3},
    ("history", "muster history --metric bandwidth"): {3},  # of two nodes
    ("history", "muster compare"): {0, 1},  # two runs beside other tests may differ
    ("machines", "MUSTER_MACHINE=lumi"): {1},
    ("help", "muster doctor"): {0, 2},
    ("help doctor", "muster doctor"): {0, 2},
    ("help compare", "muster compare"): {0, 1},
    ("help machine", "MUSTER_MACHINE=here"): {1},
    ("help history", "muster history --metric bandwidth"): {3},
    ("tutorial-first-check", "muster run"): {1},
}


class Reader:
    """A shell in a checkout, as someone has it who reads a page."""

    def __init__(self):
        self.runs = {}
        self.over_var_lib = False
        self.folder = support.new_folder()
        self.checkout = self.folder / "checkout"
        self.checkout.mkdir()
        for name in ("checks", "packaging", "reports", "simulation", "tests"):
            (self.checkout / name).symlink_to(SOURCE / name)
        (self.checkout / "build").mkdir()
        (self.checkout / "build/release").symlink_to(support.BUILD)
        shutil.copytree(SOURCE / "checks", self.folder / "quick")
        for check in TIMED:
            path = next((self.folder / "quick").rglob(f"{check}.toml"))
            path.write_text(path.read_text().replace(', "default"', ""))
        self.write_my_checks()
        kept = ("LANG", "TMPDIR", "OMPI_MCA_mpi_yield_when_idle", "ASAN_OPTIONS", "LSAN_OPTIONS", "MUSTER_AGENT")
        self.env = {**{name: os.environ[name] for name in kept if name in os.environ}, "HOME": str(self.folder), "NO_COLOR": "1",
                    "PATH": f"{support.BIN}:/usr/sbin:/usr/bin:/sbin:/bin", "MUSTER_CHECKS": str(self.folder / "quick")}

    def run_of_stream(self):
        """The check of docs/programs.md. Its run is in the history, and not among those of the checkout."""
        shutil.copy(SOURCE / "packaging/examples/programs/stream.toml", self.folder)
        (self.folder / "stream").write_text(f"#!/bin/sh\ncat {SOURCE}/tests/e2e/outputs/stream.txt\n")
        (self.folder / "stream").chmod(0o755)
        return f"PATH=$PATH:{self.folder} muster run {self.folder}/stream.toml --output {self.folder}/runs-of-stream"

    def write_my_checks(self):
        """Some shipped checks with their examples, as a reader may have own ones."""
        folder = self.checkout / "my_checks"
        (folder / "selftest").mkdir(parents=True)
        for check in SHOWN:
            shutil.copy(next((SOURCE / "checks").rglob(f"{check}.toml")), folder)
        tables = re.findall(r"^\[\[(?:good|bad)\]\]\n(?:[^\[\n#].*\n|\].*\n|\s+.*\n)*", (SOURCE / "checks/selftest/examples.toml").read_text(), re.M)
        with open(folder / "selftest/examples.toml", "w") as out:
            for table in tables:
                (values,) = (one for kind in tomllib.loads(table).values() for one in kind)
                shown = [check for check in SHOWN if check in values["checks"]]
                settings = [one for one in values.get("settings", []) if one.split(".")[0] in SHOWN]
                if not shown:
                    continue
                text = re.sub(r"(?s)^checks *= \[.*?\]", f"checks = {json.dumps(shown)}", table, flags=re.M)
                out.write(re.sub(r"(?s)^settings *= \[.*?\]", f"settings = {json.dumps(settings)}", text, flags=re.M))
        shutil.copytree(folder, self.folder / "shown")
        (self.folder / "shown/systems").mkdir()
        for system in ("generic", "perlmutter"):
            shutil.copy(SOURCE / f"checks/systems/{system}.toml", self.folder / "shown/systems")

    def types(self, command):
        # A described machine has the nodes that its line names.
        if not command.startswith("muster machine"):
            command = page_tests.substitute(command, SUBSTITUTIONS)
        for pattern, mine in self.runs.items():
            command = re.sub(pattern, mine, command)
        if command.startswith("muster selftest"):
            command = f"MUSTER_CHECKS={self.folder}/shown {command}"
        # What a command exports is there for the next.
        wrapped = f"{command}\nstatus=$?\nexport -p >{self.folder}/exported\nexit $status\n"
        before = self.folder / "exported"
        start = f". {before}\n" if before.exists() else ""
        shell = ["bash", "-c", start + wrapped]
        if self.over_var_lib:
            shell = ["unshare", "--mount", "--propagation", "private", "bash", "-c", f'mount --bind {self.folder} /var/lib && exec "$@"', "bash", *shell]
        return subprocess.run(shell, cwd=self.checkout, env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120 * support.SLOWNESS)


def status_of(page, command):
    return next((status for (where, begin), status in STATUS.items() if where == page and command.startswith(begin)), {0})


def pattern_of(printed):
    """What a page prints, where ... stands for anything, folders of the reader's are other ones, and so are times, numbers of checks and
    the widths of columns."""
    others = {r"\n\.\.\.\n": r"\n(?:.*\n)?", r"\.\.\.": ".*", r"/home/me\S*": r"\S+", r"\d+ of \d+ checks": r"\d+ of \d+ checks?", r"in \d+ s\b": r"in \d+ s", r" {2,}": " +"}

    def pattern(word):
        return next((mine for theirs, mine in others.items() if re.fullmatch(theirs, word)), None) or re.escape(word)
    return "".join(pattern(word) for word in re.split(f"({'|'.join(others)})", printed.strip()))


def write_topology(path):
    """As `lstopo node.xml` does, of a node with 64 cores."""
    hwloc, topology = ctypes.CDLL("libhwloc.so.15"), ctypes.c_void_p()
    hwloc.hwloc_topology_init(ctypes.byref(topology))
    hwloc.hwloc_topology_set_synthetic(topology, b"pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)")
    hwloc.hwloc_topology_load(topology)
    hwloc.hwloc_topology_export_xml(topology, os.fsencode(path), 0)
    hwloc.hwloc_topology_destroy(topology)


class Pages(support.EndToEnd):
    def setUp(self):
        self.reader = Reader()
        self.addCleanup(shutil.rmtree, self.reader.folder, True)

    def read(self, page):
        """Types what is listed for this test; returns what each command printed."""
        printed = {}
        for fence in page_commands.fences_of(page):
            for command, below in fence.steps():
                if page_tests.test_of(fence, command) != page_tests.ONE_MACHINE:
                    continue
                typed = page_commands.without_comment(command)
                done = self.reader.types(command)
                self.assertIn(done.returncode, status_of(page, typed), f"{page}.md:{fence.line}: {typed}\n{done.stdout}{done.stderr}")
                if below.strip():
                    self.assertRegex(done.stdout + done.stderr, "(?s)" + pattern_of(below), f"{page}.md:{fence.line}: {typed}")
                printed[typed] = done.stdout + done.stderr
        self.assertTrue(printed, page)
        return printed

    def assert_passes(self, command):
        done = self.reader.types(command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def run_twice(self):
        """Runs of which the history has `triad`: of a program, as the load of the machine does not disturb what it prints."""
        self.assert_passes(self.reader.run_of_stream())
        for _ in range(2):
            self.assert_passes("muster run")
        # Pages and helps name a run by its id or its folder.
        first = min(path.name for path in (self.reader.checkout / "muster-runs").glob("2*"))
        self.reader.runs = {r"muster-runs/20\d{6}-\d{6}-[0-9a-f]{6}": f"muster-runs/{first}", r"\b3f2a9c\b": first.rpartition("-")[2]}

    def test_readme(self):
        self.reader.types(self.mychecks())
        self.run_twice()
        printed = self.read("README")
        self.assertTrue((self.reader.checkout / "after.html").exists())
        self.assertIn("pass", printed["muster run -n hello --repeat 100"])

    def mychecks(self):
        """Which the first tutorial makes."""
        (check,) = re.findall(r"^```toml\n(# mychecks/quiet.toml\n.*?)^```", (SOURCE / "docs/tutorial-first-check.md").read_text(), re.M | re.S)
        folder = self.reader.checkout / "mychecks"
        folder.mkdir(exist_ok=True)
        (folder / "quiet.toml").write_text(check)
        return "true"

    def test_first_check(self):
        fences = page_commands.fences_of("tutorial-first-check")
        self.mychecks()
        printed = self.read("tutorial-first-check")
        self.assertEqual(len(fences), 4)
        self.assertIn("well formed", printed["muster lint mychecks"])
        # "The verdict is fail, with the value, the bound and where the bound stands in the file. Give it room":
        text = (SOURCE / "docs/tutorial-first-check.md").read_text()
        (room,) = re.findall(r"^```toml\n(reference = .*?)^```", text, re.M | re.S)
        self.assertRegex(printed["muster run mychecks"], r"(?s)bound 0 .*quiet\.toml:\d+:\d+")
        path = self.reader.checkout / "mychecks/quiet.toml"
        path.write_text(re.sub(r"^reference = .*\n", room, path.read_text(), flags=re.M).replace("value = 1.0", "value = 1000.0"))
        self.assert_passes("muster run mychecks")

    def test_check_files(self):
        (self.reader.checkout / "mychecks").mkdir()
        (self.reader.checkout / "mychecks/first.toml").write_text('[check.hello]\nprobe = "hello"\nrank = 2\ntimeout = "20s"\nsummary = "x"\n')
        self.read("check-files")

    def test_bind(self):
        """The picture of LUMI's node is what the command prints, to the last mask."""
        write_topology(self.reader.checkout / "node.xml")
        printed = self.read("bind")
        text = (SOURCE / "docs/bind.md").read_text()
        ((command, below),) = re.findall(r"^```\n\$ (muster bind .*?)\n(.*?)^```", text, re.M | re.S)
        self.assertIn(re.sub(r"\s+", " ", below.strip()), re.sub(r"\s+", " ", printed[command]))

    def test_history_and_nights(self):
        self.run_twice()
        printed = self.read("history")
        self.assertIn("1 node good", printed["muster gate --need 1 --print hosts"])
        self.assertIn("muster gate --need 1 --print hosts", printed["muster history --history gates.db"])
        self.assertNotIn("muster gate", printed["muster history"])
        self.reader = Reader()
        self.addCleanup(shutil.rmtree, self.reader.folder, True)
        (self.reader.folder / "exported").write_text(f"export XDG_STATE_HOME={self.reader.folder}\n")
        self.assert_passes("muster run")
        self.read_night()

    def read_night(self):
        """The state folder of root, /var/lib, is a folder of the reader's here."""
        self.reader.over_var_lib = True
        printed = self.read("night")
        self.assertEqual(printed["muster run --quiet --lock"].count("\n"), 1, "MUSTER_CHECKS alone is named")

    def test_machines_and_selftest(self):
        self.read("machines")
        printed = self.read("selftest")
        self.assertRegex(printed["muster selftest -n gpu_memory"], r"1 of 1 checks? passed and failed as expected")
        self.assertRegex(printed["muster selftest my_checks/"], r"2 of 2 checks passed and failed as expected")
        self.assertEqual({row["check"] for row in json.loads(printed["muster selftest --json"])["checks"]}, set(SHOWN))
        self.assertTrue((self.reader.checkout / "seen/3/run/report.json").exists(), "the page names it")

    def test_helps(self):
        """Examples of each command's help."""
        (self.reader.checkout / "my_checks.toml").write_text('[check.first]\nprobe = "hello"\nsummary = "x"\n')
        shutil.copy(SOURCE / "packaging/examples/programs/stream.toml", self.reader.checkout)
        self.run_twice()
        helps = [fence for fence in page_commands.help_fences()
                 if any(page_tests.test_of(fence, command) == page_tests.ONE_MACHINE for command, _ in fence.steps())]
        self.assertGreater(len(helps), 9)
        for fence in sorted(helps, key=lambda one: one.page == "help history"):
            self.read(fence.page)

    def test_report_format(self):
        if shutil.which("jq") is None:
            self.skipTest("there is no jq")
        self.assert_passes("muster run -n hello --report json=report.json")
        printed = self.read("report-format")
        (barrier,) = [text for command, text in printed.items() if "barrier" in command]
        self.assertTrue(barrier.startswith(f"{support.HOST}\t"), barrier)
        json.loads(printed["jq '[.nodes[].facts.kernel] | unique' report.json"])


if __name__ == "__main__":
    support.main(("mpirun",))
