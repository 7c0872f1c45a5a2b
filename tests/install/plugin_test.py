"""A probe of another repository: built against an installed muster by the commands of docs/tutorial-plugin-probe.md, found, run, and
refused for each reason there is. Before it, in the same checkout, docs/tutorial-first-probe.md with its own source."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import installed
from installed import SOURCE, cache, environment, run

sys.path.insert(0, str(SOURCE / "tests/cluster"))
import page_commands  # noqa: E402
import page_tests  # noqa: E402

EXAMPLE = SOURCE / "packaging/examples" / "plugin-probe"
CRASH = "struct Crash { Crash() { __builtin_trap(); } } crash;\n"
THROW = """ProbeJudgement judge(const CaseView&) { throw std::runtime_error("no idea"); }"""


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if cache("MUSTER_SANITIZE"):
            installed.skip("what is built with sanitizers can't be opened by what is not")
        cls.folder = installed.temporary("plugin")
        cls.prefix = cls.folder / "muster"
        cls.muster = cls.prefix / "bin" / "muster"
        cls.source = cls.folder / "source"
        shutil.copytree(EXAMPLE, cls.source)
        cls.follow_the_page()
        cls.good = cls.built / "open_files.so"

    @classmethod
    def follow_the_first_tutorial(cls, checkout):
        """Its probe is built as a plug-in, as a build of muster with it would take minutes. `./dev run` would do that: `muster run` has its options."""
        page = (SOURCE / "docs/tutorial-first-probe.md").read_text()
        (probe,) = re.findall(r"^```cpp\n(.*?)^```", page, re.M | re.S)
        (check,) = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
        prefix, project = cls.folder / "first", cls.folder / "first_probe"
        installed.install(prefix)
        (checkout / "src/probes").mkdir(parents=True)
        shutil.copy(SOURCE / "src/probes/hello.cpp", checkout / "src/probes")
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.21)\nproject(first LANGUAGES CXX)\nfind_package(muster REQUIRED)\n"
            f"muster_add_probe(open_files SOURCES {checkout}/src/probes/open_files.cpp)\n"
            # What a source of muster's own tree may include.
            f"target_include_directories(open_files PRIVATE {SOURCE}/src)\ntarget_compile_definitions(open_files PRIVATE FMT_HEADER_ONLY)\n")
        env = environment(HOME=str(cls.folder), MUSTER_PLUGINS=str(project / "build"), CXX=cache("CMAKE_CXX_COMPILER"),
                          CXXFLAGS="-Wall -Wextra -Werror", CMAKE_GENERATOR=cache("CMAKE_GENERATOR"))
        cls.first = {}
        for fence in page_commands.fences_of("tutorial-first-probe"):
            for command, _ in fence.steps():
                if page_tests.test_of(fence, command) == page_tests.PLUGIN or command.startswith("./dev run "):
                    typed = command.replace("./dev run", "build/release/bin/muster run")
                    done = run("bash", "-c", typed, env=env, cwd=checkout, status=None)
                    cls.first[command] = (done.returncode, done.stdout + done.stderr)
                if command.startswith("cp "):
                    # "Replace the content", and `./dev build`.
                    assert (checkout / "src/probes/open_files.cpp").exists()
                    (checkout / "src/probes/open_files.cpp").write_text(probe)
                    run("cmake", "-S", project, "-B", project / "build", "-D", f"CMAKE_PREFIX_PATH={prefix}", env=env)
                    run("cmake", "--build", project / "build", env=env)
                    (checkout / "open_files.toml").write_text(check)

    @classmethod
    def follow_the_page(cls):
        """In a checkout, whose build is the one under test. `printed`: (exit status, output) of each command."""
        checkout = cls.folder / "checkout"
        (checkout / "build").mkdir(parents=True)
        shutil.copytree(EXAMPLE, checkout / "packaging/examples/plugin-probe")
        (checkout / "build/release").symlink_to(installed.BUILD)
        cls.follow_the_first_tutorial(checkout)
        cls.built = checkout / "build/open_files"
        fences = page_commands.fences_of("tutorial-plugin-probe")
        commands = [command for fence in fences for command, _ in fence.steps() if page_tests.test_of(fence, command) == page_tests.PLUGIN]
        mark = "@ the next command @"
        script = "".join(f"{command}\necho '{mark}'$?\n" for command in commands)
        env = environment(HOME=str(cls.folder), CXX=cache("CMAKE_CXX_COMPILER"), CXXFLAGS="-Wall -Wextra -Werror",
                          CMAKE_GENERATOR=cache("CMAKE_GENERATOR"))
        done = subprocess.run(["bash", "-c", script], cwd=checkout, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=300 * installed.SLOWNESS)
        cls.printed, text = {}, done.stdout
        for command in commands:
            before, found, rest = text.partition(mark)
            status, _, text = rest.partition("\n")
            cls.printed[page_commands.without_comment(command)] = (int(status) if found else None, before)
        cls.left = (checkout / "src/probes/open_files.cpp").exists()
        failed = [command for command, (status, _) in cls.printed.items() if status != (1 if "-S" in command and "run" in command else 0)]
        if failed:
            raise AssertionError(f"{failed}\n{done.stdout}")

    def setUp(self):
        self.place = installed.temporary("plugins")

    def asked(self, *words, place=None, status=0):
        """Of a muster that looks into this test's folder."""
        env = environment(MUSTER_PLUGINS=str(place or self.place), HOME=str(self.place))
        return run(self.muster, *words, env=env, cwd=self.place, status=status)

    def compiled(self, name, text, *flags):
        """A library of one file, without the CMake package."""
        source = self.place / f"{name}.cpp"
        source.write_text(text)
        out = self.place / f"{name}.so"
        expected = [f"-isystem{self.prefix / 'include'}"]
        archive = next(self.prefix.glob("lib*/**/libmuster-plugin.a"))
        run(cache("CMAKE_CXX_COMPILER"), "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-o", out, source, *expected,
            *flags, archive)
        source.unlink()
        return out

    def assert_refused(self, *words):
        """Said once, and muster goes on without."""
        done = self.asked("list", "--probes")
        told = [line for line in done.stderr.splitlines() if line.startswith("muster: plug-in ")]
        self.assertEqual(len(told), 1, done.stderr)
        for word in words:
            self.assertIn(word, told[0])
        self.assertIn("hello", done.stdout)
        self.assertNotIn(str(self.place), done.stdout)

    # It works.

    def test_the_first_tutorial(self):
        (_, cp), (listed, probes), (_, metrics), (passed, good), (failed, bad) = self.first.values()
        self.assertEqual((cp, listed, passed, failed), ("", 0, 0, 1), self.first)
        self.assertRegex(probes, r"open_files +How many files each rank may open")
        self.assertRegex(metrics, r"(?s)files.*least")
        self.assertRegex(good, r"pass +open_files%.*2 ranks may open at least 1024 files")
        said = " ".join(bad.split())
        self.assertRegex(said, r"rank 0 on \S+ may open \d+ files, fewer than 1e\+09|fewer than 1000000000")
        self.assertIn("raise nofile in /etc/security/limits.conf on that node", said)
        self.assertFalse(self.left, "the next tutorial removes it first")

    def test_the_page(self):
        def of(begin):
            return next(text for command, (_, text) in self.printed.items() if command.startswith(begin))
        self.assertRegex(of("muster list --probes"), rf"open_files +How many files .*{self.good}")
        self.assertIn("least", of("muster list --metrics open_files"))
        self.assertIn("ranks may open at least 64 files", of("muster run"))
        self.assertIn("raise nofile", of("muster run packaging/examples/plugin-probe/open_files.toml -S"))

    def test_it_is_listed(self):
        shutil.copy(self.good, self.place)
        said = self.asked("list", "--probes").stdout
        self.assertRegex(said, rf"open_files +How many files .*{self.place}/open_files.so")
        self.assertRegex(said, r"hello +.* built in")
        self.assertIn("least", self.asked("list", "--metrics", "open_files").stdout)
        self.assertIn("open_files", self.asked("doctor", status=None).stdout)

    def test_it_passes_and_fails(self):
        shutil.copy(self.good, self.place)
        check = self.source / "open_files.toml"
        self.assertIn("ranks may open at least 64 files", self.asked("run", check).stdout)
        said = self.asked("run", check, "-S", "open_files.least=1000000000", status=1).stdout
        self.assertIn("fewer than 1000000000", said)
        self.assertIn("raise nofile", said)

    def test_with_mpich(self):
        agent = self.prefix / "bin" / "muster-rank-mpich"
        if not agent.exists() or shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH")
        shutil.copy(self.good, self.place)
        tools = self.place / "tools"
        tools.mkdir()
        (tools / "mpiexec").write_text(f'#!/bin/sh\nexec {shutil.which("mpiexec.mpich")} "$@"\n')
        (tools / "mpiexec").chmod(0o755)
        env = environment(MUSTER_PLUGINS=str(self.place), PATH=f"{tools}:{os.environ['PATH']}")
        run(self.muster, "run", "--launcher", "mpiexec", self.source / "open_files.toml", env=env, cwd=self.place)

    def test_installed_for_the_site_and_for_oneself(self):
        run("cmake", "--install", self.built, "--prefix", self.place / ".local")
        env = environment(HOME=str(self.place))
        self.assertIn("open_files", run(self.muster, "list", "--probes", env=env).stdout)
        run("cmake", "--install", self.built, "--prefix", self.prefix)
        site = next(self.prefix.glob("lib*/**/plugins/open_files.so"))
        try:
            self.assertIn(str(site), run(self.muster, "list", "--probes").stdout)
        finally:
            site.unlink()

    # It is refused.

    def test_another_version(self):
        text = self.good.read_bytes()
        at = text.index(b"\x7fmuster plug-in\x7f") + 16
        (self.place / "old.so").write_bytes(text[:at] + b"0.0.9" + text[at + 5:])
        self.assert_refused("old.so", "built for muster 0.0.9, this is", "build it again")

    def test_other_headers(self):
        text = self.good.read_bytes()
        at = text.index(b",", text.index(b"\x7fmuster plug-in\x7f")) + 1
        (self.place / "old.so").write_bytes(text[:at] + b"000000000000" + text[at + 12:])
        self.assert_refused("other headers of muster")

    def test_another_processor(self):
        text = bytearray(self.good.read_bytes())
        text[18] = 0xF3  # RISC-V
        (self.place / "riscv.so").write_bytes(text)
        self.assert_refused("riscv.so", "for another processor")

    def test_no_plugin_at_all(self):
        (self.place / "text.so").write_text("GROUP ( libc.so.6 )" * 10)
        self.assert_refused("text.so", "not a shared object")

    def test_a_library_of_somebody_else(self):
        self.compiled("other", "int nothing;")
        self.assert_refused("other.so", "not a plug-in of muster")

    def test_a_folder_that_is_not_there(self):
        done = self.asked("list", "--probes", place=self.place / "nosuch")
        self.assertIn("nosuch: can't be read", done.stderr)

    def test_it_crashes_when_opened(self):
        self.compiled("crash", self.entry(CRASH))
        self.assert_refused("crash.so", "crashed (signal")

    def test_it_can_not_be_opened(self):
        self.compiled("undefined", self.entry("void nowhere(); void* use = reinterpret_cast<void*>(&nowhere);"))
        self.assert_refused("undefined.so", "undefined symbol", "remove")

    def test_names_that_there_are(self):
        shutil.copy(self.good, self.place / "a.so")
        shutil.copy(self.good, self.place / "b.so")
        done = self.asked("list", "--probes")
        self.assertIn("b.so: probe open_files comes from", done.stderr)
        self.assertIn("a.so", done.stdout)

    def test_a_name_that_is_built_in(self):
        self.compiled("hello", self.entry("", name="hello"))
        self.assert_refused("probe hello is built in already")

    def test_a_bad_name(self):
        self.compiled("bad", self.entry("", name="Bad Name"))
        self.assert_refused("without a proper name")

    def test_everybody_may_write_it(self):
        shutil.copy(self.good, self.place)
        (self.place / "open_files.so").chmod(0o777)
        self.assert_refused("every user may write it", "chmod o-w")

    def test_everybody_may_write_its_folder(self):
        shutil.copy(self.good, self.place)
        self.place.chmod(0o777)
        self.assert_refused("every user may write", "chmod o-w")

    def test_it_is_somebody_elses(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        shutil.copy(self.good, self.place)
        os.chown(self.place / "open_files.so", 12345, 12345)
        self.assert_refused("belongs to user 12345")

    def test_a_judge_that_throws(self):
        self.compiled("throws", self.entry(THROW, judge=".judge = judge"))
        check = self.place / "c.toml"
        check.write_text('[check.c]\nprobe = "mine"\nsummary = "A test."\nranks = { per_node = 1 }\n')
        said = self.asked("run", check, status=2).stdout
        self.assertIn("the judge of probe mine threw an exception: no idea", said)

    def test_a_node_that_has_it_not(self):
        """The driver finds it; the ranks, elsewhere, do not."""
        shutil.copy(self.good, self.place)
        wrapper = self.place / "agent"
        wrapper.write_text(f"#!/bin/sh\nrm -f {self.place}/open_files.so\nexec {self.prefix}/bin/muster-rank \"$@\"\n")
        wrapper.chmod(0o755)
        done = self.asked("run", self.source / "open_files.toml", "--agent", wrapper, "--ranks-per-node", "1", status=2)
        self.assertIn('has no probe "open_files"', " ".join(done.stdout.split()))
        self.assertIn("can't be read", " ".join(done.stdout.split()))

    def test_version_opens_nothing(self):
        self.compiled("crash", self.entry(CRASH))
        self.assertEqual(self.asked("--version").stderr, "")

    @staticmethod
    def entry(text, name="mine", judge=""):
        return f"""
#include <stdexcept>
#include "muster/plugin.hpp"
namespace muster {{
namespace {{ {text}
Result<Observation> run(RunContext&) {{ return Observation(); }} }}
extern const ProbeSpec probe_mine{{.name = "{name}", .summary = "A test.", .run = run, {judge}}};
}}
MUSTER_PLUGIN(&muster::probe_mine);
"""


if __name__ == "__main__":
    if shutil.which("cmake") is None:
        installed.skip("there is no cmake")
    unittest.main(verbosity=2)
