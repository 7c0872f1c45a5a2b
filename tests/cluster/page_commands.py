"""The commands of the pages in docs/systems, as someone would type them. Shared, not a test."""
import os
import pathlib
import re
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


def block(page, begin):
    """The one block of `page` in which some command begins so."""
    return next(one for one in blocks() if one.page == page and any(line.startswith(begin) for line in one.commands()))
