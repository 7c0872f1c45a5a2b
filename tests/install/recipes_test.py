"""The recipes for Spack and Apptainer name what the build has. They are not run here: neither tool is a Debian package's
dependency, and both need a network."""
import ast
import json
import re
import unittest

from installed import SOURCE

RECIPE = SOURCE / "packaging/spack/packages/muster/package.py"
IMAGE = SOURCE / "packaging/apptainer/muster.def"
DEPENDENCIES = (SOURCE / "cmake/dependencies.cmake").read_text()
# Names of the build -> Spack's.
SPACK_NAMES = {"fmt": "fmt", "nlohmann_json": "nlohmann-json", "tomlplusplus": "tomlplusplus", "CLI11": "cli11",
               "tl-expected": "tl-expected", "pugixml": "pugixml"}


def calls(tree, name):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name:
            yield [arg.value for arg in node.args if isinstance(arg, ast.Constant)]


class Spack(unittest.TestCase):
    tree = ast.parse(RECIPE.read_text())

    def test_options_exist(self):
        sources = [SOURCE / "CMakeLists.txt", *(SOURCE / "cmake").glob("*.cmake"), SOURCE / "src/comm/mpi/CMakeLists.txt"]
        known = set(re.findall(r"^\s*(?:option|set)\((MUSTER_\w+)", "".join(p.read_text() for p in sources), re.MULTILINE))
        given = {call[0] for call in calls(self.tree, "define")}
        self.assertGreater(len(given), 4)
        self.assertEqual(given - known, set())

    def test_versions_are_those_of_the_build(self):
        asked = {}
        for call in calls(self.tree, "depends_on"):
            name, _, version = call[0].partition("@")
            asked[name] = version.rstrip(":")
        for name, version in re.findall(r"muster_find\((\S+) (\S+)\)", DEPENDENCIES):
            if name in SPACK_NAMES:
                self.assertEqual(asked.get(SPACK_NAMES[name]), version, name)
        self.assertIn("mpi", asked)

    def test_its_version_is_the_project_s(self):
        project = re.search(r"project\(muster VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertIn([project], list(calls(self.tree, "version")))


class Apptainer(unittest.TestCase):
    def test_packages_are_those_of_the_build(self):
        door = (SOURCE / "dev").read_text()
        wanted = " ".join(re.search(rf'^{name}="(.*)"', door, re.MULTILINE).group(1) for name in ("needed", "libraries"))
        text = IMAGE.read_text().replace("\\\n", " ")
        build = re.search(r"apt-get install (.*g\+\+.*)", text).group(1).split()
        self.assertEqual(set(wanted.split()) - set(build) - {"libopenblas-dev"}, set())

    def test_preset_exists(self):
        presets = json.loads((SOURCE / "CMakePresets.json").read_text())
        for kind in ("configurePresets", "buildPresets"):
            self.assertIn("package", [preset["name"] for preset in presets[kind]])
        self.assertIn("--preset package", IMAGE.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
