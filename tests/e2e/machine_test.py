"""Ranks that pretend to be on each described system, all of it healthy; and that nobody takes it for real."""
import os
import subprocess
import pathlib
import sys
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from on_machine import MUSTER, NODE, SYSTEMS, OnMachine, main  # noqa: E402


class Machines(OnMachine):
    # Healthy.

    def test_healthy_lumi(self):
        self.healthy("lumi-g")

    def test_healthy_frontier(self):
        self.healthy("frontier")
        devices = [fact for fact in self.cases["gpu_mapping"]["evidence"] if "NUMA domain" in fact]
        self.assertEqual(devices, ["8 of 8 ranks run in the NUMA domain of their GPU"])

    def test_healthy_perlmutter(self):
        self.healthy("perlmutter")

    def test_healthy_vista(self):
        self.healthy("vista")

    def test_healthy_zurada(self):
        self.healthy("zurada-gpu1h100")
        self.healthy("zurada-gpu2h100")

    # What is really set goes before the description, so that a setting can be tried.

    def test_a_variable_that_is_set_stays(self):
        self.write("lumi-g")
        self.assertEqual(self.run_checks("lumi-g", {"ROCR_VISIBLE_DEVICES": "3"}, ["-x", "hello"]), 1, self.output)
        self.assertIn("use the same GPU 0000:ce:00.0", self.reasons("gpu_mapping"))

    # Nobody takes it for real.

    def test_everything_says_simulated(self):
        self.write("vista", "--fault", "nic_slow")
        self.run_checks("vista")
        name = "vista with nic_slow"
        self.assertEqual(self.report["simulated"], name)
        facts = self.report["nodes"][0]["facts"]
        self.assertEqual((facts["simulated"], facts["architecture"], facts["cores"]), (name, "aarch64", "72"))
        self.assertIn(f"SIMULATED machine {name}", self.output.splitlines()[0])
        self.assertIn("nothing real was tested", self.said)
        self.assertIn(f"timing is not judged: simulated machine {name}", self.cases["hello"]["notes"])
        self.assertEqual(self.cases["hello"]["verdict"], "pass", "the bound that can't be met was not applied")
        suite = xml.parse(os.path.join(self.folder, "r.xml")).getroot().find("testsuite")
        self.assertEqual(suite.get("name"), "muster.simulated.site")
        self.assertTrue(all(case.get("classname").startswith("simulated.") for case in suite.iter("testcase")))

    def test_the_folder_of_a_node_goes_first(self):
        self.write("zurada-gpu1h100")
        self.write("zurada-gpu1h100", "--nodes", NODE, "--fault", f"gpu_lost@{NODE}")
        self.run_checks("zurada-gpu1h100", options=["-x", "hello"])
        self.assertEqual(self.report["simulated"], "zurada-gpu1h100 with gpu_lost")
        self.assertEqual(self.cases["device_visibility"]["verdict"], "fail")

    def test_what_is_no_machine_is_refused(self):
        os.mkdir(os.path.join(self.folder, "machine"))
        self.assertNotEqual(self.run_checks("vista", options=["-x", "hello"]), 0)
        self.assertEqual({case["verdict"] for case in self.report["cases"]} & {"pass"}, set(), self.output)
        self.assertIn("machine.json: is not a machine; write one with muster machine NAME --write FOLDER", self.said)


class Command(unittest.TestCase):
    def machine(self, *words, status=0):
        done = subprocess.run([MUSTER, "machine", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def test_lists(self):
        text = self.machine()
        for name in SYSTEMS:
            self.assertIn(name, text)

    def test_shows(self):
        text = self.machine("lumi-g", "--fault", "masks_moved")
        self.assertIn("rank 4        0x1fc", text)
        self.assertIn("synthetic", text)
        self.assertIn("0000:d6:00.0  domain 0, CPUs 8-15,72-79", text)

    def test_mistakes(self):
        self.assertIn('unknown machine; did you mean "lumi-g"?', self.machine("lumy-g", status=3))
        self.assertIn('has no fault "x"', self.machine("lumi-g", "--fault", "x", status=3))
        self.assertIn("--nodes requires --write", self.machine("lumi-g", "--nodes", "a", status=3))
        self.assertIn("is of a node that is not written",
                      self.machine("lumi-g", "--write", "/nonexistent/x", "--fault", "nic_down@b", status=3))
        self.assertIn("is neither empty nor a machine", self.machine("lumi-g", "--write", os.path.dirname(MUSTER), status=3))


if __name__ == "__main__":
    main()
