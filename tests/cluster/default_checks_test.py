"""Two simulated nodes of eight H100 each, and all default checks in one run, as anybody would start them."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
import on_gpu_nodes  # noqa: E402

# With a profile alone the checks are muster's own.
ONLY_A_PROFILE = '[system]\nname = "nothing"\n[[partition]]\nname = "p"\n'
TIMED = ("allreduce", "clock_skew", "gpu_copy", "hello", "memory_bandwidth", "p2p", "training")
UNTIMED = ("cpu_affinity", "device_visibility", "environment", "gpu_mapping", "network_interfaces")
MOST_SECONDS = 200  # the bar is 60 on two cores that do nothing else


class DefaultChecks(on_gpu_nodes.TwoNodesOfEight):
    MACHINE = "dgx-h100"

    def test_all_pass(self):
        run = self.check(ONLY_A_PROFILE, wait=MOST_SECONDS)
        cases = {case["check"]: case for case in run.report()["cases"]}
        print(f"  {run.seconds:.1f} s:", {name: round(case["seconds"], 1) for name, case in cases.items()}, flush=True)
        not_passed = {name: (case["verdict"], case["reason"]) for name, case in cases.items() if case["verdict"] != "pass"}
        # Nothing asks for a plugin there.
        self.assertEqual(not_passed.pop("network_plugin", ("", ""))[0], "skip")
        self.assertEqual((run.status, not_passed), (0, {}), run.story())
        self.assertLessEqual({*TIMED, *UNTIMED}, set(cases), "the default checks")
        self.assertEqual({case["ranks"] for case in cases.values()}, {16})
        self.assertEqual(run.report()["simulated"], self.MACHINE)
        for name in TIMED:
            self.assertIn(f"timing is not judged: simulated machine {self.MACHINE}", cases[name]["notes"], name)
        for name in ("allreduce", "p2p"):
            self.assertIn("memory of 16 GPUs over NCCL 2.21.5", " | ".join(cases[name]["evidence"]))
        self.assertIn("on 16 GPUs: all compared data was right", " | ".join(cases["gpu_copy"]["evidence"]))


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
