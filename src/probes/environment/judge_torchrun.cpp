// A torchrun that the user's launch line starts, once for each task of the launcher around it: one job, or several?
// Names, defaults and what follows from them: torch/distributed/run.py and torch/distributed/elastic/rendezvous.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/torchrun.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

constexpr std::string_view one_per_node =
    "start one task per node for it (--ntasks-per-node=1), or leave it out and let the launcher start the ranks";

/// `2`, or `1:4`.
struct Agents {
  int least = 1;
  int most = 1;
};

std::optional<Agents> parse_agents(std::string_view text) {
  const auto least = parse_number_from(text.substr(0, text.find(':')), 0);
  const auto most = parse_number_from(text.substr(text.find(':') + 1), 0);
  return least && most && *least > 0 && *least <= *most ? std::optional(Agents{*least, *most}) : std::nullopt;
}

bool is_local_address(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  return host.empty() || host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

class Torchruns {
 public:
  Torchruns(const EnvironmentView& seen, std::string command)
      : seen_(seen),
        command_(std::move(command)),
        words_(words_of_starter(seen.first()->fact("torchrun.starter").value_or(""))) {
    for (const SeenRank* rank : seen.ranks()) per_node_ = std::max(per_node_, rank->place->local_size);
    tasks_ = static_cast<int>(seen.ranks().size());
  }

  void judge(ProbeJudgement& judgement) const {
    if (auto finding = literal()) return judgement.findings.push_back(std::move(*finding));
    if (tasks_ > 1)
      if (auto finding = not_one_job()) return judgement.findings.push_back(std::move(*finding));
    if (auto finding = few_cpus()) return judgement.findings.push_back(std::move(*finding));
    if (per_node_ == 1) return judgement.evidence.push_back(starts());
    if (auto finding = same_gpus())
      judgement.findings.push_back(std::move(*finding));
    else
      judgement.evidence.push_back(starts() + fmt::format(", which become one job of {} {}", tasks_,
                                                          words_.starter == "torchrun" ? "torchruns" : "tasks"));
  }

 private:
  /// nullopt: not known.
  [[nodiscard]] static std::optional<std::string> value(const SeenRank& rank, std::string_view name,
                                                        std::string_view otherwise) {
    const auto message = rank.fact(fmt::format("torchrun.{}", name));
    if (!message) return std::string(otherwise);
    const bool is_unknown = message->starts_with(unknown_value) || message->starts_with(own_value);
    return is_unknown || message->starts_with(literal_value) ? std::nullopt : message;
  }

  /// Of all tasks alike; nullopt: not known, or not alike.
  [[nodiscard]] std::optional<std::string> common(std::string_view name, std::string_view otherwise) const {
    const auto first = value(*seen_.ranks().front(), name, otherwise);
    for (const SeenRank* rank : seen_.ranks())
      if (value(*rank, name, otherwise) != first) return std::nullopt;
    return first;
  }

  [[nodiscard]] std::string starts() const {
    const auto words = fmt::format("the launch line starts {}", in_quotes(command_));
    if (per_node_ > 1) return fmt::format("{} {} times on each node, once in each task", words, per_node_);
    return seen_.node_count() > 1 ? fmt::format("{} once on each of {} nodes", words, seen_.node_count())
                                  : words + " once on each node";
  }

  [[nodiscard]] Finding fail(std::string_view what) const {
    return seen_.about("torchrun", seen_.ranks(), fmt::format("{}: {}", starts(), what),
                       per_node_ > 1 ? std::string(one_per_node) : one_rendezvous());
  }

  /// Of a line with one on each node.
  [[nodiscard]] std::string one_rendezvous() const {
    if (words_.starter == "accelerate")
      return fmt::format(
          "let them become one job: --num_machines={0} --machine_rank=$SLURM_NODEID --main_process_ip=HOST "
          "--main_process_port=PORT (HOST: the first node), the rank put in by a shell of the task (srun bash -c "
          "'...'), and in --num_processes the sum over all {0} nodes",
          seen_.node_count());
    if (words_.starter == "deepspeed")
      return fmt::format(
          "let them become one job: --no_ssh --node_rank=$SLURM_NODEID --hostfile=FILE (all {} nodes, with their "
          "slots) --master_addr=HOST (the first node), the rank put in by a shell of the task (srun bash -c '...'); or "
          "start deepspeed once, without the launcher",
          seen_.node_count());
    return fmt::format(
        "use one rendezvous for all nodes: --nnodes={} --rdzv-backend=c10d --rdzv-id=JOB "
        "--rdzv-endpoint=HOST:PORT with the same values everywhere (HOST: the first node), without "
        "--standalone",
        seen_.node_count());
  }

  /// `--nnodes` as it is written for what the line starts.
  [[nodiscard]] std::string option_word(std::string_view option) const {
    if (option == "nnodes") return std::string(words_.nodes);
    if (option == "node-rank") return std::string(words_.number);
    return fmt::format("--{}", option);
  }

  /// The first of `options` whose value begins with `mark`, and that value.
  [[nodiscard]] std::optional<std::pair<std::string, std::string>> marked(char mark) const {
    for (const char* name : {"nnodes", "nproc-per-node", "node-rank", "rdzv-backend", "rdzv-endpoint", "rdzv-id",
                             "master-addr", "master-port"})
      if (const auto message = seen_.ranks().front()->fact(fmt::format("torchrun.{}", name));
          message && message->starts_with(mark))
        return std::pair(std::string(name), message->substr(1));
    return std::nullopt;
  }

  /// A variable in quotes, and no shell that would put its value in.
  [[nodiscard]] std::optional<Finding> literal() const {
    const auto found = marked(literal_value);
    if (!found) return std::nullopt;
    const auto& [name, text] = *found;
    Finding finding = fail(
        fmt::format("{} is the text {}: no shell puts in the variable's value", option_word(name), in_quotes(text)));
    finding.remedy = fmt::format("let a shell of each task start it: bash -c '{} {}={} ...'", words_.command,
                                 option_word(name), text);
    return finding;
  }

  /// `$RANDOM` in each task.
  [[nodiscard]] std::optional<Finding> made_anew() const {
    const auto found = marked(own_value);
    if (!found) return std::nullopt;
    const auto& [name, text] = *found;
    Finding finding = fail(fmt::format("--{} is {}, another value in each task, so that they do not find each other",
                                       name, in_quotes(text)));
    finding.remedy =
        fmt::format("give all tasks one value: --{}={}, or a variable that is exported before the launcher", name,
                    name == "rdzv-id" ? "$SLURM_JOB_ID" : "VALUE");
    return finding;
  }

  /// What this depends on can't be read from the line.
  [[nodiscard]] std::optional<Finding> open(std::string_view option) const {
    // One on each node, with values from the script around it, is how it is meant to be.
    if (per_node_ == 1) return std::nullopt;
    std::string message = seen_.ranks().front()->fact(fmt::format("torchrun.{}", option)).value_or("");
    if (message.starts_with(unknown_value)) message.erase(0, 1);
    const bool is_in_file = message.starts_with("the ");
    Finding finding = fail(fmt::format(
        "{} is {}, which is unknown until the line runs: whether the tasks form one job can't be determined",
        option_word(option), is_in_file ? message : in_quotes(message)));
    finding.verdict = Verdict::unmeasured;
    // No one can export `$2`.
    const std::size_t dollar = message.find_first_of('$');
    const bool is_argument = dollar != message.npos && message.find_first_of("123456789", dollar) <= dollar + 2;
    if (is_in_file) {
      finding.remedy = fmt::format("write {} on the command line; {}", option_word(option), one_per_node);
      return finding;
    }
    finding.remedy = fmt::format("write {} as a number or a name, or {}; {}", option_word(option),
                                 is_argument ? "put the arguments of the script behind it on the launch line"
                                             : "export its variable before muster is started",
                                 one_per_node);
    return finding;
  }

  [[nodiscard]] std::optional<Finding> not_one_job() const {
    const bool is_standalone = common("standalone", "0").value_or("1") != "0";
    const bool is_static = !is_standalone && common("rdzv-backend", "static") == "static";
    const auto message = common("nnodes", "1");
    auto agents = message ? parse_agents(*message) : std::nullopt;
    if (!agents) return open("nnodes");
    if (is_static) agents->least = agents->most;
    const auto endpoint = is_static ? static_endpoint() : common("rdzv-endpoint", "");
    const bool is_apart =
        is_standalone || (!is_static && endpoint && is_local_address(*endpoint) && endpoint->ends_with(":0"));
    if (is_apart && agents->least > 1)
      return fail(fmt::format("each waits for {} torchruns at a rendezvous of its own ({})", *message,
                              is_standalone ? "--standalone" : *endpoint));
    if (is_apart) return fail(own_jobs(is_standalone ? "--standalone" : *endpoint));
    if (agents->most == 1) return fail(jobs_of_one(is_static));
    if (seen_.in_job(tasks_) < agents->least && tasks_ < agents->least)
      return fail(fmt::format("{}={} waits for more than these {}", words_.nodes, *message, tasks_));
    if (seen_.in_job(tasks_) > agents->most)
      return fail(fmt::format("{}={} admits {} of these {} to the job, and the others wait until they time out",
                              words_.nodes, *message, agents->most, tasks_));
    if (is_static)
      if (auto finding = wrong_numbers()) return finding;
    return apart_by_address(endpoint);
  }

  [[nodiscard]] std::optional<std::string> static_endpoint() const {
    if (auto endpoint = common("rdzv-endpoint", ""); !endpoint || !endpoint->empty()) return endpoint;
    const auto address = common("master-addr", "127.0.0.1");
    const auto port = common("master-port", "29500");
    return address && port ? std::optional(*address + ":" + *port) : std::nullopt;
  }

  [[nodiscard]] std::string own_jobs(std::string_view why) const {
    return fmt::format("each is a separate job{} ({}{})", shared_gpus().empty() ? "" : " on the same GPUs", why,
                       per_node_ > 1 ? "; F02" : "");
  }

  /// --nnodes is 1.
  [[nodiscard]] std::string jobs_of_one(bool is_static) const {
    if (!is_static) return "--nnodes=1 admits one of them to the job, and the others wait until they time out";
    auto words = own_jobs(words_.starter == "deepspeed" ? "deepspeed without --no_ssh starts all of its nodes by itself"
                                                        : fmt::format("{} is 1", words_.nodes));
    if (per_node_ > 1) words += R"(, and all but the first on a node end with "address already in use")";
    return words;
  }

  /// By --node-rank, which the static rendezvous needs: each a number of its own.
  [[nodiscard]] std::optional<Finding> wrong_numbers() const {
    std::map<std::string, int> taken;
    for (const SeenRank* rank : seen_.ranks()) {
      const auto number = value(*rank, "node-rank", "0");
      if (!number) return open("node-rank");
      ++taken[*number];
    }
    const auto twice = std::find_if(taken.begin(), taken.end(), [](const auto& one) { return one.second > 1; });
    if (twice == taken.end()) return std::nullopt;
    Finding finding = fail(fmt::format("{} of these {} have {}={}", twice->second, tasks_, words_.number,
                                       printable_line(twice->first, 40)));
    finding.remedy = fmt::format(
        "let each task have a number of its own: {}=$SLURM_PROCID, put in by a shell of the task (srun bash -c "
        "'...'){}",
        words_.number, words_.starter == "torchrun" ? ", or --rdzv-backend=c10d, which needs none" : "");
    if (per_node_ > 1) finding.remedy += fmt::format("; or {}", one_per_node);
    return finding;
  }

  /// The host that each task has in it is its own node, by name or address.
  [[nodiscard]] bool names_own_nodes(const char* option) const {
    const auto names_own = [&](const SeenRank* rank) {
      const auto message = value(*rank, option, "");
      const std::string host = rank->place->host.substr(0, rank->place->host.find('.'));
      return message && message->starts_with(host);
    };
    return std::all_of(seen_.ranks().begin(), seen_.ranks().end(), names_own);
  }

  [[nodiscard]] std::optional<Finding> apart_by_address(const std::optional<std::string>& endpoint) const {
    if (auto finding = made_anew()) return finding;
    for (const char* name : {"rdzv-endpoint", "master-addr", "rdzv-id"}) {
      const auto groups = seen_.groups([&](const SeenRank& rank) { return value(rank, name, ""); });
      if (groups.size() < 2 || !groups[0].value || !groups[1].value) continue;
      const bool is_own = names_own_nodes(name);
      Finding finding = fail(fmt::format(
          "--{} is {} in one task and {} in another{}, so that they do not find each other", name,
          in_quotes(*groups[0].value), in_quotes(*groups[1].value), is_own ? ": each node names itself" : ""));
      if (is_own)
        finding.remedy = fmt::format(
            "let the batch script put in the first node, once: HEAD=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" "
            "| "
            "head -n 1), export HEAD, --{}=$HEAD{}",
            name, std::string_view(name) == "rdzv-endpoint" ? ":29500" : "");
      return finding;
    }
    if (!endpoint || seen_.node_count() == 1 || !is_local_address(*endpoint)) return std::nullopt;
    return fail(fmt::format("their rendezvous is at {}, which is a different address on each node",
                            endpoint->empty() ? "localhost" : *endpoint));
  }

  /// Processes of torchrun keep the CPUs of their task. Where it has a part of the node with fewer CPUs than processes,
  /// they share them (F01).
  [[nodiscard]] std::optional<Finding> few_cpus() const {
    RankList confined;
    std::string first;
    for (const SeenRank* rank : seen_.ranks()) {
      const auto processes = parse_number_from(value(*rank, "nproc-per-node", "1").value_or(""), 0);
      const auto cpus = split(rank->fact("torchrun.cpus").value_or(""), ' ');
      if (cpus.size() != 3) continue;
      const auto open = parse_number_from(cpus[0], 0);
      const auto all = parse_number_from(cpus[1], 0);
      if (!processes || !open || !all || *open >= *processes || *open >= *all) continue;
      if (confined.empty()) first = fmt::format("{} processes in a task with CPUs {} of {}", *processes, cpus[2], *all);
      confined.push_back(rank);
    }
    if (confined.empty()) return std::nullopt;
    return seen_.about(
        "torchrun", confined, fmt::format("{}: {}", starts(), first),
        fmt::format("give the task the cores of all its processes: --cpus-per-task (srun), --bind-to none (mpirun), or "
                    "leave {} out and let the launcher start the ranks",
                    words_.command));
  }

  /// The GPUs that processes of a task take: LOCAL_RANK counts them from the first that it sees.
  [[nodiscard]] std::vector<std::string> gpus_of(const SeenRank& rank) const {
    const auto seen = rank.fact("torchrun.gpus");
    if (!seen || *seen == "none") return {};
    auto gpus = split(*seen, ' ');
    const auto processes = parse_number_from(value(rank, "nproc-per-node", "1").value_or(""), 0);
    if (processes && static_cast<std::size_t>(*processes) < gpus.size())
      gpus.resize(static_cast<std::size_t>(*processes));
    return gpus;
  }

  /// That two tasks of a node would take; empty: none is known.
  [[nodiscard]] std::string shared_gpus() const {
    std::set<std::pair<int, std::string>> taken;
    for (const SeenRank* rank : seen_.ranks())
      for (const std::string& gpu : gpus_of(*rank))
        if (!taken.emplace(rank->place->node_index, gpu).second) return gpu;
    return {};
  }

  /// One job of several torchruns on a node.
  [[nodiscard]] std::optional<Finding> same_gpus() const {
    const auto words = fmt::format("LOCAL_RANK begins at 0 in each of the {} tasks of a node", per_node_);
    constexpr std::string_view remedy =
        "let each task see GPUs of its own (--gpus-per-task, or CUDA_VISIBLE_DEVICES=$SLURM_LOCALID put in by a shell "
        "of the task)";
    if (const std::string gpu = shared_gpus(); !gpu.empty()) {
      Finding finding = fail(fmt::format("{}, and they see the same GPUs: several processes on GPU {}", words, gpu));
      finding.remedy = fmt::format("{}, or {}", remedy, one_per_node);
      if (words_.starter == "deepspeed" && seen_.ranks().front()->fact("torchrun.devices"))
        finding.remedy = fmt::format(
            "leave out --num_gpus, --include, --exclude and --hostfile, by which deepspeed replaces "
            "CUDA_VISIBLE_DEVICES, and {}",
            finding.remedy);
      return finding;
    }
    const bool is_known = std::all_of(seen_.ranks().begin(), seen_.ranks().end(),
                                      [](const SeenRank* rank) { return rank->fact("torchrun.gpus").has_value(); });
    if (is_known) return std::nullopt;
    return make_note(fmt::format("{}: {}, which become one job; {}: {}", starts(), tasks_, words, remedy));
  }

  const EnvironmentView& seen_;
  std::string command_;
  const StarterWords& words_;
  int per_node_ = 1;
  int tasks_ = 0;
};

}  // namespace

void judge_torchrun(const EnvironmentView& seen, ProbeJudgement& judgement) {
  if (seen.params().text("torch") == "ignored") return;
  const SeenRank* first = seen.first();
  if (const auto words = first == nullptr ? std::nullopt : first->fact("torchrun"))
    Torchruns(seen, *words).judge(judgement);
}

}  // namespace muster::environment
