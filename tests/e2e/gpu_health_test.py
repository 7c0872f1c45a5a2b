"""GPUs that fall ill while gpu_copy and gpu_memory use them: what changed is named, by address and UUID, and what is well is not."""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gpu_copy_test  # noqa: E402
import on_gpus  # noqa: E402


def metrics(revision, size, **fields):
    """A table of amdgpu: fields are `_OFFSET=(format, value)`; all else is not filled."""
    table = bytearray(b"\xff" * size)
    struct.pack_into("<HBB", table, 0, size, 1, revision)
    for name, (layout, value) in fields.items():
        struct.pack_into("<" + layout, table, int(name[1:]), *(value if isinstance(value, tuple) else (value,)))
    return bytes(table)


class Health(gpu_copy_test.OnGpus):
    def describe(self, *lines):
        """Two GPUs, with these lines for the stand-ins."""
        self.FAULTS = {"made": list(lines)} if lines else {}
        super().describe(*self.FAULTS, count=2)

    def notes(self, check):
        return " | ".join(self.cases[check].get("notes", []))

    def falls_ill(self, line, *words, index=1, checks=("gpu_copy",)):
        self.describe(line)
        self.assertEqual(self.check(), 1, self.output)
        for check in checks:
            self.blamed(check, index, *words)

    # Well.

    def test_the_well_are_watched(self):
        self.describe()
        self.assertEqual(self.check(), 0, self.output)
        for check in ("gpu_copy", "gpu_memory"):
            self.assertIn("health of 2 GPUs watched under load", self.cases[check]["evidence"], self.output)
            self.assertNotIn("under load", self.notes(check))

    def test_what_was_there_before_is_no_news(self):
        self.describe("set 1 ecc_uncorrected 3", "set 1 pcie_replays 1000", "set all throttle_bits 0x4")
        self.assertEqual(self.check(), 0, self.output)

    def test_without_the_management_library_copies_are_judged_all_the_same(self):
        self.describe("fail nvmlInit_v2 999")
        self.assertEqual(self.check(), 0, self.output)
        self.assertNotIn("watched", " ".join(self.cases["gpu_copy"]["evidence"]))

    # What grows.

    def test_uncorrected_errors(self):
        self.falls_ill("later 1 ecc_uncorrected 2 after 1", "had 2 uncorrected memory errors more under load",
                       "counter ecc_uncorrected, 0 before")

    def test_a_row_that_waits_to_be_remapped(self):
        self.falls_ill("later 1 row_remap_pending yes after 1", "go bad under load")

    def test_nvlink_recoveries(self):
        self.falls_ill("later 1 nvlink_recoveries 4 after 1", "had 4 NVLink recoveries of link 0 more under load", "per second")

    def test_symbol_errors_of_an_nvlink(self):
        self.falls_ill("later 1 nvlink_symbol_errors 40 after 1", "had 40 NVLink symbol errors of link 0 more under load", "limit 1")

    def test_an_nvlink_that_goes_down(self):
        self.falls_ill("later 1 nvlinks_down 3 after 36", "lost NVLink 3 under load")

    def test_a_port_that_flaps_while_gpus_copy(self):
        count = "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed"
        self.MORE = ('[[nics]]\nkind = "infiniband"\nid = "15b3:1021"\nrate = 400\n'
                     'devices = [{ name = "ib0", device = "mlx5_0", address = "0000:5e:00.0", domain = 0 }]\n')
        self.describe(f"write cuMemcpyAsync {count} {b'1'.hex()} after 3")
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "fail", "gpu_memory": "pass"}, self.output)
        self.assertIn("port mlx5_0/1 on ", self.reasons("gpu_copy"))
        self.assertIn("counted 1 more link_downed during this case: the link was down", self.reasons("gpu_copy"))
        self.assertEqual(self.culprits("gpu_copy"), ["mlx5_0/1"])

    def test_what_was_corrected_is_only_said(self):
        self.describe("later 1 ecc_corrected 7 after 1", "later 0 nvlink_crc_flit 2 after 1", "later 0 pcie_replays 3 after 1")
        self.assertEqual(self.check(), 0, self.output)
        for words in ("had 7 corrected memory errors more", "had 2 NVLink CRC errors of link 0 more", "had 3 PCIe replays more"):
            self.assertIn(words, self.notes("gpu_copy"))

    def test_a_flood_of_replays(self):
        self.falls_ill("later 1 pcie_replays 500 after 1", "had 500 PCIe replays more under load")

    # Slower under load.

    def test_many_corrected_errors_of_which_there_were_none_in_earlier_runs(self):
        """Too few to be wrong by themselves, and the check does not request its past."""
        only = ("-n", "^gpu_memory$", "--history", "history.db")
        self.describe("set 1 ecc_corrected 3")
        for _ in range(6):
            self.assertEqual(self.check(*only), 0, self.output)
        self.describe("later 1 ecc_corrected 300 after 1")
        self.assertEqual(self.check("-n", "^gpu_memory$", "--no-history"), 0, self.output)
        self.assertEqual(self.check(*only), 1, self.output)
        self.assertIn("corrected_errors", self.reasons("gpu_memory"))
        self.assertIn("earlier passing runs", self.output)
        self.assertEqual({culprit["name"] for culprit in self.cases["gpu_memory"]["culprits"]}, {f"GPU {on_gpus.GPUS[1]}", "rank 1"})

    def test_heat_and_power_brake(self):
        self.falls_ill("later 1 throttle_bits 0x48 after 1", "was slowed down under load: hw_slowdown and hw_thermal")
        self.falls_ill("later 1 throttle_bits 0x80 after 1", "was slowed down under load: power_brake")

    def test_a_link_that_does_not_wake_up(self):
        self.falls_ill("set 1 pcie_generation 3", "has its PCIe link at generation 3 x16 under load, generation 5 x16 is possible")

    def test_a_link_that_sleeps_while_idle(self):
        self.describe("set all pcie_generation 1", "later all pcie_generation 5 after 2")
        self.assertEqual(self.check(), 0, self.output)

    # Errors of the driver.

    def test_an_xid_of_the_device(self):
        self.falls_ill("xid 1 48", "gave Xid 48 under load: an uncorrected memory error (double bit)")
        self.assertIn("reset the GPU", self.cases["gpu_copy"]["remedy"])

    def test_an_xid_that_programs_cause_is_only_said(self):
        self.describe("xid 1 31")
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("gave Xid 31 under load: a memory page fault", self.notes("gpu_copy"))

    def test_a_gpu_that_the_library_loses(self):
        self.falls_ill("fail nvmlDeviceGetTemperature 15 1 after 2", "failed under load: nvmlDeviceGetTemperature returned 15")

    # Others.

    def test_others_on_the_gpu(self):
        self.describe("set 1 processes 4242:61440")
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("is used by other programs, beside this run: 4242 (61440 MiB)", self.notes("gpu_copy"))

    def test_others_that_come_and_go_while_it_works(self):
        self.describe("set 1 processes self:512", "later 1 processes self:512 4242:61440 after 1", "later 1 processes self:512 after 2")
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("is used by other programs, beside this run: 4242 (61440 MiB)", self.notes("gpu_copy"))


class HealthOfAmd(gpu_copy_test.OnGpus):
    C1 = "sys/bus/pci/devices/0000:c1:00.0"  # GPU 0 of lumi-g

    def put(self, path, data):
        file = os.path.join(self.folder, "machine", "root", path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as out:
            out.write(data)

    def start(self, path, before, after, count=0):
        """That file changes with the first copies."""
        machines = os.path.join(self.folder, "machines")
        os.makedirs(machines, exist_ok=True)
        with open(os.path.join(os.environ["MUSTER_SOURCE"], "simulation/machines", "lumi-g.toml")) as file:
            text = file.read()
        text += f'\n[fault.made]\nsummary = "made"\ndriver = ["write hipMemcpyAsync {path} {after.hex()} after {count}"]\n'
        with open(os.path.join(machines, "lumi-g.toml"), "w") as out:
            out.write(text)
        self.write(os.path.join(machines, "lumi-g.toml"), "--fault", "made")
        if before is not None:
            self.put(path, before)

    def only(self, *words):
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual({culprit["name"] for culprit in self.cases["gpu_copy"]["culprits"]}, {"GPU 0000:c1:00.0"}, self.output)
        for word in words:
            self.assertIn(word, self.reasons("gpu_copy"))

    def test_heat(self):
        self.start(f"{self.C1}/gpu_metrics", metrics(3, 120, _112=("Q", 0)), metrics(3, 120, _112=("Q", 1 << 36)))
        self.only("was slowed down under load: heat")

    def test_power_limits_are_meant_so(self):
        self.start(f"{self.C1}/gpu_metrics", metrics(3, 120, _112=("Q", 0)), metrics(3, 120, _112=("Q", 1)))
        self.assertEqual(self.check(), 0, self.output)

    def test_heat_of_an_mi300(self):
        well = metrics(6, 1664, _36=("I", 0), _44=("I", 5), _48=("I", 0), _52=("I", 0))
        ill = metrics(6, 1664, _36=("I", 0), _44=("I", 5), _48=("I", 0), _52=("I", 900))
        self.start(f"{self.C1}/gpu_metrics", well, ill)
        self.only("had 900 units of time slowed down by heat more under load")

    def test_an_xgmi_link_that_goes_down(self):
        well = metrics(7, 2208, _264=("8H", (1, 1, 1, 1, 1, 1, 1, 0)))
        disabled = metrics(7, 2208, _264=("8H", (1, 1, 1, 1, 0xFFFF, 1, 1, 0)))
        self.start(f"{self.C1}/gpu_metrics", well, disabled)
        self.only("lost xGMI link 4 under load")

    def test_an_xgmi_link_that_sleeps(self):
        well = metrics(7, 2208, _264=("8H", (1, 1, 1, 1, 1, 1, 1, 0)))
        asleep = metrics(7, 2208, _264=("8H", (1, 1, 1, 1, 0, 1, 1, 0)))
        self.start(f"{self.C1}/gpu_metrics", well, asleep)
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("had xGMI link 4 inactive after the load: asleep or down", " ".join(self.cases["gpu_copy"]["notes"]))

    def test_ras_errors(self):
        self.start(f"{self.C1}/ras/umc_err_count", b"ue: 0\nce: 0\n", b"ue: 1\nce: 0\n")
        self.only("had 1 uncorrected errors of block umc more under load")

    def test_xgmi_errors_that_were_corrected(self):
        self.start(f"{self.C1}/ras/xgmi_wafl_err_count", b"ue: 0\nce: 0\n", b"ue: 0\nce: 9\n")
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("had 9 corrected errors of its xGMI links more", " ".join(self.cases["gpu_copy"]["notes"]))
        self.assertIn("the kernel counts them for all its links, which lead to 0000:", " ".join(self.cases["gpu_copy"]["notes"]))


if __name__ == "__main__":
    on_gpus.main()
