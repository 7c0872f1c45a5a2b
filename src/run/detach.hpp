/// For processes that outlive the one that forked them.
#pragma once

namespace muster {

/// In a child made by fork(): a session of its own, out of reach of a terminal and of signals to the group; no open
/// file but `kept` (a pipe that stays open would keep its reader waiting, and a lock would live on); `/dev/null` as
/// standard streams.
void detach(int kept);

}  // namespace muster
