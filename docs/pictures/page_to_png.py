"""A picture of the top of a page: `page_to_png.py PAGE PNG`. Needs Chromium."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import chromium  # noqa: E402

if chromium.PROGRAM is None:
    sys.exit("there is no chromium: no picture of the page")
with chromium.Browser(width=1180, height=900) as browser:
    browser.open(sys.argv[1])
    browser.screenshot(sys.argv[2])
