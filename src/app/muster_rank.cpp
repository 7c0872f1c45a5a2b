#include "app/agent_main.hpp"

int main(int argc, char** argv) {
  return muster::agent_main(argc, argv, {});
}
