"""Where torch comes from: what is compared over ranks, and what is wrong inside of containers."""
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import installation
from installation import Installation, judge, rocm_of, same

IMAGE = "/opt/conda/lib/python3.10/site-packages/torch/__init__.py"


def inside(**changed):
    """In a container, with torch of the image."""
    known = dict(torch="2.1.0", file=IMAGE, python="/opt/conda/bin/python 3.10.12", container="Shifter",
                 user_base="/u/.local/perlmutter/pytorch2.0.1", user_site="/u/.local/perlmutter/pytorch2.0.1/lib/python3.10",
                 before=[1, 2, 3], after=[1, 2, 3])
    return Installation(**{**known, **changed})


class InstallationTest(unittest.TestCase):
    def test_torch_of_the_image(self):
        self.assertEqual(judge(inside()), [])

    def test_torch_of_the_host_in_a_container(self):
        file = "/u/.local/perlmutter/pytorch2.0.1/lib/python3.10/site-packages/torch/__init__.py"
        for changed in ({}, {"user_base": ""}):
            ((reason, remedy),) = judge(inside(file=file, **changed))
            self.assertEqual(reason, f"inside of Shifter torch comes from {file}, a folder of the user's, and not from the image")
            self.assertIn("PYTHONUSERBASE", remedy)
        self.assertEqual(judge(inside(file=file, container="")), [], "outside that is what such a folder is for")
        self.assertEqual(judge(inside(file=file, user_base="", user_site="")), [], "not used")

    def test_cpus_that_the_import_changes(self):
        ((reason, remedy),) = judge(inside(after=list(range(64))))
        self.assertEqual(reason, "importing torch changes the CPUs of the process from 1, 2, 3 to 0, 1, 2, 3, 4, 5, 6, 7 and 56 "
                                 "more")
        self.assertIn("import mpi4py before torch", remedy)

    def test_what_is_compared(self):
        self.assertEqual(same(inside(built_for="CUDA 12.1", collectives="NCCL 2.18.1")),
                         {"torch": "2.1.0", "torch.__file__": IMAGE, "Python": "/opt/conda/bin/python 3.10.12",
                          "torch is built for": "CUDA 12.1",
                          "the user's site-packages": "/u/.local/perlmutter/pytorch2.0.1/lib/python3.10",
                          "the collectives' library": "NCCL 2.18.1"})
        self.assertEqual(same(Installation())["the user's site-packages"], "not used")

    def test_facts_of_a_build(self):
        cuda = types.SimpleNamespace(nccl=types.SimpleNamespace(version=lambda: (2, 20, 5)))
        torch = types.SimpleNamespace(__version__="2.4.1+rocm6.1", __file__=__file__, cuda=cuda,
                                      version=types.SimpleNamespace(hip="6.1.40091", cuda=None),
                                      distributed=types.SimpleNamespace(is_nccl_available=lambda: True))
        one = installation.gather(torch, [0], {"SINGULARITY_CONTAINER": "a.sif", "PYTHONUSERBASE": "/u"})
        self.assertEqual((one.built_for, one.collectives, one.container, one.user_base),
                         ("ROCm 6.1.40091", "RCCL 2.20.5", "Singularity", "/u"))
        self.assertEqual(one.after, sorted(os.sched_getaffinity(0)))

    def test_the_rocm_that_is_here(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertIsNone(rocm_of(root, {}))
            for folder, version in (("opt/rocm", "6.0.3-131"), ("opt/rocm-7.1.1", "7.1.1-38")):
                os.makedirs(os.path.join(root, folder, ".info"))
                with open(os.path.join(root, folder, ".info/version"), "w") as out:
                    out.write(version + "\n")
            self.assertEqual(rocm_of(root, {}), (6, 0))
            self.assertEqual(rocm_of(root, {"ROCM_PATH": os.path.join(root, "opt/rocm-7.1.1")}), (7, 1), "the module's")


if __name__ == "__main__":
    unittest.main()
