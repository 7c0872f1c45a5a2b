"""Variables and the current folder of root that lead to what another user can change, or exchange later: each test makes the
attack, with another user id."""
import errno
import json
import os
import pathlib
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
OTHER = 65533
AS_OTHER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\n'
SHOWN = '[check.shown]\nprobe = "command"\nsummary = "A program runs."\nranks = {{ per_node = 1 }}\n[check.shown.params]\n' \
        'argv = ["sh", "-c", "echo is {}"]\nmust_print = ["^is {}$"]\n'


def let_write(path, user):
    """By an access list of the folder, as setfacl makes it; False where the file system has none."""
    owner, named, group, mask, others, every = 1, 2, 4, 16, 32, 0xffffffff
    entries = ((owner, 7, every), (named, 7, user), (group, 5, every), (mask, 7, every), (others, 5, every))
    try:
        os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return False
    return True


@unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
class RootPlaces(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-places-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        (self.folder / "hello.toml").write_text(HELLO)
        self.shared, self.theirs, self.ours = self.make("shared", 0o1777), self.make("theirs", 0o755, OTHER), self.make("ours", 0o755)

    def make(self, name, mode, owner=0, group=0):
        path = self.folder / name
        path.mkdir()
        os.chown(path, owner, group)
        path.chmod(mode)
        return path

    def by_other(self, command):
        subprocess.run([*AS_OTHER, "sh", "-c", command], check=True, cwd="/")

    def run_with(self, check="hello", cwd=None, launcher="local", **variables):
        """The variables in the report; the run passes."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_") and name != "HOME"}
        done = subprocess.run([MUSTER, "run", str(self.folder / f"{check}.toml"), "--launcher", launcher, "--quiet", "--no-history", "--output",
                               str(self.folder / "runs")], cwd=cwd or self.ours, capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS, env={**env, "NO_COLOR": "1", **variables})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads((self.folder / "runs" / "latest" / "report.json").read_text()).get("variables", {})
        for name, value in found.items():
            self.assertIn(f"{name}: {value}"[:80], " ".join(done.stdout.split()))
        return found

    def folders_of_others(self):
        """Each with a name, and why it is none of root's."""
        wide = self.make("wide", 0o777)
        (wide / "ours").mkdir()
        group = self.make("group", 0o775, 0, OTHER)
        (self.theirs / "ours").mkdir()
        self.by_other(f"ln -s {self.ours} {self.shared}/link")
        folders = [(self.theirs, f"it belongs to user {OTHER}"), (self.theirs / "ours", f"{self.theirs} belongs to user {OTHER}"),
                   (self.shared / "link", f"it is a link of user {OTHER}"), (wide / "ours", f"every user may write {wide}"),
                   (group, f"group {OTHER} may write it"), (self.shared / "later", "every user may create it")]
        acl = self.make("acl", 0o755)
        if let_write(acl, OTHER):
            folders.append((acl, f"user {OTHER} may write it"))
        return folders

    # HOME, where MPI libraries look for settings that name what they load.

    def test_a_home_that_others_may_change(self):
        homes = [*self.folders_of_others(), (self.shared, "every user may write it")]
        (self.ours / ".openmpi").mkdir()
        (self.ours / ".openmpi" / "mca-params.conf").write_text("pml = planted\n")
        for home, why in homes:
            with self.subTest(home=home.name):
                subprocess.run([*AS_OTHER, "sh", "-c", f"mkdir {home}/.openmpi && echo pml = planted > {home}/.openmpi/mca-params.conf"],
                               stderr=subprocess.DEVNULL)
                self.assertEqual(self.run_with(HOME=str(home)), {"HOME": f"/root instead of {home}, as {why}"})

    def test_a_home_of_root(self):
        """Its own, also one below a folder like /tmp, of its group, or that does not exist."""
        below = self.shared / "below"
        below.mkdir()
        group = self.make("of-root", 0o775)
        for home in ("/root", below, group, self.ours / "missing"):
            self.assertEqual(self.run_with(HOME=str(home)), {}, home)

    # Folders for temporary files: what is made there by name could be exchanged.

    def test_folders_for_temporary_files(self):
        for number, (folder, why) in enumerate(self.folders_of_others()):
            name = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")[number % 4]
            with self.subTest(folder=folder.name, name=name):
                (self.folder / "shown.toml").write_text(SHOWN.format(f"${name}", "/tmp"))
                self.assertEqual(self.run_with(check="shown", **{name: str(folder)}), {name: f"/tmp instead of {folder}, as {why}"})
        for folder in (self.shared, self.ours):
            (self.folder / "shown.toml").write_text(SHOWN.format("$TMPDIR", folder))
            self.assertEqual(self.run_with(check="shown", TMPDIR=str(folder)), {})

    def test_nothing_is_made_in_a_folder_of_another_user(self):
        """Neither by muster, which makes a folder first, nor by mpirun. They would put a link in its place."""
        former = self.theirs.stat().st_mtime_ns
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        done = subprocess.run([MUSTER, "selftest", "-n", "^environment$", "--launcher", "none"], cwd=self.ours, capture_output=True,
                              text=True, timeout=120 * support.SLOWNESS, env={**env, "TMPDIR": str(self.theirs)})
        self.assertIn("none", done.stdout + done.stderr)
        self.assertEqual(self.theirs.stat().st_mtime_ns, former, "something was made there")
        self.run_with(launcher="mpirun", TMPDIR=str(self.theirs), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assertEqual(self.theirs.stat().st_mtime_ns, former, "something was made there")

    # PATH and the like.

    def plant_program(self, folder):
        program = folder / "mpirun"
        program.write_text(f"#!/bin/sh\ntouch {self.folder}/ran\nexit 1\n")
        program.chmod(0o755)

    def test_links_of_others_on_root_s_path(self):
        """What a link leads to now is root's: its owner may lead it elsewhere after muster has looked."""
        self.plant_program(self.ours)
        wide = self.make("wide", 0o777)
        (wide / "link").symlink_to(self.ours)
        (self.ours / "circle").symlink_to("circle")
        self.by_other(f"ln -s {self.ours} {self.shared}/link")
        places = {self.shared / "link": f"it is a link of user {OTHER}",
                  wide / "link": f"every user may write {wide}",
                  self.ours / "circle": "its links lead in a circle",
                  self.ours / "missing/../": f'it has ".." behind {self.ours}/missing, which is missing',
                  f"/proc/self/root{self.ours}": "/proc/self depends on the process"}
        path = ":".join(str(place) for place in places)
        found = self.run_with(launcher="mpirun", PATH=f"{path}:{os.environ['PATH']}", OMPI_ALLOW_RUN_AS_ROOT="1",
                              OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(found, {"PATH": "; ".join(f'"{place}" is left out, as {why}' for place, why in places.items())})

    def test_links_of_root_on_its_path(self):
        """As /opt/mpi/default; also below a folder like /tmp."""
        (self.ours / "bin").mkdir()
        (self.shared / "link").symlink_to(self.ours)
        (self.ours / "default").symlink_to("bin")
        self.assertEqual(self.run_with(PATH=f"{self.shared}/link/default:{os.environ['PATH']}"), {})

    def test_folders_of_groups_and_of_accounts_for_software_stay(self):
        """Their links, too: /sw/mpi/default."""
        group = self.make("group", 0o2775, 0, OTHER)
        (self.theirs / "1.0").mkdir()
        self.by_other(f"ln -s 1.0 {self.theirs}/default")
        found = self.run_with(PATH=f"{self.theirs}/default:{os.environ['PATH']}")
        self.assertEqual(found, {"PATH": f"{self.theirs} belongs to user {OTHER}"})
        (self.folder / "shown.toml").write_text(SHOWN.format("$PYTHONPATH", f"{group}:{self.theirs}"))
        for name in ("PYTHONPATH", "PATH", "LD_LIBRARY_PATH"):
            value = f"{group}:{self.theirs}" + (f":{os.environ['PATH']}" if name == "PATH" else "")
            found = self.run_with(check="shown" if name == "PYTHONPATH" else "hello", **{name: value})
            self.assertEqual(found, {name: f"{self.theirs} belongs to user {OTHER}"}, "Debian's /usr/local/bin is of a group")

    def test_a_path_of_nothing_but_places_of_others(self):
        """An empty PATH would be the current folder."""
        (self.folder / "shown.toml").write_text(SHOWN.format("$PATH", "/usr/bin:/bin"))
        for path, entry in (("", ""), (f"{self.shared}", self.shared)):
            self.assertIn(f'"{entry}" is left out, as ', self.run_with(check="shown", PATH=path)["PATH"])

    def test_what_the_linker_reads_as_a_list_of_folders(self):
        """Separated by `;`, too, and with parts that it replaces."""
        shutil.copy("/dev/null", self.shared / "libmpi.so.40")
        (self.shared / "lib").mkdir()
        (self.folder / "shown.toml").write_text(SHOWN.format("$LD_LIBRARY_PATH", "/usr/lib:/opt"))
        replaced = 'the dynamic linker replaces a name behind "$" in it'
        entries = {f"{self.shared}": "every user may write it", f"{self.folder}/shared$NONE": replaced, "/usr/${LIB}": replaced,
                   "$ORIGIN/../lib": replaced}
        found = self.run_with(check="shown", LD_LIBRARY_PATH=f"/usr/lib;{';'.join(entries)};/opt")
        self.assertEqual(found, {"LD_LIBRARY_PATH": "; ".join(f'"{entry}" is left out, as {why}' for entry, why in entries.items())})

    # The current folder.

    def test_current_folders_of_root_and_of_others(self):
        for folder, why in self.folders_of_others():
            if folder.exists() and not folder.is_symlink():
                with self.subTest(folder=folder.name):
                    self.assertEqual(self.run_with(cwd=folder), {"PWD": f"programs start in / instead of {folder}, as {why}"})
        self.assertEqual(self.run_with(cwd=self.make("of-root", 0o775)), {}, "group 0")

    def test_a_current_folder_that_is_gone(self):
        """mpirun does not start there."""
        gone = self.make("gone", 0o755)
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        words = [MUSTER, "run", str(self.folder / "hello.toml"), "--launcher", "mpirun", "--no-history", "--output", str(self.folder / "runs")]
        done = subprocess.run(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *words], cwd=gone, capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS,
                              env={**env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PWD=programs start in / instead of the current folder, which can't be read", " ".join(done.stdout.split()))


if __name__ == "__main__":
    support.main()
