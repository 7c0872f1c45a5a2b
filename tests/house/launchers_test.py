"""What is known of launchers by name is in one list (src/model/launcher_words.cpp), and pages have each launcher."""
import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "checks" / "pytorch"))
import relaunch  # noqa: E402

WORDS = (SOURCE / "src/model/launcher_words.cpp").read_text()
# Of one launcher alone, about one of its variables.
RANK_VARIABLE = re.compile(r'"(OMPI_COMM_WORLD_(LOCAL_)?RANK|PMI_RANK|SLURM_PROCID|FLUX_TASK_RANK|PALS_RANKID|MV2_COMM_WORLD_RANK|JSM_NAMESPACE_RANK)"')
KNOWN = {
    "src/app/commands/bind.cpp": "the lines that it prints for srun and mpirun",
    "src/config/launch_script.cpp": "what a batch script has in its variables",
    "src/model/launcher_words.cpp": "the list",
    "src/probes/environment/judge_torch.cpp": "a pattern of torch's variables below srun",
    "src/run/launched_by.cpp": "which launcher started a rank, from the most specific to the least",
    "src/system/rank_launcher.cpp": "words of which launcher a remedy has",
}


def strings_of(name):
    return re.findall(r'"([^"]*)"', re.search(name + r"\[\] = \{(.*?)\n\};", WORDS, re.S).group(1))


def launchers():
    return sorted(path.stem for path in (SOURCE / "src/launchers").glob("*.cpp"))


class Launchers(unittest.TestCase):
    def test_each_has_its_program_in_the_list(self):
        programs = set(strings_of("programs"))
        self.assertGreaterEqual(len(launchers()), 6)
        self.assertEqual([name for name in launchers() if name != "local" and name not in programs], [])

    def test_the_pytorch_checks_hide_the_same_variables(self):
        self.assertEqual(sorted(relaunch.BEGINNINGS), sorted([*strings_of("of_ranks"), "MUSTER_"]))

    def test_no_other_file_has_variables_of_ranks(self):
        found = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "src").rglob("*.cpp")
                       if "launchers" not in path.parts and RANK_VARIABLE.search(path.read_text()))
        self.assertEqual(found, sorted(KNOWN))

    def test_pages_have_each(self):
        for page in ("runner.md", "bind.md", "machines.md"):
            text = (SOURCE / "docs" / page).read_text()
            with self.subTest(page):
                self.assertEqual([name for name in launchers() if name != "local" and f"{name}" not in text], [])


if __name__ == "__main__":
    unittest.main()
