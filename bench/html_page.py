"""How large the HTML report of a made-up run is, and how soon a browser answers: `html_page.py BIN [NODES [RANKS]]`.

Ready: all lists stand and the page takes clicks, in ms since the navigation began. Click: from a click on a node until the next frame.
77: there is no Chromium."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/e2e"))
import chromium  # noqa: E402
from made_reports import MadeRun  # noqa: E402

CLICK = """new Promise((done) => { const began = performance.now(); document.querySelectorAll('.tile')[1].click();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0)); })"""


def main(driver, nodes, ranks):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "report.json").write_text(json.dumps(MadeRun(nodes, ranks, folder).report()))
        began = time.monotonic()
        subprocess.run([driver, "show", folder, "--report", f"html={folder / 'page.html'}", "--quiet"], check=True)
        made = time.monotonic() - began
        with chromium.Browser() as browser:
            loads = []
            for _ in range(5):
                browser.open(folder / "page.html")
                loads.append((int(browser.value("document.documentElement.dataset.ready")), browser.value(CLICK)))
            assert not browser.complaints, browser.complaints
        ready, click = (sorted(values)[len(values) // 2] for values in zip(*loads))
        size = (folder / "page.html").stat().st_size
        print(f"HTML report of {nodes} nodes x {ranks} ranks: {size / 1e6:.1f} MB, made in {made:.1f} s (report.json read: "
              f"{(folder / 'report.json').stat().st_size / 1e6:.0f} MB); ready after {ready} ms, a click takes {click:.0f} ms")


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        print("there is no chromium")
        sys.exit(77)
    main(pathlib.Path(sys.argv[1]) / "muster", *(int(text) for text in (sys.argv[2:] + ["1000", "8"][len(sys.argv) - 2:])))
