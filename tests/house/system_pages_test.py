"""Every command on the pages of docs/systems is run by a test, as it stands there, or listed here with the reason why not."""
import os
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SOURCE = Path(os.environ.get("MUSTER_SOURCE", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests/cluster"))
import page_commands  # noqa: E402

FOLLOWED = "cluster/system_pages_test.py test_from_login_to_report"
IN_A_JOB = "cluster/site_jobs_test.py test_healthy"
CONTAINER = "cluster/system_pages_test.py test_in_a_container"
FIGURES = "cluster/system_pages_test.py test_checks_with_published_figures"
BOND = "cluster/system_pages_test.py test_the_address_of_bond0"
SUBMITTED = "cluster/site_jobs_test.py test_submitted_from_the_login_node"
BINDINGS = "e2e/profiles_test.py test_bindings_of_the_pages"

# Page, whether it is a batch script, command -> the test that runs it. The first line that fits counts.
RUN = [
    (r".*", True, r".*", IN_A_JOB),
    (r".*", False, r"export (LD_LIBRARY_)?PATH=.*", FOLLOWED),
    (r".*", False, r"muster (doctor|show)\b.*", FOLLOWED),
    (r".*", False, r"(salloc|idev) .*|cd ~/muster|exit", FOLLOWED),
    (r".*", False, r"muster run( --environment (gpu|nccl|rccl)| --system zurada:gpu1h100)?", FOLLOWED),
    (r".*", False, r"module load (?!lumi-aif|miniforge3|gcc cuda).*", FOLLOWED),
    ("lumi", False, r"export NCCL_SOCKET_IFNAME=.*", FOLLOWED),
    ("lumi", False, r"module (use|load) .*", CONTAINER),
    ("lumi", False, r"muster run --environment laifs -J image=\$SIF --agent \S+", CONTAINER),
    ("lumi", False, r".*muster run .* -n p2p_site", FIGURES),
    ("zurada", False, r"export MASTER_ADDR=.*", BOND),
    ("vista", False, r"muster run --submit .*", SUBMITTED),
]
# In the text: command -> the test that runs it, or why none does.
INLINE_RUN = {
    r"muster bind --system \S+( --ranks-per-node 8)?": BINDINGS,
    r"sbatch (--chdir=\$PWD )?job\.sh": IN_A_JOB,
}
INLINE_NOT_RUN = {
    r"sacctmgr .*": "the clusters here have no accounting database",
    r"module .*": "there are no modules here",
    r"git archive .*|scp .*": "copies from the reader's own computer",
    r"scontrol show partition .*": "shows a limit of the site",
    r"salloc --partition=hgxh200 .*|srun -n 1 -c 112 muster bind|muster run --system zurada:hgxh200":
        "the nodes of that partition are not described; cluster.site_jobs_test does the same on nodes without a profile",
    r"eb .*": "installs a container of the site, by the network",
    r"muster run (--environment \w+ |--system \S+ )?-t pytorch": "needs PyTorch; e2e.pytorch_test and cluster.torch_nodes_test run these checks "
                                                               "where it is",
    r"muster run --environment shifter --agent \S+ -t pytorch": "needs the image's PyTorch; cluster.site_jobs_test runs other checks by that environment",
    r"muster run --launch @train\.sh": "a script of the reader's; e2e.launch_line_test and cluster.site_jobs_test have such scripts",
    r"srun -n8 -c7 .*": "OLCF's line for a program of the reader's; cluster.site_jobs_test starts muster with its masks and GPUs",
    r"conda activate .*": "activates an environment for PyTorch of the site",
    r"MPICC=.* pip3? install .*": "builds mpi4py, by the network; cluster.mpi4py_test has a stand-in, e2e.mpi4py_test one that is installed",
    r"unset PYTHONUSERBASE|shifter --env .*": "there is no Shifter here",
    r"export PMI_SHARED_SECRET=.*": "there is no Cray MPICH here",
    r"export https_proxy=.*": "there is no proxy here",
    r"ldd --version": "compares C libraries of node and image; there is no image here",
}
# Command -> why no test runs it.
NOT_RUN = {
    r"ssh USER@.*": "the tests are on the login node already; accounts there are not ours",
    r"module spider .*": "lists what a site has installed; there are no modules here",
    r"CXX=CC cmake --preset release": "there is no Cray compiler; with other compilers the build under test was made so",
    r"cmake --preset release": "the build under test was made so",
    r"cmake --build --preset release --parallel 4": "the build under test was made so",
    r"cmake --install build/release --prefix \$HOME/muster-agent --component bundle": "cluster.bundle_test installs the build under test so",
    r"SIF=\$\(ls -t /appl/local/laifs/containers/.*": "a folder of LUMI; the test sets SIF to a path there",
    r"muster run --environment laifs .* -t pytorch": "needs the image's PyTorch; e2e.pytorch_test runs these checks without it",
    r"muster run --environment laifs .* -n allreduce_site": "128 MiB between 16 GPUs that processors play take minutes; e2e.selftest_test "
                                                           "runs that check on two",
    r"shifterimg images .*": "there is no Shifter here",
    r"module load (miniforge3|gcc cuda).*": "a site's Python; there are no modules here",
    r"python3 -m venv .*|\. \S+/activate|pip3? install torch.*|conda (create|activate) .*": "makes an environment for PyTorch, by the network",
    r"module unload .*": "there are no modules here",
    r"MPICC=.* pip3? install .*": "builds mpi4py, by the network; cluster.mpi4py_test has a stand-in, e2e.mpi4py_test one that is installed",
    r"muster run (--environment rccl )?-t pytorch": "needs PyTorch; e2e.pytorch_test and cluster.torch_nodes_test run these checks where it is",
    r"muster run --submit .*--environment shifter .*": "cluster.site_jobs_test submits the line with another check",
}


def test_of(block, command):
    return next((test for page, is_script, pattern, test in RUN
                 if re.fullmatch(page, block.page) and block.is_script == is_script and re.fullmatch(pattern, command)), None)


class Pages(unittest.TestCase):
    def commands(self):
        return [(block, command) for block in page_commands.blocks() for command in block.commands()]

    def test_every_command_is_run_or_listed(self):
        self.assertGreater(len(self.commands()), 60)
        for block, command in self.commands():
            with self.subTest(page=block.page, command=command):
                reasons = [pattern for pattern in NOT_RUN if re.fullmatch(pattern, command)]
                if block.is_script:
                    continue
                self.assertEqual(len(reasons) + (test_of(block, command) is not None), 1,
                                 "a command of a page is either run by a test or listed with a reason")

    def test_every_command_in_the_text_is_run_or_listed(self):
        self.assertGreater(len(page_commands.inline()), 20)
        tables = [*INLINE_RUN, *INLINE_NOT_RUN]
        for page, command in page_commands.inline():
            with self.subTest(page=page, command=command):
                self.assertEqual(len([pattern for pattern in tables if re.fullmatch(pattern, command)]), 1,
                                 "a command of a page is either run by a test or listed with a reason")
        for pattern in tables:
            self.assertTrue(any(re.fullmatch(pattern, command) for _, command in page_commands.inline()), pattern)

    def test_nothing_is_listed_in_vain(self):
        for pattern in NOT_RUN:
            self.assertTrue(any(re.fullmatch(pattern, command) for _, command in self.commands()), pattern)
        used = {test_of(block, command) for block, command in self.commands()}
        self.assertEqual({test for *_, test in RUN} - used, set())

    def test_tests_that_are_named_read_the_pages(self):
        for test in {*(test for *_, test in RUN), *INLINE_RUN.values()}:
            file, name = test.split()
            text = (SOURCE / "tests" / file).read_text()
            self.assertRegex(text, rf"def {name}\(", test)
            self.assertTrue("page_commands" in text or "on_site" in text, f"{file} does not take its commands from the pages")

    def test_each_page_has_a_way_from_login_to_report_and_a_batch_script(self):
        for page in page_commands.PAGES.glob("*.md"):
            mine = [block for block in page_commands.blocks() if block.page == page.stem]
            self.assertEqual(sum(block.is_script for block in mine), 1, page.name)
            self.assertTrue(mine[0].commands()[0].startswith("ssh "), page.name)

    def test_no_page_denies_what_muster_has(self):
        for page in page_commands.PAGES.glob("*.md"):
            self.assertNotRegex(" ".join(page.read_text().split()).lower(), r"no gpu probes?|exchange (data in )?host memory|(on|in) host memory only", page.name)

    def test_each_page_leads_to_the_rules_for_ranks(self):
        self.assertIn("\n## Ranks of your own scripts\n", (SOURCE / "docs/methods/pytorch.md").read_text())
        for page in page_commands.PAGES.glob("*.md"):
            self.assertIn("[PyTorch](../methods/pytorch.md#ranks-of-your-own-scripts) describes how scripts get `RANK` and `WORLD_SIZE`", " ".join(page.read_text().split()), page.name)


if __name__ == "__main__":
    unittest.main()
