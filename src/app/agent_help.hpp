#pragma once

namespace muster {

/// The text of `muster-rank --help` and of its manual page.
inline constexpr const char* agent_help = R"(Usage: muster-rank [--about | --help]

The agent of muster: one rank of a job. `muster` starts it through a launcher; there is no need to do so by hand.

  --about  print version and MPI library as one line of JSON
  --help   print this

Environment: MUSTER_TAG names the launch, whose processes have MUSTER_TAG_SECRET as well, MUSTER_WIRE is the driver's
address (host:port, several separated by commas; empty: standard input and output), MUSTER_KEY is the key of the
launch (rank 0 reads a second one on its standard input), MUSTER_WORLD is the number of ranks, MUSTER_PATH is the PATH to go back to where a launcher has put folders
before it.
)";

}  // namespace muster
