/// Preloaded into ranks of Open MPI, gives each a NIC of its own: the rank of local number 2 sends and receives by
/// hsn2.
#include <cstdlib>
#include <string>

[[gnu::constructor]] static void choose_nic() {
  if (const char* number = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK"))
    ::setenv("OMPI_MCA_btl_tcp_if_include", (std::string("hsn") + number).c_str(), 1);
}
