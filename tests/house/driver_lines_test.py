"""What a machine description may tell the stand-ins of vendors' libraries is what they know, and the other way round."""
import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DESCRIBED = sorted(glob.glob(os.path.join(ROOT, "src", "device", "*", "terms", "described.cpp")))
TABLES = [os.path.join(ROOT, "src", "config", "machine_driver_lines.cpp"), *DESCRIBED]
CALL = r"(?:cu|nvml|nvrtc|nccl|hip|rsmi_|amdsmi_)[A-Za-z]\w*"


def read(path):
    with open(path) as file:
        return file.read()


def known(name):
    """The words of one table, of whichever vendor."""
    texts = [match[1] for path in TABLES if (match := re.search(rf"constexpr std::string_view {name} =(.*?);", read(path), re.S))]
    assert len(texts) == 1, f"{name} is in {len(texts)} files"
    return {word for line in re.findall(r'"([^"]*)"', texts[0]) for word in line.split()}


class DriverLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        homes = [os.path.dirname(os.path.dirname(sheet)) for sheet in
                 glob.glob(os.path.join(ROOT, "simulation", "stand_ins", "driver", "sheet.cpp")) + glob.glob(os.path.join(ROOT, "tests", "fake", "driver", "sheet.cpp"))]
        assert len(homes) == 1, "where are the stand-ins?"
        folders = ["driver", *(path.split(os.sep)[-3] for path in DESCRIBED)]
        files = [path for folder in folders for path in glob.glob(os.path.join(homes[0], folder, "*pp"))]
        cls.source = "\n".join(map(read, sorted(files)))

    def test_functions(self):
        told = {name for name in re.findall(rf'"({CALL})"', self.source) if not name.startswith("hipError")}
        marked = known("calls_of_both")
        for path in DESCRIBED:
            marked |= known(f"calls_of_{path.split(os.sep)[-3]}")
        self.assertEqual({name.rstrip("*") for name in marked}, told)
        about_none = set(re.findall(r'entered\("(\w+)"\)|ENTER\("(\w+)", -1\)', self.source))
        about_none = {name for names in about_none for name in names if name} | {"nvrtcCompileProgram", "hiprtcCompileProgram"}
        self.assertEqual({name.rstrip("*") for name in marked if name.endswith("*")}, about_none)

    def test_values(self):
        asked = set(re.findall(r'(?:text|number|later_value|value|entry|is_on)\((?:\w+, )?"([a-z_]+)"', self.source))
        asked |= set(re.findall(r'put_(?:number|on|count)\("\w+", \w+, "([a-z_]+)"', self.source))
        asked -= {"vendor", "model", "id", "driver_version", "host", "memory", "domain", "lanes", "lost", "partitions", "partitions_are_functions",
                  "lines", "links", "devices"}  # of the sheet itself
        self.assertLessEqual(asked, known("keys_of_values"))
        for key in known("keys_of_values"):
            parts = [key, key.removesuffix("_pending"), re.sub("^(sram|dram)_", "", key)]
            self.assertTrue(any(f'"{part}"' in self.source for part in parts), f"nobody requests {key}")

    def test_kernels(self):
        self.assertEqual(known("kernels_of_training"), set(re.findall(r'"(muster_train_\w+)"', self.source)))


if __name__ == "__main__":
    unittest.main()
