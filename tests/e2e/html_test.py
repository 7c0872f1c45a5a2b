"""The HTML report in a real browser: it loads without a complaint, filters do what they say, and no text of others becomes markup."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import chromium
import support
from made_reports import MadeRun

HOSTILE = "<script>window.caught = 1</script><img src=x onerror='window.caught = 2'>\"' & \x1b[31m \x00 \u202e </textarea>]]>"
LONG = HOSTILE + "n" * 10_000


def page_of(report, folder, name="report"):
    """The page that `muster show` makes of a report."""
    source = folder / f"{name}.json"
    source.write_text(json.dumps(report))
    page = folder / f"{name}.html"
    done = subprocess.run([support.DRIVER, "show", source, "--report", f"html={page}", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return page


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-html-"))
        cls.page = page_of(MadeRun(12, 4, cls.folder).report(), cls.folder)
        cls.browser = chromium.Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.browser.complaints.clear()
        self.browser.requests.clear()

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        outside = [url for url in self.browser.requests if not url.startswith(("file:", "about:", "data:"))]
        self.assertEqual(outside, [], "a page must not request anything")

    def texts(self, selector):
        return self.browser.value(f"Array.from(document.querySelectorAll({json.dumps(selector)}), (one) => one.textContent)")

    def checks(self):
        return self.texts("#cases .card .check")

    def wide_ones(self):
        return self.browser.value("Array.from(document.querySelectorAll('body *')).filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide, pre, code')).slice(0, 12)"
                                  ".map((e) => `${e.parentElement.className}/${e.tagName}.${e.className} ${e.getBoundingClientRect().right}: ${e.textContent.slice(0, 40)}`)")

    def test_says_what_is_wrong_first(self):
        self.browser.open(self.page)
        self.assertIn("FAIL", self.texts("h1")[0])
        self.assertEqual(self.texts(".sentence"), ["4 of 12 cases failed, 1 could not be run, 1 could not be measured, 1 was skipped"])
        self.assertEqual(self.checks(), ["cpu_affinity", "device_visibility", "allreduce", "p2p", "pytorch", "gpu_copy"])
        card = self.browser.value("document.querySelector('#case-2').innerText")
        for words in ("busbw where size=128MiB", "nid002", "REMEDY", "reseat or replace its cable", "EVIDENCE", "^allreduce%"):
            self.assertIn(words, card)
        self.assertTrue(any("nid002" in text for text in self.texts(".blames li")))

    def test_draws_everything(self):
        self.browser.open(self.page)
        self.browser.value("draw = dispatchEvent(new Event('beforeprint'))")
        self.browser.settle()
        self.assertEqual(self.browser.value("Array.from(document.querySelectorAll('.picture'), (one) => one.childElementCount).filter((n) => !n).length"), 0)
        self.assertGreater(len(self.texts("#cases .strip svg .dot")), 40)
        self.assertGreater(len(self.texts("#cases .strip svg .bound")), 0)
        self.assertEqual(len(self.texts("#curves svg[role=img]")), 2)
        self.assertEqual(len(self.texts("#pairs canvas")), 1)
        self.assertGreaterEqual(len(self.texts("#places svg")), 4)
        # Every picture says in words what it shows.
        self.assertEqual(self.browser.value("document.querySelectorAll('svg[role=img]:not([aria-label]), canvas:not([aria-label])').length"), 0)

    def test_a_click_on_a_node_filters(self):
        self.browser.open(self.page)
        self.browser.click(".tile[data-node='11']")
        self.assertEqual(self.browser.value("location.hash"), "#node=nid012")
        self.assertEqual(self.texts(".chip.node .t"), ["nid012"])
        self.assertEqual(self.checks(), ["cpu_affinity", "pytorch"])
        self.assertTrue(any("fail elsewhere" in text for text in self.texts("#well summary")))
        self.assertTrue(all("nid012" in text for text in self.texts("#places figcaption")))
        self.assertEqual(self.browser.value("document.querySelector('.tile[data-node=\"11\"]').getAttribute('aria-pressed')"), "true")
        self.browser.click(".chip.node")
        self.assertEqual(self.browser.value("location.hash"), "")

    def test_verdicts_and_words_filter(self):
        self.browser.open(self.page)
        self.browser.click("#tools .chip.v-error")
        self.assertEqual(self.checks(), ["pytorch"])
        self.browser.click("#tools .chip.v-error")
        self.browser.click("#search")
        self.browser.write("cable")
        self.assertEqual(self.checks(), ["allreduce"])
        self.browser.key("Escape")
        self.assertEqual(len(self.checks()), 6)

    def test_the_address_holds_the_view(self):
        self.browser.open(self.page, "node=nid002&verdict=fail&sort=name&theme=dark")
        self.assertEqual(self.checks(), ["allreduce", "p2p"])
        self.assertEqual(self.browser.value("document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.texts(".chip.node .t"), ["nid002"])

    def test_a_case_that_is_well_opens(self):
        self.browser.open(self.page)
        self.browser.click("#well details.line summary")
        self.browser.until("document.querySelector('#well details.line .inside')")
        self.assertIn("48 ranks on 12 nodes answered", self.browser.value("document.querySelector('#well details.line').innerText"))

    def test_keys_alone_do(self):
        self.browser.open(self.page)
        self.browser.value("document.querySelector('.tile').focus()")
        for key in ("ArrowRight", "Enter"):
            self.browser.key(key)
        self.assertEqual(self.browser.value("location.hash"), "#node=nid002")
        self.browser.key("Escape")
        self.browser.key("/")
        self.assertEqual(self.browser.value("document.activeElement.id"), "search")

    def test_pairs_by_rank_node_and_class(self):
        self.browser.open(self.page)
        self.browser.value("document.getElementById('pairs').scrollIntoView()")
        self.browser.settle()
        self.assertIn("48 by 48 ranks", self.browser.value("document.querySelector('#pairs canvas').getAttribute('aria-label')"))
        self.browser.click("#pairs .heats .tab", 1)
        self.browser.settle()
        self.assertIn("12 by 12 nodes", self.browser.value("document.querySelector('#pairs canvas').getAttribute('aria-label')"))
        self.browser.click("#pairs .heats .tab", 2)
        self.browser.settle()
        self.assertEqual(self.texts("#pairs .heats figcaption strong"), ["between nodes", "within nodes"])

    def test_the_odd_one_out_is_marked(self):
        self.browser.open(self.page)
        odd = self.texts("#facts .odd-one")
        self.assertTrue(any("28.36.1010" in text and "nid002" in text for text in odd), odd)
        self.assertTrue(any("545.23.08" in text for text in odd), odd)

    def test_hostile_names_stay_text(self):
        made = MadeRun(4, 2, self.folder, names=[LONG, "nid002", HOSTILE, "nid004"])
        report = made.report()
        for case in report["cases"]:
            case.update(summary=LONG, place=HOSTILE, notes=[HOSTILE], evidence=[LONG], tags=[HOSTILE], params={HOSTILE: LONG})
            case["id"] += HOSTILE
            for row in case["metrics"][:2]:
                row.update(metric=HOSTILE + row["metric"], unit=HOSTILE)
        report["cases"][-2]["outputs"] = [{"rank": 0, "node": HOSTILE, "text": LONG}]
        report.update(system=LONG, user=HOSTILE, command_line=["muster", LONG], notes=[LONG], simulated=HOSTILE)
        report["nodes"][0]["facts"][HOSTILE] = LONG
        page = page_of(report, self.folder, "hostile")
        self.browser.open(page, "node=nid002")
        self.browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.browser.value("dispatchEvent(new Event('beforeprint'))")
        self.browser.settle()
        self.assertIsNone(self.browser.value("window.caught"))
        self.assertEqual(self.browser.value("document.querySelectorAll('main script, header script, img').length"), 0)
        self.assertIn("<script>window.caught = 1</script>", self.texts("h1")[0])
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), self.browser.value("innerWidth"), self.wide_ones())
        self.assertNotIn("\x1b", page.read_text())

    def test_paper_is_light(self):
        self.browser.open(self.page, "theme=dark")
        self.browser.value("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.browser.value("document.documentElement.dataset.theme"), "light")
        self.browser.value("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.value("document.documentElement.dataset.theme"), "dark")

    def test_narrow_screens_fit(self):
        self.browser.resize(380, 800, phone=True)
        try:
            self.browser.open(self.page)
            self.browser.value("dispatchEvent(new Event('beforeprint'))")
            self.browser.settle()
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 380)
        finally:
            self.browser.resize(1280, 900)

    def test_a_good_run_and_an_empty_one(self):
        self.browser.open(page_of(MadeRun(3, 2, self.folder, well=True).report(), self.folder, "good"))
        self.assertIn("pass", self.texts("h1")[0])
        self.assertEqual(self.texts("#cases-title"), ["No problems"])
        self.assertEqual(self.texts(".sentence"), ["9 of 10 cases passed, 1 was skipped"])
        some = MadeRun(3, 2, self.folder, well=True).report()
        some["cases"] = [one for one in some["cases"] if one["verdict"] == "pass"]
        some["tally"]["skip"] = 0
        self.browser.open(page_of(some, self.folder, "some"))
        self.assertEqual(self.texts(".sentence"), ["All 9 cases passed"])
        empty = MadeRun(1, 1, well=True).report()
        empty.update(cases=[], nodes=[], launches=[], verdict="unmeasured", exit_status=2, tally={word: 0 for word in empty["tally"]})
        self.browser.open(page_of(empty, self.folder, "empty"))
        self.assertEqual(self.texts(".sentence"), ["No case was run"])

    def test_missing_measurements_have_no_culprit(self):
        """What was not measured is listed under that heading, never under `Culprits`."""
        made = MadeRun(3, 2, self.folder, well=True)
        report = made.report()
        made.blame(report["cases"][0], "unmeasured", "barrier has 0 of 20 clean samples", "keep other work off the nodes",
                   [{"kind": "node", "name": "nid001", "node": "nid001"}])
        report.update(verdict="unmeasured", exit_status=2)
        report["tally"].update({"pass": 8, "unmeasured": 1})
        self.browser.open(page_of(report, self.folder, "unmeasured"))
        self.assertEqual(self.texts(".blames h2"), ["Not measured"])
        self.assertEqual(self.texts(".sentence"), ["1 of 10 cases could not be measured, 1 was skipped"])

    def test_one_size_is_no_curve(self):
        report = MadeRun(3, 2, self.folder, well=True).report()
        for case in report["cases"]:
            if case["check"] == "allreduce":
                case["metrics"] = [row for row in case["metrics"] if row["where"]["size"] == "128MiB"]
        self.browser.open(page_of(report, self.folder, "one_size"))
        self.browser.value("draw = dispatchEvent(new Event('beforeprint'))")
        self.browser.settle()
        self.assertEqual([text for text in self.texts("#curves figcaption") if "allreduce" in text], [])

    def test_a_reason_of_many_ranks_has_a_row_for_each(self):
        made = MadeRun(3, 8, self.folder, well=True)
        report = made.report()
        rows = [f"rank {rank} on nid001 printed 12.5 MiB, and the bound is 128 MiB" for rank in range(8)]
        made.blame(report["cases"][0], "fail", "; ".join(rows), "correct the reference", [{"kind": "program", "name": "it"}])
        report.update(verdict="fail", exit_status=1)
        report["tally"].update({"pass": 8, "fail": 1})
        self.browser.open(page_of(report, self.folder, "rows"))
        self.assertEqual(self.texts("#cases .card .reason p"), rows)

    def test_the_approved_report_of_all_formats(self):
        approved = json.loads((pathlib.Path(support.os.environ["MUSTER_SOURCE"]) / "tests/golden/reporters/report.json").read_text().replace("VERSION", "0.1.0"))
        self.browser.open(page_of(approved, self.folder, "approved"))
        self.assertEqual(len(self.checks()), 5)
        self.assertIn("3/10 passed".replace("3", "7"), " ".join(self.texts(".reps h4")))


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        support.skip("there is no chromium")
    sys.argv[1:] = sys.argv[1:] or []
    unittest.main(verbosity=2)
