"""`muster bind`: the lines of the five systems, wishes that can't be fulfilled, text from files, and the picture."""
import json
import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ["MUSTER_BUILD"]
MUSTER = os.path.join(BUILD, "bin", "muster")
CAPTURES = os.environ.get("MUSTER_CAPTURES", "")
PUBLISHED = ("0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000")
LINEAR = ",".join(hex(0xfe << 8 * i) for i in range(8))
BLADE = "synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)"
DETECTING = ("LUMI_STACK_NAME", "OLCF_MODULEPATH_ROOT", "NERSC_HOST", "LMOD_SYSTEM_NAME", "TACC_SYSTEM", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION")


class Bind(unittest.TestCase):
    def bind(self, *arguments, status=0, environment=None):
        clean = {name: value for name, value in os.environ.items() if name not in DETECTING}
        clean.update(environment or {})
        done = subprocess.run([MUSTER, "bind", *arguments], capture_output=True, text=True, timeout=60, env=clean)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def json(self, *arguments):
        return json.loads(self.bind("--json", *arguments))

    def has_system(self, name):
        listed = subprocess.run([MUSTER, "list", "--systems", "--json"], capture_output=True, text=True, timeout=60)
        return name in [one["name"] for one in json.loads(listed.stdout)]

    def test_a_partition_whose_nodes_are_not_described(self):
        """Lines of the login node's cores would be wrong there."""
        said = self.bind("--system", "zurada:hgxh200", status=3)
        self.assertIn("the layout of the nodes of zurada:hgxh200 is not known", said)
        self.assertIn("run muster bind in a job on one of them", said)
        inside = {"SLURM_CLUSTER_NAME": "zurada", "SLURM_JOB_PARTITION": "hgxh200", "SLURM_JOB_ID": "1"}
        self.assertIn("srun --ntasks-per-node=", self.bind("--system", "zurada:hgxh200", environment=inside))
        self.assertIn("srun --ntasks-per-node=", self.bind(environment=inside))
        self.assertIn("is not known", self.bind("--system", "zurada:hgxh200", environment={**inside, "SLURM_JOB_PARTITION": "gpu1h100"}, status=3))
        self.assertIn("srun --ntasks-per-node=", self.bind("--system", "zurada:hgxh200", "--topology", BLADE), "a node as hwloc saved it")

    def test_the_masks_that_lumi_publishes(self):
        printed = self.bind("--system", "lumi", "--ranks-per-node", "8")
        self.assertIn(f"--cpu-bind=mask_cpu:{PUBLISHED} ", printed)
        self.assertIn("bash -c 'ROCR_VISIBLE_DEVICES=$SLURM_LOCALID exec \"$0\" \"$@\"' PROGRAM", printed)
        self.assertEqual(self.json("--system", "lumi")["cpu_bind"], "--cpu-bind=mask_cpu:" + PUBLISHED)

    def test_the_same_from_a_captured_topology(self):
        if not CAPTURES:
            self.skipTest("MUSTER_CAPTURES names no folder of captures")
        topology = os.path.join(CAPTURES, "hwloc", "eas-tioga.xml")
        answer = self.json("--system", "lumi", "--topology", topology, "--ranks-per-node", "8")
        self.assertEqual(answer["cpu_bind"], "--cpu-bind=mask_cpu:" + PUBLISHED)
        self.assertEqual([rank["nic"]["name"] for rank in answer["ranks"]],
                         ["hsi0", "hsi0", "hsi1", "hsi1", "hsi2", "hsi2", "hsi3", "hsi3"])
        alone = self.json("--topology", topology, "--reserve", "0,8,16,24,32,40,48,56", "--policy", "gpu")
        self.assertEqual(alone["cpu_bind"], "--cpu-bind=mask_cpu:" + PUBLISHED)

    def test_frontier_follows_the_cores(self):
        if not self.has_system("frontier"):
            self.skipTest("there is no profile frontier")
        answer = self.json("--system", "frontier", "--ranks-per-node", "8")
        self.assertEqual(answer["cpu_bind"], "--cpu-bind=mask_cpu:" + LINEAR)
        self.assertEqual([rank["gpu"]["index"] for rank in answer["ranks"]], [4, 5, 2, 3, 6, 7, 0, 1])
        self.assertIn("--gpu-bind=map_gpu:4,5,2,3,6,7,0,1", answer["srun"])

    def test_the_line_of_the_launcher_that_the_profile_has(self):
        if not self.has_system("vista"):
            self.skipTest("there is no profile vista")
        self.assertIn("ibrun (the profile's launcher)\nibrun bash -c 'masks=(0xffffffffffffffffff); exec taskset ", self.bind("--system", "vista"))
        self.assertTrue(self.json("--system", "vista")["profile_launcher"].startswith("ibrun bash -c 'masks=("))
        self.assertNotIn("CUDA_VISIBLE_DEVICES", self.json("--system", "vista")["profile_launcher"], "one GPU: nothing to select")
        self.assertEqual(self.json("--topology", BLADE, "--ranks-per-node", "2")["profile_launcher"], "")

    def test_perlmutter_is_reversed(self):
        if not self.has_system("perlmutter"):
            self.skipTest("there is no profile perlmutter")
        answer = self.json("--system", "perlmutter")
        self.assertEqual([rank["mask"] for rank in answer["ranks"]],
                         ["0xffff000000000000ffff000000000000", "0xffff000000000000ffff00000000",
                          "0xffff000000000000ffff0000", "0xffff000000000000ffff"])
        self.assertEqual([rank["gpu"]["index"] for rank in answer["ranks"]], [0, 1, 2, 3])

    def test_without_gpus_ranks_are_spread(self):
        answer = self.json("--topology", BLADE, "--ranks-per-node", "2")
        self.assertEqual([rank["mask"] for rank in answer["ranks"]], ["0xffff", "0xffff00000000"])
        self.assertEqual(answer["policy"], "spread")
        self.assertEqual(self.bind("--topology", BLADE, "--ranks-per-node", "2", "--rankfile"),
                         "rank 0=+n0 slot=0-15\nrank 1=+n0 slot=32-47\n")
        self.assertIn("mpirun --map-by ppr:2:numa:PE=8 --bind-to core PROGRAM",
                      self.bind("--topology", BLADE, "--ranks-per-node", "8"))

    def test_this_node(self):
        answer = self.json()
        self.assertGreaterEqual(len(answer["ranks"]), 1)
        for rank in answer["ranks"]:
            self.assertGreater(int(rank["mask"], 16), 0)

    def test_a_node_that_only_pretends(self):
        with tempfile.TemporaryDirectory(prefix="muster-bind-") as folder:
            machine = os.path.join(folder, "lumi")
            subprocess.run([MUSTER, "machine", "lumi-g", "--write", machine, "--fault", "gpu_missing"], check=True,
                           capture_output=True, timeout=60)
            printed = self.bind("--simulated", "--reserve", "0,8,16,24,32,40,48,56", environment={"MUSTER_MACHINE": machine})
        self.assertIn("(SIMULATED lumi-g with gpu_missing): 64 cores, 128 CPUs, 8 caches, 4 NUMA domains, 7 GPUs", printed)
        self.assertIn("--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00000000,0xfe0000000000 ",
                      printed)

    def test_impossible_wishes_are_refused_with_a_way_out(self):
        for arguments, said in (
                (["--ranks-per-node", "57"], "request at most 56 ranks per node"),
                (["--cores-per-rank", "8"], "request at most 7 cores per rank, or for at most 7 ranks"),
                (["--reserve", "0-15"], "GPU 4 (0000:d1:00.0) has no core left near it"),
                (["--reserve", "0-127"], "no core is left on this node"),
                (["--reserve", "500"], "this node has no CPU 500"),
                (["--reserve", "x"], "--reserve: "),
                (["--policy", "gpus"], 'unknown policy "gpus"; did you mean "gpu"?'),
                (["--machine", "lumi-g", "--topology", BLADE], "name two nodes")):
            with self.subTest(arguments=arguments):
                self.assertIn(said, self.bind("--system", "lumi", *arguments, status=3))
        self.assertIn("needs GPUs", self.bind("--topology", BLADE, "--policy", "cores", status=3))
        self.assertIn('lumi-x: unknown machine; did you mean "lumi-g"?', self.bind("--machine", "lumi-x", status=3))

    def test_cpus_that_a_topology_does_not_allow_are_never_assigned(self):
        def thing(kind, cpus, inside="", more=""):
            sets = " ".join(f'{name}="{value}"' for name, value in (("cpuset", hex(cpus)), ("complete_cpuset", hex(cpus)), ("nodeset", "0x1"),
                                                                    ("complete_nodeset", "0x1")))
            return f'<object type="{kind}" {sets} {more}>{inside}</object>'
        cores = "".join(thing("Core", 1 << cpu, thing("PU", 1 << cpu, more=f'os_index="{cpu}" gp_index="{100 + cpu}"'),
                              f'os_index="{cpu}" gp_index="{200 + cpu}"') for cpu in range(8))
        memory = thing("NUMANode", 0xff, more='os_index="0" local_memory="1073741824" gp_index="300"')
        machine = thing("Machine", 0xff, memory + cores, 'os_index="0" allowed_cpuset="0x3c" allowed_nodeset="0x1" gp_index="1"')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "share.xml")
            with open(path, "w") as out:
                out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0">{machine}</topology>\n')
            self.assertEqual([rank["cpus"] for rank in self.json("--topology", path, "--ranks-per-node", "2")["ranks"]], ["2-3", "4-5"])
            self.assertIn("--rankfile", self.bind("--topology", path, "--ranks-per-node", "2"))
            self.assertIn("request at most 4 ranks", self.bind("--topology", path, "--ranks-per-node", "5", status=3))

    def test_several_gpus_for_each_rank(self):
        answer = self.json("--system", "lumi", "--gpus-per-rank", "2")
        self.assertEqual([rank["gpus"] for rank in answer["ranks"]], [[0, 1], [2, 3], [4, 5], [6, 7]])
        self.assertIn("ROCR_VISIBLE_DEVICES=${gpus[$SLURM_LOCALID]}", answer["srun"])
        self.assertEqual(answer["remarks"], [])
        self.assertIn("nor any core of NUMA domains", self.bind("--system", "lumi", "--ranks-per-node", "2"))
        self.assertIn("or for 1 rank", self.bind("--system", "lumi", "--gpus-per-rank", "5", "--ranks-per-node", "2", status=3))
        self.assertIn("assigns no GPUs", self.bind("--topology", BLADE, "--gpus-per-rank", "2", status=3))

    def test_who_shares_or_leaves_is_said(self):
        printed = self.bind("--system", "lumi", "--ranks-per-node", "16")
        self.assertIn("note: ranks 0 and 1 share GPU 0 (0000:c1:00.0)", printed)
        printed = self.bind("--system", "lumi", "--ranks-per-node", "1", "--cores-per-rank", "20")
        self.assertIn("note: rank 0 leaves NUMA domain 3, where GPU 0 (0000:c1:00.0) is", printed)

    def test_a_profile_that_names_an_unknown_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.toml")
            with open(path, "w") as out:
                out.write('[system]\nname = "mine"\n[[partition]]\nname = "p"\n[partition.node]\nmachine = "lumi-q"\n')
            said = self.bind(path, "--system", "mine", status=3)
            self.assertIn(path + ':6:11: unknown machine "lumi-q"; did you mean "lumi-g"?', said)

    def test_a_picture_of_100_columns_without_control_characters(self):
        nodes = [["--system", "lumi"], ["--topology", BLADE],
                 ["--topology", "synthetic:pack:2 numa:1 l3:1 core:96 pu:2", "--ranks-per-node", "70"],
                 ["--topology", "synthetic:pack:1 numa:1 core:72 pu:1", "--ranks-per-node", "1"]]
        if CAPTURES:
            nodes += [["--topology", os.path.join(CAPTURES, "hwloc", name + ".xml")]
                      for name in ("coral-lassen", "cts1-pascal", "g4dnmetal", "tuo.SPX", "epyc-corona")]
        for node in nodes:
            with self.subTest(node=node):
                printed = self.bind(*node)
                picture, table = printed.split("\n\n")[1:3]
                for line in (picture + "\n" + table).splitlines():
                    self.assertLessEqual(len(line), 100, line)
                self.assertNotRegex(printed, r"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertIn("\x1b[", self.bind(*nodes[0], "--color", "always"))

    def test_names_from_files_are_made_harmless(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "evil\x1b[31m.xml")
            self.assertNotIn("\x1b", self.bind("--topology", path, status=3))

    def test_the_picture_of_lumi(self):
        printed = self.bind("--system", "lumi")
        rows = [line.split() for line in printed.split("\n\n")[1].splitlines()[1:9]]
        self.assertEqual([row[-3] if row[-1].startswith("hsn") else row[-2] for row in rows],
                         ["4", "5", "2", "3", "6", "7", "0", "1"])
        self.assertEqual(re.findall(r" (-\d{7}) ", printed),
                         [f"-{rank * 7}" for rank in "45236701"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
