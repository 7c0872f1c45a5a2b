"""docs/testing.md: tests/suite/testing.md with the tables of tests/suites.toml."""
from . import names

HERE = names.TESTS / "suite"


def text():
    page = (HERE / "testing.md").read_text()
    return page.replace("<!-- suites -->\n", suites()).replace("<!-- quick -->\n", quick())


def suites():
    rows = ["| suite | command | build | tests below tests/ | what |", "|---|---|---|---|---|"]
    for suite in names.suites():
        tests = ", ".join(suite.only or suite.tests)
        rows.append(f"| {suite.name} | `{suite.command}` | {suite.build} | {tests} | {suite.what} |")
    return "\n".join(rows) + "\n"


def quick():
    rows = ["| changed below | unit tests of | system tests |", "|---|---|---|"]
    for rule in names.read()["quick"]:
        rows.append(f"| {rule['path']} | {', '.join(rule['unit']) or '-'} | {', '.join(rule['system']) or '-'} |")
    return "\n".join(rows) + "\n"
