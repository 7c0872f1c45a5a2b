"""One bad case can't spoil the others: a rank goes wrong in every way, in every stage, on rank 0 and on rank 1."""
import concurrent.futures
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, ten_cases  # noqa: E402

DEADLINE = 2
AT_ONCE = 3  # runs that mostly wait for a deadline

# how -> (verdict of the case, words of its reason: any of them, rank is named)
RANK_ENDS = ("killed", "signal", "exit", "ended", "died", "gone", "abort", "lost")
WAYS = {
    "stop": ("fail", ("stopped",), True),
    "hang": ("fail", ("behind",), True),
    "spin": ("fail", ("behind",), True),
    "orphan": ("fail", ("behind", "still running"), True),
    "kill": ("fail", RANK_ENDS, True),
    "abort": ("fail", RANK_ENDS, True),
    "segv": ("fail", RANK_ENDS, True),
    "exit": ("fail", RANK_ENDS, True),
    "silent_exit": ("fail", RANK_ENDS, True),
    "fail_prepare": ("fail", ("can't prepare, on purpose",), True),
    "fail_run": ("fail", ("can't run, on purpose",), True),
    # The others are left in a barrier that this rank will never enter.
    "throw": ("fail", ("gave up",), True),
    "bad_result": ("fail", ("rank",), True),
    "slow": ("pass", (), False),
    "big": ("pass", (), False),
    # The frame, not the probe, says which rank spoke.
    "lie": ("pass", (), False),
}
EXTRA = {"slow": {"seconds": "0.3s"}, "big": {"size": "8MiB"}}
ENDS_LAUNCH = {"stop", "hang", "spin", "orphan", "kill", "abort", "segv", "exit", "silent_exit", "throw"}


def chosen(keys):
    """All, or those that MUSTER_E2E_ONLY names: to debug one of them."""
    only = os.environ.get("MUSTER_E2E_ONLY", "")
    return [key for key in keys if not only or only in str(key)]


def run_all(runs, limit):
    """All runs, a few at once. One that does not come back fails in its own tests, not here."""
    def finish(run):
        try:
            run.finish(limit)
        except AssertionError as problem:
            run.status, run.seconds, run.left = None, limit, [str(problem)]

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(finish, runs))


def tell(what, run):
    try:
        report = run.report()
        told = [case["reason"] for case in report["cases"] if case["verdict"] != "pass"]
        told = told or [launch["outcome"] for launch in report["launches"]]
    except (OSError, ValueError, KeyError) as problem:
        told = [f"no report: {problem}"]
    print(f"  {what}: {run.seconds:.1f} s, status {run.status}: {told[0]}", flush=True)


class InACase(support.EndToEnd):
    """Ten cases; the sixth goes wrong."""

    runs = {}

    @classmethod
    def setUpClass(cls):
        keys = chosen([(how, rank, "run") for how in WAYS for rank in (0, 1)] +
                      [(how, rank, "prepare") for how in ("stop", "kill", "throw") for rank in (0, 1)])
        runs = [Run(ten_cases(timeout=f"{DEADLINE}s", how=how, rank=rank, at=at, **EXTRA.get(how, {})))
                for how, rank, at in keys]
        run_all(runs, DEADLINE + 20)
        cls.runs = dict(zip(keys, runs))
        for (how, rank, at), run in cls.runs.items():
            tell(f"{how} on rank {rank} in {at}", run)

    @classmethod
    def tearDownClass(cls):
        for run in cls.runs.values():
            run.clean()

    def each(self):
        for (how, rank, at), run in self.runs.items():
            yield self.subTest(how=how, rank=rank, at=at), how, rank, at, run

    def test_that_case_fails_and_names_the_rank(self):
        for sub, how, rank, at, run in self.each():
            with sub:
                case = run.case("bad")
                verdict, words, is_named = WAYS[how]
                if at == "prepare" and how == "throw":
                    is_named = True  # nobody has entered anything yet
                self.assertEqual(case["verdict"], verdict, run.story())
                self.assertEqual(run.status, 1 if verdict == "fail" else 0, run.story())
                if is_named:
                    # A program of one rank that does not end is not held against the only node.
                    self.assert_blames(run, case, rank, node=None if (how, at) == ("orphan", "run") else support.HOST)
                    self.assertIn(f"rank {rank}", case["reason"], run.story())
                if words and at == "run":
                    self.assertTrue(any(word in case["reason"] for word in words), f"{case['reason']}: none of {words}")

    def test_the_other_nine_are_finished_and_judged(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assert_nine_passed(run)

    def test_a_launch_that_broke_is_followed_by_one_more(self):
        for sub, how, _, at, run in self.each():
            with sub:
                expected = 2 if how in ENDS_LAUNCH and not (how == "throw" and at == "prepare") else 1
                self.assertEqual(len(run.report()["launches"]), expected, run.story())

    def test_in_time(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assertLess(run.seconds, (DEADLINE + 10) * support.SLOWNESS, run.story())

    def test_nothing_is_left(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assert_clean(run)

    def test_hostile_text_is_inert(self):
        for sub, how, _, _, run in self.each():
            with sub:
                texts = (run.stdout, run.stderr, run.report_path().read_text()) if how == "bad_result" else ()
                for text in texts:
                    self.assertNotIn("\x1b", text)
                    self.assertNotIn("\x07", text)
                self.assertNotIn("NaN", run.report_path().read_text())


class OutsideOfCases(support.EndToEnd):
    """Start-up, gap and finish: the launch goes wrong where no case is running. The hook acts once."""

    runs = {}

    @classmethod
    def setUpClass(cls):
        stages = [("before_mpi", 1), ("startup", 1), ("connected", 1), ("gap", 4), ("finish", 1)]
        keys = chosen([(point, rank, action, time) for point, time in stages for rank in (0, 1)
                       for action in ("stop", "kill")] +
                      [("before_mpi", 1, "segv", 1), ("startup", 1, "exit", 1), ("gap", 1, "silent_exit", 2)])
        runs = []
        for point, rank, action, time in keys:
            run = Run(support.check("a", sweep={"number": list(range(10))}))
            run.env.update(MUSTER_TEST_HOOK=f"{point}:{rank}:{action}:{time}", MUSTER_TEST_ONCE=str(run.marker),
                           MUSTER_STARTUP_TIMEOUT="3")
            runs.append(run)
        run_all(runs, 40)
        cls.runs = dict(zip(keys, runs))
        for (point, rank, action, _), run in cls.runs.items():
            tell(f"{action} of rank {rank} at {point}", run)

    @classmethod
    def tearDownClass(cls):
        for run in cls.runs.values():
            run.clean()

    def each(self):
        for (point, rank, action, time), run in self.runs.items():
            yield self.subTest(point=point, rank=rank, action=action), point, rank, action, run

    def test_it_happened(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assertTrue(run.marker.exists(), f"the hook was never reached\n{run.story()}")

    def test_every_case_is_judged_all_the_same(self):
        for sub, point, rank, _, run in self.each():
            with sub:
                cases = run.cases("a")
                self.assertEqual(len(cases), 10, run.story())
                failed = [case for case in cases if case["verdict"] != "pass"]
                # Where rank 0 goes on while another is lost, it has begun a case: that one meets the loss.
                most = 1 if rank != 0 and point in ("connected", "gap") else 0
                self.assertLessEqual(len(failed), most, run.story())
                for case in failed:
                    self.assertEqual(case["verdict"], "fail", run.story())
                    self.assert_blames(run, case, rank)

    def test_the_report_tells_what_happened_and_to_whom(self):
        for sub, point, rank, action, run in self.each():
            with sub:
                report = run.report()
                told = json.dumps([report["notes"], [launch["outcome"] for launch in report["launches"]]])
                # Open MPI 4.1's mpirun may crash itself when a rank is lost while MPI starts; then there is no rank to name.
                if "the launcher mpirun was ended by signal 11" in told and point in ("before_mpi", "startup"):
                    continue
                self.assertIn(f"rank {rank}", told, run.story())
                if action == "stop":
                    self.assertIn("stopped", told, run.story())

    def test_a_broken_launch_is_no_clean_run(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assertNotEqual(run.report()["launches"][0]["outcome"], "finished", run.story())

    def test_in_time(self):
        for sub, point, _, _, run in self.each():
            with sub:
                deadline = 10 if point in ("gap", "finish", "connected") else 3
                self.assertLess(run.seconds, (deadline + 10) * support.SLOWNESS, run.story())

    def test_nothing_is_left(self):
        for sub, _, _, _, run in self.each():
            with sub:
                self.assert_clean(run)


if __name__ == "__main__":
    support.main()
