"""Snapshots: whole or not at all, with or without `module.`, and never of another model."""
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import snapshots


def tensor(*shape):
    return types.SimpleNamespace(shape=shape)


MODEL = {"conv.weight": tensor(8, 1, 3, 3), "conv.bias": tensor(8)}


def snapshot(model):
    return {"model": model, "optimizer": {}, "epochs_run": 1}


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "snapshot.pt")

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_a_new_one_takes_the_place_of_the_old_one(self):
        for text in (b"first", b"second"):
            snapshots.write_whole(self.path, lambda out: out.write(text))
            self.assertEqual(self.content(), text)
        self.assertEqual(os.listdir(self.folder.name), ["snapshot.pt"])

    def test_a_write_that_fails_leaves_the_old_one(self):
        snapshots.write_whole(self.path, lambda out: out.write(b"old"))

        def full(out):
            out.write(b"ne")
            self.assertEqual(self.content(), b"old")
            raise OSError(28, "No space left on device")

        with self.assertRaises(OSError):
            snapshots.write_whole(self.path, full)
        self.assertEqual(self.content(), b"old")
        self.assertEqual(os.listdir(self.folder.name), ["snapshot.pt"])

    def test_a_part_that_changed_is_named(self):
        content = {"model": {"module.a": 1, "module.b": 2}, "optimizer": {0: 3, 1: 4}, "epochs_run": 5}
        content["checksums"] = snapshots.checksums(content, str)
        snapshots.refuse_damaged(content, str)
        snapshots.refuse_damaged({**content, "model": {"a": 1, "b": 2}}, str)
        for key, value, name in (("model", {"module.a": 1, "module.b": 9}, "model.b"), ("optimizer", {0: 9, 1: 4}, "optimizer.0"),
                                 ("optimizer", {0: 3}, "optimizer.1"), ("epochs_run", 6, "epochs_run")):
            with self.assertRaisesRegex(snapshots.Foreign, f"the checksum of {name} is another"):
                snapshots.refuse_damaged({**content, key: value}, str)
        with self.assertRaisesRegex(snapshots.Foreign, "it has no checksums"):
            snapshots.refuse_damaged({**content, "checksums": None}, str)

    def test_the_prefix_goes_both_ways(self):
        wrapped = snapshots.with_prefix(MODEL)
        self.assertEqual(sorted(wrapped), ["module.conv.bias", "module.conv.weight"])
        self.assertEqual(snapshots.without_prefix(wrapped), MODEL)
        self.assertEqual(snapshots.without_prefix(MODEL), MODEL)
        self.assertEqual(snapshots.with_prefix(wrapped), wrapped)
        # A model that itself has a part of that name is not wrapped.
        own = {"module.x": tensor(1), "y": tensor(1)}
        self.assertEqual(snapshots.without_prefix(own), own)

    def refused(self, content):
        with self.assertRaises(snapshots.Foreign) as refused:
            snapshots.refuse_foreign(content, MODEL)
        return str(refused.exception)

    def test_its_own_is_taken(self):
        snapshots.refuse_foreign(snapshot(MODEL), MODEL)
        snapshots.refuse_foreign(snapshot(snapshots.with_prefix(MODEL)), MODEL)

    def test_a_foreign_one_is_refused_with_the_reason(self):
        self.assertEqual(self.refused([1]), "it holds a list, not a snapshot")
        self.assertEqual(self.refused({"model": MODEL}), "it has no optimizer and no epochs_run")
        self.assertEqual(self.refused(snapshot({**MODEL, "conv.weight": tensor(4, 1, 3, 3)})),
                         "another model's: conv.weight is 4x1x3x3 there and 8x1x3x3 here")
        self.assertEqual(self.refused(snapshot({"conv.weight": tensor(8, 1, 3, 3), "fc.weight": tensor(2)})),
                         "another model's: it lacks conv.bias; it has fc.weight, which this model has not")


if __name__ == "__main__":
    unittest.main()
