# Precompiled headers: one file for the libraries and one for the tests of a build, shared by all targets with the same flags.
option(MUSTER_PRECOMPILED "Read common headers once for all targets" OFF)

# muster_precompiled_headers(NAME HEADER TARGETS target...): makes the file, with the flags of the TARGETS it links.
function(muster_precompiled_headers name header)
  if(NOT MUSTER_PRECOMPILED)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.cpp CONTENT "")
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN})
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()

# muster_precompiled(TARGET NAME): TARGET reads the file NAME instead of its headers.
function(muster_precompiled target name)
  if(MUSTER_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# muster_optimised(LEVEL file...): these files of the calling folder are compiled with LEVEL in every preset: without it
# their tests would take minutes.
function(muster_optimised level)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${level} SKIP_PRECOMPILE_HEADERS ON
                              SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
