"""Training with DistributedDataParallel: it learns, all ranks have the same model, and a snapshot resumes it as if it
had never stopped."""
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import muster_torch as muster
import snapshots
import training
from job import Job

EPOCHS = 4
TURN = 2  # the snapshot is taken after so many
RESUME_TOLERANCE = 1e-3  # sums of more than two ranks may be made in another order in a training's first step


def run(job, asked):
    refuse_arguments(job, asked)
    whole = training.Training(job)
    folder = agree_on_folder(job, asked.folder)
    path = os.path.join(folder, "snapshot.pt")
    if asked.resume:
        resume_from(job, asked.resume)
    began = time.perf_counter()
    shares = train(job, whole, path)
    muster.metric("samples", len(whole.data) * EPOCHS / (time.perf_counter() - began), "samples/s",
                  backend=job.device.backend)
    check_shares(job, whole, shares)
    check_learning(job, whole)
    check_writers(job, folder)
    check_prefix(job, whole)
    check_resume(job, whole, path)
    check_foreign(job, folder)
    if asked.keep:
        whole.save(asked.keep)


def refuse_arguments(job, asked):
    """Of rank 0's files, reported by all ranks alike: errors in them are not the fault of a rank."""
    problem = job.gather(fault_of(job.torch, asked) if job.place.rank == 0 else None)[0]
    if problem:
        name, reason = problem
        job.give_up(f"{name} {reason}", f"give {name} another value", [{"setting": name}])


def fault_of(torch, asked):
    """Which argument can't be followed on this node, and why; None: all can."""
    if asked.folder and not (os.path.isdir(asked.folder) and os.access(asked.folder, os.W_OK)):
        return "--folder", f"{asked.folder} is not a writable folder"
    beside = os.path.dirname(asked.keep) or "."
    if asked.keep and not (os.path.isdir(beside) and os.access(beside, os.W_OK)):
        return "--keep", f"{asked.keep} can't be written: {beside} is not a writable folder"
    if asked.keep and os.path.lexists(asked.keep) and not is_snapshot(torch, asked.keep):
        return "--keep", f"{asked.keep} exists and is not a snapshot; it is not overwritten"
    return None


def is_snapshot(torch, path):
    try:
        with open(path, "rb") as file:
            content = training.read(torch, file.read())
    except (OSError, snapshots.Foreign):
        return False
    return isinstance(content, dict) and "model" in content and "epochs_run" in content


def agree_on_folder(job, asked):
    """A new folder on rank 0's node; the others see it where they share its file system."""
    mine = tempfile.mkdtemp(prefix="muster-torch-", dir=asked or None) if job.place.rank == 0 else None
    muster.scratch.extend([mine] if mine else [])
    return job.gather(mine)[0]


def resume_from(job, path):
    """A snapshot of an earlier run: it must be whole and this model's, and read digits as it has learned to."""
    earlier = training.Training(job, seed=1)
    try:
        earlier.load(path)
    except snapshots.Foreign as problem:
        job.give_up(f"{path} is refused: {problem}",
                    "name the snapshot of this training, or leave --resume out to start anew", [{"file": path}])
    if job.place.rank == 0:
        muster.evidence(f"resumed from {path}: {earlier.epochs_run} epochs, "
                        f"{100 * earlier.accuracy():.1f} % read rightly")


def train(job, whole, path):
    """All epochs. Returns which images this rank saw in each."""
    shares = []
    for _ in range(EPOCHS):
        shares.append(whole.epoch())
        prints = job.gather(whole.fingerprint())
        odd = odd_ranks(prints)
        if odd:
            all_differ = len(odd) == len(prints)
            job.complain(f"after epoch {whole.epochs_run} "
                         + (f"the models of {muster.ranks_text(odd)} differ" if all_differ else
                            f"the model of {muster.ranks_text(odd)} is not that of the others"),
                         "gradients were not summed alike: look at the memory and the GPU of that node, and whether "
                         "all ranks have the same torch and NCCL", [{"rank": rank} for rank in odd[:16]])
        if whole.epochs_run == TURN:
            whole.save(path)
    return shares


def odd_ranks(prints):
    """Those that differ from most; of two that differ, both, as the wrong one is unknown."""
    if len(set(prints)) == 1:
        return []
    most = max(set(prints), key=prints.count)
    if prints.count(most) * 2 <= len(prints):
        return list(range(len(prints)))
    return [rank for rank, one in enumerate(prints) if one != most]


def check_shares(job, whole, shares):
    """Every image is looked at once per epoch, by one rank; and not in the same order in each."""
    everybody = job.gather(shares)
    if job.place.rank != 0:
        return
    wanted = list(range(len(whole.data)))
    for epoch in range(EPOCHS):
        if sorted(index for share in everybody for index in share[epoch]) != wanted:
            job.complain(f"in epoch {epoch + 1} the ranks did not share the data: some of {len(wanted)} images were "
                         "looked at twice or not at all",
                         "all ranks must give DistributedSampler the same seed, data and number of replicas")
    if shares[0] == shares[1]:
        job.complain("every epoch has the same order of images", "call set_epoch of the sampler before each epoch")


def check_learning(job, whole):
    first, last, accuracy = whole.losses[0], whole.losses[-1], whole.accuracy()
    muster.metric("loss", last, "1")
    muster.metric("accuracy", 100 * accuracy, "%")
    if not all(0 < one < float("inf") for one in whole.gradients):
        job.complain(f"rank {job.place.rank} on {muster.HOST} has gradients that are zero or not finite: "
                     f"{', '.join(f'{one:g}' for one in whole.gradients)}",
                     "run torch_environment: a GPU that the build has no code for, or a broken one, gives such numbers")
    # Not so: nan compares with nothing.
    if not (last < first / 2 and last < 0.3 and accuracy > 0.9):
        job.complain(f"the network does not learn: loss {first:.3f} in the first epoch, {last:.3f} in the last; "
                     f"{100 * accuracy:.1f} % of the test images are read rightly",
                     "run torch_allreduce: gradients that are summed wrongly look like this")
    elif job.place.rank == 0:
        muster.evidence(f"loss {first:.3f} -> {last:.3f} in {EPOCHS} epochs, {100 * accuracy:.1f} % read rightly, "
                        f"all {job.place.world} models equal to the bit")


def check_writers(job, folder):
    """One snapshot, whole, and nothing beside it."""
    seen = job.gather(sorted(os.listdir(folder)) if os.path.isdir(folder) else None)
    if job.place.rank == 0 and any(names not in (None, ["snapshot.pt"]) for names in seen):
        names = next(names for names in seen if names not in (None, ["snapshot.pt"]))
        job.complain(f"beside the snapshot lie other files: {', '.join(names[:5]) or 'not even the snapshot'}",
                     "only rank 0 may write, and to a name beside it that is renamed when whole",
                     [{"file": folder}])


def check_prefix(job, whole):
    """A snapshot taken from the wrapped model loads into a bare one, and the other way round."""
    torch = job.torch
    state = whole.ddp.state_dict()
    bare = training.model_of(torch, 1).to(job.device.device)
    bare.load_state_dict(snapshots.without_prefix(state))
    bare_state = bare.state_dict()
    differs = any(not torch.equal(bare_state[name], value) for name, value in whole.model.state_dict().items())
    whole.ddp.load_state_dict(snapshots.with_prefix(bare_state))
    if differs:
        job.complain("a model loaded from the wrapped one's state is not the same", "report this: it is a fault of torch")


def check_resume(job, whole, path):
    """Another start, the snapshot, the remaining epochs: the model must be that of the training that never stopped."""
    again = training.Training(job, seed=1)
    try:
        again.load(path)
    except snapshots.Foreign as problem:
        job.give_up(f"the snapshot that was just written is refused: {problem}",
                    "look at the disk that the folder is on; --folder names another", [{"file": path}])
    if again.epochs_run != TURN:
        job.complain(f"the snapshot contains {again.epochs_run} epochs, {TURN} were run", "look at the disk of the folder")
    while again.epochs_run < EPOCHS:
        again.epoch()
    apart = again.distance(whole)
    if not apart <= RESUME_TOLERANCE:
        job.complain(f"rank {job.place.rank} on {muster.HOST}: the resumed training ends elsewhere than the one that was "
                     f"not interrupted: parameters differ by {apart:.1e} of the largest",
                     "results of this machine can't be repeated: look for a GPU or memory that computes wrongly")
    elif job.place.rank == 0:
        how = "bit for bit" if again.fingerprint() == whole.fingerprint() else f"within {apart:.0e}"
        muster.evidence(f"resumed from the snapshot of epoch {TURN} it ends as without interruption, {how}")


def check_foreign(job, folder):
    """A snapshot of another model is refused with the reason, and the model is unchanged."""
    torch = job.torch
    path = os.path.join(folder, "foreign.pt")
    if job.place.rank == 0:
        content = {"model": dict(training.model_of(torch, 1, width=4).state_dict()), "optimizer": {}, "epochs_run": 1}
        snapshots.write_whole(path, lambda out: torch.save(content, out))
    mine = training.Training(job)
    before = mine.fingerprint()
    try:
        mine.load(path)
    except snapshots.Foreign as problem:
        if mine.fingerprint() == before:
            if job.place.rank == 0:
                muster.evidence(f"a foreign snapshot is refused: {problem}")
            return
    job.complain("the snapshot of another model was loaded", "report this: it is a fault of the check")


def main():
    options = muster.Arguments(description=__doc__)
    options.add_argument("--folder", default="", help="folder of the snapshot; default: TMPDIR")
    options.add_argument("--resume", default="", help="a snapshot of an earlier run, which must load")
    options.add_argument("--keep", default="", help="where to leave the last snapshot")
    options.add_argument("--patience", type=float, default=30, help="seconds to wait for another rank")
    asked = options.parse_args()
    job = Job(muster.import_torch(), asked.patience)
    job.torch.backends.cudnn.deterministic = True
    job.torch.backends.cudnn.benchmark = False
    if job.place.rank == 0:
        job.device.tell()
    run(job, asked)
    job.finish()


if __name__ == "__main__":
    muster.run(main)
