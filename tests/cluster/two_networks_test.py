"""Nodes with a management network, over which the remote shell reaches them, and a data network for MPI. A node that the data
network has lost is named, set aside and failed; no other is accused, and the others are measured."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import check, ten_cases  # noqa: E402

DEADLINE = 3
NODES = ("nid001", "nid002", "nid003", "nid004")


class TwoNetworks(OnNodes):
    NODES = NODES
    DATA_NETWORK = True

    def new_run(self, checks, *options):
        run = super().new_run(checks, *options)
        run.env["MUSTER_STARTUP_TIMEOUT"] = "15s"
        return run

    def accused(self, run):
        """Nodes that any finding of the report names."""
        return {culprit.get("node") or culprit["name"] for case in run.report()["cases"] for culprit in case["culprits"]}

    def assert_lost(self, run, node):
        """It is set aside and fails with its interface and address; all others are measured and pass."""
        lost = [one for one in run.report()["cases"] if one["id"] == f"node%{node}"]
        self.assertEqual([(one["verdict"], one["culprits"][0]["node"]) for one in lost], [("fail", node)], run.story())
        self.tell(run, lost[0])
        self.assertIn(f"{node} can't be reached over the data network {self.cluster.data_subnet}: interface hsn0, "
                      f"address {self.cluster.data_address(node)}", lost[0]["reason"])
        self.assertIn("ip -s link show hsn0", lost[0]["remedy"])
        self.assertEqual(self.accused(run), {node}, run.story())

    def test_all_well(self):
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"))
        run.start()
        self.assertEqual(run.wait(60), 0, run.story())
        self.assertEqual(len(run.report()["launches"]), 1)
        self.assert_nodes_clean()

    def test_data_link_down_before_the_start(self):
        self.cluster.cut_data("nid002")
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"))
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_lost(run, "nid002")
        hello = run.case("hello")
        self.assertEqual([(row["node"], row["verdict"]) for row in hello["node_rows"]],
                         [(node, "pass") for node in NODES if node != "nid002"], run.story())
        self.assert_nine_passed(run)
        self.assertEqual(len(run.report()["launches"]), 1, "the node was left out of the first launch")
        self.assert_nodes_clean()

    def test_a_switch_that_drops_what_one_node_sends(self):
        """Its link has a carrier. Once the switch works again the node is as good as others."""
        self.cluster.cut_data("nid003", keeps_carrier=True)
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_lost(run, "nid003")
        self.assertNotIn("no carrier", run.stdout)
        self.cluster.heal("nid003")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(60), 0, run.story())

    def on_the_shells_network(self, *options):
        """Of MPI; the data network is another one, as that of the storage."""
        run = self.new_run(check("hello", probe="hello"), *options)
        run.env.update({name: self.cluster.subnet for name in ("OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_btl_tcp_if_include")})
        run.start()
        run.wait(60)
        return run

    def test_data_link_down_that_mpi_does_not_use(self):
        self.cluster.cut_data("nid002")
        run = self.on_the_shells_network()
        self.assertEqual(run.status, 0, run.story())
        self.assertEqual(self.accused(run), set(), run.story())
        self.assertEqual(len(run.case("hello")["node_rows"]), len(NODES), run.story())
        # What the profile names takes precedence over what MPI is restricted to.
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as profile:
            profile.write('[system]\nname = "site"\n[[partition]]\nname = "all"\nnetworks = ["hsn*"]\n')
            profile.flush()
            run = self.on_the_shells_network(profile.name, "--system", "site")
        self.assertEqual(run.status, 1, run.story())
        self.assert_lost(run, "nid002")

    def test_data_link_goes_down_in_a_case(self):
        checks = check("before", number=1) + check("hello", probe="hello", timeout="6s", repetitions=1000000) + check("after", number=2)
        run = self.new_run(checks)
        run.start()
        support.wait_until(lambda: "pass" in run.stdout, 30 * support.SLOWNESS)  # `before` has ended: hello begins
        self.cluster.cut_data("nid004")
        self.assertEqual(run.wait(90), 1, run.story())
        case = run.case("hello")
        self.tell(run, case)
        self.assertEqual(case["verdict"], "fail")
        self.assertIn(f"nid004 can't be reached over the data network {self.cluster.data_subnet}: interface hsn0, address "
                      f"{self.cluster.data_address('nid004')}", case["reason"])
        self.assertEqual(self.accused(run), {"nid004"}, run.story())
        after = run.case("after")
        self.assertEqual([(row["node"], row["verdict"]) for row in after["node_rows"]],
                         [(node, "pass") for node in NODES if node != "nid004"], run.story())
        self.assertIn("nid004 is set aside: can't be reached over the data network", run.stdout)
        self.assertLess(run.seconds, (6 + 15) * support.SLOWNESS, run.story())
        self.assert_nodes_clean()

    def test_data_link_of_a_node_that_only_the_driver_knows(self):
        """Of two nodes neither can be told apart by the other: the driver's network can."""
        self.cluster.cut_data("nid002")
        run = self.new_run(check("hello", probe="hello"))
        run.argv[run.argv.index("--nodes") + 1] = "nid001,nid002"
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_lost(run, "nid002")


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
