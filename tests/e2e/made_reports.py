"""Reports of runs that nobody made, on as many nodes as wanted, in the published form. For what pages do with them; the
numbers mean nothing."""
import json
import math
import random
import statistics
import struct

SIZES = ("8B", "64KiB", "1MiB", "16MiB", "128MiB")
TYPES = ("float", "half")
GPUS = ("0000:18:00.0", "0000:2a:00.0", "0000:3a:00.0", "0000:5d:00.0", "0000:9a:00.0", "0000:ab:00.0", "0000:ba:00.0", "0000:db:00.0")


def bytes_of(text):
    number = int("".join(c for c in text if c.isdigit()))
    return number * {"B": 1, "KiB": 2**10, "MiB": 2**20}["".join(c for c in text if not c.isdigit())]


def summary(values):
    values = sorted(values)
    middle = statistics.median(values)
    return {"n": len(values), "min": values[0], "median": middle, "p95": values[int(0.95 * (len(values) - 1))], "max": values[-1],
            "mad": statistics.median(abs(value - middle) for value in values)}


def samples(random_, value, count=20):
    return summary([value * random_.gauss(1, 0.006) for _ in range(count)])


class MadeRun:
    """A run on `nodes` nodes of `ranks` ranks; the second node is slow, the last but one lacks a GPU, the last binds badly."""

    def __init__(self, nodes=12, ranks=8, folder="", names=None, well=False):
        self.random = random.Random(7)
        self.names = names or [f"nid{number:03}" if nodes < 1000 else f"nid{number:04}" for number in range(1, nodes + 1)]
        self.per_node, self.folder, self.well = ranks, folder, well
        self.ranks = len(self.names) * ranks
        self.cases = []

    def node_of(self, rank):
        return self.names[rank // self.per_node]

    def case(self, check, verdict="pass", **more):
        number = f"{self.random.getrandbits(32):08x}"
        case = {"id": f"{check}%{number}", "check": check, "probe": check, "tags": ["default"], "params": {}, "swept": [], "nodes": len(self.names),
                "ranks": self.ranks, "verdict": verdict, "culprits": [], "findings": [], "evidence": [], "notes": [], "metrics": [], "items": [], "outputs": [],
                "rerun": ["muster", "run", "--nodes", self.names[0], "-n", f"^{check}%{number}$"], "matrices": [], "system": "alps", "partition": "gpu",
                "repetitions": [{"index": 1, "verdict": verdict, "seconds": 1.0, "launch": 0}], "seconds": round(self.random.uniform(0.2, 20), 2),
                "place": f"checks/{check}.toml:2:8", "summary": "What a made-up case is about.",
                "node_rows": [{"node": node, "ranks": self.per_node, "verdict": verdict if verdict == "skip" else "pass", "metrics": []} for node in self.names],
                "rank_rows": [{"rank": rank, "node": self.node_of(rank)} for rank in range(self.ranks)] if self.ranks <= 10000 else []}
        case.update(more)
        self.cases.append(case)
        return case

    def blame(self, case, verdict, reason, remedy, culprits):
        case.update(verdict=verdict, reason=reason, remedy=remedy, culprits=culprits)
        case["findings"] = [{"verdict": verdict, "reason": reason, "remedy": remedy, "culprits": culprits}]
        for row in case["node_rows"]:
            if any(culprit.get("node") == row["node"] for culprit in culprits):
                row["verdict"] = verdict
        return case

    def row(self, case, metric, unit, where, values, least=None, bound="", judged=True):
        """`values` by rank."""
        lists = self.ranks * 1 <= 10000 and sum(len(row.get("readings", [])) for row in case["metrics"]) + self.ranks <= 10000
        is_bad = [least is not None and value < least for value in values]
        worst = min(range(self.ranks), key=values.__getitem__)
        row = {"metric": metric, "unit": unit, "where": where, "judged": self.ranks if least else 0, "passed": self.ranks - sum(is_bad) if least else 0,
               "worst_rank": worst, **summary(values)}
        if least is not None:
            row["bound"] = bound
            row["bounds"] = [{"kind": "reference", "verdict": "fail" if any(is_bad) else "pass", "least": least, "text": bound}]
        if lists:
            row["readings"] = [{"rank": rank, **samples(self.random, value, 3), **({"verdict": "fail" if is_bad[rank] else "pass"} if least else {})}
                               for rank, value in enumerate(values)]
        case["metrics"].append(row)
        for index, node in enumerate(case["node_rows"]):
            mine = range(index * self.per_node, (index + 1) * self.per_node)
            bad = sum(is_bad[rank] for rank in mine)
            node["metrics"].append({"metric": metric, "unit": unit, "where": where, "judged": self.per_node if least else 0, "node": node["node"],
                                    "passed": self.per_node - bad if least else 0, **summary([values[rank] for rank in mine])})
        case["items"] += [{"metric": metric, "unit": unit, "where": where, "rank": rank, "node": self.node_of(rank), "verdict": "fail", **samples(self.random, values[rank]),
                           "bounds": row["bounds"]} for rank in range(self.ranks) if is_bad[rank]]

    def add_hello(self):
        case = self.case("hello", evidence=[f"{self.ranks} ranks on {len(self.names)} nodes answered"])
        self.row(case, "barrier", "us", {}, [self.random.gauss(12, 1) for _ in range(self.ranks)])

    def add_affinity(self):
        case = self.case("cpu_affinity", evidence=["masks are disjoint"])
        width = 96 // self.per_node
        for row in case["rank_rows"]:
            local = row["rank"] % self.per_node
            bad = not self.well and row["node"] == self.names[-1] and local == 3
            first = (local - 1 if bad else local) * width
            row["facts"] = {"mask": f"{first}-{first + width - 1}", "gpu": GPUS[local % 8], "nics_near": f"mlx5_{local % 8}"}
        if not self.well:
            last = (len(self.names) - 1) * self.per_node
            self.blame(case, "fail", f"ranks {last + 2} and {last + 3} on {self.names[-1]} share {width} cores", "bind with --cpu-bind=mask_cpu:0xfff,0xfff000,0xfff000000,0xfff000000000",
                       [{"kind": "rank", "name": f"rank {last + i}", "node": self.names[-1], "rank": last + i} for i in (2, 3)])

    def add_mapping(self):
        case = self.case("gpu_mapping", evidence=["every rank has a GPU of its own, the nearest"])
        for row in case["rank_rows"]:
            local = row["rank"] % self.per_node
            last = self.per_node - 1
            gpu = (last - 1) % 8 if not self.well and row["node"] == self.names[-2] and local == last else local % 8
            row["facts"] = {"mask": f"{local * 12}-{local * 12 + 11}", "device": f"nvidia{gpu}", "device.address": GPUS[gpu], "device.numa": str(gpu // 4),
                            "device.uuid": f"GPU-{self.random.getrandbits(64):016x}", "device.nic": f"mlx5_{gpu}"}

    def add_visibility(self):
        case = self.case("device_visibility", evidence=[f"8 GPUs of NVIDIA H100 on each of {len(self.names)} nodes"])
        if not self.well:
            node = self.names[-2]
            self.blame(case, "fail", f"{node} has 7 GPUs, 8 are expected: {GPUS[5]} is on the bus and the driver does not know it (XID 79)",
                       f"reset the GPU or restart {node}; if it happens again, have the board replaced",
                       [{"kind": "device", "name": GPUS[5], "node": node}, {"kind": "node", "name": node, "node": node}])

    def add_allreduce(self):
        case = self.case("allreduce", params={"sizes": ",".join(SIZES), "types": ",".join(TYPES)}, evidence=["every element of the sums is right"])
        slow = None if self.well else range(self.per_node, 2 * self.per_node)
        for kind in TYPES:
            for size in SIZES:
                top = 360 * bytes_of(size) / (bytes_of(size) + 6e6) * (0.95 if kind == "half" else 1)
                values = [top * self.random.gauss(1, 0.012) * (0.62 if slow and rank in slow else 1) for rank in range(self.ranks)]
                at = size == "128MiB"
                self.row(case, "busbw", "GB/s", {"size": size, "type": kind}, values, least=top * 0.9 if at else None,
                         bound=f"reference {top:.1f} GB/s -10 % (checks/systems/alps.toml:31:1)" if at else "")
        if case["items"]:
            item = case["items"][0]
            self.blame(case, "fail", f"busbw where size=128MiB, type=float of {len(slow)} ranks on {self.names[1]} is {item['median']:.4g} GB/s or less, bound {item['bounds'][0]['least']:.4g} GB/s "
                       "(reference -10 %, checks/systems/alps.toml:31:1)", f"compare link rates and error counters of {self.names[1]} with those of its neighbours, and reseat or replace its cable",
                       [{"kind": "rank", "name": f"rank {rank}", "node": self.names[1], "rank": rank} for rank in slow][:2] + [{"kind": "link", "name": f"{self.names[0]} - {self.names[1]}"}])

    def matrix(self, case, metric, unit, value):
        size = self.ranks if self.ranks <= 1024 else len(self.names)
        is_node = size != self.ranks
        names = self.names if is_node else [self.node_of(rank) for rank in range(size)]
        where = {"size": "16MiB" if metric == "bandwidth" else "8B"}
        file = f"matrices/{len(case['matrices']) + 1}.bin"
        head = {"muster_matrix": 1, "metric": metric, "unit": unit, "where": where, "rows": "node" if is_node else "rank", "size": size, "names": names, "type": "float32"}
        values = [math.nan if i == j else value(names[i], names[j]) * self.random.gauss(1, 0.02) for i in range(size) for j in range(size)]
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(json.dumps(head).encode() + b"\n" + struct.pack(f"<{size * size}f", *values))
        case["matrices"].append({"metric": metric, "where": where, "rows": head["rows"], "size": size, "file": file})

    def add_p2p(self):
        case = self.case("p2p", evidence=["every byte is right"])
        bad = set() if self.well else {self.names[1]}
        if self.folder:
            self.matrix(case, "latency", "us", lambda a, b: 0.4 if a == b else 1.9)
            self.matrix(case, "bandwidth", "GB/s", lambda a, b: 38 if a == b else 13.5 if a in bad or b in bad else 23.8)
        if bad:
            self.blame(case, "fail", f"{self.names[1]} is 43 % slower than comparable ones in sending and receiving", f"look at the network adapter of {self.names[1]}",
                       [{"kind": "node", "name": self.names[1], "node": self.names[1]}])

    def add_training(self):
        case = self.case("training", params={"max_loss": "0.1"}, evidence=["loss 2.32 -> 0.0013 in 168 steps, accuracy 98.70 %"])
        for step in range(0, 168, 3):
            loss = 2.32 * math.exp(-step / 20) + 0.0013 * self.random.gauss(1, 0.1)
            case["metrics"].append({"metric": "loss", "unit": "1", "where": {"step": str(step)}, "judged": 0, "passed": 0, **summary([loss])})
        self.row(case, "rank_throughput", "samples/s", {}, [self.random.gauss(52000, 300) for _ in range(self.ranks)])

    def add_others(self):
        case = self.case("memory_bandwidth", evidence=["triad 412 GB/s (domain node)"])
        self.row(case, "triad", "GB/s", {"level": "domain"}, [self.random.gauss(412, 4) for _ in range(self.ranks)], least=370, bound="limit: at least 0.8 of 460 GB/s")
        self.case("network_interfaces", evidence=[f"8 NICs on each of {len(self.names)} nodes, all at 400 Gbit/s"])
        self.case("clock_skew", "skip", reason="nobody requested it")
        if self.well:
            return
        case = self.case("pytorch")
        self.blame(case, "error", "program \"python3 environment.py\" could not be started: no such file", "install PyTorch or choose another environment with --environment",
                   [{"kind": "program", "name": "python3"}])
        case["outputs"] = [{"rank": 0, "node": self.names[0], "text": "Traceback (most recent call last):\n  File \"environment.py\", line 3\nModuleNotFoundError: No module named 'torch'\n"}]
        case = self.case("gpu_copy")
        self.blame(case, "unmeasured", "h2d has 0 of 20 clean samples: every one was contaminated (another process used 96 % of core 3)", "keep other work off the nodes while muster runs",
                   [{"kind": "setting", "name": "core 3", "node": self.names[0]}])
        case["repetitions"] = [{"index": i, "verdict": "unmeasured" if i % 3 == 0 else "pass", "seconds": 1.0, "launch": 0} for i in range(1, 13)]

    def facts(self, index):
        facts = {"kernel": "Linux 5.14.21-150500", "os": "SUSE Linux Enterprise Server 15 SP5", "cpu": "AMD EPYC 9454 48-Core Processor", "cores": "96", "cpus": "0-95", "memory": "1510 GiB",
                 "numa_domains": "2", "mpi": "Open MPI v5.0.3", "nvidia.driver": "550.54.15", "nvidia.gpus": "8x NVIDIA H100 80GB HBM3", "nic.firmware": "28.39.1002",
                 "boot_id": f"{index:08x}-3f2a-4c1d", "env.OMPI_MCA_pml": "ucx", "limit.memlock": "unlimited"}
        if not self.well and index == 1:
            facts["nic.firmware"] = "28.36.1010"
        if not self.well and index == len(self.names) - 2:
            facts.update({"nvidia.driver": "545.23.08", "nvidia.gpus": "7x NVIDIA H100 80GB HBM3"})
        return facts

    def report(self):
        for add in (self.add_hello, self.add_affinity, self.add_mapping, self.add_visibility, self.add_allreduce, self.add_p2p, self.add_training, self.add_others):
            add()
        counts = {word: sum(case["verdict"] == word for case in self.cases) for word in ("pass", "fail", "unmeasured", "error", "skip")}
        return {"schema_version": 1, "run_id": "a1b2c3", "muster_version": "0.1.0", "started": "2026-11-22T02:00:00.000Z", "seconds": 141.2, "host": "login1", "user": "ada",
                "system": "alps", "system_place": "checks/systems/alps.toml", **({"folder": str(self.folder)} if self.folder else {}),
                "command_line": ["muster", "run", "--nodes", f"{self.names[0]}-{self.names[-1]}"[:200], "--report", "html=after.html"],
                "verdict": "pass" if self.well else "fail", "exit_status": 0 if self.well else 1, "notes": [], "tally": counts, "cases": self.cases,
                "nodes": [{"node": node, "facts": self.facts(index)} for index, node in enumerate(self.names)],
                "launches": [{"launcher": "srun (Slurm 23.11.4)", "argv": ["srun", "-N", str(len(self.names)), "muster-rank"], "nodes": self.names, "ranks": self.ranks, "seconds": 130.4,
                              "outcome": "finished", "cases": [case["id"] for case in self.cases]}]}
