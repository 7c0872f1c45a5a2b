# Part of `cmake --install`: fills <prefix>/${bundle_folder}. Set by cmake/bundle.cmake: bundle_folder, bundle_agents,
# bundle_ompi_info, bundle_parts.
cmake_policy(PUSH)
cmake_policy(SET CMP0057 NEW)
set(bundle "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${bundle_folder}")
message(STATUS "Installing: ${bundle}")

# The C library belongs to the kernel of names and to the loader of the container; libraries of GPUs to its driver.
set(not_bundled "^ld-linux" "^ld64" "^linux-vdso" "^lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|mvec)\\.so"
    "^lib(cuda|nvidia-|amdhip64|hsa-runtime64|rocm)")
string(REPLACE ":" ";" also "$ENV{LD_LIBRARY_PATH}")

# bundle_dependencies(OUTPUT MODULES...): paths of all libraries that the agents and these plug-ins need.
function(bundle_dependencies output)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${bundle_agents} MODULES ${ARGN} DIRECTORIES ${also}
       PRE_EXCLUDE_REGEXES ${not_bundled} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
       CONFLICTING_DEPENDENCIES_PREFIX twice)
  foreach(name IN LISTS twice_FILENAMES)
    list(GET twice_${name} 0 first)
    list(APPEND found ${first})
  endforeach()
  set(${output} ${found} PARENT_SCOPE)
  # A plug-in that lacks a library is left out by what would open it; an agent can't.
  set(bundle_missing ${missing} PARENT_SCOPE)
endfunction()

# Copies files under the names by which they are asked for.
function(bundle_copy folder)
  file(MAKE_DIRECTORY "${bundle}/${folder}")
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME)
    file(COPY_FILE "${file}" "${bundle}/${folder}/${name}" ONLY_IF_DIFFERENT)
  endforeach()
endfunction()

bundle_dependencies(libraries)
if(bundle_missing)
  message(FATAL_ERROR "The agent needs libraries that are not found here: ${bundle_missing}")
endif()

# Plug-ins are opened while MPI starts, and stand in no list of libraries.
set(openmpi)
set(pmix)
set(ucx)
set(help)
if(libraries MATCHES "/libopen-pal\\." AND bundle_ompi_info)
  execute_process(COMMAND ${bundle_ompi_info} --parsable --path pkglibdir --path pkgdatadir OUTPUT_VARIABLE said)
  if(said MATCHES "path:pkglibdir:([^\n]+)")
    file(GLOB openmpi "${CMAKE_MATCH_1}/mca_*.so")
  endif()
  if(said MATCHES "path:pkgdatadir:([^\n]+)")
    file(GLOB help "${CMAKE_MATCH_1}/help-*.txt")
  endif()
  # PMIx comes by one of them.
  bundle_dependencies(libraries ${openmpi})
endif()
foreach(library IN LISTS libraries)
  get_filename_component(name "${library}" NAME)
  file(REAL_PATH "${library}" real)
  get_filename_component(beside "${real}" DIRECTORY)
  if(name MATCHES "^libpmix\\.so")
    file(GLOB pmix "${beside}/pmix/*.so")
  elseif(name MATCHES "^libuct\\.so")
    file(GLOB ucx "${beside}/ucx/*.so.[0-9]" "${beside}/ucx/*.so")
  endif()
endforeach()
bundle_dependencies(libraries ${openmpi} ${pmix} ${ucx})

bundle_copy(lib ${libraries})
bundle_copy(openmpi ${openmpi})
bundle_copy(openmpi/help ${help})
bundle_copy(pmix ${pmix})
bundle_copy(lib/ucx ${ucx})
foreach(agent IN LISTS bundle_agents)
  get_filename_component(name "${agent}" NAME)
  bundle_copy(programs ${agent})
  if(CMAKE_INSTALL_DO_STRIP)
    execute_process(COMMAND strip "${bundle}/programs/${name}")
  endif()
  file(COPY_FILE "${bundle_parts}/bundled-agent.sh" "${bundle}/${name}" ONLY_IF_DIFFERENT)
  file(CHMOD "${bundle}/${name}" "${bundle}/programs/${name}"
       PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
cmake_policy(POP)
