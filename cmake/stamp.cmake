# muster/stamp.hpp: the version and what the public headers are. A plug-in that was compiled against others is refused.
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/muster/*.hpp)
set(digests "")
foreach(header IN LISTS public_headers)
  file(SHA256 ${header} digest)
  get_filename_component(name ${header} NAME)
  string(APPEND digests "${name} ${digest}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/muster/stamp.hpp @ONLY CONTENT [[
// Generated; names the version of muster and of its public headers.
#pragma once

#define MUSTER_STAMP "@PROJECT_VERSION@,@digest@"
]])
