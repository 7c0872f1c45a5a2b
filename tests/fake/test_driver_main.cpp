/// The driver, as shipped but for the probes that it knows.
#include "app/driver_main.hpp"

int main(int argc, char** argv) {
  return muster::driver_main(argc, argv);
}
