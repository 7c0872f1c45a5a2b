# The agents once more, each with all libraries that it needs, in a folder for containers that have neither MPI nor hwloc:
# docs/installing.md. Also without MUSTER_BUNDLE by `cmake --install FOLDER --component bundle`.
option(MUSTER_BUNDLE "Also install the agents with their libraries, for containers without them" OFF)
# Not ${CMAKE_INSTALL_LIBDIR}: launch lines name the folder, and it holds programs, which have the same path on all systems.
set(MUSTER_BUNDLE_FOLDER lib/muster/bundle)

set(bundled COMPONENT bundle)
if(NOT MUSTER_BUNDLE)
  list(APPEND bundled EXCLUDE_FROM_ALL)
endif()
# Open MPI's own program lists its plug-ins and their folder.
get_filename_component(mpi_folder "${MPI_CXX_COMPILER}" DIRECTORY)
find_program(MUSTER_OMPI_INFO ompi_info HINTS ${mpi_folder})
set(agents)
foreach(mpi IN LISTS MUSTER_MPIS)
  if(mpi STREQUAL "default")
    list(APPEND agents "$<TARGET_FILE:muster-rank>")
  else()
    list(APPEND agents "$<TARGET_FILE:muster-rank-${mpi}>")
  endif()
endforeach()
install(CODE "set(bundle_folder \"${MUSTER_BUNDLE_FOLDER}\")
set(bundle_agents \"${agents}\")
set(bundle_ompi_info \"${MUSTER_OMPI_INFO}\")
set(bundle_parts \"${PROJECT_SOURCE_DIR}/cmake/package\")" ${bundled})
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/package/bundle.cmake ${bundled})
