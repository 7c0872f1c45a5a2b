"""Words and turns of phrase that standard technical English does not use are absent from the files in CLEAN, which grows until it
covers the repository. Fenced and inline code of pages is not searched: it quotes commands and what programs print."""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

# Pattern (ignoring case) -> what to write instead.
FORBIDDEN = {
    r"told|tells?": "is printed, reports, shows",
    r"(?:is|are|was|were|as|be) said|said (?:so|beside|where|with)|says?(?: so)?|saying": "reports, notes, contains, or the message itself",
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
    "README.md",
    "docs/adr",
    "docs/bind.md",
    "docs/bounds-and-verdicts.md",
    "docs/check-files.md",
    "docs/cray-mpich.md",
    "docs/failures.toml",
    "docs/gate.md",
    "docs/glossary.md",
    "docs/history.md",
    "docs/installing.md",
    "docs/launch-line.md",
    "docs/machines.md",
    "docs/make_failures",
    "docs/measurements",
    "docs/measuring.md",
    "docs/methods",
    "docs/night.md",
    "docs/programs.md",
    "docs/proving-ground.md",
    "docs/report-format.md",
    "docs/reports.md",
    "docs/runner.md",
    "docs/security.md",
    "docs/selftest.md",
    "docs/site.md",
    "docs/submit.md",
    "docs/systems",
    "docs/testing.md",
    "docs/training-before-a-large-job.md",
    "docs/tutorial-first-check.md",
    "docs/tutorial-first-probe.md",
    "docs/tutorial-plugin-probe.md",
]


def files(entry):
    path = SOURCE / entry
    return sorted(one for one in path.rglob("*") if one.is_file() and one.suffix != ".pyc") if path.is_dir() else [path]


def prose(path):
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        blank = lambda match: re.sub(r"[^\n]", " ", match[0])  # noqa: E731
        text = re.sub(r"^```.*?^```", blank, text, flags=re.M | re.S)
        text = re.sub(r"`[^`\n]*`", blank, text)
    if path.name == "CHANGELOG.md":
        text = re.split(r"^## (?!Unreleased)", text, flags=re.M)[0]
    return text


def findings(path):
    return [f"{path.relative_to(SOURCE)}:{number}: \"{match[0]}\": write: {instead}"
            for number, line in enumerate(prose(path).splitlines(), 1)
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


if __name__ == "__main__":
    unittest.main()
