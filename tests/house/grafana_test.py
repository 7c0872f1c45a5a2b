"""The dashboard asks for nothing that the Prometheus report does not write: metrics and labels of every query stand in the
approved report."""
import json
import os
import re
import sys

SOURCE = os.environ.get("MUSTER_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DASHBOARD = os.path.join(SOURCE, "reports", "grafana", "muster.json")
APPROVED = os.path.join(SOURCE, "tests", "golden", "reporters", "muster.prom")
# Only with --per-node a case has a node.
SOMETIMES = {"node"}


def series(text):
    """{metric: names of its labels} of a report."""
    found = {}
    for line in text.splitlines():
        if match := re.match(r"([a-z_0-9]+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r'([a-z_0-9]+)="', match[2] or ""))
    return found


def queries(dashboard):
    """(query, legend) of every panel and variable."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"], ""


def problems_of(query, legend, known):
    labels = {name for name in re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)\s*\"", query) if name != "__name__"}
    labels |= set(re.findall(r"\{\{([a-z_]+)\}\}", legend)) - {"__name__"} - SOMETIMES
    patterns = re.findall(r'__name__=~"([^"]+)"', query) or re.findall(r"muster_[a-z_0-9]+", query)
    if not patterns:
        yield f"{query}: names no metric of muster"
    for pattern in patterns:
        names = [name for name in known if re.fullmatch(pattern, name)]
        if not names:
            yield f"{query}: no metric {pattern} in the approved report"
        if names and (missing := labels - set().union(*(known[name] for name in names))):
            yield f"{query}: {pattern} has no label {', '.join(sorted(missing))}"


def main():
    with open(APPROVED, encoding="utf-8") as file:
        known = series(file.read())
    with open(DASHBOARD, encoding="utf-8") as file:
        asked = list(queries(json.load(file)))
    wrong = [problem for query, legend in asked for problem in problems_of(query, legend, known)]
    # The test itself goes red where it should.
    for query in ("muster_gone{}", 'muster_cases{colour="red"}', "up"):
        if not list(problems_of(query, "", known)):
            wrong.append(f"{query} was not noticed")
    print("\n".join(wrong) or f"{len(asked)} queries, all of them answered")
    return 1 if wrong or len(asked) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
