"""Settings of Open MPI and UCX: in files of one of two virtual nodes, named with file and line, and with the node; and such that MPI_Init fails on
all nodes, of which none is named."""
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import Run, check  # noqa: E402

CHECK = '[check.names]\nprobe = "environment"\nsummary = "A test."\nranks = { per_node = 2 }\ntimeout = "30s"\n[check.names.params]\ntorch = "ignored"\n'
MCA_FILE = "/etc/openmpi/openmpi-mca-params.conf"


class SettingsInFiles(OnNodes):
    NODES = ("nid001", "nid002")

    def setUp(self):
        super().setUp()
        # On both nodes: what is on the machine itself may be anything.
        for node in self.NODES:
            self.on(node, 'mount -t tmpfs tmpfs /mnt && mkdir /mnt/up /mnt/work && cp /etc/hosts /mnt && '
                          'mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc && cp /mnt/hosts /etc/hosts && '
                          'mkdir -p /etc/ucx /etc/openmpi && '
                          f'echo "btl_base_verbose = 0" > {MCA_FILE} && rm -f /etc/ucx/ucx.conf')

    def on(self, node, script):
        self.cluster.is_as_made = False
        done = self.cluster.execute(node, ["sh", "-c", script], capture_output=True, text=True)
        if "overlay" in done.stderr:
            self.skipTest(f"no overlay of /etc: {done.stderr}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def judged(self, status):
        run = self.new_run(CHECK)
        run.start()
        self.assertEqual(run.wait(60), status, run.story())
        return run, run.case("names")

    def test_the_same_on_both_nodes_is_evidence(self):
        run, case = self.judged(0)
        self.assertIn("OMPI_MCA_btl_base_verbose=0", " ".join(case["evidence"]), run.story())

    def test_another_value_and_one_more_on_the_second_node(self):
        self.on("nid002", f"printf '# ours\\nbtl_base_verbose = 1\\n' > {MCA_FILE}; printf '\\nUCX_TLS=tcp\\n' > /etc/ucx/ucx.conf")
        run, case = self.judged(1)
        reasons = [finding["reason"] for finding in case["findings"]]
        self.assertIn(f'OMPI_MCA_btl_base_verbose in files of the nodes is "0" on all 2 ranks on nid001 ({MCA_FILE}:1), '
                      f'but "1" on all 2 ranks on nid002 ({MCA_FILE}:2)', reasons, run.story())
        self.assertIn('UCX_TLS in files of the nodes is not set on all 2 ranks on nid001, but "tcp" on all 2 ranks on nid002 (/etc/ucx/ucx.conf:2)',
                      reasons, run.story())
        self.assertEqual({culprit["kind"] for finding in case["findings"] for culprit in finding["culprits"]}, {"setting"})

    def test_adapters_of_one_node_alone_are_a_note(self):
        self.on("nid002", "echo UCX_NET_DEVICES=mlx5_9:1 > /etc/ucx/ucx.conf")
        run, case = self.judged(0)
        self.assertRegex(" ".join(case.get("notes", []) + [finding["reason"] for finding in case.get("findings", [])]),
                         r'UCX_NET_DEVICES in files of the nodes is not set .* but "mlx5_9:1" on .* \(/etc/ucx/ucx.conf:1\)', run.story())


class SettingsWithWhichMpiDoesNotStart(OnNodes):
    NODES = ("nid001", "nid002", "nid003")

    def started(self, launcher, agent, variables, status):
        run = Run(check("hello", probe="hello"), "--nodes", ",".join(self.NODES), "--launcher", launcher, "--ranks-per-node", "2",
                  env={**self.cluster.environment(), **variables}, wrapper=self.cluster.argv_on_login([]), agent=agent)
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(120), status, run.story())
        named = [culprit for case in run.report()["cases"] for culprit in case["culprits"]]
        return run, named

    def test_an_interface_that_no_node_has_is_the_culprit(self):
        run, named = self.started("mpirun", support.AGENT, {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "hsn9"}, 2)
        self.assertEqual({(culprit["kind"], culprit["name"]) for culprit in named}, {("setting", "OMPI_MCA_btl_tcp_if_include")}, run.story())
        first = run.report()["cases"][0]
        self.assertEqual(first["reason"], "MPI_Init failed: An invalid value was given for btl_tcp_if_include: hsn9 (Unknown interface name)")
        self.assertIn("ip address", first["remedy"])

    @unittest.skipUnless(shutil.which("mpiexec.mpich") and support.AGENT_MPICH.exists(), "there is no MPICH beside Open MPI")
    def test_no_node_is_named_where_none_reaches_another(self):
        tools = self.cluster.folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "mpiexec").write_text('#!/bin/sh\nexec mpiexec.mpich "$@"\n')
        (tools / "mpiexec").chmod(0o755)
        path = f"{tools}:{self.cluster.environment().get('PATH', support.os.environ['PATH'])}"
        run, named = self.started("mpiexec", support.AGENT_MPICH, {"PATH": path, "UCX_NET_DEVICES": "mlx5_9:1"}, 1)
        self.assertEqual(named, [], run.story())
        first = run.report()["cases"][0]
        self.assertRegex(first["reason"], "^ranks do not start on .* together, though each half of them starts by itself: MPI_Init failed: "
                         "ucx function returned with failed status", run.story())
        self.assertIn("UCX_*", first["remedy"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        support.skip("mpirun is not Open MPI's")
    support.main()
