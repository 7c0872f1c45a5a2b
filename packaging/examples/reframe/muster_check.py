"""A ReFrame check that calls muster, stands for its verdict and reads its metrics. docs/night.md

    reframe -c muster_check.py --run                      the checks below on this machine
    reframe -c muster_check.py --run -S nodes=4 -n allreduce
    reframe -c muster_check.py --run --performance-report

One ReFrame test for each check of muster's. The verdict is muster's own, with its reasons; its metrics become performance
variables, which ReFrame logs and holds against `reference` where a site sets one.
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher


@rfm.simple_test
class MusterCheck(rfm.RunOnlyRegressionTest):
    check = parameter(["device_visibility", "memory_bandwidth", "p2p", "allreduce"])
    nodes = variable(int, value=0)  # 0: the machine that it runs on
    muster = variable(str, value="muster")
    options = variable(typ.List[str], value=[])

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    keep_files = ["report.json"]

    @run_before("setup")
    def ask_for_nodes(self):
        if self.nodes:
            self.num_tasks, self.num_tasks_per_node = self.nodes, 1

    @run_before("run")
    def start_muster_itself(self):
        """muster starts ranks by the scheduler's own means: ReFrame's launcher must not be around it."""
        self.job.launcher = getlauncher("local")()
        self.executable = self.muster
        self.executable_opts = ["run", "--name", f"'^{self.check}$'", "--color", "never", "--output", "muster-runs",
                                "--report", "json=report.json", *self.options]

    def report(self):
        with open(os.path.join(self.stagedir, "report.json")) as file:
            return json.load(file)

    @sanity_function
    def passes(self):
        """A skipped check has not shown anything: no pass without evidence."""
        cases = self.report()["cases"]
        why = "; ".join(f"{case['check']}: {case['verdict']}: {case.get('reason', '')}" for case in cases
                        if case["verdict"] != "pass")
        return sn.all([sn.assert_true(cases, msg="no case was run"), sn.assert_false(why, msg=why)])

    @run_before("performance")
    def read_metrics(self):
        """The median over all ranks, by metric and distinguishing labels: `busbw_16MiB_float`."""
        for case in self.report()["cases"]:
            for row in case["metrics"]:
                labels = [value for _, value in sorted(row["where"].items())]
                name = "_".join([row["metric"], *(text.replace(" ", "_") for text in labels)])
                if row["median"] is not None:
                    self.perf_variables[name] = sn.make_performance_function(sn.defer(row["median"]), row["unit"])
