"""Few modules of src are fragments: a header and its source count as one (docs/adr/0026-size.md). Files are short enough to read."""
import collections
import os
import pathlib
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SMALL = 40
MOST_SMALL = 0.10
LONG = 300


def lines_of(root):
    """Lines of each header and source, by its path without suffix, and of each file."""
    modules, files = collections.Counter(), {}
    for path in sorted(root.rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            files[path] = path.read_text().count("\n")
            modules[path.with_suffix("")] += files[path]
    return modules, files


class Sizes(unittest.TestCase):
    def setUp(self):
        self.modules, self.files = lines_of(SOURCE / "src")
        self.assertGreater(len(self.modules), 100)

    def test_few_modules_are_fragments(self):
        small = sorted(str(name.relative_to(SOURCE)) for name, lines in self.modules.items() if lines < SMALL)
        self.assertLessEqual(len(small) / len(self.modules), MOST_SMALL, "merge some of: " + ", ".join(small))

    def test_95_of_100_files_have_at_most_300_lines(self):
        lengths = sorted(self.files.values())
        self.assertLessEqual(lengths[int(0.95 * len(lengths))], LONG)

    def test_a_header_and_its_source_count_as_one(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, lines in (("a.hpp", 10), ("a.cpp", 35), ("b.hpp", 5), ("notes.txt", 3)):
                pathlib.Path(folder, name).write_text("x\n" * lines)
            modules, files = lines_of(pathlib.Path(folder))
            self.assertEqual({name.name: lines for name, lines in modules.items()}, {"a": 45, "b": 5})
            self.assertEqual(sorted(files.values()), [5, 10, 35])


if __name__ == "__main__":
    unittest.main()
