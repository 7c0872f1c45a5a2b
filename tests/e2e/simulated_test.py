"""A simulated run needs --simulated on the command line; what the environment says is not enough, in the driver or on a node.

With it every report format, `--quiet` and `muster gate` name the simulated machine, and no action on nodes follows."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
FORMATS = {"console": "r.txt", "html": "r.html", "markdown": "r.md", "json": "r.json", "junit": "r.xml", "csv": "r.csv",
           "prometheus": "r.prom"}
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\ntags = ["default", "gate"]\n'
# A GPU is missing: the node itself is at fault.
VISIBLE = '[check.visible]\nprobe = "device_visibility"\nsummary = "Devices."\nranks = { per_node = 1 }\n'
PROFILE = ('[system]\nname = "site"\n[[partition]]\nname = "gpu"\nlauncher = "local"\n[partition.node]\n'
           'gpus = { count = 8, vendor = "amd", name = "^AMD Instinct MI250X" }\n')
AGENT = """#!/bin/sh
test "$1" != --about && {condition} && {{ {action}; }}
exec {agent} "$@"
"""


class Simulated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-simulated-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "hello.toml").write_text(HELLO)
        self.machine = str(self.folder / "lumi")
        self.write()

    def write(self, *options):
        subprocess.run([MUSTER, "machine", "lumi-g", "--write", self.machine, *options], check=True, capture_output=True, timeout=60)

    def muster(self, *words, **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        return subprocess.run([MUSTER, *words], cwd=self.folder, capture_output=True, text=True, timeout=120 * support.SLOWNESS,
                              env={**env, "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                   "OMPI_MCA_rmaps_base_oversubscribe": "1", **variables})

    def run_here(self, *words, **variables):
        return self.muster("run", "hello.toml", "--launcher", "local", *words, **variables)

    def test_variables_alone_are_refused(self):
        for name in ("MUSTER_MACHINE", "MUSTER_DRIVERS", "MUSTER_SELFTEST"):
            for words in ((), ("--quiet",), ("--dry-run",), ("--submit",)):
                done = self.run_here(*words, **{name: self.machine})
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"{name}: is set to {self.machine}", done.stderr)
                self.assertIn("unset it to test this machine, or add --simulated to the command line", done.stderr)
        self.assertFalse((self.folder / "muster-runs").exists())
        for words in (("plan",), ("bind",)):
            done = self.muster(*words, MUSTER_MACHINE=self.machine)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("add --simulated", done.stderr)

    def test_an_empty_variable_asks_for_nothing(self):
        done = self.run_here(MUSTER_MACHINE="", MUSTER_DRIVERS="")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("SIMULATED", done.stdout)

    def test_gate_starts_no_command(self):
        words = ("gate", "--need", "1", "--launcher", "local", "--checks", "hello.toml")
        done = self.muster(*words, "--", "touch", "started", MUSTER_MACHINE=self.machine)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("add --simulated", done.stderr)
        self.assertFalse((self.folder / "started").exists())
        done = self.muster(*words, "--print", "json", MUSTER_MACHINE=self.machine)
        self.assertEqual(done.returncode, 125)
        said = json.loads(done.stdout)
        self.assertEqual(said["verdict"], "refused")
        self.assertIn("MUSTER_MACHINE", said["reason"])
        self.assertEqual(said["variables"], {"MUSTER_MACHINE": self.machine})

    def test_gate_names_the_machine(self):
        words = ("gate", "--simulated", "--need", "1", "--launcher", "local", "--checks", "hello.toml")
        done = self.muster(*words, "--", "touch", "started", MUSTER_MACHINE=self.machine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("SIMULATED machine lumi-g: nothing real was tested", done.stderr)
        self.assertTrue((self.folder / "started").exists())
        done = self.muster(*words, "--print", "json", MUSTER_MACHINE=self.machine)
        said = json.loads(done.stdout)
        self.assertEqual((said["verdict"], said["simulated"]), ("go", "lumi-g"))
        self.assertEqual(said["variables"], {"MUSTER_MACHINE": self.machine})

    def test_the_option_needs_a_machine(self):
        done = self.run_here("--simulated")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("--simulated: needs a machine", done.stderr)

    def formats(self, *words, **variables):
        reports = [word for name, file in FORMATS.items() for word in ("--report", f"{name}={file}")]
        done = self.run_here(*words, *reports, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return {name: (self.folder / file).read_text() for name, file in FORMATS.items()}

    def test_every_format_names_the_machine(self):
        texts = self.formats("--simulated", MUSTER_MACHINE=self.machine)
        for name, word in (("console", "SIMULATED machine lumi-g"), ("html", "SIMULATED"), ("markdown", "Simulated machine"),
                           ("json", '"simulated": "lumi-g"'), ("junit", "muster.simulated"), ("csv", ",lumi-g,"),
                           ("prometheus", 'simulated="lumi-g"')):
            self.assertIn(word, texts[name], name)
            self.assertIn(f"{self.machine}", texts[name], name)
        for line in texts["csv"].splitlines()[1:]:
            self.assertTrue(line.endswith(f",lumi-g,MUSTER_MACHINE={self.machine}"), line)
        variables = json.loads(texts["json"])["variables"]
        self.assertEqual(variables, {"MUSTER_MACHINE": self.machine})
        done = self.run_here("--simulated", "--quiet", MUSTER_MACHINE=self.machine)
        self.assertEqual((done.returncode, done.stdout), (0, "SIMULATED machine lumi-g: nothing real was tested\n"), done.stderr)

    def test_other_checks_are_named(self):
        """MUSTER_CHECKS replaces what is tested: each format and --quiet name the folder."""
        checks = self.folder / "other"
        (checks / "systems").mkdir(parents=True)
        (checks / "hello.toml").write_text(HELLO)
        for name, text in self.formats(MUSTER_CHECKS=str(checks)).items():
            self.assertIn(str(checks), text, name)
        done = self.muster("run", "--launcher", "local", "--quiet", MUSTER_CHECKS=str(checks))
        self.assertEqual((done.returncode, done.stdout), (0, f"checks and profiles come from {checks} (MUSTER_CHECKS)\n"),
                         done.stderr)
        # No report is on standard output then.
        done = self.muster("run", "--launcher", "local", "--quiet", "--report", "console=text", MUSTER_CHECKS=str(checks))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn(f"checks and profiles come from {checks} (MUSTER_CHECKS)\n", done.stderr)
        done = self.muster("gate", "--need", "1", "--launcher", "local", "--print", "hosts", MUSTER_CHECKS=str(checks))
        self.assertIn(f"checks and profiles come from {checks} (MUSTER_CHECKS)", done.stderr)

    def test_the_key_is_not_in_the_report(self):
        texts = self.formats(MUSTER_KEY="0123456789abcdef")
        for name, text in texts.items():
            self.assertNotIn("0123456789abcdef", text, name)

    def agent(self, action, condition="true"):
        path = self.folder / "agent"
        path.write_text(AGENT.format(action=action, condition=condition, agent=support.BIN / "muster-rank"))
        path.chmod(0o755)
        return str(path)

    def refused_by_the_agent(self, done, reason):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        said = " ".join(done.stdout.split())
        self.assertIn(reason, said)
        report = json.loads((self.folder / "muster-runs" / "latest" / "report.json").read_text())
        self.assertEqual([case["verdict"] for case in report["cases"]], ["error"])

    def test_an_agent_with_the_variable_refuses(self):
        agent = self.agent(f"export MUSTER_MACHINE={self.machine}")
        self.refused_by_the_agent(self.run_here("--agent", agent), "MUSTER_MACHINE is set there, and this run is not --simulated")

    def test_one_rank_with_the_variable_is_enough(self):
        """Not the one that speaks for its node."""
        agent = self.agent(f"export MUSTER_MACHINE={self.machine}", '[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]')
        done = self.muster("run", "hello.toml", "--ranks-per-node", "2", "--launcher", "mpirun", "--agent", agent)
        self.refused_by_the_agent(done, "MUSTER_MACHINE is set there, and this run is not --simulated")

    def test_an_agent_without_the_variable_refuses(self):
        done = self.run_here("--simulated", "--agent", self.agent("unset MUSTER_MACHINE"), MUSTER_MACHINE=self.machine)
        self.refused_by_the_agent(done, "MUSTER_MACHINE is not set there, and this run is --simulated")

    def test_no_action_follows(self):
        """Whatever the environment says."""
        self.write("--fault", "gpu_missing")
        (self.folder / "bin").mkdir()
        scontrol = self.folder / "bin" / "scontrol"
        scontrol.write_text(f"#!/bin/sh\necho \"$@\" >> {self.folder}/asked\n")
        scontrol.chmod(0o755)
        (self.folder / "visible.toml").write_text(VISIBLE)
        (self.folder / "site.toml").write_text(PROFILE)
        done = self.muster("run", "--simulated", "visible.toml", "site.toml", "--system", "site", "--on-fail", "drain",
                           MUSTER_MACHINE=self.machine, MUSTER_ACT_ON_SIMULATED="1",
                           PATH=f"{scontrol.parent}:{os.environ['PATH']}", XDG_STATE_HOME=str(self.folder / "state"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("nothing is done: the nodes were simulated as lumi-g", done.stdout + done.stderr)
        asked = (self.folder / "asked").read_text() if (self.folder / "asked").exists() else ""
        self.assertNotIn("update", asked.lower())
        self.assertNotIn("State=", asked)


if __name__ == "__main__":
    support.main()
