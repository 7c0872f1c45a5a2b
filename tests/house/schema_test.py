"""The published schema of reports, put to a validator that is none of ours.

Documents that muster wrote (tests/golden/report, kept up to date by model_tests) must be valid; changed in any of
many ways they must not be; and the schema must not promise keys that muster never writes.
"""
import copy
import json
import os
import pathlib
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

source = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
schema = json.loads((source / "reports/schema/report-1.json").read_text())
golden = {path.name: json.loads(path.read_text()) for path in sorted((source / "tests/golden/report").glob("*.json"))}
validator = jsonschema.Draft202012Validator(schema)

# Their keys are free: labels of a reading, parameters of a case, facts of a node.
free_maps = {"where", "params", "facts", "variables"}


def objects(value, path=()):
    """Every (path, object) in a document, apart from maps with free keys."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            if key not in free_maps:
                yield from objects(item, path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from objects(item, path + (index,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


class Schema(unittest.TestCase):
    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(schema)

    def test_accepts_what_muster_writes(self):
        self.assertGreaterEqual(len(golden), 3)
        for name, document in golden.items():
            with self.subTest(name):
                self.assertEqual([f"{e.json_path}: {e.message}" for e in validator.iter_errors(document)], [])

    def test_closes_every_object(self):
        for path, value in objects(schema):
            if value.get("type") == "object" and "properties" in value:
                with self.subTest("/".join(map(str, path))):
                    self.assertIs(value.get("additionalProperties"), False)

    def test_refuses_unknown_keys_everywhere(self):
        for path, _ in objects(golden["full.json"]):
            document = copy.deepcopy(golden["full.json"])
            at(document, path)["unknown_key"] = 1
            with self.subTest("/".join(map(str, path))):
                self.assertFalse(validator.is_valid(document))

    def test_refuses_another_type_everywhere(self):
        for path, value in objects(golden["full.json"]):
            for key in value:
                document = copy.deepcopy(golden["full.json"])
                at(document, path)[key] = True
                with self.subTest("/".join(map(str, path + (key,)))):
                    self.assertFalse(validator.is_valid(document))

    def test_refuses_values_without_samples(self):
        document = copy.deepcopy(golden["full.json"])
        document["cases"][0]["items"][0]["n"] = 0
        self.assertFalse(validator.is_valid(document))
        del golden_item(golden["full.json"], document)["median"]
        self.assertFalse(validator.is_valid(document))

    def test_promises_no_key_that_is_never_written(self):
        written = {key for _, value in objects(golden["full.json"]) for key in value}
        promised = {key for path, value in objects(schema) for key in value.get("properties", {})
                    if "then" not in path}
        self.assertEqual(promised - written, set())

    def test_requires_exactly_what_is_always_written(self):
        always = set(golden["bare.json"])
        self.assertEqual(set(schema["required"]), always)


def golden_item(original, document):
    """The item of `document` with its n as it was."""
    item = document["cases"][0]["items"][0]
    item["n"] = original["cases"][0]["items"][0]["n"]
    return item


if __name__ == "__main__":
    unittest.main(verbosity=1)
