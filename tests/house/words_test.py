"""Words and turns of phrase that standard technical English does not use are absent from the files in CLEAN, which grows until it
covers the repository. Of pages, fenced and inline code is not searched, as it quotes commands and output; of programs, only comments and
string literals are."""
import io
import os
import pathlib
import re
import tokenize
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

# Pattern (ignoring case) -> what to write instead.
FORBIDDEN = {
    r"told|tells?|telling": "is printed, reports, shows",
    r"said|says?(?: so)?|saying": "reports, notes, contains, or the message itself",
    r"nobody|everybody|somebody|whoever": "no user, all users, another user, users who",
    r"in so many words": "explicitly",
    r"(?<!there )(?<!there's )(?:is|are|was|were) no(?! (?:longer|more|less|older|later|newer|greater|larger)\b)": "is not a, has no",
    r"asks? (?:for )?nothing": "has no effect, is ignored",
    r"of no use": "unusable",
    r"heed(?:s|ed|ing)?": "applies, has effect",
    r"errands?|wreck(?:s|ed|age)?|ails|ailing|spoilt|spoils?|odd ones?(?: out)?": "remote command, failure, unhealthy, corrupt, outlier",
}
PATTERNS = [(re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE), instead) for pattern, instead in FORBIDDEN.items()]

CLEAN = [
    "CHANGELOG.md",
    "README.md",
    "checks",
    "docs",
    "include",
    "packaging",
    "simulation",
    "src",
]


def files(entry):
    path = SOURCE / entry
    return sorted(one for one in path.rglob("*") if one.is_file() and one.suffix != ".pyc") if path.is_dir() else [path]


ANY = re.compile("|".join(f"(?:{pattern})" for pattern in FORBIDDEN), re.IGNORECASE)

CPP = re.compile(r"""^#include [^\n]*|//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.M | re.S)


def blank(text):
    """As long, with nothing but line ends."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def comments_and_texts_of_cpp(text):
    kept, end = [], 0
    for match in CPP.finditer(text):
        is_name = re.fullmatch(r'#include [^\n]*|"\w*"', match[0])  # a path, or a key of a document
        kept += [blank(text[end:match.start()]), blank(match[0]) if is_name else match[0]]
        end = match.end()
    return "".join(kept) + blank(text[end:])


def comments_and_texts_of_python(text):
    kinds = {tokenize.COMMENT, tokenize.STRING}
    lines = [[] for _ in range(text.count("\n") + 2)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            literal = re.sub(r"(?<!\{)\{[^{}\n]*\}", "", token.string) if token.string[:2].lower() in ('f"', "f'") else token.string
            for offset, part in enumerate(literal.split("\n")):
                lines[token.start[0] - 1 + offset].append(part)
    return "\n".join(" ".join(parts) for parts in lines)


def prose(path):
    text = path.read_text(errors="replace")
    if path.suffix in (".cpp", ".hpp", ".h", ".c", ".cu"):
        return comments_and_texts_of_cpp(text)
    if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        return comments_and_texts_of_python(text)
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```|`[^`\n]*`", lambda match: blank(match[0]), text, flags=re.M | re.S)
    if path.name == "CHANGELOG.md":
        text = re.split(r"^## (?!Unreleased)", text, flags=re.M)[0]
    return text


def findings(path):
    return [f"{path.relative_to(SOURCE)}:{number}: \"{match[0]}\": write: {instead}"
            for number, line in enumerate(prose(path).splitlines(), 1) if ANY.search(line)
            for pattern, instead in PATTERNS for match in pattern.finditer(line)]


class Words(unittest.TestCase):
    def test_clean_files_have_none_of_the_forbidden_words(self):
        found = []
        for entry in CLEAN:
            self.assertTrue((SOURCE / entry).exists(), f"{entry} is in CLEAN and does not exist")
            found += [finding for path in files(entry) for finding in findings(path)]
        self.assertEqual([], found, "\n" + "\n".join(found))

    def test_a_forbidden_word_is_found(self):
        for line in ("The user is told.", "It is no failure.", "Nobody knows.", "asks nothing"):
            self.assertTrue(any(pattern.search(line) for pattern, _ in PATTERNS), line)
        for line in ("There is no GPU.", "no less than: it is no longer there", "the toldyouso option"):
            self.assertFalse(any(pattern.search(line) for pattern, _ in PATTERNS), line)

    def test_names_in_code_are_not_searched(self):
        self.assertEqual(['"as', 'told"', "//", "said"], comments_and_texts_of_cpp('#include "told.hpp"\ntold = f("told", "as told"); // said').split())
        found = comments_and_texts_of_python('told = 1  # said\nx = f"told {told}"\n')
        self.assertEqual(["#", "said", 'f"told', '"'], found.split())


if __name__ == "__main__":
    unittest.main()
