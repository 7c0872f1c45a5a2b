"""Where ranks run in a job of a real Slurm on two nodes, started by srun and by mpirun: the kernel is the witness."""
import json
import os
import pathlib
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run  # noqa: E402

CPUS = sorted(os.sched_getaffinity(0))
SHOW = r'''m=$(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)
echo "{\"metric\": \"lowest\", \"value\": ${m%%[-,]*}, \"unit\": \"1\"}"
echo "{\"metric\": \"nproc\", \"value\": $(nproc), \"unit\": \"1\"}"
echo "{\"metric\": \"step\", \"value\": $SLURM_CPUS_ON_NODE, \"unit\": \"1\"}"'''
PROFILE = """[system]
name = "here"
[[partition]]
name = "p"
[partition.node.bind]
policy = "compact"
masks  = [{masks}]
"""


def checks(bind):
    """Two ranks on each node, bound so; and one, which has the node."""
    argv = json.dumps(["sh", "-c", SHOW])
    text = ""
    for name, ranks in (("masks", f'{{ per_node = 2 }}\nbind = "{bind}"'), ("node", '"one-per-node"')):
        text += f'[check.{name}]\nprobe = "command"\ntimeout = "60s"\nranks = {ranks}\nparams = {{ argv = {argv} }}\n'
    return text


# What the script around muster asked for its own steps. The nodes have no GPU: srun would refuse those of a task.
AROUND = {"SLURM_CPUS_PER_TASK": "1", "SRUN_CPUS_PER_TASK": "1", "SLURM_CPU_BIND": "map_cpu:0", "SLURM_EXACT": "1", "SLURM_HINT": "nomultithread",
          "SLURM_THREADS_PER_CORE": "1", "SLURM_GPUS_PER_TASK": "1", "SLURM_CPUS_PER_GPU": "1", "SLURM_GPUS_PER_SOCKET": "1", "SLURM_GPU_BIND": "map_gpu:0"}
# mpirun and mpiexec of MPICH start their daemons by srun, as they do on a cluster.
DAEMONS = ["env", "-u", "HYDRA_LAUNCHER", "-u", "HYDRA_LAUNCHER_EXEC", "OMPI_MCA_plm=slurm"]
LAUNCHERS = ("srun", "mpirun", *(("mpiexec",) if shutil.which("mpiexec.mpich") and support.AGENT_MPICH.exists() else ()))


@unittest.skipIf(len(CPUS) < 2, "this machine has one CPU")
class Launches(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(2, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()
        tools = cls.cluster.folder / "tools"
        tools.mkdir()
        for name, command in (("mpiexec", "exec mpiexec.mpich"), ("ssh", f"while [ $1 = -o ]; do shift 2; done; exec {cls.cluster.agent}")):
            (tools / name).write_text(f'#!/bin/sh\n{command} "$@"\n')
            (tools / name).chmod(0o755)
        cls.path = f"{tools}:{os.environ['PATH']}"

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def said(self, launcher, check, *options, bind="profile"):
        """Lowest CPU, number of CPUs of each rank, and of its step on the node; and the facts of the nodes."""
        asked = [CPUS[-1], CPUS[0]]
        profile = self.cluster.folder / "profile.toml"
        profile.write_text(PROFILE.format(masks=", ".join(f'"{hex(1 << cpu)}"' for cpu in asked)))
        run = Run(checks(bind), str(profile), "--system", "here", "--launcher", launcher, "-n", f"^{check}$", *options,
                  wrapper=self.cluster.argv_on_login(["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2", *DAEMONS]),
                  env={**self.cluster.environment(), **AROUND, "PATH": self.path}, agent=support.AGENT_MPICH if launcher == "mpiexec" else support.AGENT)
        self.addCleanup(run.clean)
        run.finish(120)
        self.assert_status(run, 0)
        seen = {metric["metric"]: [reading["median"] for reading in sorted(metric["readings"], key=lambda one: one["rank"])]
                for metric in run.case(check)["metrics"]}
        return list(zip(seen["lowest"], seen["nproc"], seen["step"])), [node["facts"] for node in run.report()["nodes"]]

    def test_masks_of_a_profile(self):
        for launcher in ("srun", "mpirun"):
            with self.subTest(launcher=launcher):
                seen, facts = self.said(launcher, "masks")
                self.assertEqual(seen, [(CPUS[-1], 1, len(CPUS)), (CPUS[0], 1, len(CPUS))] * 2)
                self.assertEqual({fact["binding"] for fact in facts}, {"profile here, by the launcher"})
                self.assertEqual({fact["bound_ranks"] for fact in facts}, {f"0: CPUs {CPUS[-1]}; 1: CPUs {CPUS[0]}"})

    def test_one_rank_per_node_has_all_cores_of_the_job(self):
        """mpirun would bind it to one core, srun (also of the daemon of mpiexec) to what SLURM_CPU_BIND of the script around says."""
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                seen, _ = self.said(launcher, "node")
                self.assertEqual(seen, [(CPUS[0], len(CPUS), len(CPUS))] * 2)

    def test_variables_that_srun_refuses(self):
        """No node is at fault."""
        env = {**self.cluster.environment(), "SLURM_MEM_PER_CPU": "10", "SLURM_MEM_PER_NODE": "100"}
        run = Run(checks("none"), "--launcher", "srun", wrapper=self.cluster.argv_on_login(["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2"]),
                  env=env)
        self.addCleanup(run.clean)
        run.finish(60)
        self.assertEqual(run.status, 3, run.story())
        self.assertRegex(run.stderr, r'muster: srun: refuses to reach the nodes: ".*SLURM_MEM_PER_CPU.*"; unset the variables that it names')

    def test_a_rankfile_with_cpus_that_a_node_has_not(self):
        """Debian's mpirun then ends with status 1 and without a message."""
        profile = self.cluster.folder / "profile.toml"
        profile.write_text(PROFILE.format(masks=f'"{hex(1 << CPUS[0])}", "{hex(1 << (CPUS[-1] + 5))}"'))
        run = Run(checks("profile"), str(profile), "--system", "here", "--launcher", "mpirun", "-n", "^masks$", "--nodes", "nid001,nid002",
                  wrapper=self.cluster.argv_on_login([]), env=self.cluster.environment())
        self.addCleanup(run.clean)
        run.finish(120)
        case = run.case("masks")
        self.assertEqual((run.status, case["verdict"]), (2, "error"), run.story())
        self.assertIn("without a message; the masks of the ranks could not be set: the line binds them by the rankfile", case["reason"])
        self.assertIn("/rankfile", case["reason"])
        self.assertIn("compare the CPUs in the rankfile with those of each node", case["remedy"])

    def line(self, line, *options, before=(), path="", **variables):
        """Its only case, of --launch on the login node."""
        check = '[check.all]\nprobe = "hello"\ntimeout = "60s"\n'
        env = {**self.cluster.environment(), **variables}
        if path:
            env["PATH"] = f"{path}:{os.environ['PATH']}"
        run = Run(check, "--launch", line, *options, wrapper=self.cluster.argv_on_login(list(before)), env=env)
        self.addCleanup(run.clean)
        run.finish(120)
        return run

    def test_a_line_that_starts_on_another_node_the_second_time(self):
        """As srun outside of a job, to which Slurm grants nodes for each start: no node is at fault."""
        tools = self.cluster.folder / "moving"
        tools.mkdir()
        (tools / "srun").write_text(f"""#!/bin/sh
case "$*" in *--mpi=list*) exec {shutil.which('srun')} "$@" ;; esac
if mkdir {tools}/first 2>/dev/null; then node=nid001; else node=nid002; fi
exec {shutil.which('srun')} --nodelist=$node "$@"
""")
        (tools / "srun").chmod(0o755)
        run = self.line("srun --nodes=1 --ntasks=2", path=tools)
        case = run.case("all")
        self.assertEqual((run.status, case["verdict"]), (2, "error"), run.story())
        self.assertIn("the launch line started ranks elsewhere than at its first start: 2 on nid001, now 2 on nid002", case["reason"])
        self.assertIn("start muster inside of a job", case["remedy"])
        self.assertEqual([culprit["kind"] for culprit in case["culprits"]], ["launcher"], run.story())

    def test_what_a_line_asks_for_in_vain(self):
        """In its own terms: options of muster would change nothing."""
        job = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2"]
        for line, reason in (("srun --nodes=2 --ntasks=4000", "more ranks or CPUs than the job has"),
                             ("srun --nodes=3", "more nodes than the job has"),
                             ("srun --no-such-option", "an option that its program does not know"),
                             ("srun --multi-prog no-such-file", "takes its programs from a file"),
                             ("mpirun -n 4000", "more ranks than there are slots")):
            with self.subTest(line):
                run = self.line(line, before=job, OMPI_MCA_rmaps_base_oversubscribe="0")
                case = run.case("all")
                self.assertEqual((run.status, case["verdict"]), (2, "error"), run.story())
                self.assertIn(reason, case["reason"], run.story())
                self.assertNotIn("--ranks-per-node", case["remedy"])
                self.assertEqual([culprit["name"] for culprit in case["culprits"]], ["the launch line"])

    def test_a_job_that_exports_nothing(self):
        """F40."""
        run = self.line("srun", before=["salloc", "--quiet", "--nodes=2"], SLURM_EXPORT_ENV="NONE")
        self.assertEqual(run.status, 3, run.story())
        self.assertIn("SLURM_EXPORT_ENV=NONE keeps muster's own variables from the ranks", run.story())

    def test_cores(self):
        for launcher in ("srun", "mpirun"):
            with self.subTest(launcher=launcher):
                seen, _ = self.said(launcher, "masks", bind="cores")
                self.assertEqual([nproc for _, nproc, _ in seen], [1] * 4)
                self.assertEqual(len({cpu for cpu, *_ in seen[:2]}), 2, "each has its own")


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
