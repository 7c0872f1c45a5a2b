"""Probe training as a user starts it: the same curve on any number of ranks, and what it says when MPI does wrong."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run  # noqa: E402

ODD_SUMS = support.BIN / "odd_sums.so"


class Shipped(Run):
    """`muster run -n training`: the shipped program, its agent and its check."""

    def __init__(self, ranks, *options, env=None):
        super().__init__("", *options, agent=None, env=env)
        self.argv = [str(support.BIN / "muster"), "run", "-n", "^training$", "--ranks-per-node", str(ranks), "--output",
                     str(self.output), "--agent", str(support.AGENTS / "muster-rank"), *map(str, options)]


class Training(support.EndToEnd):
    def run_training(self, ranks, *options, params=(), env=None, **odd):
        preload = ["--launcher", "mpirun", "-J=-x", f"-J=LD_PRELOAD={ODD_SUMS}"] if odd else []
        env = {**(env or {}), **{f"ODD_{key.upper()}": str(value) for key, value in odd.items()},
               "ASAN_OPTIONS": "verify_asan_link_order=0"}
        params = [word for param in params for word in ("-S", f"training.{param}")]
        run = Shipped(ranks, *preload, *params, *options, env=env)
        self.addCleanup(run.clean)
        run.finish(120)
        self.assert_clean(run)
        case = run.case("training")
        print(f"  {ranks} ranks, {run.seconds:.1f} s: {case['verdict']}: {case['reason'] or '; '.join(case['evidence'])}")
        return run, case

    def curve(self, case):
        return {int(metric["where"]["step"]): metric["median"] for metric in case["metrics"] if metric["metric"] == "loss"}

    def value(self, case, name):
        return next(metric["median"] for metric in case["metrics"] if metric["metric"] == name)

    def test_curves_agree_on_any_number_of_ranks(self):
        curves = {}
        for ranks in (1, 2, 3, 4, 7):
            run, case = self.run_training(ranks)
            self.assert_status(run, 0)
            self.assertEqual(case["verdict"], "pass", run.story())
            curves[ranks] = self.curve(case)
            self.assertAlmostEqual(self.value(case, "initial_loss"), 2.3026, delta=0.1)
            self.assertLess(self.value(case, "final_loss"), 0.1)
            self.assertGreater(self.value(case, "accuracy"), 0.97)
        self.assertEqual(len(curves[1]), 50)
        for ranks, curve in curves.items():
            self.assertEqual(curve.keys(), curves[1].keys())
            for step in (step for step in curve if step < 100):
                self.assertLessEqual(abs(curve[step] - curves[1][step]), 1e-4 * max(curves[1][step], 0.1),
                                     f"{ranks} ranks, step {step}")

    def test_plain_loops_learn_as_well(self):
        run, case = self.run_training(2, params=["blas=plain"])
        self.assertEqual(case["verdict"], "pass", run.story())
        self.assertIn("(host, plain loops)", case["evidence"][0])

    def test_the_library_alone_changes_nothing(self):
        run, case = self.run_training(2, sums="none")
        self.assertEqual(case["verdict"], "pass", run.story())

    def assert_fails(self, run, case, pattern, *culprits):
        self.assert_status(run, 1)
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertRegex(case["reason"], pattern)
        self.assertTrue(case["remedy"])
        self.assertEqual([culprit["rank"] for culprit in case["culprits"]], list(culprits), run.story())

    def test_gradients_that_are_not_added_up(self):
        run, case = self.run_training(2, sums="left_out", rank=-1)
        self.assert_fails(run, case, r"^gradients are not added up over all ranks: in step 0 all ranks have sums of 120 of "
                          r"240 samples$")

    def test_gradients_that_one_rank_does_not_get(self):
        run, case = self.run_training(3, sums="left_out", rank=1, call=31)
        self.assert_fails(run, case, r"^gradients are not added up over all ranks: in step 10 rank 1 on \S+ has sums of 80 of "
                          r"240 samples$", 1)

    def test_a_bit_of_a_sum(self):
        run, case = self.run_training(3, sums="flipped", rank=2, call=4, element=77)
        self.assert_fails(run, case, r"since step 1: rank 2 on \S+ got another sum of gradients$", 2)
        run, case = self.run_training(2, sums="flipped", rank=1, call=4, element=77)
        self.assert_fails(run, case, r"since step 1: rank 0 on \S+ or rank 1 on \S+ got another sum of gradients; "
                          r"the one at fault is unknown$", 0, 1)

    def test_a_number_that_is_none(self):
        run, case = self.run_training(2, sums="not_a_number", rank=1, call=62, element=5)
        self.assert_fails(run, case, r"^sums of gradients are not finite in step 20, although the gradients of every rank are$")

    def test_an_element_that_counts_twice(self):
        run, case = self.run_training(2, sums="scaled", rank=1, element=100)
        self.assert_fails(run, case, r"^2 ranks do not learn what one rank alone does: from step \d+ on the loss differs")

    def test_parameters_that_can_not_be_followed_are_nobodys_fault(self):
        folder = pathlib.Path(support.tempfile.mkdtemp(prefix="muster-training-"))
        self.addCleanup(support.shutil.rmtree, folder)
        mine = folder / "thesis.tex"
        mine.write_text("ten years of work")
        for param, reason in (("batch=6000", "batch: 6000 exceeds the 5000 samples"),
                              # 52 TB.
                              ("samples=100000000 features=65536", "samples: with these sizes the 2 ranks of a node need"),
                              ("checkpoint=/none/x", "checkpoint: /none/x: there is no folder /none"),
                              (f"checkpoint={mine}", f"checkpoint: {mine} exists and is not a checkpoint of muster"),
                              ("resume=/etc/passwd", "resume: /etc/passwd: this is not a checkpoint of probe training")):
            run, case = self.run_training(2, params=param.split())
            self.assertEqual(case["verdict"], "error", run.story())
            self.assertTrue(case["reason"].startswith("the request is impossible: " + reason), case["reason"])
            self.assertEqual([(culprit["kind"], culprit["name"]) for culprit in case["culprits"]],
                             [("setting", param.partition("=")[0])])
            self.assertEqual(len(case["findings"]), 1, run.story())
        self.assertEqual(mine.read_text(), "ten years of work")

    def test_a_bound_that_was_tightened(self):
        run, case = self.run_training(2, params=["min_accuracy=0.99999"])
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn("it trains like the reference, but misses the required bound: accuracy", case["reason"])

    def test_going_on_from_a_checkpoint_and_from_a_foreign_one(self):
        folder = pathlib.Path(support.tempfile.mkdtemp(prefix="muster-training-"))
        self.addCleanup(support.shutil.rmtree, folder)
        file = folder / "a.checkpoint"
        whole, first = self.run_training(2, params=[f"checkpoint={file}"])
        self.assertEqual(first["verdict"], "pass", whole.story())
        self.assertEqual([path.name for path in folder.iterdir()], [file.name])
        rest, second = self.run_training(2, params=[f"resume={file}"])
        self.assertEqual(second["verdict"], "pass", rest.story())
        steps = self.curve(second)
        self.assertEqual(min(steps), 7 * 21)
        self.assertEqual(self.value(first, "final_loss"), self.value(second, "final_loss"))
        self.assertEqual(self.value(first, "accuracy"), self.value(second, "accuracy"))
        foreign, third = self.run_training(2, params=[f"resume={file}", "seed=2"])
        self.assertNotEqual(third["verdict"], "pass")
        self.assertIn("it is of another training: its seed is 1, not 2", third["reason"])
        file.write_bytes(file.read_bytes()[:-100])
        _, fourth = self.run_training(2, params=[f"resume={file}"])
        self.assertIn("it is cut short", fourth["reason"])


if __name__ == "__main__":
    if not ODD_SUMS.exists():
        sys.exit(f"{ODD_SUMS} is missing; set MUSTER_BUILD to a build folder and build all")
    support.main()
