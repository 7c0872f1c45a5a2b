"""The commands of the pages in docs/systems, as someone would type them. Shared, not a test."""
import os
import pathlib
import re
import subprocess
import typing

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PAGES = SOURCE / "docs" / "systems"


class Block(typing.NamedTuple):
    page: str
    heading: str
    text: str

    @property
    def is_script(self):
        return self.text.startswith("#!")

    def commands(self):
        """Each on one line, without comments."""
        joined = self.text.replace("\\\n", " ")
        return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in joined.splitlines()) if line]


def blocks():
    """What stands between ```sh and ``` on every page, in order."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        heading = ""
        for is_heading, title, text in re.findall(r"^(## )([^\n]*)$|^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
            if is_heading:
                heading = title
            else:
                found.append(Block(page.stem, heading, text))
    return found


# Begins of what one would type; options, names and messages stand in the text, too.
TYPED = re.compile(r"(muster \S+|module|srun|sbatch|salloc|scontrol|python3|pip3?|conda|eb|git|scp|sacctmgr|shifter|unset|export|ldd|\.|[A-Z]+=\S+) \S")


def inline():
    """(page, command) of what stands in the text of the pages, outside of blocks."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        commands = [" ".join(one.split()) for one in re.findall(r"`([^`]+)`", text)]
        found += [(page.stem, one) for one in dict.fromkeys(commands) if TYPED.match(one)]
    return found


def block(page, begin):
    """The one block of `page` in which some command begins so."""
    return next(one for one in blocks() if one.page == page and any(line.startswith(begin) for line in one.commands()))


class Fence(typing.NamedTuple):
    """A fenced block of any page that is typed into a shell: `sh`, or `console` with what is printed."""
    page: str
    line: int
    language: str
    text: str

    @property
    def is_script(self):
        return self.text.startswith("#!")

    def steps(self):
        """(command, what the page prints below it, empty where it prints nothing), each command as it is typed, over as many lines
        as it has."""
        if self.is_script:
            return [(self.text, "")]
        if self.language == "console":
            parts = re.split(r"^[$#] ", self.text, flags=re.M)[1:]
            return [tuple(part.split("\n", 1)) for part in parts]
        return [(command, "") for command in whole_commands(self.text)]


def without_comment(command):
    return re.sub(r"(^|\s+)#[^'\"]*$", "", command).strip() if "\n" not in command else command.strip()


def whole_commands(text):
    """Lines that bash takes for a command, joined where one goes on (quotes, here-documents, `if`)."""
    found, pending = [], []
    for line in text.splitlines():
        pending.append(line)
        typed = "\n".join(pending)
        if line.endswith("\\"):
            continue
        tried = subprocess.run(["bash", "-n", "-c", typed + "\n"], capture_output=True, text=True)
        if tried.returncode == 0 and not tried.stderr:
            if without_comment(typed):
                found.append(typed)
            pending = []
    return found + ["\n".join(pending)] * bool(pending)


def help_fences():
    """The examples below the help of each command, as a page called `help run`. (man has the same: install.manual_test.)"""
    muster = pathlib.Path(os.environ["MUSTER_BUILD"], "bin/muster")

    def help_of(*words):
        return subprocess.run([muster, *words, "--help"], capture_output=True, text=True, check=True).stdout
    found = []
    for words in [(), *((name,) for name in re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1].split("Start with:")[0], re.M))]:
        below = re.search(r"^(?:Examples?|Start with):\n((?:  .*\n?)+)", help_of(*words), re.M)
        # A command ends where three spaces separate it from what it is for.
        commands = [re.split(r" {3,}", line.strip())[0] for line in below[1].splitlines()] if below else []
        found.append(Fence(" ".join(("help", *words)), 0, "sh", "".join(f"{one}\n" for one in commands)))
    return found


def fences():
    """Of README and of every page below docs, but for those of the systems, which `blocks` gives."""
    found = []
    for path in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]:
        if path.parent == PAGES:
            continue
        text = path.read_text()
        for one in re.finditer(r"^```(sh|console)\n(.*?)^```", text, re.M | re.S):
            page = str(path.relative_to(SOURCE)).removeprefix("docs/").removesuffix(".md")
            found.append(Fence(page, text[:one.start()].count("\n") + 1, one[1], one[2]))
    return found


def fences_of(page):
    return [one for one in (help_fences() if page.startswith("help") else fences()) if one.page == page]
