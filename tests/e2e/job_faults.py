"""Mistakes of a job: wrong paths, names and options in checks of a user's own. Shared, not a test."""
import json

def printed(number, unit):
    """A program that prints a number, and the pattern that reads it."""
    return f'argv = ["echo", "size: {number}"]\nmetric = [{{ name = "size", pattern = "size: ([0-9.]+)", unit = "{unit}" }}]'


def bound(value, unit):
    return f'expect = [{{ metric = "size", reference = {{ value = {value}, lower = -0.1, unit = "{unit}" }} }}]'


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
}


def checks_with(folder, names=tuple(MISTAKES)):
    """Text of a check file that lies in `folder`, which must be there on every node."""
    script = folder / "no_interpreter.sh"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
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
