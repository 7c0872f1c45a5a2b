"""Snapshots of a training: written so that there is always a whole one, read so that a foreign one is refused.

Nothing here imports torch: `state` is any mapping from names to tensors.
"""
import os

PREFIX = "module."  # what DistributedDataParallel puts before every name


class Foreign(Exception):
    """The snapshot does not belong to this model: why."""


def write_whole(path, write):
    """Calls `write(file)`; the file is at `path` when all of it is on disk, and the old one is until then."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def without_prefix(state):
    """The names of the bare model, whether or not the state was taken from a model inside DistributedDataParallel."""
    wrapped = bool(state) and all(name.startswith(PREFIX) for name in state)
    return {name[len(PREFIX):]: value for name, value in state.items()} if wrapped else dict(state)


def with_prefix(state):
    return {PREFIX + name: value for name, value in without_prefix(state).items()}


def refuse_foreign(content, state):
    """Raises Foreign when `content` (as read from a file) can't be loaded into a model whose state is `state`."""
    if not isinstance(content, dict):
        raise Foreign(f"it holds a {type(content).__name__}, not a snapshot")
    lacking = [key for key in ("model", "optimizer", "epochs_run") if key not in content]
    if lacking:
        raise Foreign(f"it has no {' and no '.join(lacking)}")
    have, want = without_prefix(content["model"]), without_prefix(state)
    missing = sorted(set(want) - set(have))
    strange = sorted(set(have) - set(want))
    if missing or strange:
        parts = []
        if missing:
            parts.append(f"it lacks {_some(missing)}")
        if strange:
            parts.append(f"it has {_some(strange)}, which this model has not")
        raise Foreign("another model's: " + "; ".join(parts))
    for name in sorted(want):
        if tuple(have[name].shape) != tuple(want[name].shape):
            raise Foreign(f"another model's: {name} is {_shape(have[name])} there and {_shape(want[name])} here")


def checksums(content, digest):
    """Of everything in a snapshot, by name; `digest` makes a text of a tensor or a number."""
    sums = {f"model.{name}": digest(tensor) for name, tensor in without_prefix(content["model"]).items()}
    sums.update({f"optimizer.{number}": digest(tensor) for number, tensor in content["optimizer"].items()})
    sums["epochs_run"] = digest(content["epochs_run"])
    return sums


def refuse_damaged(content, digest):
    """Raises Foreign when a part of `content` is not what it was when it was saved. A file system or memory that changes
    a bit of a tensor leaves a file that torch reads without a word."""
    written, now = content.get("checksums"), checksums(content, digest)
    if not isinstance(written, dict):
        raise Foreign("it has no checksums, so its integrity cannot be verified")
    if written == now:
        return
    names = sorted(name for name in set(written) | set(now) if written.get(name) != now.get(name))
    raise Foreign(f"it was damaged after it was written: the checksum of {_some(names)} is another")


def _some(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _shape(tensor):
    return "x".join(str(length) for length in tensor.shape) or "a number"
