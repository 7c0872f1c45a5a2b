"""What live.py prints: a line for each run, and the tables of all. Pure. Part of live.py."""
import collections

from live_score import SILENT, confusion, quantile, score, share_line

HANGS = ("stopped", "hangs", "launcher stopped", "data network")  # named when the deadline of the case is over
BARS_S = {"hangs in a case of 6 s": 11, "others": 15}


def name(culprit):
    if "launcher" in culprit:
        return "the launcher"
    place = culprit.get("node") or culprit.get("name", "")
    return f"rank {culprit['rank']} on {place}" if culprit.get("rank") is not None else place


def names(culprits):
    return ", ".join(map(name, culprits)) or "none"


def mark(record, entry):
    """What is wrong with an answer; empty: nothing."""
    result = score(record, entry.kinds)
    marks = ["PASS DESPITE THE FAULT"] if result.is_false_pass and record["has_report"] else []
    marks += ["healthy named"] if result.right < len(result.named) else []
    marks += ["not found"] if result.found < result.at_fault else []
    marks += [f"kind {result.kind}"] if not right_kind(record, entry, result) else []
    marks += [f"left: {'; '.join(record['left'])}"] if record["left"] else []
    return ", ".join(marks)


def right_kind(record, entry, result):
    return not record["has_report"] if "no report" in entry.kinds else result.is_kind_right


def line(record, entry):
    wrong = mark(record, entry)
    result = score(record, entry.kinds)
    text = (f"{'WRONG' if wrong else 'right'}  {record['entry']} {record['number']}: {names(result.named)} ({result.kind}) "
            f"after {record['named_after']} s; at fault: {names(record['at_fault'])}; clean after {record['clean_after']} s")
    if wrong:
        text += f"\n       {wrong}" + "".join(f"\n       {one['verdict']}: {one['reason'][:400]} [{names(one['culprits'])}]" for one in record["findings"][:4])
    return text


def entries(table):
    return ["| entry | machine | when | kinds that are right | at fault | may be named |", "|---|---|---|---|---|---|"] + [
        f"| {one.name} | {one.machine} | {one.when} | {', '.join(one.kinds)} | {', '.join(one.at_fault) or 'none'} | {', '.join(one.tolerated)} |" for one in table]


def tables(records, known):
    scored = [(record, known[record["entry"]], score(record, known[record["entry"]].kinds)) for record in records]
    faulty = [one for one in scored if one[1].when != "never"]
    well = [one for one in scored if one[1].when == "never"]
    return [f"{len(faulty)} runs of {len({one[0]['entry'] for one in faulty})} kinds with a fault, {len(well)} without", "", *shares(faulty, well), "",
            *times(faulty), "", *confusion([(one[1].kinds[0], reported(one)) for one in faulty if "no report" not in one[1].kinds]), "", *by_entry(scored)]


def reported(one):
    return one[2].kind if one[0]["has_report"] else SILENT


def shares(faulty, well):
    judged = [one for one in faulty if "no report" not in one[1].kinds]
    passes = sum(result.is_false_pass and record["has_report"] for record, _, result in faulty)
    dirty = sum(bool(record["left"]) for record, _, _ in faulty + well)
    return ["| what | runs or culprits | share | 95 % interval |", "|---|---|---|---|",
            share_line("precision: named culprits that are right", sum(one[2].right for one in judged), sum(len(one[2].named) for one in judged)),
            share_line("recall: culprits that are named", sum(one[2].found for one in judged), sum(one[2].at_fault for one in judged)),
            share_line("right kind", sum(right_kind(*one) for one in faulty), len(faulty)),
            share_line("healthy runs that pass", sum(record["status"] == 0 for record, _, _ in well), len(well)),
            share_line("a pass despite a fault", passes, len(faulty)),
            share_line("something left after one minute", dirty, len(faulty) + len(well))]


def times(faulty):
    lines = ["| time from fault to name | runs | median | 90 % | most | within the bar |", "|---|---|---|---|---|---|"]
    groups = collections.defaultdict(list)
    for record, entry, result in faulty:
        if record["has_report"] and result.at_fault and result.found == result.at_fault:
            is_hang = entry.kinds[0] in HANGS and entry.when in ("moment", "always")
            groups["hangs in a case of 6 s" if is_hang else "others"].append(record["named_after"])
    for group, seconds in sorted(groups.items()):
        within = sum(one <= BARS_S[group] for one in seconds)
        lines.append(f"| {group} | {len(seconds)} | {quantile(seconds, 0.5):.1f} s | {quantile(seconds, 0.9):.1f} s | {max(seconds):.1f} s | "
                     f"{within / len(seconds):.3f} ({BARS_S[group]} s) |")
    return lines


def by_entry(scored):
    """Entries with at least one answer that is not right, and what was wrong."""
    counts, wrongs = collections.Counter(), collections.defaultdict(collections.Counter)
    for record, entry, _ in scored:
        counts[entry.name] += 1
        text = mark(record, entry).split(", left: ")[0]
        if text:
            wrongs[entry.name]["left" if text.startswith("left: ") else text] += 1
    lines = ["| not right | runs | what |", "|---|---|---|"]
    for entry, found in wrongs.items():
        lines.append(f"| {entry} | {sum(found.values())} of {counts[entry]} | {'; '.join(f'{text} x {times}' for text, times in found.items())} |")
    return lines
