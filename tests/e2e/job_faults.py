"""Mistakes of a job: wrong paths, names and options in checks of a user's own. Shared, not a test."""
import json
import pathlib


def printed(number, unit):
    """A program that prints a number, and the pattern that reads it."""
    return f'argv = ["echo", "size: {number}"]\nmetric = [{{ name = "size", pattern = "size: ([0-9.]+)", unit = "{unit}" }}]'


def bound(value, unit):
    return f'expect = [{{ metric = "size", reference = {{ value = {value}, lower = -0.1, unit = "{unit}" }} }}]'


def pattern(name, pattern, **more):
    keys = {"name": name, "pattern": pattern, "unit": "MB/s", **more}
    return f"metric = [{{ {', '.join(f'{key} = {chr(39)}{value}{chr(39)}' for key, value in keys.items())} }}]"


def script(text):
    return f'argv = ["sh", "-c", {json.dumps(text)}]'


def line(**content):
    """A script that prints a line for muster; $(hostname) and $RANK are filled in."""
    return script("echo " + json.dumps(json.dumps(content)))


# What is wrong -> the lines of [check.NAME.params], further lines of [check.NAME], and the probe where it is not `command`
MISTAKES = {
    "path_from_another_folder": ('argv = ["mychecks/loadavg.sh"]', ""),
    "name_misspelt": ('argv = ["no-such-program-here"]', ""),
    "missing_beside_the_check": ('argv = ["{check}/missing.sh"]', ""),
    "not_executable": ('argv = ["/etc/passwd"]', ""),
    "a_folder": ('argv = ["/usr/bin"]', ""),
    "interpreter_missing": ('argv = ["{check}/no_interpreter.sh"]', ""),
    "command_of_a_script": ('argv = ["sh", "-c", "no_such_command --fast"]', ""),
    "option": ('argv = ["ls", "--no-such-option"]', ""),
    "executable_of_mpirun": ('argv = ["mpirun", "-n", "1", "./no_such_program"]', ""),
    "module_in_a_shell": ('argv = ["bash", "--norc", "-c", "unset -f module; module load gcc && true"]', ""),
    "argument": ('argv = ["cat", "/no/such/input.dat"]', ""),
    "python": ('argv = ["{python}", "-c", "pass"]\npython = "/no/such/python3"', ""),
    "module": ('argv = ["{python}", "-c", "import no_such_module_here"]', ""),
    "deadline": ('argv = ["sleep", "60"]\ndeadline = "1s"', ""),
    "timeout": ('argv = ["sleep", "60"]', 'timeout = "2s"'),
    "expected_status": ('argv = ["true"]\nexpect_status = 3', ""),
    "pattern_of_the_output": ('argv = ["echo", "done"]\nmust_print = ["^finished"]', ""),
    "reference_ten_times_too_high": (printed(12.5, "1"), bound(125, "1")),
    "reference_in_another_unit": (printed(12.5, "MiB"), bound(12.5, "GiB")),
    "size_in_another_unit": ('bytes = "900TiB"', "", "memory_bandwidth"),
    "checkpoint_in_no_folder": ('checkpoint = "/no/such/folder/checkpoint"', "", "training"),
    "root_that_is_not_there": ('root = "/no/such/root"', "", "network_interfaces"),
    "home_without_a_shell": ('argv = ["~/bin/check.sh"]', ""),
    "variable_without_a_shell": ('argv = ["$HOME/bin/check.sh"]', ""),
    "line_in_one_word": ('argv = ["ls -l /tmp"]', ""),
    "script_without_permission": ('argv = ["{check}/not_executable.sh"]', ""),
    "script_of_windows": ('argv = ["{check}/windows.sh"]', ""),
    "script_of_windows_by_env": ('argv = ["{check}/windows_env.sh"]', ""),
    "another_processor": ('argv = ["{check}/another_processor"]', ""),
    "library_missing": ('argv = ["{check}/library_missing"]', ""),
    "syntax_of_the_script": ('argv = ["sh", "-c", "if true; then echo; done"]', ""),
    "variable_not_set": ('argv = ["sh", "-c", "set -u; echo $MY_NUMBER_OF_NODES"]', ""),
    "crash": ('argv = ["sh", "-c", "kill -SEGV $$"]', ""),
    "file_of_a_metric": ('argv = ["true"]\n' + pattern("triad", "Triad: ([0-9.]+)", file="/no/such/results.txt"), ""),
    "pattern_misspelt": ('argv = ["echo", "Triad: 280000"]\n' + pattern("triad", "Traid: ([0-9.]+)"), ""),
    "value_that_is_no_number": ('argv = ["echo", "Triad: 2.8.0"]\n' + pattern("triad", "Triad: ([0-9.]+)"), ""),
    "maximum_in_another_unit": ('argv = ["echo", "Triad: 280000"]\n' + pattern("triad", "Triad: ([0-9.]+)").replace(" }]", ", maximum = 307.2 }]"), ""),
    "finding_of_every_node": (line(finding={"reason": "the queue is empty", "remedy": "fill it"}), ""),
    "finding_about_the_node": (line(finding={"reason": "the queue is empty", "remedy": "fill it",
                                             "culprits": [{"node": "$(hostname)"}]}), ""),
    "unit_of_another_kind": (line(metric="size", value=3, unit="GiB"), 'metrics = { size = { unit = "GB/s", better = "higher" } }'),
    "checkpoint_missing": ('resume = "/no/such/checkpoint.bin"', "", "training"),
    "learning_rate": ("learning_rate = 900", "", "training"),
}
# Nothing was measured, though the program ended well.
UNMEASURED = {"file_of_a_metric", "pattern_misspelt", "value_that_is_no_number", "maximum_in_another_unit",
              "unit_of_another_kind"}
# What to do about it -> words of the remedy.
REMEDIES = {
    "path_from_another_folder": 'argv = ["{check}/loadavg.sh"]',
    "home_without_a_shell": "write the path in full",
    "variable_without_a_shell": "write the path in full",
    "line_in_one_word": 'write argv = ["ls", "-l", "/tmp"]',
    "script_without_permission": "chmod +x ",
    "script_of_windows": "convert them: sed -i 's/\\r$//' ",
    "script_of_windows_by_env": "convert them: sed -i 's/\\r$//' ",
    "another_processor": "name a build for the processor of these nodes",
    "library_missing": "install that library",
    "syntax_of_the_script": "correct the script at the line that the shell names",
    "variable_not_set": "set that variable before muster",
    "argument": "correct the path",
    "option": "correct that option in argv",
    "executable_of_mpirun": "correct the name or path of the program that is started",
    "module_in_a_shell": "load modules before muster",
    "crash": "run the program by hand under a debugger",
    "file_of_a_metric": "correct the metric's file",
    "pattern_misspelt": "correct the pattern",
    "value_that_is_no_number": "let the group of the metric's pattern match the number alone",
    "maximum_in_another_unit": "correct the maximum or the unit of the metric",
    "reference_in_another_unit": "correct the value or the unit of the reference",
    "finding_of_every_node": "fill it",
    "unit_of_another_kind": "print it in the unit that the check declares",
    "learning_rate": "choose a lower learning_rate",
}


def patched(program, changed, **places):
    """A copy of a program with other bytes."""
    data = bytearray(pathlib.Path(program).read_bytes())
    for old, new in places.get("texts", {}).items():
        assert old in data and len(old) == len(new), old
        data = bytearray(bytes(data).replace(old, new))
    for at, value in places.get("bytes_at", {}).items():
        data[at] = value
    changed.write_bytes(data)
    changed.chmod(0o755)


def checks_with(folder, names=tuple(MISTAKES)):
    """Text of a check file that lies in `folder`, which must be there on every node."""
    for name, content, mode in (("no_interpreter.sh", "#!/no/such/interpreter\n", 0o755),
                                ("not_executable.sh", "#!/bin/sh\ntrue\n", 0o644),
                                ("windows.sh", "#!/bin/sh\r\ntrue\r\n", 0o755),
                                ("windows_env.sh", "#!/usr/bin/env python3\r\npass\r\n", 0o755)):
        script = folder / name
        script.write_bytes(content.encode())
        script.chmod(mode)
    # Byte 18 of an ELF file is its machine: 0xf3 is RISC-V.
    patched("/bin/true", folder / "another_processor", bytes_at={18: 0xf3})
    patched("/bin/true", folder / "library_missing", texts={b"libc.so.6\0": b"libq.so.6\0"})
    text = ""
    for name in names:
        params, more, probe = (*MISTAKES[name], "command")[:3]
        text += f'[check.{name}]\nprobe = "{probe}"\nranks = "one-per-node"\ntags = ["gate"]\n{more}\n[check.{name}.params]\n{params}\n'
    return text


def nodes_blamed(report):
    """(check, culprit) of each finding that names a node."""
    named = []
    for case in report["cases"]:
        for culprit in [*case["culprits"], *(one for finding in case["findings"] for one in finding["culprits"])]:
            if culprit.get("node") or culprit["kind"] == "node":
                named.append((case["check"], json.dumps(culprit)))
    return named
