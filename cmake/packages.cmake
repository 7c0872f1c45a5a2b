# `cpack -G DEB` (and TGZ). For Debian the preset `package` configures what is wanted there; packaging/try_deb tries it.
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR "muster developers")
set(CPACK_PACKAGE_CONTACT "muster developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME muster-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Libraries of which the programs are linked; libraries of GPUs are opened where a node has them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Without a launcher muster checks one rank. A CBLAS makes probe training faster.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, man-db")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenblas0, python3, g++, cmake, libexpected-dev")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "muster runs checks across the nodes of a GPU cluster and reports for each:
passed, with evidence, or what is wrong, which node, device, link or setting
is at fault, and what should be done about it.
.
Start with: muster run")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
