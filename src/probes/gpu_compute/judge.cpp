#include "probes/gpu_compute/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_health.hpp"
#include "measure/gpu_limits.hpp"
#include "measure/gpu_remedies.hpp"
#include "measure/node_gpus.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"
#include "probes/gpu_compute/judge_rates.hpp"
#include "probes/gpu_compute/vote_codec.hpp"
#include "stats/headline.hpp"

namespace muster::gpu_compute {

namespace {

using gpu_copy::about_gpu;
using gpu_copy::take_word;
using gpu_copy::TestedGpus;

/// What several steps of judging need.
struct JudgeContext {
  const CaseView& view;
  std::map<int, TestedGpus> named;  ///< by rank
  Ballots ballots;
  std::map<std::string, Decision> decisions;
  std::size_t gpus = 0;

  [[nodiscard]] const RankPlace& place(int rank) const { return view.ranks[static_cast<std::size_t>(rank)]; }
  /// `GPU 0000:c1:00.0 (GPU-...) on nid001`
  [[nodiscard]] std::string who(const std::pair<int, std::string>& gpu) const {
    return fmt::format("{} on {}", named.at(gpu.first)(gpu.second), place(gpu.first).host);
  }
  [[nodiscard]] const Observation& seen(int rank) const { return *view.observed[static_cast<std::size_t>(rank)]; }
};

constexpr std::string_view wrong_remedy =
    "take the GPU out of service, as it computes wrong without an error; see its ECC counters (device_visibility), run "
    "gpu_memory to distinguish its memory from its units, and have it replaced";

/// `row 17`, where the known answer found one.
std::string first_wrong_row(const Observation& seen, const std::string& address, const std::string& type) {
  const std::string start = address + " " + type + " ";
  for (const Fact& fact : seen.facts)
    if (fact.key == "wrong_row" && fact.value.rfind(start, 0) == 0)
      if (const auto at = fact.value.find(" row "); at != std::string::npos)
        return printable_line(fact.value.substr(at + 1), 30);
  return {};
}

/// `3 of 30 products of bfloat16 (intermittent) differ from what 7 GPUs got and the known answer, first in row 17`
std::string deviation(const JudgeContext& context, const std::string& type, const std::pair<int, std::string>& gpu,
                      const ResultVotes& ballot, const Decision& decision) {
  const int wrong = decision.right ? ballot.other_than(*decision.right) : ballot.products();
  std::string text = fmt::format("{} of {} products of {}{} differ from ", wrong, ballot.products(), type,
                                 wrong < ballot.products() ? " (intermittent)" : "");
  const int others = decision.votes - (decision.right && ballot.usual() == decision.right ? 1 : 0);
  if (others > 0) text += fmt::format("what {} got", counted(static_cast<std::size_t>(others), "GPU"));
  if (others == 0 || decision.is_answered) text += fmt::format("{}the known answer", others > 0 ? " and " : "");
  if (const std::string row = first_wrong_row(context.seen(gpu.first), gpu.second, type); !row.empty())
    text += ", first in " + row;
  return text;
}

void judge_minority(const JudgeContext& context, std::vector<Finding>& findings) {
  std::map<std::pair<int, std::string>, std::vector<std::string>> wrong;
  for (const auto& [type, ballots] : context.ballots) {
    const Decision& decision = context.decisions.at(type);
    // Where all are refuted, a single GPU stands for itself.
    if (!decision.right && !(decision.is_refuted && ballots.size() == 1)) continue;
    for (const auto& [gpu, ballot] : ballots)
      if (is_suspect(ballot, decision)) wrong[gpu].push_back(deviation(context, type, gpu, ballot, decision));
  }
  for (const auto& [gpu, reported] : wrong)
    findings.push_back(about_gpu(context.place(gpu.first), Verdict::fail, gpu.second,
                                 fmt::format("{} computes wrong: {}", context.who(gpu), join(reported, "; ")),
                                 std::string(wrong_remedy)));
}

std::string either(const std::vector<std::string>& names) {
  std::vector<std::string> some(names.begin(),
                                names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 8)));
  return join(some, " or ") +
         (names.size() > some.size() ? fmt::format(" or {} others", names.size() - some.size()) : "");
}

Finding about_several(const JudgeContext& context, const std::vector<std::pair<int, std::string>>& gpus,
                      std::string reason, std::string remedy) {
  Finding finding{Verdict::fail, std::move(reason), {}, std::move(remedy)};
  finding.subject = Subject::devices;
  for (const auto& [rank, address] : gpus)
    finding.culprits.push_back(
        {CulpritKind::device, printable_line("GPU " + address, 80), context.place(rank).host, rank});
  return finding;
}

/// Types whose GPUs disagree, or are all refuted, alike.
void judge_undecided(const JudgeContext& context, std::vector<Finding>& findings) {
  std::map<std::vector<std::pair<int, std::string>>, std::vector<std::string>> tied;
  std::map<std::vector<std::pair<int, std::string>>, std::vector<std::string>> refuted;
  for (const auto& [type, ballots] : context.ballots) {
    const Decision& decision = context.decisions.at(type);
    if (decision.right || (decision.is_refuted && ballots.size() == 1)) continue;
    std::vector<std::pair<int, std::string>> gpus;
    for (const auto& [gpu, ballot] : ballots)
      if (ballot.products() > 0) gpus.push_back(gpu);
    if (!gpus.empty()) (decision.is_refuted ? refuted : tied)[gpus].push_back(type);
  }
  for (const auto& [gpus, types] : tied) {
    std::vector<std::string> names;
    for (const auto& gpu : gpus) names.push_back(context.who(gpu));
    findings.push_back(about_several(
        context, gpus,
        gpus.size() == 1 ? fmt::format("{} computes wrong: repetitions of the same products of {} differ", names[0],
                                       human_list(types))
                         : fmt::format("{} computes wrong: their products of {} differ, and neither has a majority",
                                       either(names), human_list(types)),
        "run again with further GPUs, or with known_answer = true, which decides"));
  }
  for (const auto& [gpus, types] : refuted)
    findings.push_back(about_several(context, gpus,
                                     fmt::format("products of {} on all {} are not the known answer", human_list(types),
                                                 counted(gpus.size(), "GPU")),
                                     "check what they share: the BLAS library, its version and its variables; run "
                                     "gpu_memory, and repeat it without that library in LD_LIBRARY_PATH"));
}

/// A host whose check differs from those of others, for the same bits.
void judge_checks(const JudgeContext& context, std::vector<Finding>& findings) {
  std::set<int> reported;
  for (const auto& [type, ballots] : context.ballots) {
    const Decision& decision = context.decisions.at(type);
    if (!decision.right || !decision.is_answered) continue;
    for (const auto& [gpu, ballot] : ballots) {
      const auto found = ballot.prints.find(*decision.right);
      if (found == ballot.prints.end() || found->second.wrong == 0 || !reported.insert(gpu.first).second) continue;
      const RankPlace& place = context.place(gpu.first);
      Finding finding{Verdict::fail,
                      fmt::format("rank {} on {} rejects a product of {} that other ranks accept, bit by bit the same: "
                                  "{} is not at fault, but the copy from it, or the host's memory or processor",
                                  place.rank, place.host, type, context.named.at(gpu.first)(gpu.second)),
                      {{CulpritKind::node, place.host, place.host, place.rank}},
                      fmt::format("run gpu_copy and memory_bandwidth on {}, and see its kernel log for machine checks",
                                  place.host)};
      findings.push_back(std::move(finding));
    }
  }
}

void judge_failed(const JudgeContext& context, int rank, std::vector<Finding>& findings) {
  const RankPlace& place = context.place(rank);
  const TestedGpus& named = context.named.at(rank);
  for (const Fact& fact : context.seen(rank).facts) {
    if (fact.key != "failed" && fact.key != "no_blas") continue;
    const auto [address, text] = read_fact<gpu_copy::AboutGpu>(fact.value).value_or(gpu_copy::AboutGpu());
    if (fact.key == "no_blas") {
      const std::string* remedy = context.seen(rank).fact("blas_remedy");
      findings.push_back(about_gpu(
          place, Verdict::fail, address,
          fmt::format("the BLAS library is unusable to {} on {}: {}", named(address), place.host, text),
          remedy != nullptr ? *remedy
                            : fmt::format("see that the library is of the driver's {} and that the GPU has free "
                                          "memory; see LD_LIBRARY_PATH and modules for the one in use",
                                          of_all_vendors(&GpuVendor::stack, " or "))));
      if (const std::string* setting = context.seen(rank).fact("blas_setting")) {
        const std::string name = printable_line(setting->substr(0, setting->find('=')), 60);
        findings.back().culprits = {{CulpritKind::setting, name, place.host, place.rank}};
        findings.back().remedy = fmt::format("unset {}: the library has no code that a driver could compile", name);
      }
      continue;
    }
    const bool lacks_code = text.find("no code for kernels") == 0;
    findings.push_back(
        about_gpu(place, lacks_code ? Verdict::unmeasured : Verdict::fail, address,
                  fmt::format("{} on {} failed while it multiplied: {}", named(address), place.host, text),
                  lacks_code ? remedy_without_kernels() : remedy_for_failed_gpu(place.host)));
  }
}

bool is_blas(const LibraryReport& library) {
  return library.name.rfind("libcublas", 0) == 0 || library.name.rfind("libhipblas", 0) == 0;
}

/// One rank speaks for its node.
void judge_libraries(const JudgeContext& context, std::vector<Finding>& findings, std::set<std::string>& absent) {
  std::set<int> reported;
  for (const auto& [rank, named] : context.named) {
    std::vector<std::string> faults;
    const RankPlace& place = context.place(rank);
    for (const LibraryReport& library : parse_inventory(context.seen(rank).facts, faults).libraries) {
      if (!is_blas(library)) continue;
      if (library.state == LibraryState::absent) absent.insert(printable_line(library.name, 60));
      if (library.state != LibraryState::broken || !reported.insert(place.node_index).second) continue;
      const std::string* remedy = context.seen(rank).fact("blas_remedy");
      findings.push_back({Verdict::fail,
                          fmt::format("{} on {} is unusable: {}", printable_line(library.name, 60), place.host,
                                      printable_line(library.error, 300)),
                          {{CulpritKind::node, place.host, place.host, place.rank}},
                          remedy == nullptr ? std::string("install the library anew") : *remedy});
    }
  }
}

/// Whether it multiplied, or reported why not.
bool has_spoken(const JudgeContext& context, const std::pair<int, std::string>& gpu) {
  const bool has_products = std::any_of(context.ballots.begin(), context.ballots.end(), [&](const auto& of_type) {
    const auto found = of_type.second.find(gpu);
    return found != of_type.second.end() && found->second.products() > 0;
  });
  const auto& facts = context.seen(gpu.first).facts;
  return has_products || std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
           return fact.key == "failed" && fact.value.rfind(gpu.second + " ", 0) == 0;
         });
}

void judge_silence(const JudgeContext& context, std::vector<Finding>& findings) {
  for (const auto& [rank, named] : context.named)
    for (const auto& [address, uuid] : named.uuids)
      if (!has_spoken(context, {rank, address}))
        findings.push_back(about_gpu(context.place(rank), Verdict::unmeasured, address,
                                     fmt::format("{} reported no product", context.who({rank, address})),
                                     "name types of numbers that this GPU has, in the parameter types"));
}

/// Nothing to compare with is not evidence.
void judge_lonely(const JudgeContext& context, std::vector<Finding>& findings) {
  for (const auto& [type, decision] : context.decisions) {
    if (!decision.right || decision.is_answered || decision.votes > 1) continue;
    Finding finding{
        Verdict::unmeasured,
        fmt::format("a product of {} was not verified: only one GPU computed it, and known_answer is off", type),
        {},
        "take known_answer = true, or several GPUs"};
    findings.push_back(std::move(finding));
    return;
  }
}

void add_evidence(const JudgeContext& context, const std::set<std::string>& absent, ProbeJudgement& judgement) {
  const bool has_rate = std::any_of(context.named.begin(), context.named.end(), [&](const auto& rank) {
    const auto& readings = context.seen(rank.first).readings;
    return std::any_of(readings.begin(), readings.end(),
                       [](const Reading& one) { return label_of(one.where, "by") == "blas"; });
  });
  if (has_rate && context.view.timing_doubt.empty())
    if (auto rate = headline(context.view, {"rate", "TFLOP/s", "by", false, "type"}); !rate.empty())
      judgement.evidence.push_back(std::move(rate));
  std::uint64_t products = 0;
  std::map<std::pair<int, std::string>, std::uint64_t> of_gpu;
  bool is_answered = true;
  std::vector<std::string> types;
  for (const auto& [type, ballots] : context.ballots) {
    types.push_back(printable_line(type, 20));
    is_answered = is_answered && context.decisions.at(type).is_answered;
    for (const auto& [gpu, ballot] : ballots) {
      products += static_cast<std::uint64_t>(ballot.products());
      of_gpu[gpu] += static_cast<std::uint64_t>(ballot.products());
    }
  }
  std::string text = fmt::format("{} of {} on {}: the same bits{}", counted(products, "product"), human_list(types),
                                 counted(context.gpus, "GPU"), is_answered ? ", and the known answer" : "");
  std::uint64_t fewest = products;
  for (const auto& [gpu, count] : of_gpu) fewest = std::min(fewest, count);
  if (const auto in = p2p::found_one_in(fewest); in >= 2)
    text += fmt::format("; one wrong product in {} of a GPU is found with 99 %", in);
  judgement.evidence.push_back(std::move(text));
  std::set<std::string> settings;
  for (const auto& [rank, named] : context.named)
    for (const Fact& fact : context.seen(rank).facts) {
      if (fact.key == "withheld") {
        std::string setting = printable_line(fact.value, 100);
        const std::string type = take_word(setting);
        settings.insert(fmt::format("{} not measured: {} turns it into another type", type, setting));
      }
      if (fact.key == "launches_wait") settings.emplace(gpu_copy::without_gate);
    }
  judgement.evidence.insert(judgement.evidence.end(), settings.begin(), settings.end());
  for (const std::string& library : absent)
    judgement.evidence.push_back(fmt::format(
        "by our own kernels where there is no {}: correct, but their rate does not characterise the GPU", library));
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  JudgeContext context{view, {}, {}, {}, gpu_copy::judge_nodes(view, judgement)};
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    auto named = gpu_copy::tested_by(*seen);
    if (named.uuids.empty()) continue;
    context.named[static_cast<int>(i)] = std::move(named);
    add_ballots(static_cast<int>(i), seen->facts, context.ballots);
  }
  context.decisions = decide(context.ballots);
  auto& findings = judgement.findings;
  std::set<std::string> absent;
  judge_minority(context, findings);
  judge_undecided(context, findings);
  judge_checks(context, findings);
  for (const auto& [rank, named] : context.named) judge_failed(context, rank, findings);
  judge_libraries(context, findings, absent);
  auto timed = context.named;
  std::erase_if(timed, [&](const auto& one) { return gpu_copy::is_shared_with_others(context.seen(one.first)); });
  if (view.timing_doubt.empty()) judge_rates(view, timed, findings);
  judge_silence(context, findings);
  judge_lonely(context, findings);
  gpu_copy::judge_health(view, findings);
  if (context.gpus > 0 && gpu_copy::is_well(judgement) && !context.ballots.empty())
    add_evidence(context, absent, judgement);
  gpu_copy::add_health_evidence(view, judgement);
  return judgement;
}

}  // namespace muster::gpu_compute
