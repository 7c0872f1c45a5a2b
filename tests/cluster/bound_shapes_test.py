"""The lines of e2e.bound_lines_test, started: srun of a real Slurm, mpirun, mpiexec of MPICH, on a virtual node that has the shape's CPUs. In the
place of muster-rank stands a script that tells which CPUs the launcher's daemon set for it, and which GPUs Slurm left to it.
MUSTER_TEST_MPIRUN_5 names an mpirun of Open MPI 5, MUSTER_TEST_MPIRUN_INTEL one of Intel MPI, where there is one."""
import json
import os
import pathlib
import shlex
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from bound_shapes import SHAPES, Planner, Shape, agent_of, binder_of  # noqa: E402

NODE = "nid001"
# What was recorded for this process: its start time, and the mask's bytes, the lowest first.
TELL = """#!/bin/sh
rank=${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-$SLURM_PROCID}}}}
[ ! -e "{records}/$(uname -n).$$" ] || read started mask < "{records}/$(uname -n).$$"
echo "${{mask:-none}} $ROCR_VISIBLE_DEVICES" > "{folder}/$(basename "$0").$rank"
"""


def programs():
    """By the name of a launcher in bound_shapes: what starts it here."""
    found = {"srun": "srun", "openmpi 4": shutil.which("mpirun"), "openmpi 5": os.environ.get("MUSTER_TEST_MPIRUN_5"),
             "mpich": shutil.which("mpiexec.mpich"), "intel": os.environ.get("MUSTER_TEST_MPIRUN_INTEL")}
    return {name: path for name, path in found.items() if path and agent_of(name).exists()}


def key_of(launcher, check, number):
    return f"{launcher.replace(' ', '')}.{check}.{number}"


def recorded_mask(recorded):
    return "none" if recorded == "none" else hex(int.from_bytes(bytes.fromhex(recorded), "little"))


class StartedShapes(unittest.TestCase):
    def lines(self, planner, launcher, check, shapes):
        """A command for each shape, as `muster plan` prints it, with a script of its own in the place of the agent."""
        for number, shape in shapes:
            key = key_of(launcher, check, number)
            agent = planner.folder / "agents" / key
            agent.parent.mkdir(exist_ok=True)
            agent.symlink_to(planner.folder / "tell")
            done = planner.plan(launcher, shape, "-n", f"^{check}$", "--json")
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
            plan = json.loads(done.stdout)
            (command,), (files,) = plan["commands"], plan["files"]
            command = [str(agent) if word == str(agent_of(launcher)) else word for word in command]
            for name, text in files.items():
                path = planner.folder / f"{key}.{name}"
                path.write_text(text)
                command = [word.replace(f"<{name}>", str(path)) for word in command]
            yield shlex.join([programs()[launcher], *command[1:]])

    def told(self, planner, launcher, check, number, ranks):
        """By rank: the words of the script."""
        return [(planner.folder / "told" / f"{key_of(launcher, check, number)}.{rank}").read_text().split() for rank in range(ranks)]

    def start(self, cluster, launcher, lines):
        """All of them in one job, one after the other."""
        script = cluster.folder / key_of(launcher, "all", "lines")
        script.write_text("".join(f"{line} || echo status $?\n" for line in lines))
        variables = [word for line in lines for word in shlex.split(line)]
        env = {name: "x" for before, name in zip(variables, variables[1:]) if before == "-x"}
        if launcher == "openmpi 5":
            env |= {"PRTE_MCA_plm_ssh_agent": cluster.agent, "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if launcher == "intel":
            # mpirun is a script that starts the first mpiexec.hydra of PATH.
            folder = pathlib.Path(programs()["intel"]).parent
            env |= {"I_MPI_HYDRA_BOOTSTRAP_EXEC": cluster.agent, "I_MPI_ROOT": str(folder.parent), "PATH": f"{folder}:{os.environ['PATH']}"}
        if launcher == "srun":
            words = ["salloc", "--quiet", "--nodes=1", "--exclusive", "--gpus-per-node=8", "sh", script]
        else:
            words = ["env", *cluster.of_daemons(), "sh", script]
        return cluster.execute("vclogin", words, env=env, capture_output=True, text=True, timeout=200 * support.SLOWNESS)

    def start_shapes(self, smt):
        shapes = [(number, shape) for number, shape in enumerate(SHAPES) if shape.smt == smt]
        planner = Planner([NODE])
        self.addCleanup(planner.clean)
        (planner.folder / "node.toml").write_text(Shape(8, smt, [], vendor="amd").machine())
        machine = str(planner.folder / "node.toml")
        with vc.running(1, slurm=vc.Shape(machine=machine)) as cluster:
            (planner.folder / "told").mkdir()
            (planner.folder / "tell").write_text(TELL.format(records=cluster.folder / "affinity", folder=planner.folder / "told"))
            (planner.folder / "tell").chmod(0o755)
            # One shape is enough for what depends on the number of cores alone.
            node = [(number, shape) for number, shape in shapes if (shape.gpus, shape.reserved, shape.all_threads) == (4, [], smt == 2)][:1]
            reserving = [(number, shape) for number, shape in shapes if (shape.gpus, shape.reserved) == (4, [0, 32])]
            for launcher in programs():
                # Slurm would keep these cores of every shape.
                reserved = reserving if launcher != "srun" else []
                lines = [line for check, of in (("ranks", shapes), ("shares", node + reserved), ("node", node))
                         for line in self.lines(planner, launcher, check, of)]
                done = self.start(cluster, launcher, lines)
                self.assertEqual((done.returncode, done.stdout), (0, ""), f"{launcher}: {done.stderr[-3000:]}")
                for number, shape in shapes:
                    with self.subTest(launcher=launcher, shape=str(shape)):
                        told = self.told(planner, launcher, "ranks", number, shape.gpus)
                        is_agents = binder_of(launcher, shape) == "muster-rank"
                        self.assertEqual([recorded_mask(words[0]) for words in told], ["none"] * shape.gpus if is_agents else shape.masks())
                        if launcher == "srun" and shape.select == "map_gpu":
                            self.assertEqual([words[1] for words in told], [str(gpu) for _, gpu in shape.seats()])
                with self.subTest(launcher=launcher, check="shares and the whole node"):
                    (number, shape), = node
                    self.assertEqual([recorded_mask(words[0]) for words in self.told(planner, launcher, "shares", number, 2)], shape.share_masks(2))
                    self.assertEqual([words[0] for words in self.told(planner, launcher, "node", number, 1)], ["none"])
                for number, shape in reserved:
                    with self.subTest(launcher=launcher, check="shares without reserved cores", shape=str(shape)):
                        masks = [recorded_mask(words[0]) for words in self.told(planner, launcher, "shares", number, 2)]
                        self.assertEqual(masks, ["none"] * 2 if binder_of(launcher, shape) == "muster-rank" else shape.share_masks(2))

    def test_one_thread_of_each_core(self):
        self.start_shapes(1)

    def test_two_threads_of_each_core(self):
        self.start_shapes(2)


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    os.environ.setdefault("MUSTER_SOURCE", str(HERE.parent.parent))
    support.main(("mpirun", "srun"))
