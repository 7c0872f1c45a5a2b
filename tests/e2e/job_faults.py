"""Mistakes of a job: wrong paths, names and options in checks of a user's own. Shared, not a test."""
import json

# What is wrong -> the lines of [check.NAME.params], and further lines of [check.NAME]
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
}


def checks_with(folder, names=tuple(MISTAKES)):
    """Text of a check file that lies in `folder`, which must be there on every node."""
    script = folder / "no_interpreter.sh"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    text = ""
    for name in names:
        params, more = MISTAKES[name]
        text += f'[check.{name}]\nprobe = "command"\nranks = "one-per-node"\ntags = ["gate"]\n{more}\n[check.{name}.params]\n{params}\n'
    return text


def nodes_blamed(report):
    """(check, culprit) of each finding that names a node."""
    named = []
    for case in report["cases"]:
        for culprit in [*case["culprits"], *(one for finding in case["findings"] for one in finding["culprits"])]:
            if culprit.get("node") or culprit["kind"] == "node":
                named.append((case["check"], json.dumps(culprit)))
    return named
