"""The lines that each launcher is started with, over shapes of nodes: 1 to 8 GPUs, with and without SMT and reserved cores. `muster plan` computes masks
from a machine description; bound_shapes.py computes them a second time. The launchers are stand-ins that tell a version: nothing is started
(cluster.bound_shapes_test starts these lines)."""
import json
import unittest

import support
from bound_shapes import MPIRUNS, SHAPES, Planner, Shape, binder_of, launchers, ranges, words_for


class BoundLines(unittest.TestCase):
    def setUp(self):
        self.planner = Planner()
        self.addCleanup(self.planner.clean)
        self.plan = self.planner.plan

    def plan_json(self, *arguments, **named):
        done = self.plan(*arguments, "--json", **named)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return json.loads(done.stdout)

    def line_of(self, plan, check):
        """Command and shape of the launch that has this check."""
        for launch, command in zip(plan["launches"], plan["commands"]):
            if any(plan["cases"][item["case"]]["check"] == check for item in launch["items"]):
                return command, launch["shape"]
        self.fail(f"no launch has {check}")

    def test_ranks_of_gpus(self):
        for launcher in launchers():
            for shape in SHAPES:
                with self.subTest(launcher=launcher, shape=str(shape)):
                    command, planned = self.line_of(self.plan_json(launcher, shape, "-n", "^ranks$"), "ranks")
                    ranks = planned["binding"]["ranks"]
                    self.assertEqual([rank["mask"] for rank in ranks], shape.masks())
                    self.assertEqual([rank["gpu"] for rank in ranks], [gpu for _, gpu in shape.seats()])
                    self.assertEqual([rank["nic"] for rank in ranks], [f"ib{shape.domain_of(gpu)}" for _, gpu in shape.seats()])
                    wanted, unwanted = words_for(launcher, shape)
                    for word in wanted:
                        self.assertIn(word, command)
                    for word in unwanted:
                        self.assertNotIn(word, [part.split("=")[0] for part in command] + command)

    def test_gpus_in_another_order_than_ranks(self):
        for launcher in ("srun", "flux"):
            shape = SHAPES[-1]
            binding = self.line_of(self.plan_json(launcher, shape, "-n", "^ranks$"), "ranks")[1]["binding"]
            self.assertEqual(binding["gpu_variable"], "ROCR_VISIBLE_DEVICES")
        self.assertNotIn("gpu_variable", self.line_of(self.plan_json("srun", SHAPES[0], "-n", "^ranks$"), "ranks")[1]["binding"])

    def test_who_binds(self):
        for launcher in launchers():
            for shape in (SHAPES[-4], SHAPES[-5], Shape(8, 1, [])):
                with self.subTest(launcher=launcher, shape=str(shape)):
                    done = self.plan(launcher, shape, "-n", "^ranks$")
                    self.assertIn(f"bound by {binder_of(launcher, shape)} (profile shape):", done.stdout, done.stderr)
                    self.assertIn(f"0: CPUs {ranges(shape.cpus(shape.seats()[0][0]))}, GPU 0, NIC ib0; 1: CPUs ", done.stdout)

    def test_the_whole_node(self):
        words = {"srun": "--cpu-bind=none", "openmpi 4": "--bind-to none", "openmpi 5": "--bind-to none", "mpich": "-bind-to none",
                 "intel": "-genv I_MPI_PIN 0", "flux": "--exclusive --setopt=cpu-affinity=off", "ibrun": "ibrun -n 2"}
        for launcher in launchers():
            with self.subTest(launcher=launcher):
                command, shape = self.line_of(self.plan_json(launcher, SHAPES[0], "-n", "^node$"), "node")
                self.assertEqual(shape["binding"]["kind"], "node")
                self.assertIn(words[launcher], " ".join(command))
                self.assertNotIn("mask", " ".join(command))

    def test_shares_of_the_cores(self):
        """32 cores for each of two ranks: in Slurm's CPUs, which are threads where the site's pages bind to all of them."""
        words = {"srun": "--cpus-per-task=64 --cpu-bind=cores", "openmpi 4": "--map-by ppr:2:node:PE=32 --bind-to core",
                 "openmpi 5": "--map-by ppr:2:node:PE=32 --bind-to core", "mpich": "-bind-to core:32",
                 "intel": "I_MPI_PIN_DOMAIN auto:compact", "flux": "--cores-per-task=32", "ibrun": "-n 4"}
        for launcher in launchers():
            with self.subTest(launcher=launcher):
                self.assertIn(words[launcher], " ".join(self.line_of(self.plan_json(launcher, Shape(4, 2, [], True), "-n", "^shares$"), "shares")[0]))
        self.assertIn("--cpus-per-task=31 ", " ".join(self.line_of(self.plan_json("srun", Shape(4, 2, [0, 32]), "-n", "^shares$"), "shares")[0]))

    def test_shares_without_reserved_cores(self):
        """srun and flux leave them out; mpirun and mpiexec also count the cores that the profile reserves, so that they get masks."""
        source = "cores except those reserved by profile shape"
        for launcher in set(launchers()) & set(MPIRUNS):
            for shape in (Shape(4, 1, [0, 32]), Shape(4, 2, [0, 32]), Shape(4, 2, [0, 32], True)):
                with self.subTest(launcher=launcher, shape=str(shape)):
                    command, planned = self.line_of(self.plan_json(launcher, shape, "-n", "^shares$"), "shares")
                    self.assertEqual([rank["mask"] for rank in planned["binding"]["ranks"]], shape.share_masks(2))
                    self.assertNotIn("core", command, "an option that counts all cores")
                    done = self.plan(launcher, shape, "-n", "^shares$")
                    self.assertIn(f"bound by {binder_of(launcher, shape)} ({source}):", done.stdout, done.stderr)
                    done = self.plan(launcher, shape, "-n", "^shares$", "--bind", "cores")
                    self.assertIn(f"(--bind {source}):", done.stdout, done.stderr)

    def test_reserved_cores_that_are_not_known(self):
        """From a login node, of a profile that does not describe the node: they count as well, and the plan names that."""
        shape = Shape(4, 1, [0, 32])
        shape.is_described = False
        for launcher in set(launchers()) & set(MPIRUNS):
            done = self.plan(launcher, shape, "-n", "^shares$")
            self.assertRegex(done.stdout, r"bound to .*cores.*: the cores that profile shape reserves count as well, as the cores of a node "
                                          r"are not known here: start muster on a node of the job", done.stdout + done.stderr)
        done = self.plan("srun", shape, "-n", "^shares$")
        self.assertNotIn("reserves count as well", done.stdout, "Slurm leaves them out")

    def test_options_of_the_profile_take_precedence(self):
        for launcher, options, unwanted in (("srun", '["--cpu-bind=cores", "-c", "7"]', "mask_cpu"), ("openmpi 4", '["--bind-to", "numa"]', "rankfile"),
                                            ("mpich", '["-bind-to", "numa"]', "user:"),
                                            ("intel", '["-genv", "I_MPI_PIN=0"]', "DOMAIN"), ("flux", '["-ocpu-affinity=on"]', "map:"),
                                            ("ibrun", '["task_affinity"]', "mask")):
            if launcher not in launchers():
                continue
            with self.subTest(launcher=launcher):
                done = self.plan(launcher, SHAPES[-5], "-n", "^ranks$", launcher_options=f"launcher_options = {options}")
                self.assertIn("bound by the launcher options given, not by profile shape", done.stdout, done.stderr)
                self.assertNotIn(unwanted, next(line for line in done.stdout.splitlines() if "muster-rank" in line))


if __name__ == "__main__":
    support.run_tests()
