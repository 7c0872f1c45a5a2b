"""Jobs as the pages of docs/systems start them: the batch script of the page, below the real Slurm of two virtual nodes that
are those of the system's machine description. Shared, not a test."""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import typing

import described_nodes
import support
import virtual_cluster as vc
from support import Run

HERE = pathlib.Path(__file__).resolve().parent
PAGES = HERE.parent.parent / "docs" / "systems"
MUSTER = support.BIN / "muster"


class System(typing.NamedTuple):
    """What a site has beside its nodes."""

    page: str
    machine: str
    partitions: tuple
    login: dict  # variables of every shell there
    ranks: int = 1
    site: str = ""
    features: str = ""
    nodes: int = 2


# Below the login environment stands what the pages' scripts set; a module that is loaded is named in LOADEDMODULES and does nothing else.
SYSTEMS = {
    "lumi": System("lumi", "lumi-g", ("standard-g", "dev-g"), {"LUMI_STACK_NAME": "LUMI"}, 8),
    "frontier": System("frontier", "frontier", ("batch",), {"LMOD_SYSTEM_NAME": "frontier"}, 8),
    "perlmutter": System("perlmutter", "perlmutter", ("regular",), {"NERSC_HOST": "perlmutter"}, 4, features="gpu"),
    "vista": System("vista", "vista", ("gh", "gh-dev"), {"TACC_SYSTEM": "vista"}, 1),
    "generic": System("", "dgx-h100", (), {}, 8),
    "zurada-gpu1h100": System("zurada", "zurada-gpu1h100", ("gpu1h100",), {}, 1, site="zurada"),
    "zurada": System("zurada", "zurada-gpu2h100", ("gpu2h100", "gpu1h100"), {}, 2, site="zurada"),
}


def batch_script(page):
    """The first on the page that is one; without a page what serves anywhere."""
    if not page:
        return "#!/bin/bash\n#SBATCH --exclusive --gpus-per-node=8 -t 00:30:00\nmuster run\n"
    text = (PAGES / f"{page}.md").read_text()
    return next(block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if block.startswith("#!/bin/bash"))


IBRUN = """#!/bin/bash
# Starts the mpirun of the loaded module from slot -o of the job on, with all variables; ranks as the job asks for them.
ranks=$SLURM_NTASKS
slot=0
while [[ $1 == -* ]]; do
  case $1 in -n) ranks=$2 ;; -o) slot=$2 ;; esac
  shift 2
done
per_node=${IBRUN_TASKS_PER_NODE:-${SLURM_TASKS_PER_NODE%%(*}}
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tail -n +$((slot / per_node + 1)) | sed "s/$/:$per_node/" | paste -sd,)
names=$(compgen -e | grep -Ev '^(OMPI_|PMIX_|SLURM_|BASH|_|PWD|OLDPWD|SHLVL|HOSTNAME)' | sed 's/^/-x /')
exec mpirun --host "$hosts" -n "$ranks" $names "$@"
"""
MODULES = '''module() {
  [ "$1" = load ] || return 0
  shift
  local name
  for name; do export LOADEDMODULES="${LOADEDMODULES:+$LOADEDMODULES:}$name"; done
}
'''
# What Shifter's plug-in takes out of the options of a job, for Slurm alone has none of them; shifter reads the variables.
SBATCH = """#!/bin/bash
options=() script=
take() {
  case $1 in
    --image=*) export SHIFTER_IMAGE=${1#*=} ;;
    --module=*) export SHIFTER_MODULE=${1#*=} ;;
    *) return 1 ;;
  esac
}
for word; do
  if take "$word"; then continue; fi
  if [ -z "$script" ] && [[ $word != -* ]]; then script=$word; fi
  options+=("$word")
done
if [ -n "$script" ]; then
  for word in $(sed -n 's/^#SBATCH //p' "$script"); do take "$word"; done
  sed -i -E '/^#SBATCH/s/ --(image|module)=[^ ]*//g' "$script"
fi
exec SLURMS_OWN "${options[@]}"
"""
SHIFTER = """#!/bin/sh
# PROGRAM...: the image that the job asked for is the node itself.
[ -n "$SHIFTER_IMAGE" ] || { echo "shifter: no image was specified" >&2; exit 1; }
exec "$@"
"""
CONTAINER = """#!/bin/sh
# exec [-B PATH]... IMAGE PROGRAM...: the image is the node itself.
shift
while [ "$1" = -B ]; do shift 2; done
shift
exec "$@"
"""


class Site:
    """Two nodes of one system, and the tools that its login shell has."""

    def __init__(self, cluster, system):
        self.cluster, self.system = cluster, system
        self.tools = cluster.folder / "tools"
        self.tools.mkdir()
        # Read by bash before each script, as a site's own start-up file is.
        self.tool("modules", MODULES)
        self.tool("ibrun", IBRUN)
        self.tool("singularity", CONTAINER)
        if system.page == "perlmutter":
            self.tool("sbatch", SBATCH.replace("SLURMS_OWN", shutil.which("sbatch")))
            self.tool("shifter", SHIFTER)

    def tool(self, name, text):
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def environment(self):
        return {**self.cluster.environment(), **self.system.login, "PATH": f"{self.tools}:{os.environ['PATH']}",
                "BASH_ENV": str(self.tools / "modules"), "MUSTER_STARTUP_TIMEOUT": "120"}

    def gpus(self):
        """Addresses, as the runtime counts GPUs."""
        return [device["address"] for device in described_nodes.read(self.system.machine)["gpus"]["devices"]]

    def use_muster(self, folder, *options):
        words = ["--output", str(folder / "runs"), *options]
        self.tool("muster", f'#!/bin/sh\ncommand=$1; shift\nexec {MUSTER} $command --simulated {shlex.join(words)} "$@"\n')

    def page_line(self, begins, holds):
        """A line of the page for a shell on the login node."""
        lines = (PAGES / f"{self.system.page}.md").read_text().splitlines()
        return next(line for line in lines if line.startswith(begins) and holds in line)

    def on_login(self, line):
        """A line that submits."""
        folder = support.new_folder()
        self.use_muster(folder)
        # The page installs it before, by cmake.
        bundle = folder / "muster-agent/lib/muster/bundle"
        bundle.mkdir(parents=True)
        (bundle / "muster-rank").symlink_to(support.BIN / "muster-rank")
        run = Run("", folder=folder, env={**self.environment(), "HOME": str(folder), "MUSTER_SUBMIT_POLL": "0.3s"})
        run.said = folder / "job"
        run.argv = self.cluster.argv_on_login(["bash", "-c", f"{line} > {run.said} 2>&1"])
        return run

    def job(self, *options, command=None, directives=(), asks=()):
        """The page's script, with `options` behind its `muster run`. `command`: instead of that line, below its own output folder.
        `directives`: further lines #SBATCH. `asks`: options of sbatch, which go before those of the script."""
        folder = support.new_folder()
        said = folder / "job"
        self.use_muster(folder, *options)
        text = batch_script(self.system.page)
        if command:
            text = re.sub(r"^muster run.*$", command, text, flags=re.M)
        text = text.replace("\n", "".join(["\n", *(f"#SBATCH {line}\n" for line in directives)]), 1)
        (folder / "batch").write_text(f"{text}echo $? > {folder}/new && mv {folder}/new {folder}/status\n")
        run = Run("", folder=folder, env=self.environment())
        # --wait of sbatch looks every half minute.
        submit = shlex.join(["sbatch", f"--nodes={self.system.nodes}", f"--output={said}", f"--chdir={folder}", *asks,
                             f"{folder}/batch"])
        run.argv = self.cluster.argv_on_login(["sh", "-c", f"{submit} && until test -s {folder}/status; do sleep 0.2; done && "
                                               f"exit $(cat {folder}/status)"])
        run.said = said
        return run


@contextlib.contextmanager
def site(name):
    system = SYSTEMS[name]
    shape = vc.Shape(machine=system.machine, partitions=system.partitions, site=system.site, features=system.features)
    with vc.running(2, slurm=shape) as cluster:
        yield Site(cluster, system)
