"""Known failures (docs/failures.md) on described machines, one at a time: what is blamed, and that nothing else is."""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from on_machine import OnMachine, main  # noqa: E402

# Row, machine, fault; the check that fails, whom it blames and what it says.
RED = [
    ("F01", "lumi-g", "nested", "cpu_affinity", "rank 0", "share CPU 1"),
    ("F03", "lumi-g", "all_on_one", "gpu_mapping", "rank 0", "use the same GPU 0000:c1:00.0"),
    ("F08", "lumi-g", "interface", "network_interfaces", "NCCL_SOCKET_IFNAME", "no network interface that is up"),
    ("F10", "lumi-g", "no_plugin", "network_plugin", "LD_LIBRARY_PATH", "nor librccl-net.so"),
    ("F12", "lumi-g", "memhooks", "environment", "FI_MR_CACHE_MONITOR", "deadlock"),
    ("F13", "lumi-g", "alt_read", "environment", "FI_CXI_RDZV_PROTO", "disable_rdzv_get"),
    ("F17", "lumi-g", "both_variables", "gpu_mapping", "HIP_VISIBLE_DEVICES", "counts within the one GPU"),
    ("F18", "lumi-g", "masks_linear", "cpu_affinity", "rank 0", "far from its GPU"),
    ("F18", "frontier", "masks_shifted", "cpu_affinity", "rank 0", "far from its GPU"),
    ("F20", "lumi-g", "masks_moved", "cpu_affinity", "rank 0", "reserved for the system"),
    ("F22", "lumi-g", "spanning", "cpu_affinity", "rank 4", "spans NUMA domains 0,2"),
    ("F26", "lumi-g", "host_list", "environment", "MASTER_ADDR", "does not resolve"),
    ("F27", "lumi-g", "left_over", "environment", "RANK", "on all 8 ranks"),
    ("F28", "lumi-g", "local_rank", "gpu_mapping", "rank 1", "LOCAL_RANK"),
    ("F37", "lumi-g", "nic_down", "network_interfaces", "hsn2", "is down"),
    ("F37", "lumi-g", "nic_slow", "network_interfaces", "hsn2", "100"),
]
# Rank i in NUMA domain i, as -c 32 --cpu-bind=cores gives it there.
IN_ORDER = ("-J=--map-by", "-J=ppr:1:numa:PE=16", "-J=--bind-to", "-J=core")
# Fault; the check that passes, and what it says all the same; the shipped profile that has it so; launcher options.
NOTED = [
    ("F11", "lumi-g", "network_forced", "environment", "NCCL_NET=AWS Libfabric"),
    ("F14", "lumi-g", "gdr_level", "environment", "NCCL_NET_GDR_LEVEL=LOC"),
    ("F15", "lumi-g", None, "environment", "MPICH_GPU_SUPPORT_ENABLED=1"),
    ("F19", "perlmutter", None, "cpu_affinity", "far from its GPU", "perlmutter:gpu", IN_ORDER),
    ("F37", "vista", "nic_missing", "network_interfaces", "no NIC on", "vista:gh"),
    ("F37", "vista", "nic_slow", "network_interfaces", "at 200 Gbit/s", "vista:gh"),
    ("F37", "zurada-gpu1h100", "nic_slow", "network_interfaces", "at 100 Gbit/s", "zurada:gpu1h100"),
    ("F40", "lumi-g", "export_none", "environment", "SLURM_EXPORT_ENV=NONE"),
]
# More ranks on a node than its site has GPUs: the check that fails, whom it blames.
CROWDED = [
    ("F02", "zurada-gpu2h100", "4", "gpu_mapping"),
    ("F31", "vista", "2", "gpu_mapping"),
]


class Failures(OnMachine):
    def test_one_at_a_time(self):
        for row, system, fault, check, culprit, said in RED:
            with self.subTest(f"{row} {system} {fault}"):
                bad = self.ill(system, fault)
                self.assertIn(check, bad, self.output)
                self.assertIn(culprit, " ".join(self.culprits(check)), self.output)
                self.assertIn(said, self.reasons(check), self.output)
                self.assertTrue(self.cases[check]["remedy"])
                self.only_cause(check)

    def test_what_is_only_noted(self):
        for row, system, fault, check, said, *shipped in NOTED:
            with self.subTest(f"{row} {system} {fault}"):
                self.write(system, *(["--fault", fault] if fault else []))
                status = self.run_checks(system, None, ["-x", "hello", *(shipped[1] if shipped[1:] else ())], *shipped[:1])
                self.assertEqual((status, self.cases[check]["verdict"]), (0, "pass"), self.output)
                self.assertIn(said, " ".join(self.cases[check]["notes"]), self.output)

    def test_more_ranks_than_gpus(self):
        for row, system, ranks, check in CROWDED:
            with self.subTest(f"{row} {system}"):
                self.write(system, "--fault", "crowded")
                self.assertEqual(self.run_checks(system, None, ["-x", "hello", "--ranks-per-node", ranks]), 1, self.output)
                self.assertEqual(self.cases[check]["verdict"], "fail", self.output)
                self.assertIn("rank", " ".join(self.culprits(check)), self.output)
                self.only_cause(check)


if __name__ == "__main__":
    main()
