#pragma once

namespace muster {

/// The driver: everything but the process's entry. Returns the exit status.
int driver_main(int count, char** arguments);

}  // namespace muster
