"""The training that torch_ddp checks and torch_launch starts in several ways: a small convolutional network that learns
to read generated digits, with DistributedDataParallel and DistributedSampler."""
import hashlib
import io

import digits
import snapshots

BATCH = 60  # of all ranks together, so that the loss does not depend on how many there are; one image each above that
STEPS = 50  # per epoch
SEED = 20


def model_of(torch, seed, width=8):
    torch.manual_seed(seed)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * width * (digits.SIDE // 4) ** 2, 10))


class Training:
    """One model in training. Everything that is done here is done by all ranks alike."""

    def __init__(self, job, seed=SEED):
        torch, place = job.torch, job.place
        self.job, self.torch = job, torch
        self.per_rank = max(1, BATCH // place.world)
        images, labels = digits.make(torch, STEPS * self.per_rank * place.world, SEED)
        self.test = [tensor.to(job.device.device) for tensor in digits.make(torch, 500, SEED + 1)]
        self.data = torch.utils.data.TensorDataset(images, labels)
        self.sampler = torch.utils.data.distributed.DistributedSampler(
            self.data, num_replicas=place.world, rank=place.rank, shuffle=True, seed=SEED)
        self.loader = torch.utils.data.DataLoader(self.data, batch_size=self.per_rank, sampler=self.sampler)
        self.model = model_of(torch, seed).to(job.device.device)
        gpus = [job.device.device.index] if job.device.device.type == "cuda" else None
        with job.step("DistributedDataParallel"):
            self.ddp = torch.nn.parallel.DistributedDataParallel(self.model, device_ids=gpus)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.epochs_run = 0
        self.losses = []  # of each epoch: the mean over its steps and all ranks
        self.gradients = []  # the largest of each epoch, on this rank

    def epoch(self):
        """One pass over the data. Returns the images that this rank looked at, by their place in the data."""
        torch, device = self.torch, self.job.device.device
        # Without this every epoch has the same order, and every rank the same share for ever.
        self.sampler.set_epoch(self.epochs_run)
        total = torch.zeros(1, dtype=torch.float64, device=device)
        largest = 0.0
        self.ddp.train()
        with self.job.step(f"epoch {self.epochs_run + 1}"):
            for images, labels in self.loader:
                self.optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(self.ddp(images.to(device)), labels.to(device))
                loss.backward()
                self.optimizer.step()
                total += loss.detach().double()
            largest = max(float(one.grad.abs().max()) for one in self.model.parameters())
            torch.distributed.all_reduce(total)
        self.losses.append(float(total[0]) / (STEPS * self.job.place.world))
        self.gradients.append(largest)
        self.epochs_run += 1
        return list(self.sampler)

    def accuracy(self):
        """Fraction of the test images, not used in training, that are classified correctly."""
        torch = self.torch
        self.ddp.eval()
        with torch.no_grad():
            return float((self.model(self.test[0]).argmax(1) == self.test[1]).double().mean())

    def fingerprint(self):
        """Equal on two ranks when every bit of every parameter is."""
        digest = hashlib.sha256()
        for parameter in self.model.parameters():
            # Through a list of whole numbers: torch need not have numpy.
            digest.update(str(parameter.detach().cpu().contiguous().view(self.torch.int32).tolist()).encode())
        return digest.hexdigest()

    def distance(self, other):
        """Largest difference of a parameter from that of `other`, relative to the largest parameter."""
        pairs = list(zip(self.model.parameters(), other.model.parameters()))
        largest = max(float(one.detach().abs().max()) for one, _ in pairs)
        return max(float((one - two).detach().abs().max()) for one, two in pairs) / largest

    # Snapshots.

    def content(self):
        # Tensors, whole numbers and plain dicts: torch 1.13 reads nothing else without running code.
        content = {"model": dict(self.ddp.state_dict()), "optimizer": self.momenta(), "epochs_run": self.epochs_run}
        content["checksums"] = snapshots.checksums(content, lambda one: digest(self.torch, one))
        return content

    def momenta(self):
        """What the optimizer has learned: a tensor for each parameter, by its number."""
        state = self.optimizer.state_dict()["state"]
        return {number: one["momentum_buffer"] for number, one in state.items()}

    def save(self, path):
        """By rank 0 alone: all ranks have the same, and many writers of one file make a broken one."""
        if self.job.place.rank == 0:
            snapshots.write_whole(path, lambda out: self.torch.save(self.content(), out))

    def broadcast(self, data):
        """The bytes of rank 0 on every rank. (broadcast_object_list would need numpy.)"""
        torch, device = self.torch, self.job.device.device
        size = self.job.gather(len(data))[0]
        box = torch.zeros(size, dtype=torch.uint8)
        if self.job.place.rank == 0:
            box.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        box = box.to(device)
        with self.job.step("broadcast of the snapshot"):
            torch.distributed.broadcast(box, src=0)
        return bytes(box.cpu().tolist())

    def load(self, path):
        """Rank 0 reads, all ranks get it: the file need not be on every node. Raises Foreign on every rank."""
        problem, data = "", b""
        if self.job.place.rank == 0:
            try:
                with open(path, "rb") as file:
                    data = file.read()
                content = read(self.torch, data)
                snapshots.refuse_foreign(content, self.model.state_dict())
                snapshots.refuse_damaged(content, lambda one: digest(self.torch, one))
            except OSError as error:
                problem = f"it can't be read: {error.strerror}"
            except snapshots.Foreign as error:
                problem = str(error)
        problem = self.job.gather(problem)[0]
        if problem:
            raise snapshots.Foreign(problem)
        content = read(self.torch, self.broadcast(data))
        # To the bare model; what is inside DistributedDataParallel is the same one.
        self.model.load_state_dict(snapshots.without_prefix(content["model"]))
        state = {number: {"momentum_buffer": one} for number, one in content["optimizer"].items()}
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        self.epochs_run = content["epochs_run"]


def digest(torch, one):
    """Another one when a bit of a tensor, or a number, is."""
    if not isinstance(one, torch.Tensor):
        return hashlib.sha256(repr(one).encode()).hexdigest()
    flat = one.detach().cpu().contiguous().flatten().view(torch.uint8)
    return hashlib.sha256(f"{one.dtype} {tuple(one.shape)} ".encode() + bytes(flat.tolist())).hexdigest()


def read(torch, data):
    """The content of a snapshot, which may hold tensors and numbers but no code."""
    try:
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as problem:  # what a broken file makes torch raise differs from release to release
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        # torch advises to read it all the same (weights_only=False), which would run what is in it.
        why = "it contains more than tensors and numbers, or is not a snapshot" if "weights_only" in str(problem) else lines[0][:200]
        raise snapshots.Foreign(f"it can't be read: {why}") from problem
