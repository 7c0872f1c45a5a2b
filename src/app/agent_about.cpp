#include "app/agent_about.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/agent_mark.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"

namespace muster {

std::string flavor_in_file(const fs::path& agent) {
  constexpr std::string_view mark = MUSTER_AGENT_MARK;
  constexpr std::size_t most_pieces = 256;
  constexpr std::size_t piece_bytes = 256u << 10;
  constexpr std::size_t longest_flavor = 20;
  std::ifstream file(agent, std::ios::binary);
  // In pieces: to hold the whole file takes three times as long as to search it. The end of a piece may hold the
  // beginning of the mark.
  std::string window;
  for (std::size_t piece = 0; file && piece < most_pieces; ++piece) {
    const std::size_t kept = std::min(window.size(), mark.size() + longest_flavor);
    window.erase(0, window.size() - kept);
    window.resize(kept + piece_bytes);
    file.read(window.data() + kept, static_cast<std::streamsize>(piece_bytes));
    window.resize(kept + static_cast<std::size_t>(file.gcount()));
    const std::size_t found = window.find(mark);
    if (found == std::string::npos) continue;
    const auto flavor = std::string_view(window).substr(found + mark.size(), longest_flavor);
    const std::size_t end = flavor.find('>');
    if (end != std::string_view::npos) return std::string(flavor.substr(0, end));
  }
  return "";
}

Result<AgentAbout> ask_agent(const fs::path& agent) {
  const auto asked = run_program({agent.string(), "--about"}, 10);
  if (!asked || asked->timed_out || asked->end.shell_status() != 0)
    return fail(ErrorKind::launch, agent.string(),
                fmt::format("does not start: {}; load the modules it was built with",
                            asked ? printable_line(asked->err, 200) : asked.error().what));
  const auto about = nlohmann::json::parse(asked->out, nullptr, false);
  if (!about.is_object())
    return fail(ErrorKind::launch, agent.string(), "its --about could not be read; build it again");
  if (const auto version = about.value("muster", std::string("?")); version != MUSTER_VERSION)
    return fail(ErrorKind::launch, agent.string(),
                fmt::format("is of muster {}, this is muster {}; name the agent of this installation with --agent",
                            printable_line(version, 80), MUSTER_VERSION));
  AgentAbout reported{about.value("mpi", std::string()), about.value("library", std::string("?"))};
  // Cray's has MPICH's API, but is started in a different way.
  if (reported.library.find("CRAY MPICH") != std::string::npos) reported.flavor = "cray-mpich";
  return reported;
}

}  // namespace muster
