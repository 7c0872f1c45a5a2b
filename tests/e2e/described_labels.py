"""Names of readings in a report that docs/measuring.md does not define. Shared, not a test."""
import functools
import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SUFFIX = re.compile(r"\.(possible|capable)$")


@functools.cache
def described():
    """(probe or check, metric or label=)."""
    text = (SOURCE / "docs" / "measuring.md").read_text().split("## What each name claims", 1)[1]
    return set(re.findall(r"^\| `(\w+)` \| `(\w+=?)` \|", text, re.M))


@functools.cache
def maxima():
    """Metrics with `.capable` that the page names."""
    text = (SOURCE / "docs" / "measuring.md").read_text().split("## Faster than possible", 1)[1].split("\n\n")[1]
    return set(re.findall(r"`(\w+\.capable)`", text))


def undescribed(report):
    """Of shipped probes, and of checks whose programs have rows of their own."""
    known = {probe for probe, _ in described()}
    missing = set()
    for case in report["cases"]:
        name = case["check"] if case["probe"] == "command" else case["probe"]
        if name not in known:
            continue
        for row in case["metrics"]:
            names = [SUFFIX.sub("", row["metric"]), *(f"{label}=" for label in row.get("where", {}))]
            missing |= {(name, one) for one in names} - described()
            if row["metric"].endswith(".capable"):
                missing |= {(name, one) for one in {row["metric"]} - maxima()}
    return missing


def check(report):
    missing = undescribed(report)
    assert not missing, f"reported, and not in docs/measuring.md: {sorted(missing)}"
    return report
