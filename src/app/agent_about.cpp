#include "app/agent_about.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/loop.hpp"
#include "base/text.hpp"

namespace muster {

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
  AgentAbout told{about.value("mpi", std::string()), about.value("library", std::string("?"))};
  // Cray's has MPICH's API, but is started in a different way.
  if (told.library.find("CRAY MPICH") != std::string::npos) told.flavor = "cray-mpich";
  return told;
}

}  // namespace muster
