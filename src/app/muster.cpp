#include "app/driver_main.hpp"

int main(int count, char** arguments) {
  return muster::driver_main(count, arguments);
}
