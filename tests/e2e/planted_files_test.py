"""Another user puts files where programs look for libraries, modules and settings, or takes a name that they connect to."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
NOBODY, USER = 65534, 12345
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\ntags = ["default", "gate"]\n'
PROGRAM = '[check.program]\nprobe = "command"\nsummary = "A program runs."\nranks = {{ per_node = 1 }}\n[check.program.params]\n{}\n'
# Accepts callers and never answers.
SILENT_SERVER = """
import os, socket, sys
os.setgid({user}); os.setuid({user})
server = socket.socket(socket.AF_UNIX)
server.bind("/tmp/.X11-unix/X0")
os.chmod("/tmp/.X11-unix/X0", 0o777)
server.listen(64)
print("ready", flush=True)
kept = []
while True:
    kept.append(server.accept())
"""


def libraries_of(program):
    """Names of those that it needs itself."""
    told = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", told)


@unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-planted-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        self.ours, self.open = self.folder / "ours", self.folder / "open"
        self.ours.mkdir()
        self.ours.chmod(0o755)
        # As /tmp.
        self.open.mkdir()
        self.open.chmod(0o1777)
        self.checks("hello", HELLO)

    def checks(self, name, text):
        (self.ours / f"{name}.toml").write_text(text)
        return str(self.ours / f"{name}.toml")

    def plant(self, folder, name, text):
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        os.chown(path, NOBODY, NOBODY)

    def run_in(self, folder, check, *words, user=0, **variables):
        """By that user in that folder; the run folder is made elsewhere."""
        runs = self.folder / f"runs-{user}"
        runs.mkdir(exist_ok=True)
        os.chown(runs, user, user)
        wrapper = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        done = subprocess.run(
            [*wrapper, MUSTER, "run", str(self.ours / f"{check}.toml"), "--no-history", "--output", str(runs), *words], cwd=folder,
            capture_output=True, text=True, timeout=120 * support.SLOWNESS,
            env={**env, "HOME": "/nonexistent" if user else "/root", "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "20", **variables})
        done.said = done.stdout + done.stderr
        self.report = json.loads((runs / "latest" / "report.json").read_text()) if (runs / "latest").exists() else None
        return done

    def test_programs_name_no_current_folder_as_a_place_of_libraries(self):
        """An empty or relative entry of RUNPATH is one."""
        for program in sorted(path for path in support.BIN.iterdir() if path.is_file()):
            told = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
            for paths in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", told):
                for path in paths.split(":"):
                    self.assertRegex(path, r"^(/|\$ORIGIN)", f"{program}: {paths}")

    def test_libraries_in_the_current_folder(self):
        for name in libraries_of(support.BIN / "muster-rank") + libraries_of(MUSTER):
            self.plant(self.open, name, "not a library")
        for user in (0, USER):
            for launcher in ("local", "mpirun"):
                with self.subTest(user=user, launcher=launcher):
                    done = self.run_in(self.open, "hello", "--launcher", launcher, user=user)
                    self.assertEqual(done.returncode, 0, done.said)

    def test_libraries_where_every_user_may_put_some(self):
        """LD_LIBRARY_PATH of root: a colon too much, and a folder like /tmp. That of muster itself comes too late."""
        self.plant(self.open, "libmpi.so.40", "not a library")
        done = self.run_in(self.ours, "hello", "--launcher", "local", LD_LIBRARY_PATH=f"/usr/lib:{self.open}:")
        self.assertEqual(done.returncode, 0, done.said)
        self.assertIn("an empty entry is the current folder", self.report["variables"]["LD_LIBRARY_PATH"])
        self.assertIn(f'"{self.open}" is left out, as every user may write it', self.report["variables"]["LD_LIBRARY_PATH"])

    def test_modules_in_the_current_folder(self):
        for name in ("platform", "importlib", "difflib", "pkgutil", "sys", "re"):
            self.plant(self.open, f"{name}.py", f"import os\nopen('{self.open}/ran-%d' % os.getuid(), 'w')\n")
        self.checks("python", PROGRAM.format('argv = ["{python}", "{check}/script.py"]\nimports = ["json"]'))
        (self.ours / "script.py").write_text("import platform\nprint('well', platform.python_version())\n")
        for user in (0, USER):
            done = self.run_in(self.open, "python", "--launcher", "local", user=user)
            self.assertEqual(done.returncode, 0, done.said)
            self.assertFalse((self.open / f"ran-{user}").exists())

    def test_settings_in_the_current_folder(self):
        """UCX reads ucx.conf there, which may name modules to load. Programs of root start elsewhere."""
        self.checks("where", PROGRAM.format('argv = ["pwd"]\nmust_print = ["^/$"]'))
        theirs, group = self.folder / "theirs", self.folder / "group"
        (theirs / "ours").mkdir(parents=True)
        os.chown(theirs, NOBODY, NOBODY)
        group.mkdir()
        group.chmod(0o2775)
        os.chown(group, 0, USER)
        for folder, why in ((self.open, "every user may write it"), (theirs, f"it belongs to user {NOBODY}"),
                            (theirs / "ours", f"{theirs} belongs to user {NOBODY}"), (group, f"group {USER} may write it")):
            for launcher in ("local", "mpirun"):
                done = self.run_in(folder, "where", "--launcher", launcher, "--quiet")
                self.assertEqual(done.returncode, 0, done.said)
                self.assertIn("PWD: programs start in / instead of /", done.stdout)
                self.assertEqual(self.report["variables"]["PWD"], f"programs start in / instead of {folder}, as {why}")
        done = self.run_in(self.ours, "where", "--launcher", "local")
        self.assertEqual(done.returncode, 1, "programs start in a folder of root's: " + done.said)
        self.assertNotIn("PWD", self.report.get("variables", {}))

    def test_settings_of_ucx(self):
        """Read as soon as MPICH's library is loaded: a log as root, wherever its author likes."""
        if not support.AGENT_MPICH.exists() or shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH")
        logs = self.folder / "logs"
        logs.mkdir()
        logs.chmod(0o777)
        self.plant(self.open, "ucx.conf", f"UCX_LOG_LEVEL=trace\nUCX_LOG_FILE={logs}/made\n")
        agent = support.BIN / "muster-rank-mpich"
        for user in (0, USER):
            done = self.run_in(self.open, "hello", "--launcher", "local", "--agent", str(agent), user=user)
            self.assertEqual(done.returncode, 0, done.said)
            self.assertIn("programs start in /", self.report["variables"]["PWD"])
            self.assertEqual(list(logs.iterdir()), [])

    def test_files_of_a_check_that_others_may_change(self):
        """Beside the check file of root."""
        script = self.ours / "script.sh"
        script.write_text(f"#!/bin/sh\ntouch {self.open}/ran\n")
        for words in ('["{check}/script.sh"]', '["sh", "{check}/script.sh"]'):
            self.checks("script", PROGRAM.format(f"argv = {words}"))
            for owner, mode, why in ((NOBODY, 0o755, f"belongs to user {NOBODY}"), (0, 0o757, "every user may write it"), (0, 0o775, "group 0 may write it")):
                with self.subTest(words=words, why=why):
                    os.chown(script, owner, -1)
                    script.chmod(mode)
                    done = self.run_in(self.ours, "script", "--launcher", "local")
                    self.assertEqual(done.returncode, 2, done.said)
                    self.assertIn(why, " ".join(done.said.split()))
                    self.assertEqual(self.report["cases"][0]["verdict"], "error")
                    self.assertFalse((self.open / "ran").exists())
            os.chown(script, 0, -1)
            script.chmod(0o755)
            done = self.run_in(self.ours, "script", "--launcher", "local")
            self.assertEqual(done.returncode, 0, done.said)
            (self.open / "ran").unlink()

    def test_files_of_a_check_that_are_named_in_other_ways(self):
        """With blanks, in an option, in a line for a shell, by the folder alone, as further arguments, or behind a link."""
        (self.ours / "below").mkdir()
        (self.ours / "own.sh").write_text("#!/bin/sh\n")
        script = f"#!/bin/sh\ntouch {self.open}/ran\n"
        self.plant(self.ours, "my script.sh", script)
        self.plant(self.ours / "below", "x.sh", script)
        (self.ours / "link.sh").symlink_to(self.ours / "below" / "x.sh")
        (self.ours / "out").symlink_to(self.folder / "theirs")
        (self.folder / "theirs").mkdir()
        self.plant(self.folder / "theirs", "x.sh", script)
        for words in ('["/bin/sh", "{check}/my script.sh"]', '["sh", "-c", "\'{check}/my script.sh\'"]', '["sh", "-c", "exec {check}/below/x.sh a"]',
                      '["sh", "-c", "true;{check}/below/x.sh;true"]', '["sh", "-c", "cd {check} && ./link.sh"]', '["sh", "-c", "d={check}; $d/link.sh"]',
                      '["sh", "-c", "for i in {check}/below/*; do $i; done"]', '["sh", "-c", "\\"{check}\\"/my*"]', '["sh", "-c", ". {check}/my\\\\ script.sh"]',
                      '["sh", "{check}//below/../below//x.sh"]', '["sh", "{check}/../ours/below/x.sh"]',
                      '["sh", "{check}/link.sh"]', '["{check}/out/x.sh"]', '["env", "BASH_ENV={check}/below/x.sh", "bash", "-c", "true"]',
                      '["bash", "--rcfile={check}/below/x.sh", "-c", "true"]', '["sh"]\narguments = ["{check}/below/x.sh"]',
                      f'["sh", "{self.ours}/below/x.sh"]'):
            with self.subTest(words=words):
                self.checks("script", PROGRAM.format(f"argv = {words}"))
                done = self.run_in(self.ours, "script", "--launcher", "local")
                self.assertEqual(done.returncode, 2, done.said)
                self.assertIn(f"belongs to user {NOBODY}", " ".join(done.said.split()))
                self.assertFalse((self.open / "ran").exists(), "it ran")
            (self.open / "ran").unlink(missing_ok=True)
        for words in ('["sh", "{check}/own.sh"]', '["sh", "-c", "{check}/own.sh; exit 0"]', '["echo", "--out={check}/new", "${check}"]'):
            with self.subTest(words=words):
                self.checks("script", PROGRAM.format(f"argv = {words}"))
                done = self.run_in(self.ours, "script", "--launcher", "local")
                self.assertEqual(done.returncode, 0, done.said)

    @unittest.skipIf(support.ISOLATED not in os.environ, "the names are everybody's")
    def test_names_of_mpis_shared_memory(self):
        """Open MPI's own have 65,536 values: another user can make them all first, to keep ranks from shared memory, or to read
        and change what is in it."""
        agent = self.ours / "agent"
        for make in ("mkdir", "touch"):
            agent.write_text(
                '#!/bin/sh\nif [ -n "$OMPI_MCA_ess_base_jobid" ]; then\n'
                f'  name=/dev/shm/vader_segment.$(hostname -s).0.$(printf %x $OMPI_MCA_ess_base_jobid).$OMPI_COMM_WORLD_LOCAL_RANK\n'
                f'  setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups sh -c "{make} $name; chmod 666 $name"\nfi\n'
                f'exec {support.BIN}/muster-rank "$@"\n')
            agent.chmod(0o755)
            self.checks("p2p", '[check.p2p]\nprobe = "p2p"\nsummary = "Ranks exchange."\nranks = { per_node = 2 }\n')
            done = self.run_in(self.ours, "p2p", "--launcher", "mpirun", "--agent", str(agent), OMPI_MCA_rmaps_base_oversubscribe="1")
            self.assertEqual(done.returncode, 0, done.said)
            left = list(pathlib.Path("/dev/shm").iterdir())
            self.assertEqual([path.name.split(".")[0] for path in left], ["vader_segment"] * 2, "made, and muster's own are gone")
            for path in left:
                self.assertEqual(path.owner(), "nobody")
                self.assertEqual(path.stat().st_size if make == "touch" else 0, 0, "it was used")
                path.rmdir() if make == "mkdir" else path.unlink()

    def test_checks_that_a_group_may_write(self):
        for path in (self.ours / "hello.toml", self.ours):
            os.chown(path, 0, USER)
            path.chmod(0o775)
            done = self.run_in(self.ours, "hello", "--launcher", "local")
            self.assertEqual(done.returncode, 3, done.said)
            self.assertIn(f"group {USER} may write", done.said)
            path.chmod(0o755)

    def show_as_root_s(self, source, place, *how):
        """By a file system of another user that shows root as the owner of it all."""
        server = subprocess.Popen([sys.executable, pathlib.Path(support.__file__).parent / "fuse_folder.py", source, place, str(NOBODY), *how],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (subprocess.run(["umount", "--lazy", place]), server.wait(10), server.stdout.close()))
        self.assertEqual(server.stdout.readline(), "mounted\n")
        self.assertEqual(place.stat().st_uid, 0)

    @unittest.skipIf(not os.path.exists("/dev/fuse"), "no /dev/fuse")
    def test_a_file_system_of_another_user_that_shows_files_of_root_s(self):
        self.plant(self.ours, "task.sh", "#!/bin/sh\nexit 0\n")
        (self.ours / "task.toml").write_text(PROGRAM.format('argv = ["sh", "{check}/task.sh"]'))
        (self.ours / "probe.so").write_bytes(b"not loaded")
        place = self.open / "shown"
        place.mkdir()
        self.show_as_root_s(self.ours, place)
        of_other = f"belongs to user {NOBODY}"
        for words, variables in (([place / "hello"], {}), ([place / "task"], {}), ([], {"MUSTER_CHECKS": str(place)}), ([self.ours / "hello"], {"MUSTER_PLUGINS": str(place)}), ([self.ours / "hello"], {"HOME": str(place)})):
            with self.subTest(words=words, **variables):
                runs = self.folder / "runs-0"
                runs.mkdir(exist_ok=True)
                done = subprocess.run([MUSTER, "run", *(f"{word}.toml" for word in words), "--launcher", "local", "--no-history",
                                       "--output", str(runs)], cwd=self.ours, capture_output=True, text=True, timeout=120 * support.SLOWNESS,
                                      env={**os.environ, "NO_COLOR": "1", **variables})
                said = " ".join((done.stdout + done.stderr).split())
                self.assertIn(of_other, said)
                self.assertEqual(done.returncode == 0, words == [self.ours / "hello"], said)  # what is ours runs
        done = subprocess.run([MUSTER, "run", str(self.ours / "hello.toml"), "--launcher", "local", "--no-history", "--output", str(place / "runs")],
                              cwd=self.ours, capture_output=True, text=True, timeout=120 * support.SLOWNESS)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(of_other, done.stderr)

    @unittest.skipIf(not os.path.exists("/dev/fuse"), "no /dev/fuse")
    def test_a_recorder_in_a_file_system_of_another_user(self):
        """One that names a process of root's as a rank of the launch: the clean-up would end it."""
        self.checks("late", PROGRAM.format('argv = ["sleep", "60"]').replace('ranks =', 'timeout = "4s"\nranks ='))
        victim = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.addCleanup(lambda: (victim.kill(), victim.wait()))
        known = set(os.listdir("/dev/shm"))
        run = subprocess.Popen([MUSTER, "run", str(self.ours / "late.toml"), "--launcher", "local", "--no-history", "--output", str(self.folder / "runs")],
                               cwd=self.ours, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def recorder():
            return next((name for name in sorted(set(os.listdir("/dev/shm")) - known) if re.fullmatch("muster-.+-[0-9]+", name)), "")
        self.assertTrue(support.wait_until(recorder, 20))
        tag, rank = recorder().rsplit("-", 1)

        def words(pid):
            """Its number, and when it began, as recorders have them."""
            return int(pid), int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
        path = pathlib.Path(f"/dev/shm/{tag}-{rank}")
        self.assertTrue(support.wait_until(lambda: all(struct.pack("<i", word) in path.read_bytes() for word in words(rank)), 20))
        forged = path.read_bytes()
        for old, new in zip(words(rank), words(victim.pid), strict=True):
            for kind in "<i", "<q":
                forged = forged.replace(struct.pack(kind, old), struct.pack(kind, new))
        (self.folder / "forged").write_bytes(forged)
        place = pathlib.Path(f"/dev/shm/{tag}-{victim.pid}")
        self.addCleanup(place.unlink, True)
        self.plant(place.parent, place.name, "")
        self.show_as_root_s(self.folder / "forged", place)
        said = run.communicate(timeout=60 * support.SLOWNESS)[0]
        self.assertEqual(run.returncode, 1, said)
        self.assertIsNone(victim.poll(), said)

    @unittest.skipIf(not os.path.exists("/dev/fuse"), "no /dev/fuse")
    def test_a_recorder_whose_file_system_never_answers(self):
        (self.folder / "forged").write_bytes(bytes(8192))
        place = pathlib.Path("/dev/shm/muster-0-99999")
        self.addCleanup(place.unlink, True)
        self.plant(place.parent, place.name, "")
        self.show_as_root_s(self.folder / "forged", place, "silent")
        done = self.run_in(self.ours, "hello", "--launcher", "local")
        self.assertEqual(done.returncode, 0, done.said)

    def own_place(self, path):
        """A folder as /tmp for this test alone, at that path."""
        place = pathlib.Path(path)
        made = not place.exists()
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", place], check=True)
        self.addCleanup(lambda: (subprocess.run(["umount", "--lazy", place]), place.rmdir() if made else None))
        return place

    @unittest.skipIf(support.ISOLATED not in os.environ, "the name is everybody's")
    def test_a_folder_of_mps(self):
        """CUDA would ask the daemon there, which is another user's and may not answer. That of root is asked."""
        self.checks("mps", PROGRAM.format('argv = ["sh", "-c", "echo is ${CUDA_MPS_PIPE_DIRECTORY-unset}"]\nmust_print = ["^is /nonexistent$"]'))
        place = self.own_place("/tmp/nvidia-mps")
        for owner, status in ((NOBODY, 0), (0, 1)):
            os.chown(place, owner, -1)
            done = self.run_in(self.ours, "mps", "--launcher", "local")
            self.assertEqual(done.returncode, status, done.said)

    @unittest.skipIf(support.ISOLATED not in os.environ, "the name is everybody's")
    def test_a_display_that_does_not_answer(self):
        """hwloc, in mpirun and in ranks, asks X servers for GPUs: any user can be one."""
        self.own_place("/tmp/.X11-unix")
        server = subprocess.Popen([sys.executable, "-c", SILENT_SERVER.format(user=NOBODY)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.kill(), server.wait(), server.stdout.close()))
        self.assertEqual(server.stdout.readline(), "ready\n")
        for launcher in ("local", "mpirun"):
            with self.subTest(launcher=launcher):
                done = self.run_in(self.ours, "hello", "--launcher", launcher)
                self.assertEqual(done.returncode, 0, done.said)


if __name__ == "__main__":
    support.main()
