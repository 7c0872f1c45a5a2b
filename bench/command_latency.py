"""`muster --version`, and `muster list` with 1000 checks (budgets: 10 ms and 100 ms).

usage: command_latency.py FOLDER-WITH-MUSTER [ROUNDS]
"""
import os
import sys
import tempfile

from measure import interleaved, line

muster = os.path.join(os.path.abspath(sys.argv[1]), "muster")
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 21
CHECK = """[check.hello_{n}]
probe = "hello"
summary = "Number {n}."
tags = ["bench"]
ranks = {{ per_node = 2 }}
"""
with tempfile.TemporaryDirectory() as folder:
    for file in range(50):
        with open(os.path.join(folder, f"checks{file}.toml"), "w") as out:
            out.write("\n".join(CHECK.format(n=file * 20 + i) for i in range(20)))
    commands = {"true": ["true"], "muster --version": [muster, "--version"], "muster list, 1000 checks in 50 files": [muster, "list", folder]}
    for name, values in interleaved(commands, rounds, cwd=folder).items():
        print(line(name, values))
