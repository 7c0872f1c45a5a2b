"""Text with ANSI colours on standard input -> an SVG picture of a terminal on standard output. For the README:

    muster run mychecks --color always | python3 docs/pictures/ansi_to_svg.py > docs/pictures/run.svg
"""
import html
import re
import sys

COLORS = {"31": "#f97583", "32": "#85e89d", "33": "#ffdf5d", "34": "#79b8ff", "35": "#b392f0", "36": "#76e3ea",
          "91": "#f97583", "92": "#85e89d", "93": "#ffdf5d", "94": "#79b8ff", "95": "#b392f0", "96": "#76e3ea"}
WIDTH, HEIGHT, MARGIN = 8.4, 19, 16


def spans(line):
    """Pieces of one line with the style that holds for each."""
    style = {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if not code:
            if piece:
                yield piece, dict(style)
            continue
        for number in code.group(1).split(";"):
            if number in ("", "0"):
                style = {}
            elif number == "1":
                style["font-weight"] = "bold"
            elif number == "2":
                style["fill"] = "#959da5"
            elif number in COLORS:
                style["fill"] = COLORS[number]


def draw(lines):
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
           f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="a run of muster in a terminal">')
    yield f'<rect width="100%" height="100%" rx="8" fill="#1f2428"/>'
    yield '<g font-family="ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14" fill="#e1e4e8" xml:space="preserve">'
    for row, line in enumerate(lines):
        y, column = MARGIN + row * HEIGHT + 14, 0
        for text, style in spans(line):
            attributes = "".join(f' {key}="{value}"' for key, value in style.items())
            yield (f'<text x="{MARGIN + column * WIDTH:.1f}" y="{y}" textLength="{len(text) * WIDTH:.1f}"{attributes}>'
                   f'{html.escape(text)}</text>')
            column += len(text)
    yield "</g></svg>"


print("\n".join(draw(sys.stdin.read().rstrip("\n").split("\n"))))
