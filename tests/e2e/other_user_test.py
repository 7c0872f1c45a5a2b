"""What another user on the machine can do to a run of root: each test makes the attack, with another user id."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
CHECKS = pathlib.Path(__file__).resolve().parents[2] / "checks"
NOBODY, USER = 65534, 12345
FIRST_SLOT, SLOTS = 1 << 40, 4096  # src/run/run_lock.cpp
F_OFD_SETLK = 37
# ud2, and a store to address 0.
TRAPS, SEGFAULTS = b"\x0f\x0b", b"\x31\xc0\x88\x00"
DEVICES = '[check.devices]\nprobe = "device_visibility"\nsummary = "Devices."\nranks = { per_node = 1 }\n'
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\ntags = ["default", "gate"]\n'


def as_nobody(act):
    """A process of another user that does it and stays; its end is the caller's business. None: it could not."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            kept = act()  # noqa: F841
            os.write(tell, b"y")
            signal.pause()
        except OSError:
            os.write(tell, b"n")
        os._exit(0)
    os.close(tell)
    word = os.read(told, 1)
    os.close(told)
    if word == b"y":
        return child
    os.waitpid(child, 0)
    return None


def hold_read_locks(path):
    descriptor = os.open(path, os.O_RDONLY)
    for start, length in ((0, 1), (FIRST_SLOT, SLOTS)):
        fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, start, length, 0))
    return descriptor


def hold_write_lock(path):
    descriptor = os.open(path, os.O_RDWR)
    fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return descriptor


def allow_nobody(path):
    """Beside its owner, by an entry of its access list; the group may not."""
    entries = ((1, 7, -1), (2, 7, NOBODY), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    packed = b"".join(struct.pack("<HHI", tag, rights, who & 0xffffffff) for tag, rights, who in entries)
    os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + packed)


def keep_linking(place, victim):
    """In a process of its own: puts links there as soon as the names are free, until it is ended."""
    if os.fork() != 0:
        return
    parent = os.getppid()
    while os.getppid() == parent:
        for name in ("root", "topology.xml", "drivers.json"):
            with contextlib.suppress(OSError):
                os.symlink(victim, place / name)
    os._exit(0)


def crashing_program(code):
    """The smallest program for x86-64 that does this and nothing else."""
    base, head = 0x400000, 120
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + head, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = head + len(code)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096) + code


def kernel_records():
    """What the kernel has logged since boot."""
    records = []
    with contextlib.suppress(OSError), open("/dev/kmsg", "rb", buffering=0) as log:
        os.set_blocking(log.fileno(), False)
        while record := log.read(8192):
            records.append(record.decode(errors="replace"))
    return records


# Runs its arguments as root of a user namespace of 65,536 users, as a container has; the parent writes the maps.
IN_A_USER_NAMESPACE = """
import ctypes, os, sys
ready, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        os._exit(1)
    os.write(ready[1], b"x")
    os.read(mapped[0], 1)
    os.setgid(0)
    os.setuid(0)
    os.execvp(sys.argv[1], sys.argv[1:])
os.close(ready[1])
if not os.read(ready[0], 1):
    sys.exit("no user namespace")
for file in ("uid_map", "gid_map"):
    with open(f"/proc/{child}/{file}", "w") as map:
        map.write("0 0 65536")
os.write(mapped[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
class OtherUser(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-other-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        (self.folder / "hello.toml").write_text(HELLO)
        self.state = self.folder / "state"

    def muster(self, *words, cwd=None, wrapper=(), **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        return subprocess.run([*wrapper, MUSTER, *words], cwd=cwd or self.folder, capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS,
                              env={**env, "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                   "XDG_STATE_HOME": str(self.state), **variables})

    def locked_run(self):
        return self.muster("run", "hello.toml", "--launcher", "local", "--lock", "--quiet")

    def attack(self, act):
        child = as_nobody(act)
        if child is not None:
            self.addCleanup(os.waitpid, child, 0)
            self.addCleanup(os.kill, child, 9)
        return child

    # Read locks on the lock file keep no run from starting.

    def test_a_new_lock_file_is_for_its_owner(self):
        """Below a folder that others may enter, as systemd's StateDirectory makes it."""
        (self.state / "muster").mkdir(parents=True, mode=0o755)
        self.assertEqual(self.locked_run().returncode, 0)
        for name in ("running", "history.db"):
            self.assertEqual((self.state / "muster" / name).stat().st_mode & 0o777, 0o600, name)
        self.assertIsNone(self.attack(lambda: hold_read_locks(self.state / "muster" / "running")))

    def test_a_lock_file_that_others_have_open(self):
        """Of an earlier version, with mode 0644."""
        (self.state / "muster").mkdir(parents=True, mode=0o755)
        path = self.state / "muster" / "running"
        path.write_text("muster lock 1\n")
        path.chmod(0o644)
        self.assertIsNotNone(self.attack(lambda: hold_read_locks(path)))
        done = self.locked_run()
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_a_lock_file_of_another_user(self):
        """In a folder where everybody may make files: its owner could lock it, and keep every run from starting."""
        (self.state / "muster").mkdir(parents=True)
        (self.state / "muster").chmod(0o1777)
        path = self.state / "muster" / "running"
        path.write_text("muster lock 1\n")
        os.chown(path, NOBODY, NOBODY)
        path.chmod(0o666)
        self.assertIsNotNone(self.attack(lambda: hold_write_lock(path)))
        done = self.locked_run()
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"{path}: is not used: it belongs to user {NOBODY}", done.stderr)

    def test_a_history_in_a_folder_of_another_user(self):
        """What they link there is not written, and what they write there is no past to judge by."""
        target = self.folder / "elsewhere.db"
        for owner, mode in ((NOBODY, 0o755), (0, 0o1777)):
            with self.subTest(mode=mode):
                shutil.rmtree(self.state, ignore_errors=True)
                (self.state / "muster").mkdir(parents=True)
                (self.state / "muster").chmod(mode)
                link = self.state / "muster" / "history.db"
                link.symlink_to(target)
                os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
                os.chown(self.state / "muster", owner, -1)
                done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs")
                self.assertIn(f"it is a link of user {NOBODY}", done.stderr)
                self.assertFalse(target.exists())

    def test_a_link_in_the_place_of_a_report(self):
        """In a folder like /tmp: what the link leads to is not overwritten."""
        shared, precious = self.folder / "shared", self.folder / "precious"
        shared.mkdir()
        shared.chmod(0o1777)
        precious.write_text("precious")
        link = shared / "report.json"
        link.symlink_to(precious)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--report", f"json={link}")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"it is a link of user {NOBODY}", done.stderr)
        self.assertEqual(precious.read_text(), "precious")

    def test_a_folder_link_on_the_path_of_a_file(self):
        """All that muster writes where an option names it: a link of another user leads into a folder of ours."""
        theirs, ours = self.folder / "theirs", self.folder / "ours"
        theirs.mkdir()
        ours.mkdir()
        precious = ours / "precious"
        precious.write_text("precious")
        (theirs / "out").symlink_to(ours)
        for path in (theirs, theirs / "out"):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        self.assertEqual(self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs").returncode, 0)
        out = f"{theirs}/out"
        run = ("run", "hello.toml", "--launcher", "local", "--quiet", "--output")
        for words in ((*run, "runs", "--report", f"html={out}/precious"), (*run, "runs", "--history", f"{out}/history.db"),
                      (*run, f"{out}/runs"), ("history", "export", f"{out}/precious"),
                      ("show", "runs/latest", "--report", f"csv={out}/precious"),
                      ("machine", "dgx-h100", "--write", f"{out}/machine")):
            with self.subTest(words=words):
                done = self.muster(*words)
                self.assertRegex(done.stderr, f"{out}(: can.t be written: it)? is a link of user {NOBODY}")
                if "--history" not in words:
                    self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertEqual([path.name for path in ours.iterdir()], ["precious"])
                self.assertEqual(precious.read_text(), "precious")

    def test_a_pipe_in_the_place_of_a_report(self):
        """Its owner reads nothing: once it is full, the writer would wait."""
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        pipe = shared / "report.json"

        def hold():
            os.mkfifo(pipe, 0o666)
            os.chmod(pipe, 0o666)
            return os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.assertIsNotNone(self.attack(hold))
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--report", f"json={pipe}")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("it is a pipe of another user", done.stderr)

    def test_a_history_beside_which_others_may_put_a_journal(self):
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--history", f"{shared}/history.db")
        self.assertIn(f"every user may put files into {shared}", done.stderr)
        self.assertFalse((shared / "history.db").exists())

    def test_a_history_that_every_user_may_write(self):
        history = self.folder / "history.db"
        run = ("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--history", history)
        self.assertEqual(self.muster(*run).stderr, "")
        kept = history.read_bytes()
        for owner in (0, NOBODY):
            history.chmod(0o666)
            os.chown(history, owner, -1)
            done = self.muster(*run)
            self.assertIn("every user may write it", done.stderr)
            self.assertEqual(history.read_bytes(), kept)

    # Nor do groups: a member could exchange a run, a script that is submitted, or a journal.

    def folders_that_others_may_write(self):
        """One of a group, and one with an access list for another user (kernel: posix_acl_xattr.h; version 2, then tag, rights, user)."""
        group, listed = self.folder / "group", self.folder / "listed"
        for path in (group, listed):
            path.mkdir()
        os.chown(group, 0, NOBODY)
        group.chmod(0o2775)
        entries = ((1, 7, -1), (2, 7, NOBODY), (4, 5, -1), (16, 7, -1), (32, 5, -1))
        access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        try:
            os.setxattr(listed, "system.posix_acl_access", access)
        except OSError:
            return [group]
        return [group, listed]

    def test_roots_folders_that_others_may_write(self):
        run = ("run", "hello.toml", "--launcher", "local", "--quiet")
        for place in self.folders_that_others_may_write():
            with self.subTest(place=place.name):
                os.mkfifo(place / "h.db-journal")
                for words, status in ((("--output", place), 3), (("--output", place / "deep" / "runs"), 3),
                                      (("--output", "runs", "--history", place / "h.db"), 0), (("--output", "runs", "--lock-file", place / "lock"), 3)):
                    done = self.muster(*run, *map(str, words))
                    self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                    self.assertRegex(done.stderr, rf"(group|user) {NOBODY} may write (it|{place}); chmod g-w {place}")
                    self.assertEqual([path.name for path in place.iterdir()], ["h.db-journal"])

    def test_a_pipe_beside_a_history(self):
        """SQLite would wait at it, also to read the history of another user."""
        theirs = self.folder / "theirs"
        theirs.mkdir()
        history = theirs / "h.db"
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--history", str(history))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        os.mkfifo(theirs / "h.db-journal")
        for path in (theirs, history, theirs / "h.db-journal"):
            os.chown(path, NOBODY, -1)
        for words in (("history",), ("compare", "latest", "latest")):
            done = self.muster(*words, "--history", str(history))
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn(f"{history}-journal beside it is not a regular file", done.stderr)

    def test_a_lock_file_with_the_group_of_its_folder(self):
        """A file in a folder with the setgid bit has its group, also if another user makes it."""
        (self.state / "muster").mkdir(parents=True)
        (self.state / "muster").chmod(0o3777)
        path = self.state / "muster" / "running"
        path.write_text("muster lock 1\n")
        os.chown(path, NOBODY, 0)
        path.chmod(0o664)
        self.assertIsNotNone(self.attack(lambda: hold_write_lock(path)))
        done = self.locked_run()
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"{path}: is not used: it belongs to user {NOBODY}", done.stderr)

    def test_a_link_on_the_path_of_a_history_of_root_and_its_group(self):
        ours, theirs = self.folder / "ours", self.folder / "theirs"
        for path in (ours, theirs):
            path.mkdir()
        history = ours / "h.db"
        run = ("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", "--history")
        self.assertEqual(self.muster(*run, str(history)).stderr, "")
        history.chmod(0o664)
        self.assertEqual(self.muster(*run, str(history)).stderr, "")
        kept = history.read_bytes()
        (theirs / "link").symlink_to(ours)
        for path in (theirs, theirs / "link"):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        done = self.muster(*run, str(theirs / "link" / "h.db"))
        self.assertIn(f"{theirs}/link is a link of user {NOBODY}", done.stderr)
        self.assertEqual(history.read_bytes(), kept)

    def test_the_user_nobody_of_a_user_namespace(self):
        """A container's 65,536 users have one of that number: in smaller ones it stands for those outside, root among them."""
        checks = self.folder / "checks"
        checks.mkdir()
        (checks / "hello.toml").write_text(HELLO)
        for path in (checks / "hello.toml", checks):
            os.chown(path, NOBODY, NOBODY)
        own = (sys.executable, "-c", IN_A_USER_NAMESPACE)
        if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
            self.skipTest("no user namespaces here")
        done = self.muster("run", str(checks / "hello.toml"), "--launcher", "local", "--no-history", "--output", "runs", wrapper=own)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"belongs to user {NOBODY}", done.stderr)

    # Root reads and runs nothing that others could change, and makes nothing in their folders.

    def home_of_nobody(self):
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        return home

    def test_root_with_the_home_of_another_user(self):
        """As with sudo without -H: what configures MPI, checks and plug-ins there is that user's."""
        home = self.home_of_nobody()
        (home / ".config" / "muster").mkdir(parents=True)
        (home / ".config" / "muster" / "site.toml").write_text(HELLO.replace("check.hello", "check.theirs"))
        done = self.muster("list", HOME=str(home))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("theirs", done.stdout)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--no-history", "--output", "runs", HOME=str(home))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, f"HOME: /.* instead of {home}, as it belongs to user {NOBODY}")
        self.assertEqual([path.name for path in home.iterdir()], [".config"])

    def test_no_state_is_made_in_a_folder_of_another_user(self):
        """Before it is refused, neither."""
        state = self.home_of_nobody() / "state"
        for words in (["--lock"], []):
            done = self.muster("run", "hello.toml", "--launcher", "local", "--output", "runs", *words, XDG_STATE_HOME=str(state))
            self.assertIn(f"belongs to user {NOBODY}", done.stderr)
            self.assertEqual(done.returncode, 3 if words else 0, done.stderr)
            self.assertFalse(state.exists())

    def test_root_with_places_of_others_on_its_path(self):
        """The current folder by an empty entry, a folder like /tmp, and one of another user: only the last may be meant."""
        (self.folder / "open").mkdir()
        (self.folder / "open").chmod(0o1777)
        (self.folder / "theirs").mkdir()
        os.chown(self.folder / "theirs", NOBODY, -1)
        for place in (self.folder, self.folder / "open"):
            program = place / "mpirun"
            program.write_text(f"#!/bin/sh\ntouch {self.folder}/ran\n")
            program.chmod(0o755)
        path = f":{self.folder}/open:{self.folder}/open/later:{self.folder}/theirs:{os.environ['PATH']}"
        self.muster("doctor", PATH=path)
        done = self.muster("run", "hello.toml", "--quiet", "--output", "runs", PATH=path, *self.every_report()[0])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((self.folder / "ran").exists())
        words = ('PATH: "" is left out, as an empty entry is the current folder', f'"{self.folder}/open" is left out, as every user may write',
                 f'"{self.folder}/open/later" is left out', f"{self.folder}/theirs belongs to user {NOBODY}")
        self.assertIn(words[0], done.stdout)
        said = json.loads((self.folder / "report.json").read_text())["variables"]["PATH"]
        for word in words:
            self.assertIn(word, f"PATH: {said}")
        for report in self.every_report()[1]:
            self.assertIn("is left out, as an empty entry is the current folder", " ".join(report.read_text().split()), report)
        done = self.muster("gate", "--need", "1", "--launcher", "local", "--checks", "hello.toml", "--print", "hosts", PATH=path)
        self.assertIn("an empty entry is the current folder", done.stderr)

    def every_report(self):
        """Options that write one of each format, and the files."""
        files = {name: self.folder / f"report.{name}" for name in ("json", "csv", "junit", "markdown", "html", "prometheus")}
        return [f"--report={name}={path}" for name, path in files.items()], list(files.values())

    def test_an_agent_of_another_user(self):
        place = self.folder / "theirs"
        place.mkdir()
        agent = place / "agent"
        agent.write_text(f'#!/bin/sh\ntouch {self.folder}/ran\nexec {support.BIN}/muster-rank "$@"\n')
        agent.chmod(0o755)
        for path, word in ((agent, "it belongs to user"), (place, f"{place} belongs to user")):
            os.chown(path, NOBODY, -1)
            for variables, options in (({"MUSTER_AGENT": str(agent)}, []), ({}, ["--agent", str(agent)])):
                with self.subTest(path=path, options=options):
                    done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", *options, **variables)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertIn(f"{word} {NOBODY}", " ".join(done.stdout.split()))
                    self.assertFalse((self.folder / "ran").exists())
            os.chown(path, 0, -1)

    def test_checks_of_another_user(self):
        """Given by name, or as the folder of all checks. They may be looked at."""
        checks = self.folder / "checks"
        (checks / "systems").mkdir(parents=True)
        (checks / "hello.toml").write_text(HELLO)
        shutil.copy(CHECKS / "systems" / "generic.toml", checks / "systems")
        cases = [(checks / "hello.toml", ["checks/hello.toml"], {}), (checks, ["checks"], {}),
                 (checks / "hello.toml", [], {"MUSTER_CHECKS": str(checks)}),
                 (checks / "systems" / "generic.toml", [], {"MUSTER_CHECKS": str(checks)})]
        for path, names, variables in cases:
            with self.subTest(path=path, names=names):
                os.chown(path, NOBODY, -1)
                done = self.muster("run", *names, "--launcher", "local", "--output", "runs", **variables)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn(f"belongs to user {NOBODY}", done.stderr)
                self.assertIn(f"run muster as that user, or chown root {path}", done.stderr)
                self.assertFalse((self.folder / "runs").exists())
                self.assertEqual(self.muster("list", *names, **variables).returncode, 0)
                os.chown(path, 0, -1)
        done = self.muster("run", "checks/hello.toml", "--launcher", "local", "--output", "runs")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_described_machine_in_a_folder_of_another_user(self):
        theirs = self.home_of_nobody()
        done = self.muster("machine", "dgx-h100", "--write", str(theirs))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"belongs to user {NOBODY}", done.stderr)
        self.assertEqual(list(theirs.iterdir()), [])
        ours = self.folder / "ours"
        self.assertEqual(self.muster("machine", "dgx-h100", "--write", str(ours)).returncode, 0)
        self.assertTrue((ours / "machine.json").exists())

    def test_a_described_machine_where_others_may_put_files(self):
        """By mode, by an entry of an access list, and in a folder like /tmp, below which a new one may be made."""
        for made, reason in ((lambda place: place.chmod(0o2775), "may write it"), (allow_nobody, "may write it"),
                             (lambda place: place.chmod(0o1777), "put files into it")):
            place = self.folder / "shared"
            place.mkdir()
            os.chown(place, 0, NOBODY)
            made(place)
            for name in (".", "below"):
                done = self.muster("machine", "dgx-h100", "--write", str(place / name))
                if name == "below" and place.stat().st_mode & 0o1000:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    continue
                self.assertNotEqual(done.returncode, 0, f"{oct(place.stat().st_mode)} {name}")
                self.assertIn(reason, done.stderr)
                self.assertEqual(list(place.iterdir()), [])
            shutil.rmtree(place)

    def test_a_described_machine_is_not_written_over_what_is_not_one(self):
        """A machine.json of another user makes a folder none of ours: what lies there stays. That of ours is written over."""
        place = self.folder / "ours"
        (place / "root").mkdir(parents=True)
        (place / "root" / "kept").write_text("kept")
        (place / "machine.json").write_text("{}")
        os.chown(place / "machine.json", NOBODY, NOBODY)
        done = self.muster("machine", "dgx-h100", "--write", str(place))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is neither empty nor a machine that muster wrote", done.stderr)
        self.assertEqual((place / "root" / "kept").read_text(), "kept")
        os.chown(place / "machine.json", 0, 0)
        self.assertEqual(self.muster("machine", "dgx-h100", "--write", str(place)).returncode, 0)
        self.assertFalse((place / "root" / "kept").exists())
        self.assertEqual(json.loads((place / "machine.json").read_text())["name"], "dgx-h100")

    def test_links_that_appear_while_a_described_machine_is_written(self):
        """An ordinary user writes into a folder that is shared with a group, one of which puts links there."""
        place, victim = self.folder / "shared", self.folder / "victim"
        for path in (place, victim):
            path.mkdir()
            os.chown(path, USER, NOBODY)
        place.chmod(0o2775)
        self.assertIsNotNone(self.attack(lambda: keep_linking(place, victim)))
        user = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
        for _ in range(10):
            # As muster's own, so that the folder is written over.
            (place / "machine.json").write_text("{}")
            os.chown(place / "machine.json", USER, USER)
            self.muster("machine", "dgx-h100", "--write", str(place), wrapper=user, HOME="/nonexistent")
            self.assertEqual(list(victim.iterdir()), [])

    # What the kernel says of programs of others is text.

    def test_programs_named_like_messages_of_drivers_crash(self):
        """The kernel logs the name of the program, and that of its file. Earlier versions of muster on this machine take that for a
        drive that fails, until the record has left the log."""
        if os.uname().machine != "x86_64":
            self.skipTest("the programs are for x86-64")
        programs = {"xxxxNVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus": SEGFAULTS,
                    "yyyyLinux version 6.1.0": SEGFAULTS,
                    "fifteen_letters: critical medium error, dev sdxy, sector 1": TRAPS,
                    "amdgpu 0000:c1:00.0: GPU is lost": TRAPS}
        user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        for name, code in programs.items():
            path = self.folder / name
            path.write_bytes(crashing_program(code))
            path.chmod(0o755)
            self.assertLess(subprocess.run([*user, path]).returncode, 0)
        said = [record for record in kernel_records() if "critical medium error, dev sdxy" in record]
        if not said:
            self.skipTest("this kernel does not log crashes, or its log can't be read")
        print("  " + said[-1].splitlines()[0])
        (self.folder / "devices.toml").write_text(DEVICES)
        self.muster("run", "devices.toml", "--launcher", "local", "--output", "runs")
        report = (self.folder / "runs" / "latest" / "report.json").read_text()
        for word in ("sdxy", "Xid 79", "c1:00", "6.1.0"):
            self.assertNotIn(word, report)

    # Processes of others are none of a launch.

    def test_a_process_with_the_tag_of_the_launch(self):
        """The names of recorders show the tag to everybody. A program hangs, is ended, and the clean-up leaves the process alone."""
        self.carries_the_tag()

    def test_a_process_with_the_tag_without_pidfd(self):
        if subprocess.run([*support.OLD_KERNEL, "true"], capture_output=True).returncode != 0:
            self.skipTest("system calls can't be filtered here")
        self.carries_the_tag(support.OLD_KERNEL)

    def test_a_set_uid_program_with_the_tag_of_the_launch(self):
        """It runs as root, as sudo does, and its environment is that of the user who started it."""
        program = self.folder / "as_root"
        shutil.copy(shutil.which("setpriv"), program)
        program.chmod(0o4755)
        user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        seen = subprocess.run([*user, program, "--reuid=0", "id", "-ru"], capture_output=True, text=True)
        if seen.stdout != "0\n":
            self.skipTest("set-uid programs have no effect here")
        self.carries_the_tag(become=f"{program} --reuid=0 ")

    def carries_the_tag(self, wrapper=(), become=""):
        (self.folder / "task.toml").write_text(
            '[check.task]\nprobe = "command"\nsummary = "A program runs."\nranks = { per_node = 1 }\ntimeout = "2s"\n'
            '[check.task.params]\nargv = ["sleep", "100"]\n')
        recorders = self.folder / "recorders"
        recorders.mkdir()
        attack = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c",
             f"until set -- {recorders}/muster-* && [ -e $1 ]; do sleep 0.01; done; "
             'name=${1##*/muster-}; MUSTER_TAG=${name%-*} MUSTER_PROGRAM=1 '
             f"MUSTER_TAG_SECRET={'0' * 64} exec {become}sleep 300"])
        self.addCleanup(attack.wait)
        self.addCleanup(attack.kill)
        done = self.muster("run", "task.toml", "--launcher", "local", "--output", "runs", wrapper=wrapper,
                           MUSTER_RECORDER_FOLDER=str(recorders))
        self.assertIsNone(attack.poll(), "ended by the clean-up")
        environment = pathlib.Path(f"/proc/{attack.pid}/environ").read_text()
        self.assertRegex(environment, "MUSTER_TAG=[0-9a-f]+", "the attack was made")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertNotIn("can't be ended", done.stdout)

    def test_the_place_of_a_recorder_is_taken(self):
        """The recorder of one rank shows the tag; those of its neighbours have the next process numbers."""
        recorders = self.folder / "recorders"
        recorders.mkdir()
        recorders.chmod(0o1777)
        agent = self.folder / "agent"
        agent.write_text('#!/bin/sh\n[ "$1" = --about ] || '
                         f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups mkdir {recorders}/muster-$MUSTER_TAG-$$ || exit 9\n"
                         f'exec {support.BIN}/muster-rank "$@"\n')
        agent.chmod(0o755)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--output", "runs", "--agent", str(agent),
                           MUSTER_RECORDER_FOLDER=str(recorders))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([path.owner() for path in recorders.iterdir()], ["nobody"], "its own is gone")

    def test_the_place_of_the_folder_of_open_mpi_is_taken(self):
        """Its name is known before: Open MPI would follow a link there and delete what is at its end."""
        shared, kept = self.folder / "shared", self.folder / "kept"
        shared.mkdir()
        shared.chmod(0o1777)
        kept.mkdir()
        (kept / "file").write_text("kept\n")
        place = shared / f"ompi.{socket.gethostname().split('.')[0]}.0"

        def make_folder():
            place.mkdir()
            place.chmod(0o777)
        for make in (lambda: place.symlink_to(kept), place.touch, make_folder):
            self.attack(make)
            done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--output", "runs", TMPDIR=str(shared))
            report = json.loads((self.folder / "runs" / "latest" / "report.json").read_text())
            case = report["cases"][0]
            self.assertEqual((done.returncode, case["verdict"]), (2, "error"), done.stdout)
            self.assertRegex(case["reason"], f"{place} belongs to user {NOBODY} .nobody., and Open MPI 4[.0-9]* needs it")
            self.assertEqual(case["remedy"], f"remove {place}, or set TMPDIR")
            self.assertEqual([culprit["kind"] for culprit in case["culprits"]], ["launcher"])
            self.assertEqual((kept / "file").read_text(), "kept\n")
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--output", "runs", TMPDIR=str(shared))
        self.assertEqual(done.returncode, 0, done.stdout)

    # Names: nodes are judged by the names that were asked for.

    def test_an_agent_that_reports_the_name_of_another_node(self):
        agent = self.folder / "agent"
        agent.write_text('#!/bin/sh\n[ "$1" = --about ] && exec "$REAL" --about\n'
                         'exec unshare --uts sh -c \'hostname n2; exec "$REAL"\'\n')
        agent.chmod(0o755)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--output", "runs", "--agent", str(agent),
                           REAL=str(support.BIN / "muster-rank"))
        report = json.loads((self.folder / "runs" / "latest" / "report.json").read_text())
        case, here = report["cases"][0], socket.gethostname()
        self.assertEqual((done.returncode, case["verdict"]), (1, "fail"), done.stdout)
        self.assertIn(f"ranks on {here} report the host name n2", case["reason"])
        self.assertEqual([culprit["node"] for culprit in case["culprits"]], [here])
        self.assertNotIn("n2", [culprit["name"] for culprit in case["culprits"]])

    def test_ranks_of_a_launch_line_are_followed_by_no_action(self):
        """They name their nodes themselves."""
        for option in (["--on-fail", "drain"], ["--on-pass", "resume"]):
            done = self.muster("run", "hello.toml", "--launch", "mpirun -n 1", *option)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertRegex(done.stderr, f"{option[0]}.*--launch|--launch.*{option[0]}")

    # Plug-ins that others could have written are not run.

    def refused(self, place, word):
        done = self.muster("list", "--probes", MUSTER_PLUGINS=str(place))
        told = [line for line in done.stderr.splitlines() if line.startswith("muster: plug-in ")]
        self.assertEqual(len(told), 1, done.stderr)
        self.assertIn(word, told[0])

    def plugin(self, *parts):
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
        path.chmod(0o755)
        return path

    def test_a_plugin_that_its_group_may_write(self):
        path = self.plugin("plugins", "probe.so")
        path.chmod(0o775)
        self.refused(path, "group 0 may write it; chmod g-w")

    def test_a_folder_of_plugins_that_its_group_may_write(self):
        path = self.plugin("plugins", "probe.so")
        path.parent.chmod(0o775)
        self.refused(path.parent, f"group 0 may write {path.parent}; chmod g-w")

    def test_a_plugin_far_below_a_folder_of_another_user(self):
        path = self.plugin("theirs", "mine", "plugins", "probe.so")
        os.chown(self.folder / "theirs", NOBODY, -1)
        self.refused(path.parent, f"{self.folder}/theirs belongs to user {NOBODY}")

    def test_a_link_of_another_user_to_a_plugin(self):
        """They may lead it to another plug-in of ours, such as one with an error that was mended since."""
        path = self.plugin("plugins", "probe.so")
        for name, target in (("probe.so", path), ("plugins-link", path.parent)):
            link = self.folder / name
            link.symlink_to(target)
            os.chown(link, NOBODY, -1, follow_symlinks=False)
            self.refused(link, f"is a link of user {NOBODY}, who could lead it elsewhere")

    def test_a_link_to_a_plugin_in_a_folder_of_another_user(self):
        path = self.plugin("plugins", "probe.so")
        theirs = self.folder / "theirs"
        theirs.mkdir()
        (theirs / "probe.so").symlink_to(path)
        os.chown(theirs, NOBODY, -1)
        self.refused(theirs / "probe.so", f"{theirs} belongs to user {NOBODY}")

    # Folders of runs below folders of others.

    def refused_output(self, done, status):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(f"belongs to user {NOBODY}", done.stderr)

    def gate(self, *more):
        return self.muster("gate", "--need", "1", "--launcher", "local", "--checks", "hello.toml", *more, "--", "true")

    def test_a_folder_of_runs_of_another_user(self):
        runs = self.folder / "muster-runs"
        runs.mkdir()
        os.chown(runs, NOBODY, -1)
        self.refused_output(self.gate(), 125)
        done = self.muster("run", "hello.toml", "--launcher", "local")
        self.refused_output(done, 3)
        self.assertIn("choose another folder: --output /root/muster-runs", done.stderr)
        self.assertEqual(list(runs.iterdir()), [])

    def test_dev_run_in_a_checkout_of_another_user(self):
        """Root is warned before the build, which ends at once here: there is nothing to build."""
        checkout = self.folder / "checkout"
        checkout.mkdir()
        shutil.copy(CHECKS.parent / "dev", checkout)

        def warned(*options):
            done = subprocess.run(["sh", "dev", "run", *options], cwd=checkout, capture_output=True, text=True, timeout=60 * support.SLOWNESS,
                                  env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "MUSTER_NO_INSTALL": "1"})
            self.assertNotEqual(done.returncode, 0, done.stdout)
            return f"{checkout} belongs to user {NOBODY}: " in done.stderr and "--output /root/muster-runs" in done.stderr
        self.assertFalse(warned())
        os.chown(checkout, NOBODY, -1)
        self.assertTrue(warned())
        self.assertFalse(warned("--output", "/root/muster-runs"))

    def test_a_folder_of_runs_below_one_of_another_user(self):
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, -1)
        self.refused_output(self.gate("--output", str(theirs / "deep" / "runs")), 125)
        self.assertEqual(list(theirs.iterdir()), [])
        (theirs / "link").symlink_to(self.folder / "elsewhere")
        (self.folder / "elsewhere").mkdir()
        os.chown(self.folder / "elsewhere", NOBODY, -1)
        self.refused_output(self.gate("--output", str(theirs / "link")), 125)
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])

    def test_another_user_is_refused_too(self):
        """Not only root."""
        runs = self.folder / "muster-runs"
        runs.mkdir(mode=0o777)
        runs.chmod(0o777)
        for owner, why in ((NOBODY, f"belongs to user {NOBODY}"), (0, f"every user may write {runs}")):
            os.chown(runs, owner, -1)
            done = self.muster("run", "hello.toml", "--launcher", "local", "--no-history",
                               wrapper=("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"), HOME="/nonexistent")
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_link_of_another_user_in_the_place_of_the_output_folder(self):
        ours = self.folder / "ours"
        ours.mkdir()
        link = self.folder / "link"
        link.symlink_to(ours)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        for output in (link, link / "below"):
            done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--no-history", "--output", str(output))
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(f"{link} is a link of user {NOBODY}", done.stderr)
            self.assertEqual(list(ours.iterdir()), [])

    def as_user(self, user, output):
        return self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--no-history", "--output", str(output),
                           wrapper=("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"), HOME="/nonexistent")

    def test_folders_that_ordinary_users_have(self):
        """Below a folder as /tmp, a home that is a link of root, a scratch folder of a group, and a project that its leader owns."""
        user = 12345
        project = self.folder / "project"
        (project / "mine").mkdir(parents=True)
        project.chmod(0o2770)
        os.chown(project, NOBODY, user)
        os.chown(project / "mine", user, user)
        shared, home, scratch = (self.folder / name for name in ("shared", "homes", "scratch"))
        for path, mode in ((shared, 0o1777), (home, 0o755), (scratch, 0o2775)):
            path.mkdir()
            path.chmod(mode)
        os.chown(scratch, 0, user)
        (home / "mine").mkdir()
        os.chown(home / "mine", user, user)
        (self.folder / "home").symlink_to(home / "mine")
        for output in (shared / "runs", self.folder / "home" / "runs", scratch / "runs", scratch / "deep" / "runs", project / "mine" / "runs"):
            done = self.as_user(user, output)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertTrue((output / "latest" / "report.json").exists())

    def test_a_run_of_another_user_is_named(self):
        """Where root is in a folder like /tmp, the default folder of runs may be another user's."""
        place = self.folder / "open"
        place.mkdir()
        place.chmod(0o1777)
        done = self.muster("run", "hello.toml", "--launcher", "local", "--no-history", "--output", str(place / "muster-runs"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("belongs to", self.muster("show", "latest", cwd=place).stderr)
        for path in (place / "muster-runs", *(place / "muster-runs").rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        for words in (("show", "latest"), ("show", next((place / "muster-runs").glob("2*")).name)):
            done = self.muster(*words, cwd=place)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count(f"belongs to user {NOBODY}"), 1, done.stderr)
        # A link of root to it, and a link of another user to what is root's.
        os.chown(place / "muster-runs", 0, 0)
        os.chown(place / "muster-runs" / "latest", 0, 0, follow_symlinks=False)
        self.assertIn(f"belongs to user {NOBODY}", self.muster("show", "latest", cwd=place).stderr)
        # One that is called as root's: what is in the current folder goes before the history.
        for name in ("latest", "b4ee9a"):
            shutil.copytree(next((place / "muster-runs").glob("2*")), place / name)
            os.chown(place / name, NOBODY, NOBODY)
            self.assertIn(f"the run {name} belongs to user {NOBODY}", self.muster("show", name, cwd=place).stderr)

    def test_a_file_in_the_place_of_latest(self):
        """It is not replaced by the link to the latest run."""
        latest = self.folder / "runs" / "latest"
        latest.parent.mkdir()
        latest.write_text("precious")
        done = self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("runs/latest is left as it is, as it is not a link", done.stderr)
        self.assertFalse(latest.is_symlink())
        self.assertEqual(latest.read_text(), "precious")

    # Without root.

    def test_an_ordinary_user_needs_no_right_of_root(self):
        """As a cron table of that user starts it. Ranks stay dumpable, or MPI's copies between processes
        (CMA) would be refused: their files in /proc are their user's."""
        home, user = self.folder / "home", 12345
        home.mkdir()
        os.chown(home, user, user)
        (home / "script").write_text("stat -c 'owner=%u' /proc/$PPID/environ\n")
        (home / "checks.toml").write_text(
            DEVICES + '[check.task]\nprobe = "command"\nsummary = "A program runs."\nranks = { per_node = 1 }\n[check.task.params]\n'
            f'argv = ["sh", "{home}/script"]\nmust_print = ["owner={user}"]\n')
        done = self.muster("run", "checks.toml", "--launcher", "local", "--lock", "--quiet", "--output", "runs", cwd=home, HOME=str(home),
                           XDG_STATE_HOME=str(home / "state"),
                           wrapper=("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "--inh-caps=-all"))
        report = json.loads((home / "runs" / "latest" / "report.json").read_text())
        verdicts = {case["check"]: case["verdict"] for case in report["cases"]}
        self.assertEqual(verdicts["task"], "pass", done.stdout + done.stderr)
        self.assertNotIn("error", verdicts.values(), done.stdout)
        self.assertTrue((home / "state" / "muster" / "history.db").exists())

    def test_a_user_without_a_home(self):
        """Neither HOME nor an entry of passwd."""
        runs = self.folder / "runs"
        runs.mkdir()
        os.chown(runs, 54321, 54321)
        for launcher in ("local", "mpirun"):
            done = self.muster("run", "hello.toml", "--launcher", launcher, "--quiet", "--no-history", "--output", str(runs),
                               wrapper=("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "env", "--unset=HOME"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    # Without /proc.

    def test_without_proc_nothing_comes_from_the_current_folder(self):
        here = self.folder / "here"
        (here / "share/muster/checks/systems").mkdir(parents=True)
        (here / "share/muster/checks/planted.toml").write_text(HELLO.replace("check.hello", "check.planted"))
        for place in ("lib/muster/plugins", "lib/x86_64-linux-gnu/muster/plugins"):
            (here / place).mkdir(parents=True)
            (here / place / "planted.so").write_bytes(b"x")
        hidden = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces here")
        if support.SLOWNESS > 1:
            self.skipTest("sanitizers need /proc")
        done = self.muster("list", cwd=here, wrapper=hidden)
        self.assertNotIn("planted", done.stdout + done.stderr)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("/proc is not mounted", done.stderr)
        done = self.muster("list", "--probes", cwd=here, wrapper=hidden)
        self.assertNotIn("planted", done.stdout + done.stderr)
        self.assertIn("hello", done.stdout)

    def test_ranks_without_proc(self):
        """As in a container that mounts none: what can't be known is no one's fault, and nothing is left."""
        agent = self.folder / "agent"
        agent.write_text(f'#!/bin/sh\n[ "$1" = --about ] && exec {support.BIN}/muster-rank --about\n'
                         f'exec unshare --mount sh -c \'mount -t tmpfs none /proc && exec "$@"\' sh {support.BIN}/muster-rank "$@"\n')
        agent.chmod(0o755)
        recorders = self.folder / "recorders"
        recorders.mkdir()
        done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--ranks-per-node", "2", "--output", "runs", "--agent", str(agent),
                           MUSTER_RECORDER_FOLDER=str(recorders))
        self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
        case = json.loads((self.folder / "runs/latest/report.json").read_text())["cases"][0]
        self.assertNotEqual(case["verdict"], "fail")
        self.assertEqual(list(recorders.iterdir()), [])


if __name__ == "__main__":
    support.main()
