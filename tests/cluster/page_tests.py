"""Which test runs which command of README and docs, and why the rest is not run. Shared, not a test."""
import re

from page_commands import without_comment

ONE_MACHINE = "e2e/pages_test.py"
NODES = "cluster/pages_test.py"
MACHINE = "install/night_test.py"
INIT = "cluster/init_test.py"
UNDESCRIBED = "cluster/undescribed_test.py"
PLUGIN = "install/plugin_test.py"
CLUSTER = "cluster/cluster_test.py"
SUBMITTED = "e2e/submit_script_test.py"
INSTALLED = "install/install_test.py"
WITH_TORCH = "e2e/pytorch_test.py"

# Page, command -> the test that takes it from the page. The first line that fits counts.
RUN = [
    (r"README", r"muster (run --nodes|run --submit|run --per-node|gate) .*", NODES),
    (r"README", r"export PATH=.*|muster .*", ONE_MACHINE),
    (r"administrator", r"(muster|install) .*", NODES),
    (r"user", r"muster .*", NODES),
    (r"bind", r"muster bind(?!.* > ).*", ONE_MACHINE),
    (r"check-files|machines", r"muster .*|MUSTER_MACHINE=.*", ONE_MACHINE),
    (r"gate", r"(?s)(runs=|muster gate --need 3 --output|status=|if |exit ).*", UNDESCRIBED),
    (r"gate|user", r"(?s)#!/bin/bash.*", UNDESCRIBED),
    (r"gate", r"muster gate --need 3 -- \./job\.sh|srun .*", NODES),
    (r"history", r"muster .*", ONE_MACHINE),
    (r"installing", r"cmake --install .*|export PATH=/opt.*|muster run", INSTALLED),
    (r"launch-line", r"muster (run|plan) --launch ('mpirun .*|@job\.sh.*)", NODES),
    (r"methods/pytorch|training-before-a-large-job", r"muster run checks/pytorch( -n .*)?", WITH_TORCH),
    (r"methods/pytorch", r"export MASTER_ADDR=.*|srun .*", NODES),
    (r"night", r"export .*|muster history.*", ONE_MACHINE),
    (r"night", r"muster run --quiet --lock", ONE_MACHINE),
    (r"night", r"muster run .*", NODES),
    (r"night", r"(useradd|install|chown) .*|systemctl .*|cp .*", MACHINE),
    (r"proving-ground", r".*", CLUSTER),
    (r"report-format", r"(?s)jq .*|python3 .*", ONE_MACHINE),
    (r"selftest", r"muster selftest.*", ONE_MACHINE),
    (r"site", r"muster (init|lint) .*", INIT),
    (r"submit", r"muster run .*", NODES),
    (r"submit", r"(?s)#!/bin/bash.*", SUBMITTED),
    (r"tutorial-first-check", r"(?s).*", ONE_MACHINE),
    (r"tutorial-first-probe", r"cp .*|build/release/bin/muster .*", PLUGIN),
    (r"training-before-a-large-job", r"(?s)muster run checks/training .*", WITH_TORCH),
    (r"tutorial-plugin-probe", r"rm .*|cmake .*|export .*|muster .*", PLUGIN),
]
# Examples of the helps.
RUN += [
    (r"help( muster)?|help (run|plan)", r"muster (run --submit|(run|plan) .*--nodes).*", NODES),
    (r"help( run| plan| doctor| lint| list| machine| compare)?", r"muster .*|MUSTER_MACHINE=.*", ONE_MACHINE),
    (r"help bind", r"muster bind(?!.* > ).*", ONE_MACHINE),
    (r"help show", r"muster show .*", ONE_MACHINE),
    (r"help history", r"muster history.*", ONE_MACHINE),
    (r"help init", r"muster init .*", NODES),
    (r"help init", r"srun .*", INIT),
    (r"help gate", r"muster gate --need .*", NODES),
    (r"help selftest", r"muster selftest.*", ONE_MACHINE),
]
# Page, command -> why no test takes it from the page.
BUILDS = "compiles all of muster, as the build under test was made"
NOT_RUN = [
    (r"README|testing", r"\./dev (run|test|fuzz).*", "the tests themselves, and a build"),
    (r"bind|help bind", r"muster bind .* > .*", "of a job with four cores on a node: +n0 is the job's first node; e2e.bind_test has the file"),
    (r"cray-mpich", r".*", "there is no Cray compiler"),
    (r"installing", r"\./dev build|cmake --(preset|build) .*|\(cd build/package .*", BUILDS),
    (r"user", r"export PATH=.*", BUILDS),
    (r"tutorial-(first|plugin)-probe", r"\./dev build", BUILDS),
    (r"tutorial-first-probe", r"\./dev run .*", "compiles all of muster with the new probe; install.plugin_test builds the probe alone, and runs its check with the same options"),
    (r"installing", r"curl .*|tar .*|\./configure .*|make .*|export HWLOC_ROOT=.*", "downloads hwloc and builds it"),
    (r"installing", r"apt .*", "changes the machine; install.package_test unpacks the package, packaging/try_deb installs it"),
    (r"installing", r"(spack|apptainer) .*|mpirun .*|muster run --launcher .*", "there is no Spack and no Apptainer here"),
    (r"launch-line", r"muster run --launch 'srun .*", "masks of LUMI's nodes, and an image of the reader's; cluster.launches_test has the line"),
    (r"launch-line", r"cmake .*", "changes the build under test; install.bundle_test configures a copy of it"),
    (r"measurements/.*", r".*", "benchmarks: ./dev bench"),
    (r"methods/pytorch", r"muster run checks/pytorch --nodes .*", "eight processes of PyTorch on four nodes; cluster.torch_nodes_test has two"),
    (r"training-before-a-large-job", r"(?s)#!/bin/bash.*|srun .*", "a job on 64 nodes with GPUs, with modules and an environment of the reader's"),
]


# Words of a page that are others in the test of its command, and why. All else is typed as it stands there. The list is
# also on docs/measurements/first-day.md.
SUBSTITUTED = {
    "nid003": "the reader's node: this machine",
    "-p gpu ": "the partition of the test",
}
# What the reader of a page does not have, and why the test does.
ADDED = {
    "MUSTER_CHECKS": "the shipped checks without those that time something, or take minutes: tests beside this one disturb them",
    "MUSTER_SUBMIT_POLL": "the job's state is requested more often, so that tests are short",
    "train, stream, script.py": "programs of the reader's",
    "my_checks/": "two shipped checks with their examples, also as the shipped ones of `muster selftest`: all take minutes",
}


def substitute(command, words):
    """With what stands here for words of the page, each of which is on the list above."""
    for word, mine in words.items():
        assert word in SUBSTITUTED, word
        command = command.replace(word, mine)
    return command


def matches(table, fence, command):
    return [row for row in table if re.fullmatch(row[0], fence.page) and re.fullmatch(row[1], without_comment(command))]


def test_of(fence, command):
    """The file of the test that takes `command` from its page; empty: none does."""
    return next((row[2] for row in matches(RUN, fence, command)), "")
