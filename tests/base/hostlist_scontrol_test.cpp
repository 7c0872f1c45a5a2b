// Slurm's own `scontrol show hostnames` on random lists. Skipped where there is no scontrol.
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "base/files.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

#ifdef MUSTER_SANITIZED
constexpr int lists_compared = 1500;
#else
constexpr int lists_compared = 5000;
#endif

class Lists {
 public:
  std::string make() {
    std::string list;
    for (int tokens = pick(1, 4); tokens > 0; --tokens) list += token() + (tokens > 1 ? "," : "");
    return list;
  }
  /// What a slip of the finger makes of it.
  std::string corrupt(std::string list) {
    const auto at = static_cast<std::size_t>(pick(0, static_cast<int>(list.size()) - 1));
    constexpr std::string_view strays = "[]-,x0";
    if (pick(0, 1) == 0)
      list.erase(at, 1);
    else
      list.insert(at, 1, strays[static_cast<std::size_t>(pick(0, static_cast<int>(strays.size()) - 1))]);
    return list;
  }
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

 private:
  std::string word() {
    constexpr std::string_view letters = "abnidx_.-";
    std::string made(1, letters[static_cast<std::size_t>(pick(0, 5))]);
    for (int more = pick(0, 4); more > 0; --more) made += letters[static_cast<std::size_t>(pick(0, 8))];
    return made;
  }
  std::string number(int value) {
    return pick(0, 2) == 0 ? fmt::format("{:0{}}", value, pick(1, 6)) : std::to_string(value);
  }
  std::string ranges() {
    std::string made = "[";
    for (int parts = pick(1, 3); parts > 0; --parts) {
      const int low = pick(0, 1200);
      made += number(low);
      if (pick(0, 1) == 0) made += "-" + std::to_string(low + pick(0, 12));
      if (parts > 1) made += ",";
    }
    return made + "]";
  }
  std::string token() {
    std::string made = word();
    if (pick(0, 3) == 0) return made + (pick(0, 1) == 0 ? number(pick(0, 99)) : "");
    for (int brackets = pick(0, 5) == 0 ? pick(2, 3) : 1; brackets > 0; --brackets)
      made += ranges() + (brackets > 1 && pick(0, 1) == 0 ? word() : "");
    return made;
  }

  std::mt19937 random_{20261121};
};

/// Answers to all lists: the hosts, or `!` where scontrol refuses (its exit status is 0 all the same). Empty when there
/// is no scontrol.
std::vector<std::string> ask_slurm(const std::vector<std::string>& lists, const fs::path& folder) {
  std::ofstream(folder / "slurm.conf")
      << "ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n";
  std::ofstream questions(folder / "lists");
  for (const auto& list : lists) questions << list << '\n';
  questions.close();
  const std::string script = fmt::format(
      "cd {} && export SLURM_CONF=$PWD/slurm.conf; command -v scontrol >/dev/null || exit 0; while read -r list; do "
      "hosts=$(scontrol show hostnames \"$list\" 2>/dev/null); [ -n \"$hosts\" ] && echo $hosts || echo '!'; done "
      "<lists",
      folder.string());
  std::string message;
  if (FILE* pipe = ::popen(script.c_str(), "r"); pipe != nullptr) {
    char part[65536];
    for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, pipe)) > 0;) message.append(part, got);
    ::pclose(pipe);
  }
  std::vector<std::string> answers;
  for (const auto line : lines(message)) answers.emplace_back(line);
  return answers;
}

TEST(Hostlist, EqualsWhatSlurmSaysOfRandomLists) {
#ifdef MUSTER_SANITIZED_THREADS
  GTEST_SKIP()
      << "of thousands of programs started below ThreadSanitizer, one may wait forever for a lock of its own thread";
#endif
  const fs::path folder = fs::path(testing::TempDir()) / "hostlist_scontrol";
  fs::create_directories(folder);
  Lists random;
  std::vector<std::string> lists;
  for (int i = 0; i < lists_compared; ++i) {
    lists.push_back(random.make());
    if (i % 10 == 0) lists.back() = random.corrupt(lists.back());
  }
  const auto answers = ask_slurm(lists, folder);
  fs::remove_all(folder);
  if (answers.empty()) GTEST_SKIP() << "there is no scontrol";
  ASSERT_EQ(answers.size(), lists.size());
  int refused = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto ours = expand_hostlist(lists[i]);
    const bool is_spoiled = i % 10 == 0;
    refused += ours ? 0 : 1;
    // Of a damaged list Slurm 22.05 leaves out the damaged part and goes on, and it does not know names that go on
    // behind a bracket, as 23.11 does: no measure for ours.
    if (is_spoiled && (!ours || answers[i] == "!")) continue;
    ASSERT_TRUE(ours) << lists[i] << ": " << ours.error().what << "; Slurm: " << answers[i];
    EXPECT_EQ(join(*ours, " "), answers[i]) << lists[i];
  }
  EXPECT_GT(refused, 20) << "damaged lists are part of it";
}

}  // namespace
}  // namespace muster
