"""An incomplete handshake from the network to a launch of two virtual nodes, whose ports any host of the network reaches."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import check  # noqa: E402

LAUNCHED = ("nid001", "nid002")

# Sends part of a handshake to each address and port of its input.
CALLER = """
import os, socket, sys
user = int(sys.argv[1])
os.setgroups([]); os.setgid(user); os.setuid(user)
print("ready", flush=True)
kept = []
for line in sys.stdin:
    host, port = line.split()
    try:
        kept.append(socket.socket())
        kept[-1].settimeout(1)
        kept[-1].connect((host, int(port)))
        kept[-1].send(b"hostile hostile")
        print("called", flush=True)
    except OSError as problem:
        print(problem, flush=True)
"""


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def ports_of(pid):
    """IPv4 ports at which a process listens."""
    with contextlib.suppress(OSError):
        sockets = {os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
        rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
    return set()


class BesideAThirdHost(OnNodes):
    NODES = (*LAUNCHED, "nid003")

    def test_to_the_launcher_from_a_host_that_is_not_in_the_run(self):
        self.assert_error(self.called("mpirun", by="nid003", user=0),
                          "^{nid003}, which is not a node of this launch, is connected to port [0-9]+ of mpirun or of a rank, which waits for the rest")

    def test_to_the_launcher_from_another_user_of_a_node(self):
        self.assert_error(self.called("mpirun", by="nid002", user=65534), "^user 65534 on nid002 is connected to port [0-9]+ of mpirun or of a rank")

    def test_to_the_daemons_from_a_host_that_is_not_in_the_run(self):
        self.assert_error(self.called("orted", by="nid003", user=0),
                          "^{nid003}, which is not a node of this launch, is connected to port [0-9]+ of mpirun's daemon or of a rank on nid00[12]")

    def test_a_launcher_that_is_stopped_is_named_while_others_call(self):
        run = self.called("mpirun", by="nid003", user=0, stops=True)
        self.assertRegex(run.stdout, r"the\s+launcher\s+mpirun\s+\(process\s+[0-9]+\s+on\s+vclogin\)\s+is\s+stopped", run.story())

    def test_to_the_driver_from_a_host_that_is_not_in_the_run(self):
        run = self.called(pathlib.Path(support.DRIVER).name[:15], by="nid003", user=0)
        self.assertEqual((run.status, run.case("hello")["verdict"]), (0, "pass"), run.story())

    def assert_error(self, run, reason):
        self.assertEqual(run.status, 2, run.story())
        case = run.case("hello")
        self.tell(run, case)
        self.assertEqual(case["verdict"], "error", run.story())
        self.assertRegex(case["reason"], reason.format(nid003=self.cluster.node("nid003")["address"].replace(".", r"\.")))
        self.assertRegex(case["remedy"], "find the process that connects to that port: ss ")
        self.assertEqual([culprit["kind"] for culprit in case["culprits"]], ["launcher"])

    def called(self, program, by, user, stops=False):
        """A run in which processes of that name are called at each of their ports as soon as they listen there, and then stopped."""
        self.cluster.is_as_made = False
        run = self.new_run(check("hello", probe="hello", timeout="20s"))
        run.argv[run.argv.index("--nodes") + 1] = ",".join(LAUNCHED)
        run.env["MUSTER_STARTUP_TIMEOUT"] = "8"
        caller = subprocess.Popen(self.cluster.argv_in(by, [sys.executable, "-B", "-c", CALLER, str(user)]),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (caller.kill(), caller.wait(), caller.stdin.close(), caller.stdout.close()))
        self.assertEqual(caller.stdout.readline(), "ready\n")
        called, answers = set(), []

        def has_come_far_enough():
            count = self.call_new_ones(run, program, caller, called)
            # A port may be closed again before it is called: mpirun opens some to try them only.
            if stops:
                answers.extend(caller.stdout.readline().strip() for _ in range(count))
            return run.process.poll() is not None or (stops and "called" in answers)

        run.start()
        support.wait_until(has_come_far_enough, 90 * support.SLOWNESS, 0.002)
        for pid in run.processes() if stops else ():
            if name_of(pid) == program:
                os.kill(pid, signal.SIGSTOP)
        run.wait(60 if stops else 1)
        caller.kill()
        answers += caller.stdout.read().splitlines()
        self.assertIn("called", answers, run.story())
        return run

    def call_new_ones(self, run, program, caller, called):
        """The number of calls that it asks the caller for."""
        before = len(called)
        places = [(self.cluster.login_address, [run.process.pid, *run.processes()])]
        places += [(self.cluster.node(node)["address"], self.cluster.processes(node)) for node in LAUNCHED]
        for address, pids in places:
            for pid in pids:
                if name_of(pid) != program:
                    continue
                for port in ports_of(pid) - {port for at, port in called if at == address}:
                    called.add((address, port))
                    print(address, port, file=caller.stdin, flush=True)
        return len(called) - before


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
