"""The approved JUnit report is valid against the published schema, by a validator that is not ours; and the schema is
no rubber stamp: reports with a fault are refused."""

import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("MUSTER_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(SOURCE, "reports", "schema", "junit.xsd")
APPROVED = os.path.join(SOURCE, "tests", "golden", "reporters", "junit.xml")

# What is done to the approved report, each of which the schema must refuse.
FAULTS = {
    "control character": ("<system-out>", "<system-out>\x1b[2J"),
    "text after a verdict": ("<skipped ", "stray <skipped "),
    "unknown element": ("<skipped ", "<ignored /><skipped "),
    "count that is not a number": ('tests="8"', 'tests="many"'),
    "time with a unit": ('time="0.410"', 'time="0.4 s"'),
    "case without a name": (' name="hello%3f2a9c1d"', ""),
    "error without a type": (' type="unmeasured"', ""),
    "time zone": ('T08:00:00"', 'T08:00:00+01:00"'),
}


def validator():
    """A function from XML text to an error text, empty when valid; None when nothing here can validate."""
    xmllint = shutil.which("xmllint")
    if xmllint:
        def by_xmllint(text):
            with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                done = subprocess.run([xmllint, "--noout", "--nonet", "--schema", SCHEMA, file.name],
                                      capture_output=True, text=True, timeout=60)
            return "" if done.returncode == 0 else done.stderr or "refused"
        return by_xmllint
    try:
        from lxml import etree
    except ImportError:
        return None

    def by_lxml(text):
        try:
            schema = etree.XMLSchema(etree.parse(SCHEMA))
            return "" if schema.validate(etree.fromstring(text.encode())) else str(schema.error_log)
        except etree.XMLSyntaxError as error:
            return str(error)
    return by_lxml


def main():
    check = validator()
    if check is None:
        print("skipped: neither xmllint nor lxml is installed")
        return 77
    with open(APPROVED, encoding="utf-8") as file:
        approved = file.read()
    wrong = []
    if error := check(approved):
        wrong.append(f"the approved report is not valid:\n{error}")
    for name, (before, after) in FAULTS.items():
        if before not in approved:
            wrong.append(f"{name}: the approved report has no {before!r} to spoil")
        elif not check(approved.replace(before, after, 1)):
            wrong.append(f"{name}: the schema accepts it")
    print("\n".join(wrong) or f"valid, and {len(FAULTS)} faults were refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
