"""The live corpus of bench/diagnosis: its table of answers is whole, answers are scored as its page states, runs that are kept are not repeated."""
import argparse
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "bench" / "diagnosis"), str(SOURCE / "tests" / "cluster"), str(SOURCE / "tests" / "e2e")]
import live_campaign  # noqa: E402
import live_entries  # noqa: E402
import live_machines  # noqa: E402
import live_score  # noqa: E402
import live_tables  # noqa: E402

RANK_3, NODE_2 = {"node": "nid002", "rank": 3}, {"node": "nid002"}
ROLES = ("rank", "node", "other", "other rank", "launcher", "peers")


def record(reason, culprits, at_fault, status=1, tolerated=(), **more):
    findings = [{"verdict": "fail", "reason": reason, "culprits": culprits}] if reason else []
    return {"entry": "e", "number": 0, "status": status, "findings": findings, "at_fault": at_fault, "tolerated": list(tolerated), "has_report": True,
            "left": [], "named_after": 1.0, "clean_after": 0.0, **more}


class Scores(unittest.TestCase):
    def score(self, *args, kinds=("stopped",), **more):
        return live_score.score(record(*args, **more), kinds)

    def test_a_right_answer(self):
        result = self.score("rank 3 on nid002 is stopped in work", [RANK_3], [RANK_3])
        self.assertEqual((result.kind, result.right, result.found, result.at_fault, result.is_kind_right), ("stopped", 1, 1, 1, True))

    def test_its_node_is_right_and_another_rank_is_not(self):
        self.assertEqual(self.score("rank 3 is stopped", [NODE_2], [RANK_3]).found, 1)
        self.assertEqual(self.score("rank 2 is stopped", [{"node": "nid002", "rank": 2}], [RANK_3]).right, 0)
        self.assertEqual(self.score("rank 2 is stopped", [{"node": "nid002", "rank": 2}], [NODE_2]).right, 1)

    def test_a_healthy_one_beside_the_right_one(self):
        result = self.score("rank 3 is stopped", [RANK_3, {"node": "nid001"}], [RANK_3])
        self.assertEqual((len(result.named), result.right, result.found), (2, 1, 1))
        self.assertEqual(self.score("x", [RANK_3, {"launcher": True}], [RANK_3], tolerated=[{"launcher": True}]).right, 2)

    def test_silence_and_a_pass_despite_a_fault(self):
        self.assertEqual(self.score("", [], [RANK_3]).kind, live_score.SILENT)
        result = self.score("", [], [RANK_3], status=0)
        self.assertEqual((result.kind, result.found, result.at_fault, result.is_false_pass), ("pass", 0, 1, True))
        harmless = self.score("", [], [RANK_3], status=0, kinds=("pass", "slow"))
        self.assertEqual((harmless.at_fault, harmless.is_kind_right, harmless.is_false_pass), (0, True, False))

    def test_the_first_finding_with_a_culprit_has_the_kind(self):
        two = record("", [], [RANK_3], findings=[{"verdict": "error", "reason": "no space left in /dev/shm", "culprits": []},
                                                 {"verdict": "fail", "reason": "rank 3 on nid002 was killed by signal 9", "culprits": [RANK_3]}])
        self.assertEqual(live_score.score(two, ("killed",)).kind, "killed")

    def test_findings_of_a_report(self):
        cases = [{"verdict": "pass", "culprits": []}, {"verdict": "fail", "reason": "a", "culprits": [{"kind": "rank", "name": "rank 3", "node": "nid002", "rank": 3}]},
                 {"verdict": "fail", "reason": "b", "follows": "x", "culprits": [{"kind": "node", "name": "nid001"}]},
                 {"verdict": "error", "culprits": [{"kind": "launcher", "name": "mpirun"}, {"kind": "node", "name": "nid004"},
                                                   {"kind": "launcher", "name": "daemon", "node": "nid003"}]}]
        self.assertEqual([(one["reason"], one["culprits"]) for one in live_score.findings_of({"cases": cases})],
                         [("a", [RANK_3]), ("", [{"launcher": True}, {"node": "nid004"}, {"node": "nid003"}])])


class Figures(unittest.TestCase):
    def test_intervals(self):
        self.assertEqual(live_score.wilson(0, 0), (0, 1))
        low, high = live_score.wilson(0, 10)
        self.assertEqual((low, round(high, 4)), (0, 0.2775))
        low, high = live_score.wilson(396, 400)
        self.assertEqual((round(low, 4), round(high, 4)), (0.9746, 0.9961))

    def test_confusion(self):
        self.assertEqual(live_score.confusion([("a", "a"), ("a", "a"), ("b", "pass")]),
                         ["| right kind | a | pass |", "|---|---|---|", "| a | 2 |  |", "| b |  | 1 |"])

    def test_quantiles(self):
        self.assertEqual([live_score.quantile([3, 1, 2, 4], share) for share in (0.5, 0.9, 0)], [2, 4, 1])

    def test_the_tables_name_what_is_not_right(self):
        entry = live_entries.Entry("e", "mpirun x 4", "moment", (), ("stopped",))
        wrong = record("rank 1 is stopped", [{"node": "nid001", "rank": 1}], [RANK_3])
        text = "\n".join(live_tables.tables([wrong, {**record("rank 3 is stopped", [RANK_3], [RANK_3]), "left": ["1: muster-rank"]}], {"e": entry}))
        for line in ("| precision: named culprits that are right | 1 of 2 |", "| recall: culprits that are named | 1 of 2 |", "| stopped | 2 |",
                     "| e | 2 of 2 | healthy named, not found x 1; left x 1 |", "| something left after one minute | 1 of 2 |"):
            self.assertIn(line, text)


class Table(unittest.TestCase):
    def test_entries_are_whole(self):
        self.assertGreaterEqual(len(live_entries.FAULTS), 40)
        names = [entry.name for entry in live_entries.FAULTS + live_entries.WELL]
        self.assertEqual(len(names), len(set(names)))
        known = {kind for kind, _ in live_score.KINDS} | {live_score.PASS, "no report"}
        for entry in live_entries.FAULTS + live_entries.WELL:
            self.assertIn(entry.machine, live_machines.MACHINES, entry.name)
            self.assertIn(entry.when, ("before", "start", "moment", "always", "never"), entry.name)
            self.assertLessEqual({*entry.at_fault, *entry.tolerated}, set(ROLES), entry.name)
            self.assertLessEqual(set(entry.kinds), known, entry.name)

    def test_runs_that_are_kept_are_not_repeated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kept"
            self.assertEqual(live_campaign.read(path), [])
            for status in (1, 2):
                live_campaign.keep(path, record("x", [], [], status=status))
            live_campaign.keep(path, record("x", [], [], number=1))
            self.assertEqual([(one["number"], one["status"]) for one in live_campaign.read(path)], [(0, 2), (1, 1)])

    def test_the_first_run_of_each_entry_comes_before_the_second_of_any(self):
        runs = live_campaign.wanted(argparse.Namespace(moments=2, healthy=1, only="rank stopped", part="1/1"))
        numbers = [number for _, number in runs]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(len(runs), 2 * len({entry.name for entry, _ in runs}))
        self.assertEqual(live_campaign.wanted(argparse.Namespace(moments=2, healthy=1, only="no such entry", part="1/1")), [])

    def test_parts_have_each_entry_once(self):
        parts = [live_campaign.wanted(argparse.Namespace(moments=1, healthy=1, only="", part=f"{part}/3")) for part in (1, 2, 3)]
        names = [entry.name for part in parts for entry, _ in part]
        self.assertEqual(sorted(names), sorted(entry.name for entry in live_entries.FAULTS + live_entries.WELL))


if __name__ == "__main__":
    unittest.main()
