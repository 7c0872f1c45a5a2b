set(MUSTER_PACKAGE_FOLDER ${CMAKE_CURRENT_LIST_DIR})

# muster_add_probe(NAME SOURCES file... [PROBES name...])
# The plug-in NAME.so from SOURCES, which define `extern const muster::ProbeSpec muster::probe_<name>{...};` for each of
# PROBES (without it: one of the plug-in's own name). A name that is not defined is an error of the linker.
# `cmake --install` puts it into MUSTER_PLUGIN_FOLDER; without installing, MUSTER_PLUGINS=<build folder> finds it.
function(muster_add_probe name)
  cmake_parse_arguments(arg "" "" "SOURCES;PROBES" ${ARGN})
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "muster_add_probe(NAME SOURCES file... [PROBES name...])")
  endif()
  if(NOT arg_PROBES)
    set(arg_PROBES ${name})
  endif()
  set(externs "")
  set(addresses "")
  foreach(probe IN LISTS arg_PROBES)
    string(APPEND externs "extern const ProbeSpec probe_${probe};\n")
    list(APPEND addresses "&muster::probe_${probe}")
  endforeach()
  list(JOIN addresses ", " addresses)
  set(entry ${CMAKE_CURRENT_BINARY_DIR}/${name}_plugin.cpp)
  configure_file(${MUSTER_PACKAGE_FOLDER}/plugin.cpp.in ${entry} @ONLY)
  add_library(${name} MODULE ${arg_SOURCES} ${entry})
  target_link_libraries(${name} PRIVATE muster::plugin)
  # Nothing but its entry is seen from outside: two plug-ins may use the same names.
  target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  install(TARGETS ${name} LIBRARY DESTINATION ${MUSTER_PLUGIN_FOLDER})
endfunction()
