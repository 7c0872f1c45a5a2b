"""Runs whose driver is on the login node of a virtual cluster and whose ranks mpirun starts on its nodes. Shared, not a test."""
import support
import virtual_cluster as vc
from support import Run, wait_until


class OnNodes(support.EndToEnd):
    """Tests on the nodes in NODES. They share a cluster until one of them breaks it, or leaves something on a node."""
    NODES = ()
    DATA_NETWORK = False  # MPI has a network of its own
    context = cluster = None

    @classmethod
    def tearDownClass(cls):
        cls.take_down()

    @classmethod
    def take_down(cls):
        if cls.context:
            cls.context.__exit__(None, None, None)
            cls.context = cls.cluster = None

    def setUp(self):
        cls = type(self)
        if cls.context is None:
            cls.context = vc.running(len(self.NODES), data_network=self.DATA_NETWORK)
            cls.cluster = cls.context.__enter__()
        self.addCleanup(self.take_down_if_changed)

    def take_down_if_changed(self):
        if not self.cluster.is_as_made or any(self.cluster.processes(node) != [self.cluster.holder(node)] for node in self.NODES):
            self.take_down()

    def new_run(self, checks, *options):
        run = Run(checks, "--nodes", ",".join(self.NODES), "--launcher", "mpirun",
                  *(() if "--ranks-per-node" in options else ("--ranks-per-node", "2")), *options,
                  env=self.cluster.environment(), wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        return run

    def assert_nodes_clean(self, nodes=None):
        """Nothing but its holder runs on a node, and its /dev/shm is empty."""
        for node in nodes or self.NODES:
            holder = self.cluster.holder(node)
            alone = wait_until(lambda: self.cluster.processes(node) == [holder], 3)
            left = [support.command_line(pid) for pid in self.cluster.processes(node) if pid != holder]
            self.assertTrue(alone, f"left on {node}: {left}")
            files = self.cluster.execute(node, ["ls", "-A", "/dev/shm"], capture_output=True, text=True).stdout
            self.assertEqual(files, "", f"left in /dev/shm of {node}")

    def tell(self, run, case):
        print(f"  {run.seconds:.1f} s, status {run.status}, {case['verdict']}: {case['reason']}", flush=True)


class OnSharedNodes(support.EndToEnd):
    """One cluster for all tests of the class. MACHINE: the description by which launchers bind there; empty: the real machine."""
    NODES = ()
    MACHINE = ""

    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(len(cls.NODES), machine=cls.MACHINE)
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)
