"""How records of live runs are scored: what a report names, of which kind that is, and whether it is right. Pure: no file, process or
clock. Part of live.py.

A culprit, in an answer and in a record, is a dict with `node` and, where one rank is meant, `rank`; {"launcher": true} is the launcher.
"""
import collections
import json
import math
import re
import typing

PASS, SILENT, OTHER = "pass", "nothing", "other"

# Kind of a finding, by what its reason states; the first that matches. A reason that states no cause is of kind `other`.
KINDS = (
    ("data network", r"over the data network"),
    ("launcher stopped", r"^the launcher .* is stopped|^the launcher(?:'s| or its) daemons? .* (?:is|are) stopped|daemon .* on \S+ is stopped"),
    ("launcher ended", r"the launcher(?:'s| or its) daemons? .* (?:has|have) ended|the launcher (?:\S+ )?(?:was killed|was ended|ended|exited|died)|^mpirun ended|^srun ended|launch was ended"),
    ("stopped", r"\b(?:is|are) stopped\b"),
    ("memory", r"out of memory|out-of-memory|annot allocate memory|memory limit|could not prepare|too little memory|bad_alloc"),
    ("killed", r"killed by (?:signal 9|SIGKILL)"),
    ("crashed", r"killed by (?:signal|SIG)"),
    ("exited", r"exited with status|exited by itself"),
    ("ended", r"ended without a message"),
    ("full", r"[Nn]o space left|\bis full\b"),
    ("read-only", r"[Rr]ead-only"),
    ("another program", r"muster \S+ is installed|another version|another MPI|different MPI|built for|was built with|unsupported PMI|wrong MPI"),
    ("library", r"shared librar|shared object"),
    ("not there", r"not installed|is not mounted|[Nn]o such file"),
    ("file system hangs", r"file system .*(?:hangs|does not answer)|stuck in the kernel|waits? in the kernel"),
    ("processes", r"processes and threads|Resource temporarily unavailable|fork|no more processes|pids"),
    ("files", r"open files|descriptors"),
    ("unreachable", r"(?:does|do) not answer|can't be reached|No route|lose packets"),
    ("does not start", r"no rank starts on|could not start its daemon|never started|does not start"),
    ("clock", r"\bclock of\b"),
    ("name", r"calls itself|host name|of one name|same name|named .* by|are on no node"),
    ("wrong data", r"wrong data|wrong sum|wrong result|flipped|wrong claim|differ"),
    ("slow", r"\bslow\b|straggler|behind its peers|late\b"),
    ("unreachable", r"did not answer|\blost\b|timed out|not reachable|unreachable|connection"),
    ("hangs", r"behind|did not (?:come|finish|return|leave)|out of step|not finished|still (?:at work|in)|hangs|spins|runs|never left|in \S+ since|no rank stands out"),
)


class Score(typing.NamedTuple):
    """Of one record."""

    kind: str  # of the main finding
    named: list  # culprits of all findings, each once
    right: int  # of those that are named, at fault or not to be told from what is
    found: int  # of those that are at fault
    at_fault: int
    is_kind_right: bool
    is_false_pass: bool


def kind_of(reason):
    return next((name for name, pattern in KINDS if re.search(pattern, reason)), OTHER)


def findings_of(report):
    """(verdict, reason, culprits) of each case that did not pass; what follows from another case is left out. A link counts by its
    ends, which are culprits beside it."""
    cases = [case for case in report["cases"] if case["verdict"] not in ("pass", "skip") and not case.get("follows")]
    return [{"verdict": case["verdict"], "reason": case.get("reason", ""),
             "culprits": [culprit_of(one) for one in case["culprits"] if one["kind"] != "link" or len(case["culprits"]) == 1]} for case in cases]


def culprit_of(entry):
    if entry["kind"] == "launcher" and entry.get("name") != "daemon":
        return {"launcher": True}
    named = {"node": entry.get("node") or (entry["name"] if entry["kind"] == "node" else "")}
    if "rank" in entry:
        named["rank"] = entry["rank"]
    if not named["node"]:
        named["name"] = entry["name"]
    return named


def covers(answer, named):
    """Whether naming this is right where that is the answer: a rank at fault may be named by its node, a node by any of its ranks."""
    if "launcher" in answer or "launcher" in named:
        return answer == named
    if answer.get("rank") is not None and named.get("rank") is not None:
        return answer["rank"] == named["rank"]
    return answer["node"] == named.get("node")


def named_in(findings):
    unique = {json.dumps(culprit, sort_keys=True): culprit for finding in findings for culprit in finding["culprits"]}
    return list(unique.values())


def main_finding(findings):
    """The first that names a culprit; else the first."""
    return next((one for one in findings if one["culprits"]), findings[0] if findings else None)


def score(record, kinds):
    """`kinds`: those that are right. A healthy run, or one whose fault may do no harm, has `pass` among them."""
    findings = record["findings"]
    named = named_in(findings)
    main = main_finding(findings)
    has_passed = record["status"] == 0
    kind = PASS if has_passed else SILENT if main is None else kind_of(main["reason"])
    tolerated = [*record["at_fault"], *record["tolerated"]]
    right = sum(any(covers(answer, one) for answer in tolerated) for one in named)
    needed = [] if has_passed and PASS in kinds else record["at_fault"]
    found = sum(any(covers(answer, one) for one in named) for answer in needed)
    return Score(kind, named, right, found, len(needed), kind in kinds, has_passed and PASS not in kinds)


def wilson(good, of, z=1.96):
    """95 % interval of a share (Wilson, 1927); (0, 1) without trials."""
    if of == 0:
        return 0.0, 1.0
    share = good / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def share_line(name, good, of):
    low, high = wilson(good, of)
    share = f"{good / of:.3f}" if of else "-"
    return f"| {name} | {good} of {of} | {share} | {low:.3f} to {high:.3f} |"


def quantile(values, share):
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def confusion(pairs):
    """Lines of a table: a row for each right kind, a column for each reported one."""
    counts = collections.Counter(pairs)
    rows = sorted({right for right, _ in counts})
    columns = sorted({reported for _, reported in counts}, key=lambda name: (name in (PASS, SILENT, OTHER), name))
    lines = ["| right kind | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for row in rows:
        cells = [str(counts[row, column] or "") for column in columns]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines
