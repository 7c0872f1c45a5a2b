# Functions that make the house rules real: one library per folder, a folder that is its own registry.

# muster_library(FOLDER [USES folder...] [LINKS target...] [SOURCES file...] [OPTIMISED])
# OPTIMISED: compiled with -O2 in every preset. One static library muster_<folder> from every .cpp in src/<folder>. USES names muster folders on lower floors.
function(muster_library folder)
  cmake_parse_arguments(arg "OPTIMISED" "" "USES;LINKS;SOURCES" ${ARGN})
  string(REPLACE "/" "_" suffix ${folder})
  set(target muster_${suffix})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  if(NOT sources AND NOT arg_SOURCES)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/empty.cpp CONTENT "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/generated/empty.cpp)
  endif()
  add_library(${target} STATIC ${sources} ${arg_SOURCES})
  if(arg_OPTIMISED)
    target_compile_options(${target} PRIVATE -O2)
  else()
    muster_precompiled(${target} muster_library_headers)
  endif()
  list(TRANSFORM arg_USES PREPEND muster_)
  target_link_libraries(${target} PUBLIC muster_flags ${arg_USES} ${arg_LINKS})
endfunction()

# muster_registry(OUTPUT FUNCTION all_probes TYPE ProbeSpec HEADER muster/probe.hpp PREFIX probe_ FIND find_probe
#                 FOLDERS folder... [ADDED])
# Writes a .cpp with a table of every <prefix><file name> in the folders; ADDED: and of what comes from elsewhere
# (model/added_probes.hpp). A file that defines another name is a
# link error. OUTPUT names the variable that gets its path.
function(muster_registry output)
  cmake_parse_arguments(arg "ADDED" "FUNCTION;TYPE;HEADER;PREFIX;FIND" "FOLDERS" ${ARGN})
  set(names)
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    # They use the same names, each in its own unnamed namespace.
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    foreach(source IN LISTS sources)
      get_filename_component(name ${source} NAME_WE)
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  set(externs "")
  set(entries "")
  foreach(name IN LISTS names)
    string(APPEND externs "extern const ${arg_TYPE} ${arg_PREFIX}${name};\n")
    string(APPEND entries "    &${arg_PREFIX}${name},\n")
  endforeach()
  list(LENGTH names count)
  set(header ${arg_HEADER})
  set(table table)
  if(arg_ADDED)
    set(header model/added_probes.hpp)
    set(table "with_added(table)")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/generated/${output}.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Generated from the folder; do not edit.
#include <array>

#include "@header@"

namespace muster {

@externs@
std::span<const @arg_TYPE@* const> @arg_FUNCTION@() {
  static const std::array<const @arg_TYPE@*, @count@> table{
@entries@  };
  return @table@;
}

const @arg_TYPE@* @arg_FIND@(std::string_view name) {
  for (const @arg_TYPE@* spec : @arg_FUNCTION@())
    if (spec->name == name) return spec;
  return nullptr;
}

}  // namespace muster
]])
  set(${output} ${file} PARENT_SCOPE)
endfunction()
