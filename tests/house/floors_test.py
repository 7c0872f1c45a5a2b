"""The house rules that a compiler does not see: which floor may include which, and one door per library."""
import os
import re
import sys

SOURCE = os.environ.get("MUSTER_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

# Of a vendor's folder, what other floors are made of: data, and the judges of one probe. The rest of it is of the floor device.
VENDOR_PARTS = {"terms": ("model", None), "judges": ("probes", "device_visibility")}
VENDOR_PART = re.compile(r"device/(\w+)/(?:(\w+)/)?\w+\.")
# A folder may include itself, include/muster (the public face of base and model), and what is listed here.
MAY_INCLUDE = {
    "base": set(),
    "model": {"base"},
    "config": {"base", "model"},
    "system": {"base", "model"},
    "device": {"base", "model", "system"},
    "comm": {"base", "model"},
    "stats": {"base", "model"},
    "measure": {"base", "model", "system", "device", "comm", "stats"},
    "probes": {"base", "model", "system", "device", "comm", "stats", "measure"},
    "launchers": {"base", "model"},
    "schedulers": {"base", "model"},
    "reporters": {"base", "model"},
    "evaluate": {"base", "model", "stats"},
    "history": {"base", "model", "stats"},
    "run": {"base", "model", "config", "system", "stats", "evaluate", "launchers", "schedulers", "reporters", "history"},
    "app": {"base", "model", "config", "system", "device", "stats", "evaluate", "launchers", "schedulers", "reporters", "history",
            "run", "comm"},
}
ONLY_IN = {
    "mpi.h": "src/comm/mpi/",
    "hwloc.h": "src/system/",
    "toml++/toml.h": "src/config/",
    "toml.hpp": "src/config/",
    "CLI/CLI.hpp": "src/app/",
    "uv.h": "src/base/",
    "re2/re2.h": "src/base/",
    "pugixml.hpp": "src/reporters/",
    "SQLiteCpp/SQLiteCpp.h": "src/history/",
    "sodium.h": "src/run/",
    "sqlite3.h": "src/history/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(*roots):
    for root in roots:
        for folder, _, names in os.walk(os.path.join(SOURCE, root)):
            for name in sorted(names):
                if name.endswith((".cpp", ".hpp", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), SOURCE)


def probe_of(path):
    """`probes/p2p/judge.hpp` and `probes/p2p.cpp` are of p2p."""
    return path.split("/")[1].split(".")[0]


def home_of(path):
    """The floor of a file below src, and the vendor and the probe that it is a part of."""
    part = VENDOR_PART.match(path)
    if part:
        return *VENDOR_PARTS.get(part[2], ("device", None)), part[1]
    home = path.split("/")[0]
    return home, probe_of(path) if home == "probes" else None, None


def probe_edge(path, name):
    """From one probe into another, whichever folder holds them."""
    (home, probe, _), (there, other, _) = home_of(path[len("src/"):]), home_of(name)
    return home == there == "probes" and probe != other


def problems_of(path, text):
    home, _, vendor = home_of(path[len("src/"):]) if path.startswith("src/") else (None, None, None)
    for kind, name in INCLUDE.findall(text):
        door = ONLY_IN.get(name)
        if door and not path.startswith(door):
            yield f"{path}: <{name}> belongs behind the door {door}"
        if kind != '"':
            continue
        target, _, vendor_there = home_of(name) if name.count("/") > 0 else (name, None, None)
        if home is None:
            if target != "muster":
                yield f"{path}: a public header includes \"{name}\"; it may only include muster/*"
        elif vendor_there and vendor_there != vendor:
            yield f"{path}: {name} is of one vendor; what others need of it is in its tables (docs/extending.md)"
        elif home == "probes" == target and probe_edge(path, name):
            yield f"{path}: a probe includes another, {name}; what both need belongs into src/measure"
        elif target not in ("muster", home) and target not in MAY_INCLUDE.get(home, set()):
            yield f"{path}: {home} may not include {name}"


def main():
    files = list(sources("src", "include"))
    found = [line for path in files for line in problems_of(path, open(os.path.join(SOURCE, path)).read())]
    unknown = {p.split("/")[1] for p in files if p.startswith("src/")} - set(MAY_INCLUDE)
    found += [f"src/{name}: a folder without a floor; give it one in {os.path.basename(__file__)}" for name in sorted(unknown)]
    # The test must be able to fail: a made-up offence of each kind is seen.
    assert list(problems_of("src/base/x.cpp", '#include "run/session.hpp"\n')), "upward include not seen"
    assert list(problems_of("src/probes/x.cpp", "#include <mpi.h>\n")), "open door not seen"
    assert list(problems_of("src/probes/p2p/x.cpp", '#include "probes/gpu_copy/judge.hpp"\n')), "a probe that includes another is not seen"
    assert not list(problems_of("src/probes/p2p.cpp", '#include "probes/p2p/judge.hpp"\n'))
    assert list(problems_of("src/probes/p2p/x.cpp", '#include "device/acme/judges/x.hpp"\n')), "a vendor's part in another folder is not seen"
    assert list(problems_of("src/device/acme/terms/x.cpp", '#include "device/gpu.hpp"\n')), "terms that include a device are not seen"
    assert not list(problems_of("src/device/acme/judges/x.cpp", '#include "probes/device_visibility/symptoms.hpp"\n'))
    assert list(problems_of("include/muster/x.hpp", '#include "base/text.hpp"\n')), "private include not seen"
    print("\n".join(found) if found else f"{len(files)} files keep to their floors")
    return 1 if found or len(files) < 20 else 0


sys.exit(main())
