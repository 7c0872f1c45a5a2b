"""Runs that are remembered: stored, listed, drawn, compared, judged by their past; and a history that can't be written."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import DRIVER, Run, check  # noqa: E402

LOCAL = ("--launcher", "local")


def rated(file):
    """A program that prints what the file says as its rate."""
    return f"""[check.rated]
probe = "command"
summary = "A test."
ranks = {{ per_node = 1 }}
timeout = "20s"
[check.rated.params]
argv = ["/bin/cat", "{file}"]
[check.rated.metrics]
rate = {{ unit = "GB/s", better = "higher" }}
[[check.rated.expect]]
metric = "rate"
history = {{}}
"""


class Remembered(support.EndToEnd):
    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder])
        self.file = self.folder / "history.db"

    def muster(self, *words, status=0, **options):
        done = subprocess.run([DRIVER, *map(str, words)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}, **options)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def run_once(self, checks, *options, history=None, status=0, limit=30):
        run = Run(checks, *LOCAL, "--history", history or self.file, *options)
        self.addCleanup(run.clean)
        run.finish(limit)
        self.assert_status(run, status)
        return run

    def rate(self, value, status=0):
        told = self.folder / "told"
        told.write_text(json.dumps({"metric": "rate", "value": value}) + "\n")
        return self.run_once(rated(told), status=status)

    def test_a_metric_is_judged_by_its_past(self):
        for value in (100, 101, 99, 100, 102, 100):
            run = self.rate(value)
        self.assertIn("history", run.case("rated")["metrics"][0]["bound"], run.story())
        run = self.rate(60, status=1)
        reason = run.case("rated")["reason"]
        self.assertIn("rate of rank 0", reason)
        self.assertIn("history: median 100 GB/s of 6 earlier passing runs", reason)

        drawn = self.muster("history", "--history", self.file, "--metric", "rate", "--item", support.HOST)
        self.assertIn(f"rate of {support.HOST} (rated, 1 rank on 1 node)", drawn)
        self.assertEqual((drawn.count("●"), drawn.count("×")), (6, 1), drawn)
        self.assertLessEqual(max(map(len, drawn.splitlines())), 100)
        said = self.muster("history", "--history", self.file, "--metric", "rato", status=3)
        self.assertIn('did you mean "rate"', said)

        said = self.muster("compare", "previous", "latest", "--history", self.file, status=1)
        self.assertIn(f"rate of {support.HOST} (rated): 100 GB/s -> 60 GB/s, -40 %", said)
        self.assertIn("pass -> fail", said)
        said = self.muster("compare", "latest", "previous", "--history", self.file)
        self.assertIn("nothing got worse", said)
        self.assertIn("no difference", self.muster("compare", "latest", "latest", "--history", self.file))
        report = run.report_path()
        self.assertIn("-40 %", self.muster("compare", "previous", report, "--history", self.file, status=1))
        self.muster("compare", "nothing", "latest", "--history", self.file, status=3)
        told = json.loads(self.muster("compare", "previous", "latest", "--json", "--history", self.file, status=1))
        self.assertEqual(set(told), documented_keys())
        self.assertEqual((told["outcome"], told["worse"], told["values"]["compared"]), ("something got worse", True, 1))
        self.assertEqual([one["case"] for one in told["verdicts"]], [run.case("rated")["id"]])
        metric = told["metrics"][0]
        self.assertEqual((metric["metric"], metric["items"], metric["before"], metric["after"], metric["unit"]),
                         ("rate", [support.HOST], 100, 60, "GB/s"))
        self.assertAlmostEqual(metric["change"], -0.4)

        self.muster("history", "--history", self.file, "accept", status=3)
        self.muster("history", "--history", self.file, "accept", "--all", "--metric", "rate", status=3)
        for words, hint in ((("--metric", "rato"), '"rate"'), (("--item", support.HOST + "x"), f'"{support.HOST}"')):
            said = self.muster("history", "--history", self.file, "accept", *words, status=3)
            self.assertIn("did you mean " + hint, said)
        said = self.muster("history", "--history", self.file, "accept", "--metric", "rate")
        self.assertIn("rate of everything (1 series)", said)
        run = self.rate(60, status=run_without_bound(self))
        self.assertNotIn("earlier passing runs)", run.case("rated")["reason"])

    def test_runs_are_listed_exported_imported_and_pruned(self):
        first = self.run_once(check("a", ranks=1, probe="hello"))
        self.run_once(check("b", ranks=1, probe="hello"))
        listed = self.muster("history", "--history", self.file)
        self.assertEqual(len(listed.splitlines()), 2, listed)
        self.assertIn(first.report()["run_id"], listed)
        export = self.folder / "all.jsonl"
        self.muster("history", "--history", self.file, "export", export)
        other = self.folder / "other.db"
        self.assertIn("2 runs added, 0 there", self.muster("history", "--history", other, "import", export))
        self.assertIn("0 runs added, 2 there", self.muster("history", "--history", other, "import", export))
        self.assertIn("0 runs added, 1 there", self.muster("history", "--history", other, "import", first.run_folder()))
        again = self.folder / "again.jsonl"
        self.muster("history", "--history", other, "export", again)
        self.assertEqual(export.read_text(), again.read_text())
        odd = self.folder / "odd.jsonl"
        for moment in ("yesterday", "9999-99-99T99:99:99.999Z", "2026-02-30T00:00:00.000Z"):
            odd.write_text(re.sub(r'"started":"[^"]*"', f'"started":"{moment}"', export.read_text()))
            said = self.muster("history", "--history", other, "import", odd, status=3)
            self.assertIn(f'"{moment}" is not a time', said)
        with open(export, "a") as file:
            file.write('{"run": {"run_id": 1}}\n')
        said = self.muster("history", "--history", other, "import", export, status=3)
        self.assertIn(f"{export}:4:1", said)
        strange = self.folder / "strange.json"
        strange.write_text(json.dumps({**first.report(), "started": "yesterday"}))
        said = self.muster("history", "--history", other, "import", strange, status=3)
        self.assertIn('"yesterday" is not a time', said)
        self.assertRegex(self.muster("history", "--history", other, "prune", "--keep", "1"), r"1 run removed, \d+\S* freed")
        self.assertEqual(len(self.muster("history", "--history", other).splitlines()), 1)
        self.muster("history", "--history", other, "prune", "--before", "yesterday", status=3)
        self.assertIn("--keep N or --before TIME", self.muster("history", "--history", other, "prune", status=3))
        said = self.muster("history", "--history", other, "prune", "--keep", "1", "--before", "2026-01-01", status=3)
        self.assertIn("--before excludes --keep", said)
        self.assertIn('unknown command "exprt"; did you mean "export"?', self.muster("history", "exprt", status=3))
        self.assertIn('option "--config" is before the command; write muster list --config cfg;',
                      self.muster("--config", "cfg", "list", "--systems", status=3))
        for day in ("2026-13-45", "2026-02-31", "2026-11-22x", "2026-11-2"):
            self.muster("history", "--history", other, "prune", "--before", day, status=3)
        self.assertIn("no check passes and fails in turn", self.muster("history", "--history", other, "--flaky"))
        self.assertIn("no node or device fails more often", self.muster("history", "--history", other, "--lemons"))

    def test_runs_cases_and_times_are_named_alike(self):
        """-n, RUN and TIME mean the same to history, compare and show."""
        both = check("a", ranks=1, probe="hello") + check("b", ranks=1, probe="hello")
        first = self.run_once(both)
        self.run_once(check("b", ranks=1, probe="hello"))
        self.run_once(both)
        history, runs = ("history", "--history", self.file), ("previous", "latest", "--history", self.file)
        listed = self.muster(*history)
        self.assertEqual([len(self.muster(*history, *words).splitlines()) for words in
                          ((), ("-n", "^a"), ("-n", "^b$"), ("-n", "^(a|b)$"), ("-n", "^a", "-n", "^b"), ("-n", "^a", "--last", "1"),
                           ("--since", "1h"), ("--before", "1h"), ("--since", "2026-01-31"), ("--since", "1h", "-n", "^a"))],
                         [3, 2, 3, 3, 3, 1, 3, 1, 3, 2], listed)
        self.assertIn("no stored run", self.muster(*history, "--before", "1h"))
        moment = listed.splitlines()[0][:16]
        self.assertEqual(self.muster(*history, "--since", moment), listed, "a time as it is printed")
        drawn = self.muster(*history, "--metric", "barrier", "-n", "^a$")
        self.assertIn("(a, ", drawn)
        self.assertNotIn("(b, ", drawn)
        case = first.case("a")["id"]
        self.assertIn("1 case", self.muster("show", "latest", "--history", self.file, "-n", case, cwd=self.folder))
        shown = self.muster("show", first.run_folder(), "-n", "^b$", "--report", "json=-")
        self.assertEqual([one["check"] for one in json.loads(shown)["cases"]], ["b"])
        self.assertIn("shows 1 of 2 cases by -n", shown)
        said = self.muster("compare", *runs, "-n", "^b$")
        self.assertNotIn(case, said)
        self.assertIn(case, self.muster("compare", *runs))
        self.muster("compare", *runs, "-n", "^a$", status=2)
        for words in (history, ("compare", *runs), ("show", first.run_folder())):
            self.assertIn('no check matches -n "x"', self.muster(*words, "-n", "x", status=3), words)
            self.assertIn("is not a valid regular expression", self.muster(*words, "-n", "(", status=3), words)
        for words in ((*history, "--since", "x"), (*history, "prune", "--before", "x")):
            self.assertIn('"x" is not a time; write for example 2026-01-31', self.muster(*words, status=3))

    def test_latest_is_the_run_of_this_folder(self):
        """Also where somebody else's runs were stored since."""
        first, second, third = (self.run_once(check("a", ranks=1, probe="hello")) for _ in range(3))
        here = pathlib.Path(second.run_folder()).parent.parent
        (here / "muster-runs").symlink_to(here / "runs")
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        usual = self.folder / "state/muster/history.db"
        usual.parent.mkdir(parents=True)
        shutil.copy(self.file, usual)

        def named(folder, *words):
            done = subprocess.run([DRIVER, "compare", "--json", *words], capture_output=True, text=True, cwd=folder, env=env)
            told = json.loads(done.stdout)
            return told["before"]["run_id"], told["after"]["run_id"]
        ids = [run.report()["run_id"] for run in (first, second, third)]
        self.assertEqual(named(here, "previous", "latest"), (ids[0], ids[1]))
        self.assertEqual(named(self.folder, "previous", "latest"), (ids[1], ids[2]))
        shown = subprocess.run([DRIVER, "show", "latest", "--report", "json=-"], capture_output=True, text=True, cwd=here, env=env)
        self.assertEqual(json.loads(shown.stdout)["run_id"], ids[1])

    def test_without_a_history_nothing_is_stored(self):
        run = Run(check("a", ranks=1, probe="hello"), *LOCAL, "--no-history")
        self.addCleanup(run.clean)
        run.finish(20)
        self.assert_status(run, 0)
        self.assertFalse((run.folder / "state").exists())
        self.muster("history", "--history", self.file, status=3)

    def test_what_one_run_measured_and_the_other_did_not(self):
        told = self.folder / "told"
        rates = [{"metric": "rate", "value": 1}, {"metric": "peak", "value": 2}]
        checks = rated(told).replace("history = {}", 'reference = {value = 1.0, lower = -0.5, unit = "GB/s"}')
        # A program's metric that the check does not declare is kept, and may stay away.
        for some in (rates, rates[:1]):
            told.write_text("".join(json.dumps(one) + "\n" for one in some))
            self.run_once(checks)
        said = self.muster("compare", "previous", "latest", "--history", self.file, status=1)
        self.assertIn(f"not measured any more: peak of {support.HOST} (rated)", said)
        said = self.muster("compare", "latest", "previous", "--history", self.file)
        self.assertIn(f"only after: peak of {support.HOST} (rated)", said)
        self.assertIn("1 value compared\nnothing got worse", said)
        drawn = self.muster("history", "--history", self.file, "--metric", "rate").splitlines()
        self.assertEqual([drawn[1].strip(), len(drawn)], ["1 GB/s │ ●●", 3], "values that are all the same are one row")

    def test_a_run_is_shown_from_anywhere_by_its_id(self):
        run = self.run_once(check("a", ranks=1, probe="hello"))
        run_id = run.report()["run_id"]
        elsewhere = {"cwd": self.folder}
        self.assertIn("1 pass", self.muster("show", run_id, "--history", self.file, **elsewhere))
        self.assertIn("1 pass", self.muster("show", "latest", "--history", self.file, **elsewhere))
        whole = subprocess.run([DRIVER, "history", "--history", self.file], capture_output=True, text=True,
                               env={name: value for name, value in os.environ.items() if name != "COLUMNS"}).stdout
        self.assertIn(str(self.file), whole, "only a screen has an end of the line")
        self.assertIn("no such run", self.muster("show", "abcdef", "--history", self.file, status=3, **elsewhere))
        folder = pathlib.Path(run.run_folder()).resolve()
        folder.rename(str(folder) + ".moved")
        said = self.muster("show", run_id, "--history", self.file, status=3, **elsewhere)
        self.assertIn(f"its folder {folder} is not there any more", said)

    def test_exit_statuses_are_the_same_everywhere(self):
        foreign = self.folder / "foreign.db"
        foreign.write_bytes(b"x" * 10000)
        commands = (("history",), ("history", "export"), ("history", "prune", "--keep", "1"), ("history", "accept", "--all"),
                    ("compare", "previous", "latest"), ("show", "latest"))
        state = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        usual = self.folder / "state/muster/history.db"
        for words in commands:
            for file in (foreign, self.folder, self.folder / "missing.db"):
                with self.subTest(words=words, file=file):
                    done = subprocess.run([DRIVER, words[0], "--history", file, *words[1:]], capture_output=True, text=True,
                                          cwd=self.folder)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn(str(file), done.stderr)
            done = subprocess.run([DRIVER, *words], capture_output=True, text=True, env=state, cwd=self.folder)
            self.assertEqual(done.returncode, 3 if words[0] == "show" else 2, done.stderr)
        self.assertFalse((self.folder / "missing.db").exists() or usual.exists())
        usual.parent.mkdir(parents=True)
        usual.write_bytes(foreign.read_bytes())
        for words in commands:
            done = subprocess.run([DRIVER, *words], capture_output=True, text=True, env=state, cwd=self.folder)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.run_once(check("a", ranks=1, probe="hello"))
        self.muster("history", "--history", self.file, "export", self.folder / "no/such/folder", status=3)
        self.muster("history", "--history", self.file, "import", self.folder / "nothing", status=3)

    def test_a_run_is_stored_where_the_state_is(self):
        run = Run(check("a", ranks=1, probe="hello"), *LOCAL)
        self.addCleanup(run.clean)
        run.finish(20)
        self.assert_status(run, 0)
        self.assertTrue((run.folder / "state/muster/history.db").exists())

    def test_a_history_that_cannot_be_written_changes_no_check(self):
        damaged = self.folder / "damaged.db"
        damaged.write_bytes(b"x" * 10000)
        (self.folder / "a_file").write_text("")
        for bad in (damaged, self.folder, self.folder / "a_file/below.db", pathlib.Path("/proc/history.db")):
            with self.subTest(bad=bad):
                run = self.run_once(check("a", ranks=1, probe="hello"), history=bad)
                self.assertIn("this run is not in the history: ", run.stderr)
                self.assertIn(str(bad), run.stderr)
        self.assertEqual(damaged.read_bytes(), b"x" * 10000)
        run = self.rate_with_damaged(damaged)
        self.assertIn("nothing is judged by them", run.stderr)

    def rate_with_damaged(self, damaged):
        told = self.folder / "told"
        told.write_text('{"metric": "rate", "value": 1}\n')
        run = Run(rated(told), *LOCAL, "--history", damaged)
        self.addCleanup(run.clean)
        run.finish(20)
        return run


def documented_keys():
    """The first column of the table in docs/history.md."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/history.md").read_text()
    table = page[page.index("| key of the object |"):].split("\n\n")[0]
    return {key for line in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", line.split("|")[1])}


def run_without_bound(test):
    """What a run says whose only bound has no past: it stands on what the probe itself found, if anything."""
    told = test.folder / "told"
    run = Run(rated(told), *LOCAL, "--history", test.folder / "empty.db")
    test.addCleanup(run.clean)
    return run.finish(20).status


if __name__ == "__main__":
    support.main(needs=())
