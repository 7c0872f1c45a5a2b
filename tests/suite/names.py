"""What tests there are, to which suite each belongs, and what a user's NAME means."""
import dataclasses
import difflib
import functools
import pathlib
import re
import subprocess
import tomllib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TESTS = SOURCE / "tests"
GTEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)\s*[,)]", re.MULTILINE)
INSTANTIATION = re.compile(r"^\s*INSTANTIATE_TEST_SUITE_P\(\s*(\w+)\s*,\s*(\w+)\s*,", re.MULTILINE)
BUILDS = ("release", "asan", "tsan", "plain")
WORDED = ("src", "include", "checks", "docs", "packaging")  # folders that house.words_test reads


class Unknown(Exception):
    """A NAME that is no test; the text says what to write instead."""


@dataclasses.dataclass
class Suite:
    """A table of suites.toml."""
    name: str
    build: str
    targets: list
    command: str
    what: str
    tests: list
    only: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Selection:
    """What to build and what to run of it: for each build its targets and the regular expressions of its tests; of gtest's suites
    the cases that match one of the filters `cases`."""
    targets: dict = dataclasses.field(default_factory=dict)
    patterns: dict = dataclasses.field(default_factory=dict)
    cases: list = dataclasses.field(default_factory=list)

    def add(self, build, targets, pattern):
        known = self.targets.setdefault(build, [])
        known += [target for target in targets if target not in known]
        self.patterns.setdefault(build, []).append(pattern)


@functools.cache
def read():
    with open(TESTS / "suites.toml", "rb") as file:
        return tomllib.load(file)


def suites():
    return [Suite(**entry) for entry in read()["suite"]]


def kind_of(path):
    """`base` for tests/base/clock_test.cpp; None where the file is no test."""
    path = pathlib.Path(path)
    if path.match("fuzz_*.cpp") or path.match("*_test.cpp") or path.match("*_test.py") or path.match("*_check.cpp"):
        return path.parent.name
    return None


@functools.cache
def files():
    """Every file with tests, by its folder's name."""
    found = {}
    for path in sorted(TESTS.glob("*/*")):
        kind = kind_of(path)
        if kind:
            found.setdefault(kind, []).append(path)
    return found


@functools.cache
def with_threads(path):
    """Whether the thread sanitizer's build has the file of tests: test_folder.cmake, by what is in it."""
    pattern = re.search(r'set\(muster_has_threads "(.*)"\)', (TESTS / "test_folder.cmake").read_text())[1]
    return path.parent.name == "threads" or (path.parent.name in THREADS and re.search(pattern, path.read_text()) is not None)


@functools.cache
def gtest_suites(threads=False):
    """Of all builds, or of that with the thread sanitizer: folders that have each gtest suite, by the name that the program prints: `Table/SlurmOptions` for an instantiation; and the
    tests of each, without instantiations."""
    found, tests = {}, {}
    for kind, paths in files().items():
        for path in paths:
            if path.suffix != ".cpp" or path.match("fuzz_*.cpp") or path.match("*_check.cpp") or (threads and not with_threads(path)):
                continue
            text = path.read_text()
            for suite, test in GTEST.findall(text):
                found.setdefault(suite, set()).add(kind)
                tests.setdefault(suite, set()).add(test.removeprefix("DISABLED_"))
            for instance, suite in INSTANTIATION.findall(text):
                found.setdefault(f"{instance}/{suite}", set()).add(kind)
    return found, tests


def everything(with_all):
    """All suites of `./dev test`, or of `./dev test --all`."""
    selection = Selection()
    for suite in suites():
        if suite.command == "./dev test" or with_all:
            selection.add(suite.build, suite.targets, None)
    return selection


def only_in_all():
    """Regular expressions of the tests that `./dev test` leaves to `--all`: system tests of builds with sanitizers, all of plain."""
    kinds = "|".join(sorted({re.escape(script.split(".")[0]) for script in scripts()}))
    return [rf"^(asan|tsan)\.({kinds})\.", r"^plain\."]


def never():
    """Regular expressions of tests that no suite has although a build knows them."""
    patterns = []
    for suite in suites():
        if suite.command != "./dev test --all":
            continue
        wanted = set(suite.only) or {script for script in scripts() if script.split(".")[0] in suite.tests}
        patterns += [rf"^{suite.build}\.{re.escape(script)}$" for script in sorted(scripts() - wanted)]
    return patterns


def split_prefix(name):
    for build in ("asan", "tsan", "plain"):
        if name.startswith(build + "."):
            return build, name[len(build) + 1:]
    return None, name


@functools.cache
def scripts():
    """e2e.data_test and the like, and the other tests of the system suite."""
    found = {f"{kind}.{path.stem}" for kind, paths in files().items() for path in paths if path.suffix == ".py"}
    found -= {"gpu_offline.amd_kernels_test"}
    return found | {"gpu-offline.amd_kernels"} | {f"comm.mpi_{mpi}_{ranks}" for mpi in ("default", "mpich") for ranks in (1, 2, 4)}


def fuzzers():
    return {path.stem.removeprefix("fuzz_") for path in files()["fuzz"]}


def add_name(selection, name):
    """Adds what NAME means: a test, a folder below tests/, a program, a gtest suite, a file. Raises Unknown."""
    build, plain = split_prefix(name.removesuffix("/").removeprefix("./").removeprefix("tests/"))
    if "/" in plain and plain.rsplit(".", 1)[-1] in ("cpp", "py"):
        return add_file(selection, build, TESTS / plain, name)
    plain = plain.removesuffix("_tests") if plain.removesuffix("_tests") in files() else plain
    prefix = f"{build}." if build else ""
    if plain in scripts():
        add_script(selection, build, plain)
    elif plain in files() and plain not in ("fuzz", "comm") and f"{plain}_test" not in scripts():
        add_folder(selection, build, plain)
    elif plain in ("fuzz", "comm"):
        members = [f"fuzz.{subject}" for subject in sorted(fuzzers())] if plain == "fuzz" else \
            sorted(script for script in scripts() if script.startswith("comm."))
        for member in members:
            add_name(selection, prefix + member)
    elif plain == "gpu-offline.rocm_smi":
        selection.add("asan", ["device_tests"], r"^gpu-offline\.rocm_smi$")
    elif plain.startswith("fuzz.") and plain[5:] in fuzzers() and build in (None, "asan"):
        # A slow one replays its corpus only (tests/unit.cmake).
        selection.add("asan", [f"fuzz_{plain[5:]}"], f"^fuzz(\\.{plain[5:]}|_{plain[5:]}_replay)$")
    elif plain.startswith("fuzz_") and build in (None, "asan") and plain[5:].removesuffix("_replay") in fuzzers():
        selection.add("asan", [plain.removesuffix("_replay")], f"^{plain.removesuffix('_replay')}_replay$")
    elif not add_gtest(selection, build, plain):
        raise Unknown(suggest(name))
    return None


def add_script(selection, build, plain):
    build = build or "release"
    targets = ["all", "system_programs"] if build != "tsan" else ["all", "muster-test"]
    prefix = "" if build == "release" else f"{build}."
    selection.add(build, targets, f"^{re.escape(prefix + plain)}$")
    if build == "tsan":
        selection.add("release", ["all", "system_programs"], "^$")


def add_folder(selection, build, kind):
    paths = files()[kind]
    if any(path.suffix == ".py" for path in paths) and kind != "gpu_offline":
        for path in paths:
            add_script(selection, build, f"{kind}.{path.stem}")
        return
    suites_there = [suite for suite, folders in gtest_suites(build == "tsan")[0].items() if kind in folders]
    if not suites_there:
        raise Unknown(f"the build {build} has no test of tests/{kind}")
    for suite in suites_there:
        add_gtest(selection, build, suite, {kind})


THREADS = ("base", "run", "threads")  # tests/CMakeLists.txt


def add_gtest(selection, build, name, only=None):
    """`Suite`, `Suite.Test`, `Instance/Suite.Test/case`, of all folders or of `only`; whether there is such a test."""
    suite, _, rest = name.partition(".")
    folders, tests = gtest_suites(build == "tsan")
    kinds = folders.get(suite, set()) & (only or folders.get(suite, set()))
    if not kinds or (rest and rest.split("/")[0].split(" ")[0] not in tests[suite.rsplit("/", 1)[-1]]):
        return False
    build = build or "asan"
    prefix = "" if build == "asan" else f"{build}."
    instance = "" if "/" in suite else "([^.]*/)?"
    selection.add(build, [f"{kind}_tests" for kind in sorted(kinds)], f"^{re.escape(prefix)}{instance}{re.escape(suite)}$")
    case = rest.split(" ")[0]
    for beginning in ("",) if "/" in suite else ("", "*/"):
        # A parameter may follow, never more letters.
        selection.cases += [f"{beginning}{suite}.{end}" for end in ((case, f"{case}/*") if case else ("*",))]
    return True


def add_file(selection, build, path, name):
    if not path.exists() or kind_of(path) is None:
        raise Unknown(suggest(name))
    if path.match("*_check.cpp"):
        return add_name(selection, f"{build}.comm" if build else "comm")
    if path.parent.name == "gpu_offline" and path.suffix == ".py":
        return add_script(selection, build, "gpu-offline.amd_kernels")
    if path.suffix == ".py":
        return add_script(selection, build, f"{path.parent.name}.{path.stem}")
    if path.match("fuzz_*.cpp"):
        return add_name(selection, path.stem)
    for suite in sorted({suite for suite, _ in GTEST.findall(path.read_text())}):
        add_gtest(selection, build, suite, {path.parent.name})
    return None


def suggest(name):
    # `drift_test.cpp`, `stats.drift_test`: the file of that name.
    stem = re.split(r"[./]", name.removesuffix(".cpp").removesuffix(".py"))[-1]
    same = [path for paths in files().values() for path in paths if stem and path.stem == stem]
    if same:
        return f'unknown test "{name}"; did you mean "{same[0].relative_to(SOURCE)}"?'
    everything_known = sorted(scripts() | set(files()) | set(gtest_suites()[0]) | {f"fuzz.{subject}" for subject in fuzzers()})
    near = difflib.get_close_matches(name, everything_known, 1, 0.6)
    hint = f'; did you mean "{near[0]}"?' if near else "; folders of tests/, e2e.NAME_test, gtest suites and their tests are names"
    return f'unknown test "{name}"{hint}'


def changed_files(since):
    """Paths that differ from the revision, those that git does not know yet included."""
    def git(*words):
        done = subprocess.run(["git", *words], cwd=SOURCE, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unknown(f"--since {since}: git says: {done.stderr.strip().splitlines()[0]}")
        return done.stdout.splitlines()
    return sorted(set(git("diff", "--name-only", since)) | set(git("ls-files", "--others", "--exclude-standard")))


def quick(since):
    """(selection, lines that say why) for what differs from the revision; None where that needs every test."""
    rules = sorted(read()["quick"], key=lambda rule: -len(rule["path"]))
    selection, lines = Selection(), []
    for path in changed_files(since):
        names = needed_by(path, rules)
        lines.append(f"{path}: {', '.join(names) if names else 'no test needs it'}")
        for name in names:
            add_name(selection, name)
    return selection, lines


def of_one_probe(path):
    """Test files of the probe that the path belongs to; none: it is of no probe, or the probe has no file of tests of its own."""
    if not path.startswith("src/probes/"):
        return []
    probe = pathlib.PurePath(path).parts[2].split(".")[0]
    return sorted(str(file.relative_to(SOURCE)) for file in files()["probes"] if file.name.startswith(f"{probe}_"))


def needed_by(path, rules):
    """Names of what a change of the file needs."""
    if path.startswith("tests/"):
        own = TESTS.parent / path
        if own.exists() and kind_of(path):
            return [path]
        folder = path.split("/")[1]
        # What the tests of a folder share: with whole programs one of each kind is tried.
        shared = {"e2e": ["e2e.data_test", "e2e.containment_test"], "cluster": ["cluster.cluster_test", "cluster.nodes_test"],
                  "fake": ["e2e.containment_test"], "golden": ["reporters", "schedulers"]}
        return shared.get(folder, [folder] if folder in files() and "/" in path[len("tests/"):] else ["house"])
    for rule in rules:
        if path.startswith(rule["path"] + "/"):
            rule = {**rule, "unit": of_one_probe(path) or rule["unit"]}
            words = ["house.words_test"] if rule["path"].split("/")[0] in WORDED else []
            return rule["unit"] + rule["system"] + [name for name in words if name not in rule["system"]]
    if path.endswith(".md"):
        return ["house.words_test", "house.pages_test"]
    return ["house"] if path.endswith((".txt", ".cmake", ".json", ".in", ".hpp")) or path in ("dev", ".ci/run") else []
