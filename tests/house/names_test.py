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


class Names(unittest.TestCase):
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
