"""The Debian package of this build: what it says of itself, and muster as it runs from an unpacked one.

packaging/try_deb installs it on a clean Debian, which takes minutes and a network."""
import re
import shutil
import unittest

import installed
from installed import BUILD, run


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "mpirun"):
            if shutil.which(program) is None:
                installed.skip(f"there is no {program}")
        cls.folder = installed.temporary("package")
        # As the preset `package`: below /usr, compressed quickly.
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "cpack",
            "-D", "CPACK_PACKAGING_INSTALL_PREFIX=/usr", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=cls.folder)
        cls.deb = next((cls.folder / "cpack").glob("muster_*.deb"))
        cls.root = cls.folder / "root"
        run("dpkg-deb", "-x", cls.deb, cls.root)
        cls.muster = cls.root / "usr/bin/muster"

    def field(self, name):
        return run("dpkg-deb", "-f", self.deb, name).stdout.strip()

    def test_what_it_says_of_itself(self):
        version = run(BUILD / "bin" / "muster", "--version").stdout.split()[1]
        self.assertEqual(self.deb.name, f"muster_{version}_{self.field('Architecture')}.deb")
        self.assertEqual(self.field("Version"), version)
        self.assertEqual(self.field("Maintainer"), "muster developers")
        self.assertEqual(self.field("Section"), "science")

    def test_it_depends_on_what_it_is_linked_with(self):
        needed = self.field("Depends")
        for library in ("libc6", "libhwloc15", "libopenmpi3"):
            self.assertIn(library, needed)
        # GPU libraries are opened where they are.
        self.assertIsNone(re.search("nvidia|cuda|rocm|hip", needed))

    def test_it_runs(self):
        run(self.muster, "run", "-n", "^hello$", "--ranks-per-node", "2", cwd=self.folder)
        run(self.muster, "lint", self.root / "usr/share/muster/checks", cwd=self.folder)

    def test_nothing_outside_of_usr(self):
        self.assertEqual([path.name for path in self.root.iterdir()], ["usr"])
        self.assertEqual([path.name for path in (self.root / "usr").rglob("*") if path.name.startswith("muster-test")], [])

    def test_modes(self):
        for path in self.root.rglob("*"):
            if path.is_symlink():
                continue
            self.assertEqual(oct(path.stat().st_mode & 0o022), "0o0", path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
