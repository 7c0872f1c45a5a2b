"""GPUs of AMD on described machines, with stand-ins of ROCm SMI and AMD SMI: what is at fault is named, and nothing else."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from on_machine import MUSTER, NODE, OnMachine, main  # noqa: E402

SOURCE = os.environ["MUSTER_SOURCE"]
DRIVERS = os.path.join(os.environ.get("MUSTER_STAND_INS", os.environ["MUSTER_BUILD"]), "drivers")
CAPTURES = os.environ.get("MUSTER_CAPTURES", "")
LUMI = os.path.join(SOURCE, "simulation/machines", "lumi-g.toml")
MI300X = os.path.join(SOURCE, "tests", "device", "machines", "mi300x.toml")
CHECK = """
[check.device_visibility]
probe   = "device_visibility"
summary = "Devices are there."
ranks   = "%s"
timeout = "%s"
"""
C6 = "0000:c6:00.0"  # GPU 1 of lumi-g


class Rocm(OnMachine):
    def describe(self, file, lines=()):
        """The machine of that file; its stand-ins follow these lines."""
        text = pathlib.Path(file).read_text()
        if lines:
            quoted = ", ".join(json.dumps(line) for line in lines)
            text = text.replace("[gpus]\n", f"[gpus]\ndriver = [{quoted}]\n", 1)
        name = os.path.basename(file)
        pathlib.Path(self.folder, name).write_text(text)
        self.write(os.path.join(self.folder, name))

    def put(self, path, text):
        file = pathlib.Path(self.folder, "machine/root", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def look(self, drivers=DRIVERS, timeout="60s", ranks="one-per-node"):
        """The verdict of device_visibility, by one rank."""
        pathlib.Path(self.folder, "checks.toml").write_text(CHECK % (ranks, timeout))
        env = {**os.environ, "MUSTER_MACHINE": "machine", "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "120s"}
        env.pop("MUSTER_DRIVERS", None)
        if drivers:
            env["MUSTER_DRIVERS"] = drivers
        done = subprocess.run([MUSTER, "run", "--simulated", "checks.toml", "--report", "json=r.json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=500, env=env)
        self.output = done.stdout + done.stderr
        self.report = json.loads(pathlib.Path(self.folder, "r.json").read_text())
        self.cases = {case["check"]: case for case in self.report["cases"]}
        return self.cases["device_visibility"]["verdict"]

    def passes(self, file, lines=(), drivers=DRIVERS):
        self.describe(file, lines)
        self.assertEqual(self.look(drivers), "pass", self.output)
        return " | ".join(self.cases["device_visibility"]["evidence"])

    def fails(self, reason, culprit, remedy, findings=1):
        self.assertEqual(self.look(), "fail", self.output)
        case = self.cases["device_visibility"]
        self.assertIn(reason, self.reasons("device_visibility"), self.output)
        self.assertEqual(len(case["findings"]), findings, self.output)
        self.assertIn(culprit, " ".join(self.culprits("device_visibility")), self.output)
        self.assertEqual({one["node"] for one in case["culprits"]}, {NODE})
        self.assertIn(remedy, case["remedy"], self.output)

    def unique(self, index):
        sheet = json.loads(pathlib.Path(self.folder, "machine/drivers.json").read_text())
        return f"unique id {int(sheet['devices'][index]['uuid']):#x}"

    # Well.

    def test_healthy(self):
        self.assertIn("seen by amd_smi, kfd, pci and rocm_smi", self.passes(LUMI))
        self.assertIn("8 GPUs on 1 node (8x AMD Instinct MI300X), seen by amd_smi, kfd", self.passes(MI300X))

    def test_no_library_and_one_alone(self):
        self.assertIn("seen by kfd and pci", self.passes(LUMI, drivers=None))
        alone = os.path.join(self.folder, "alone")
        os.mkdir(alone)
        shutil.copy(os.path.join(DRIVERS, "libamd_smi.so"), alone)
        self.assertIn("seen by amd_smi, kfd and pci", self.passes(LUMI, drivers=alone))

    # Libraries.

    def test_a_library_that_is_broken(self):
        self.describe(LUMI, ["fail rsmi_init 8"])
        self.fails("librocm_smi64.so.5 is unusable: rsmi_init returned 8: An error occurred during initialization", NODE,
                   "compare the release of ROCm")
        self.describe(LUMI, ["fail amdsmi_init 34"])
        self.fails("libamd_smi.so is unusable: amdsmi_init returned 34: Processor driver not loaded", NODE, "ROCm")

    def test_a_library_that_does_not_load(self):
        broken = os.path.join(self.folder, "broken")
        os.mkdir(broken)
        pathlib.Path(broken, "libamd_smi.so").write_text("no library, but as long as the header of one that is read first\n")
        self.describe(LUMI)
        self.assertEqual(self.look(broken), "fail", self.output)
        self.assertIn("libamd_smi.so is unusable: ", self.reasons("device_visibility"))

    def test_a_gpu_that_the_library_misses(self):
        self.describe(LUMI, ["set 1 hidden 1"])
        self.assertEqual(self.look(), "fail", self.output)
        self.assertIn(f"ROCm SMI lists 7 of 8 GPUs that amdgpu offers on {NODE}; it misses {C6} ({self.unique(1)})",
                      self.reasons("device_visibility"))
        self.assertIn("AMD SMI lists 7 of 8", self.reasons("device_visibility"))

    def test_a_unique_id_that_differs(self):
        self.describe(LUMI, ["set 1 unique_id 0xabc"])
        self.fails(f"has {self.unique(1)} by the kernel and 0xabc by ROCm SMI", C6, "reboot")

    def test_errors_that_the_library_counts(self):
        self.describe(LUMI, ["set 1 uncorrected 2"])
        self.assertEqual(self.look(), "fail", self.output)
        self.assertIn(f"GPU {C6} ({self.unique(1)}) on {NODE} has 2 uncorrected errors, as ROCm SMI counts them",
                      self.reasons("device_visibility"))

    def test_a_call_that_fails(self):
        self.describe(LUMI, ["fail rsmi_dev_temp_metric_get 6 1"])
        self.fails(f"GPU {C6} ({self.unique(1)}) on {NODE} gave ROCm SMI no answer: rsmi_dev_temp_metric_get returned 6: An "
                   "internal exception was caught", C6, "kernel log")

    def test_a_link_that_the_library_does_not_know(self):
        self.describe(LUMI, ["set 1 links 2,3,4,5,6,7"])
        self.assertEqual(self.look(), "fail", self.output)
        self.assertIn(f"GPU {C6} ({self.unique(1)}) on {NODE} has an xGMI link to 0000:c1:00.0 ({self.unique(0)}) by the "
                      "kernel, and none by ROCm SMI", self.reasons("device_visibility"))

    def test_a_call_that_never_returns(self):
        self.describe(LUMI, ["hang rsmi_dev_unique_id_get after 3"])
        self.assertEqual(self.look(timeout="5s"), "fail", self.output)
        # It is the fourth GPU that is asked.
        sheet = json.loads(pathlib.Path(self.folder, "machine/drivers.json").read_text())["devices"][3]
        label = f"GPU {sheet['address']} (GPU-{int(sheet['uuid']):016x})"
        self.assertIn(f"is in rsmi_dev_unique_id_get, step inventory ({label}) since", self.reasons("device_visibility"))
        # Of several ranks of a node the first asks, and alone is to blame.
        self.assertEqual(self.look(timeout="5s", ranks="one-per-gpu"), "fail", self.output)
        self.assertIn("rsmi_dev_unique_id_get", self.reasons("device_visibility"))
        culprits = self.cases["device_visibility"]["culprits"]
        self.assertEqual([(one["name"], one["node"]) for one in culprits], [("rank 0", NODE)], self.output)

    def test_a_library_that_ends_the_rank(self):
        self.describe(LUMI, ["crash amdsmi_init"])
        self.assertNotIn(self.look(), ("pass", "skip"), self.output)
        self.assertIn("SIGSEGV", self.output)

    # The kernel's files.

    def test_errors_that_the_kernel_counts(self):
        self.describe(MI300X)
        self.put("sys/bus/pci/devices/0000:26:00.0/ras/gfx_err_count", "ue: 1\nce: 4")
        self.fails("has 1 uncorrected memory error since its driver was loaded", "0000:26:00.0", "reset")

    def test_pages_that_wait_for_a_reset(self):
        self.describe(MI300X)
        self.put("sys/bus/pci/devices/0000:26:00.0/ras/gpu_vram_bad_pages", "0x00000001 : 0x00001000 : P")
        self.fails(f"GPU 0000:26:00.0 ({self.unique(1)}) on {NODE} has 1 page of memory to be retired", "0000:26:00.0", "reset")

    def test_a_stranger_that_holds_memory(self):
        self.describe(MI300X)
        self.put("proc/4242/comm", "python")
        self.put("sys/class/kfd/kfd/proc/4242/vram_10001", str(8 << 30))
        self.assertEqual(self.look(), "pass", self.output)
        self.assertIn(f"GPU 0000:26:00.0 ({self.unique(1)}) on {NODE} is used by other programs: python (pid 4242) holds 8.0 GiB", " ".join(self.output.split()))

    def test_a_gpu_cut_in_other_parts(self):
        self.describe(MI300X)
        for bus in ("05", "26", "46", "65", "85", "a6", "c6", "e5"):
            self.put(f"sys/bus/pci/devices/0000:{bus}:00.0/current_compute_partition", "CPX" if bus == "26" else "SPX")
        self.fails(f"compute partition mode is CPX of GPU 0000:26:00.0 ({self.unique(1)})", "0000:26:00.0", "one mode")

    def test_partitions_by_either_encoding_of_their_number(self):
        for shift in (0, 28):
            with self.subTest(shift=shift):
                self.describe(MI300X)
                nodes = pathlib.Path(self.folder, "machine/root/sys/class/kfd/kfd/topology/nodes")
                wholes = {number: (nodes / str(number) / "properties").read_text() for number in range(1, 9)}
                following = 9
                for text in wholes.values():
                    location = int(re.search(r"location_id (\d+)", text)[1])
                    for part in range(1, 4):
                        self.put(nodes.relative_to(pathlib.Path(self.folder, "machine/root")) / str(following) / "properties",
                                 re.sub(r"location_id \d+", f"location_id {location | part << shift}", text).strip())
                        following += 1
                self.assertEqual(self.look(), "pass", self.output)
                self.assertIn("8 GPUs on 1 node", " ".join(self.cases["device_visibility"]["evidence"]))

    def test_links(self):
        """GPU 1 shows none to GPU 0; then both do not; then GPU 1 has too few."""
        nodes = pathlib.Path("sys/class/kfd/kfd/topology/nodes")
        self.describe(MI300X)
        shutil.rmtree(pathlib.Path(self.folder, "machine/root", nodes, "2/io_links/1"))
        self.fails(f"GPU 0000:26:00.0 ({self.unique(1)}) on {NODE} shows no xGMI link to 0000:05:00.0 ({self.unique(0)}), "
                   "which shows one back", "0000:26:00.0", "power-cycle", findings=1)
        shutil.rmtree(pathlib.Path(self.folder, "machine/root", nodes, "1/io_links/1"))
        self.fails(f"GPU 0000:05:00.0 ({self.unique(0)}) on {NODE} has no xGMI link to 0000:26:00.0", "0000:05:00.0",
                   "power-cycle", findings=1)
        self.describe(MI300X)
        for end, number in (("1", "7"), ("8", "1")):
            path = nodes / end / "io_links" / number / "properties"
            old = pathlib.Path(self.folder, "machine/root", path).read_text().strip()
            self.assertIn("type 11", old)
            self.put(path, old.replace("max_bandwidth 50000", "max_bandwidth 0"))
        self.fails("have 6 xGMI links, 6 other GPUs there have 7", "0000:e5:00.0", "power-cycle")

    # Captures of real nodes, each made a machine.

    def facts(self):
        """What is known of each GPU, by its address."""
        env = {**os.environ, "MUSTER_DRIVERS": DRIVERS}
        done = subprocess.run([os.path.join(os.environ["MUSTER_BUILD"], "bin", "print_inventory"), "machine"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        gpus = [line[4:] for line in done.stdout.splitlines() if line.startswith("gpu ")]
        return {gpu.split(";")[0]: gpu for gpu in gpus}

    def from_capture(self, gpus, model, pci_id, links):
        """A machine with these GPUs: address -> (NUMA domain, lines of the stand-in)."""
        text = pathlib.Path(MI300X).read_text()
        lines = [line for index, (_, told) in enumerate(gpus.values()) for line in (f"set {index} {one}" for one in told)]
        head, tail = text.split("[gpus]\n")[0], "[ranks]" + text.split("[ranks]")[1]
        devices = ",\n  ".join(f'{{ address = "{address}", domain = {domain} }}' for address, (domain, _) in gpus.items())
        tail = re.sub(r"masks .*", "masks = " + json.dumps([hex(3 << 2 * i) for i in range(len(gpus))]), tail)
        body = f'[gpus]\nvendor = "amd"\nmodel = "{model}"\nid = "{pci_id}"\nmemory = "32GiB"\ndevices = [\n  {devices}\n]\n'
        if links:
            body += f"links = {json.dumps(links)}\n"
        file = pathlib.Path(self.folder, "captured.toml")
        file.write_text(head + body + tail)
        self.describe(file, lines)

    def capture(self, name):
        if not CAPTURES:
            self.skipTest("MUSTER_CAPTURES names no folder of captures")
        return os.path.join(CAPTURES, name)

    def test_capture_of_rocm_smi(self):
        told = json.loads(pathlib.Path(self.capture("amd/mi100_rocm602.json")).read_text())
        system = told.pop("system")
        gpus, wanted = {}, {}
        for card in told.values():
            address = card["PCI Bus"].lower()
            wanted[address] = card
            gpus[address] = (int(card["(Topology) Numa Node"]),
                             [f"unique_id {card['Unique ID']}", f"power {card['Average Graphics Package Power (W)']}",
                              f"memory_used {card['VRAM Total Used Memory (B)']}"])
        self.assertEqual({value for key, value in system.items() if "Link type" in key}, {"PCIE"})
        self.from_capture(gpus, "Instinct MI100", "1002:738c", [])
        # The kernel knows of these what the capture says, too.
        nodes = pathlib.Path(self.folder, "machine/root/sys/class/kfd/kfd/topology/nodes")
        for index, (address, card) in enumerate(wanted.items()):
            file = nodes / str(index + 1) / "properties"
            file.write_text(re.sub(r"unique_id \d+", f"unique_id {int(card['Unique ID'], 16)}", file.read_text()))
            (nodes / str(index + 1) / "mem_banks/0/properties").unlink()
            pci = pathlib.Path(self.folder, "machine/root/sys/bus/pci/devices", address)
            for name in ("mem_info_vram_total", "mem_info_vram_used", "unique_id"):
                (pci / name).unlink()
            shutil.rmtree(pci / "hwmon")
        self.assertEqual(self.look(), "pass", self.output)
        facts = self.facts()
        self.assertEqual(set(facts), set(wanted), self.report)
        for address, card in wanted.items():
            for part in (f"uuid {int(card['Unique ID'], 16)}", f"told rocm_smi_unique_id {card['Unique ID']}",
                         f"numa {card['(Topology) Numa Node']}", "told rocm_smi_numa " + card["(Topology) Numa Node"],
                         f"told power {float(card['Average Graphics Package Power (W)']):g}",
                         f"told memory_used {int(card['VRAM Total Used Memory (B)']) >> 20}", "seen rocm_smi"):
                self.assertIn(part, facts[address].split("; "))
            self.assertNotIn("xgmi", facts[address])

    def test_captures_of_hwloc(self):
        """Which GPU has an xGMI link to which: as hwloc asked ROCm SMI on that node."""
        for file, model, pci_id in (("eas-tioga.xml", "AMD Instinct MI250X", "1002:7408"),
                                    ("tuo.SPX.xml", "AMD Instinct MI300A", "1002:74a0")):
            with self.subTest(file):
                text = pathlib.Path(self.capture("hwloc/" + file)).read_text()
                address, name, peers = None, None, {}
                places = {}
                for line in text.splitlines():
                    if found := re.search(r'type="PCIDev".*pci_busid="([0-9a-f:.]+)"', line):
                        address = found[1]
                    elif found := re.search(r'name="rsmi(\d+)" subtype="RSMI"', line):
                        name = int(found[1])
                        places[name] = address
                    elif found := re.search(r'"XGMIPeers" value="([^"]*)"', line):
                        peers[name] = {int(one[4:]) for one in found[1].split()}
                self.assertEqual(set(places), set(peers))
                gpus = {places[number]: (0, []) for number in sorted(places)}
                links = [[a, b, 1] for a in sorted(peers) for b in sorted(peers[a]) if a < b]
                self.from_capture(gpus, model, pci_id, links)
                self.assertEqual(self.look(), "pass", self.output)
                facts = self.facts()
                for number, others in peers.items():
                    listed = set(re.findall(r"peer (\S+) xgmi", facts[places[number]]))
                    self.assertEqual(listed, {places[other] for other in others})
                    told = re.search(r"told rocm_smi_xgmi ([^;]*)", facts[places[number]])[1]
                    self.assertEqual(set(told.split()), listed)


if __name__ == "__main__":
    main()
