"""Each type of a header has a name of its own in its namespace: two in one program that differ break the one definition rule, which
no compiler reports where no source includes both."""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

# Comments, literals and directives are no code; a raw string may contain braces.
NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.M | re.S)
TOKEN = re.compile(r"\bnamespace\s+([\w:]*)\s*\{|\b(?:struct|class|enum(?:\s+class)?)\s+(\w+)(?!\w|::)(?:\s+final)?\s*(?::[^;{}]*)?\{|\busing\s+(\w+)\s*=|[{}]")


def types_of(text):
    """Of its namespaces, not of classes or functions: each with the namespace before it."""
    found, scopes = [], []
    for match in TOKEN.finditer(NOT_CODE.sub(" ", text)):
        in_namespace = all(scope is not None for scope in scopes)
        if match[0] == "}":
            if scopes:
                scopes.pop()
        elif match[1] is not None:
            scopes.append(match[1] or None)  # an unnamed namespace is of one source
        else:
            name = match[2] or match[3]
            if name and in_namespace:
                found.append("::".join([*scopes, name]))
            if match[0].endswith("{"):
                scopes.append(None)
    return found


# Names that are not the field's terms, and what to write instead.
FILES = {"ails": "usability", "told": "symptoms, result_lines", "seen": "case_view", "standing": "node_status", "settle": "verdict_rules", "reach": "remote_exec",
         "aim": "retarget", "scene": "failure_context", "wreck_words": "failure_text", "salvage": "spool_recovery", "examine": "diagnose",
         "orders": "fault_injection", "spoilt_comm": "faulty_comm", "screen": "prescan", "complaints": "document_errors", "narrow": "float16",
         "capable": "peak_bandwidth", "demand": "param_check", "seating": "core_assignment", "places": "rank_map", "odd_ones": "outliers", "odd_one_out": "outliers",
         "ballots": "vote_codec", "signed_lines": "tagged_lines", "shown": "grouped_cases", "act": "node_actions_command", "night": "scheduled_run",
         "keeper": "cleanup_process"}
WORDS = {"Opinion": "NodeAssessment", "Heard": "CollectedFindings", "Errand": "RemoteCommand", "Scene": "FailureContext, CaseFixture", "Wreck": "LaunchFailure",
         "Damage": "LaunchOutcome", "SpoiltComm": "FaultyComm", "spoil": "corrupt", "Complaints": "DocumentErrors", "Room": "SizeBudget", "Draft": "PageWriter",
         "Kept": "UvHandle", "hurry": "tighten_deadlines", "heed_silence": "explain_unreachable", "salvage": "recover_spool", "Keeper": "CleanupProcess",
         "Orders": "InjectedFaults", "Standings": "NodeStatuses", "Told": "ProgramFinding"}
# Parts of names: `told_by`, `has_said`.
PARTS = {"told": "reported, listed, given", "tell": "report", "tells": "reports", "said": "message, output", "says": "reports", "ail": "problem", "ails": "faults"}
PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Names(unittest.TestCase):
    def test_names_are_the_terms_of_the_field(self):
        found = []
        for path in sorted(path for root in ("src", "include") for path in (SOURCE / root).rglob("*.?pp")):
            if path.stem in FILES:
                found.append(f"{path.relative_to(SOURCE)}: rename it: {FILES[path.stem]}")
            code = set(re.findall(r"\w+", NOT_CODE.sub(" ", path.read_text())))
            found += [f"{path.relative_to(SOURCE)}: {word}: write {WORDS[word]}" for word in sorted(code & WORDS.keys())]
            found += [f"{path.relative_to(SOURCE)}: {word}: write {PARTS[part]}"
                      for word in sorted(code) for part in {part.lower() for part in PART.findall(word)} & PARTS.keys()]
        self.assertEqual([], found)

    def test_no_two_headers_have_a_type_of_one_name(self):
        where = {}
        headers = [path for root in ("src", "include") for path in sorted((SOURCE / root).rglob("*.hpp"))]
        for path in headers:
            for name in set(types_of(path.read_text())):
                where.setdefault(name, []).append(str(path.relative_to(SOURCE)))
        self.assertGreater(len(where), 500)
        self.assertEqual({}, {name: files for name, files in where.items() if len(files) > 1})

    def test_types_are_found(self):
        text = '''namespace muster { struct A { struct Inner {}; enum class Kind { one }; }; enum class B : int { x };
                  namespace deep { class C final : public A { void f() { struct Local {}; } }; using D = int; struct Declared; }
                  namespace { struct Hidden {}; } // struct Comment {};
                  inline const char* text = "struct Text {"; }'''
        self.assertEqual(types_of(text), ["muster::A", "muster::B", "muster::deep::C", "muster::deep::D"])


if __name__ == "__main__":
    unittest.main()
