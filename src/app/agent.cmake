# The agent: the only MPI program. Built once per MPI; tests build it with further probes and hooks.
add_library(muster_agent STATIC agent_main.cpp)
muster_precompiled(muster_agent muster_library_headers)
target_link_libraries(muster_agent PUBLIC muster_run muster_device)

# In a build folder, CMake makes room for the paths of the installed program by colons, and the loader takes what is between them
# for the current folder: libraries of others would be loaded from there.
function(muster_library_paths target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# muster_agent(TARGET MPI default|mpich SOURCES file... [PROBE_TABLE target])
# A program whose SOURCES define main and call agent_main (app/agent_main.hpp).
function(muster_agent target)
  cmake_parse_arguments(arg "" "MPI;PROBE_TABLE" "SOURCES" ${ARGN})
  if(NOT arg_PROBE_TABLE)
    set(arg_PROBE_TABLE muster_probe_table)
  endif()
  add_executable(${target} ${arg_SOURCES})
  # As few libraries as possible are opened at start: every rank of a job opens them, often from one file server.
  target_link_options(${target} PRIVATE -Wl,--as-needed)
  target_link_libraries(${target} PRIVATE muster_agent muster_run ${arg_PROBE_TABLE} muster_comm_mpi_${arg_MPI})
endfunction()

foreach(mpi IN LISTS MUSTER_MPIS)
  if(mpi STREQUAL "default")
    set(agent muster-rank)
  else()
    set(agent muster-rank-${mpi})
  endif()
  muster_agent(${agent} MPI ${mpi} SOURCES ${CMAKE_CURRENT_LIST_DIR}/muster_rank.cpp)
  muster_library_paths(${agent})
  install(TARGETS ${agent} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
