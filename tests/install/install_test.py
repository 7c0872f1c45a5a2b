"""`cmake --install` into an empty folder: everything is there, is found from there, and still is after a move."""
import os
import shutil
import subprocess
import sys
import unittest

import installed
from installed import SOURCE, environment, run

sys.path.insert(0, str(SOURCE / "tests/cluster"))
import page_commands  # noqa: E402
import page_tests  # noqa: E402

EXPECTED = """
bin/muster
bin/muster-rank
include/muster/probe.hpp
include/muster/plugin.hpp
include/muster/stamp.hpp
share/muster/checks/basic/hello.toml
share/muster/checks/systems/lumi.toml
share/muster/machines/lumi-g.toml
share/muster/schema/report-1.json
share/man/man1/muster.1
share/man/man1/muster-run.1
share/man/man1/muster-rank.1
share/bash-completion/completions/muster
share/zsh/site-functions/_muster
share/doc/muster/README.md
share/doc/muster/docs/installing.md
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = installed.temporary("install")
        installed.install(folder / "first")
        # Programs that only worked where they were put would be seen here.
        cls.prefix = folder / "moved tree"
        shutil.move(folder / "first", cls.prefix)
        cls.muster = cls.prefix / "bin" / "muster"
        cls.work = folder / "work"
        cls.work.mkdir()

    def test_everything_is_there(self):
        missing = [name for name in EXPECTED.split() if not (self.prefix / name).is_file()]
        self.assertEqual(missing, [])
        packages = list(self.prefix.glob("lib*/**/cmake/muster/muster-config.cmake"))
        self.assertEqual(len(packages), 1, packages)
        for source, path in (("checks", "checks"), ("simulation/machines", "machines")):
            shipped = {p.relative_to(SOURCE / source) for p in (SOURCE / source).rglob("*")
                       if p.is_file() and "__pycache__" not in p.parts}
            there = {p.relative_to(self.prefix / "share/muster" / path)
                     for p in (self.prefix / "share/muster" / path).rglob("*") if p.is_file()}
            self.assertEqual(shipped, there)

    def test_nothing_of_the_build(self):
        strays = [str(p) for p in self.prefix.rglob("*") if p.name in ("__pycache__", "muster-test") or p.suffix == ".o"]
        self.assertEqual(strays, [])

    def test_its_own_checks_and_machines(self):
        said = run(self.muster, "list", "--json", cwd=self.work).stdout
        self.assertIn(str(self.prefix / "share/muster/checks"), said)
        self.assertNotIn(str(SOURCE), said)
        self.assertIn("lumi-g", run(self.muster, "machine", cwd=self.work).stdout)
        run(self.muster, "lint", self.prefix / "share/muster/checks", cwd=self.work)

    def test_runs_with_its_own_agent(self):
        if shutil.which("mpirun") is None:
            self.skipTest("there is no mpirun")
        run(self.muster, "run", "-n", "^hello$", "--ranks-per-node", "2", cwd=self.work)
        command = next(self.work.glob("muster-runs/latest/launches/*/command")).read_text()
        self.assertIn(str(self.prefix / "bin" / "muster-rank"), command.replace("'", ""))

    def test_nothing_from_where_it_was_built(self):
        """Whoever may write there now is not who installed it."""
        copy = self.work / "copy"
        (copy / "bin").mkdir(parents=True)
        shutil.copy(self.muster, copy / "bin")
        said = run(copy / "bin/muster", "list", status=3)
        self.assertNotIn(str(SOURCE), said.stdout + said.stderr)

    def test_examples_can_be_run(self):
        scripts = self.prefix / "share/doc/muster/examples/slurm"
        self.assertTrue(all(path.stat().st_mode & 0o100 for path in scripts.iterdir()))

    def test_the_page(self):
        """docs/installing.md, with another /opt over the one of this machine."""
        over_opt = ["unshare", "--mount", "--propagation", "private"]
        if os.geteuid() != 0 or subprocess.run([*over_opt, "true"], check=False).returncode != 0:
            self.skipTest("only root can mount another /opt")
        checkout = self.work / "checkout"
        (checkout / "build").mkdir(parents=True)
        (checkout / "build/release").symlink_to(installed.BUILD)
        commands = [command for fence in page_commands.fences_of("installing") for command, _ in fence.steps()
                    if page_tests.test_of(fence, command) == page_tests.INSTALLED]
        self.assertEqual(len(commands), 3)
        # Those that time something are not for a machine on which other tests run.
        (self.work / "quick").mkdir()
        shutil.copy(SOURCE / "checks/basic/hello.toml", self.work / "quick")
        env = environment(HOME=str(self.work), MUSTER_CHECKS=str(self.work / "quick"), XDG_STATE_HOME=str(self.work / "state"))
        script = "set -e; mount -t tmpfs none /opt\n" + "\n".join(commands) + "\ncommand -v muster muster-rank\n"
        done = run(*over_opt, "bash", "-c", script, env=env, cwd=checkout)
        self.assertTrue(done.stdout.endswith("/opt/muster/bin/muster\n/opt/muster/bin/muster-rank\n"), done.stdout)
        self.assertRegex(done.stdout, r"pass +hello%")

    def test_through_a_link(self):
        link = self.work / "muster"
        link.symlink_to(self.muster)
        self.assertIn(str(self.prefix), run(link, "list", "--json").stdout)

    def test_man_finds_it(self):
        if shutil.which("man") is None:
            self.skipTest("there is no man")
        path = {"MANPATH": str(self.prefix / "share/man"), "MANPAGER": "cat", "MAN_KEEP_FORMATTING": ""}
        said = run("man", "muster-run", env=environment(**path)).stdout
        self.assertIn("--per-node", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
