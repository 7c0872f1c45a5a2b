"""What a vendor of GPUs means lies in src/device/<vendor>/: elsewhere no vendor's driver, library or command is named, but in files
that have a reason. The list may only become shorter."""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
# Names of libraries count where they are text of the program: comments give examples.
NAMES = re.compile(r"nvidia|nvml|amdgpu|rocm|\"[^\"\n]*(libcuda|libamdhip|libnvrtc|libhiprtc|libze_)", re.I)
VENDORS = sorted(path.name for path in (SOURCE / "src" / "device").iterdir() if (path / "terms" / "vendor.cpp").exists())

# File -> why it names a vendor.
REASONS = {
    "checks/devices/gpu_compute_reference.toml": "a reference names the vendor's document that it is from",
    "checks/pytorch/installation.py": "reads what a PyTorch was built for; runs in Python, without muster's tables",
    "checks/pytorch/torch_environment.py": "compares PyTorch's build with the node's driver; runs in Python, without muster's tables",
    "checks/selftest/site.toml": "a profile names the vendor of its GPUs",
    "checks/systems/frontier.toml": "modules of the site, and sources",
    "checks/systems/lumi.toml": "sources",
    "checks/systems/perlmutter.toml": "a profile names the vendor of its GPUs",
    "checks/systems/vista.toml": "a profile names the vendor of its GPUs",
    "checks/systems/zurada.toml": "a profile names the vendor of its GPUs",
}


def in_folder_of_vendor(path):
    return any(path.startswith(f"src/device/{vendor}/") for vendor in VENDORS)


def naming():
    found = set()
    for root in ("src", "include", "checks"):
        for path in (SOURCE / root).rglob("*"):
            name = str(path.relative_to(SOURCE))
            if path.is_file() and "__pycache__" not in name and not in_folder_of_vendor(name) and NAMES.search(path.read_text(errors="replace")):
                found.add(name)
    return found


class Vendors(unittest.TestCase):
    def test_no_other_file_names_a_vendor(self):
        self.assertGreaterEqual(len(VENDORS), 3)
        self.assertEqual(sorted(naming()), sorted(REASONS))
        self.assertLessEqual(len(REASONS), 9)

    def test_names_are_found(self):
        self.assertTrue(NAMES.search("see nvidia-smi"))
        self.assertTrue(NAMES.search('install("libcuda.so.1")'))
        self.assertFalse(NAMES.search("/// `libcuda.so.1`"))
        self.assertTrue(in_folder_of_vendor("src/device/nvidia/nvml.cpp"))
        self.assertFalse(in_folder_of_vendor("src/device/host.cpp"))


if __name__ == "__main__":
    unittest.main()
