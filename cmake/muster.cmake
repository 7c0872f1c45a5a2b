# Functions that make the house rules real: one library per folder, a folder that is its own registry.

# muster_control(TARGET): what plans, judges and reports, and measures nothing, is compiled with MUSTER_CONTROL_LEVEL.
function(muster_control target)
  if(MUSTER_CONTROL_LEVEL)
    target_compile_options(${target} PRIVATE ${MUSTER_CONTROL_LEVEL})
    muster_precompiled(${target} muster_control_headers)
  else()
    muster_precompiled(${target} muster_library_headers)
  endif()
endfunction()

# The library of another build, made there when a target needs it.
function(muster_foreign_library folder)
  set(file ${MUSTER_LIBRARIES_OF}/src/libmuster_${folder}.a)
  add_library(muster_${folder} STATIC IMPORTED GLOBAL)
  set_target_properties(muster_${folder} PROPERTIES IMPORTED_LOCATION ${file})
  add_custom_target(foreign_${folder} COMMAND ${CMAKE_COMMAND} --build ${MUSTER_LIBRARIES_OF} --target muster_${folder}
                    BYPRODUCTS ${file} COMMENT "${file}" VERBATIM USES_TERMINAL)
  add_dependencies(muster_${folder} foreign_${folder})
endfunction()

# muster_library(FOLDER [CONTROL [MEASURES regex]] [OPTIMISED] [USES folder...] [LINKS target...] [SOURCES file...])
# One static library muster_<folder> from every .cpp in src/<folder>. USES names muster folders on lower floors.
# CONTROL: see muster_control; files whose path matches MEASURES have the build's own level. OPTIMISED: compiled with -O2 in
# every preset.
function(muster_library folder)
  cmake_parse_arguments(arg "CONTROL;OPTIMISED" "MEASURES" "USES;LINKS;SOURCES" ${ARGN})
  list(TRANSFORM arg_USES PREPEND muster_)
  if(MUSTER_LIBRARIES_OF AND NOT folder IN_LIST MUSTER_OWN_LIBRARIES)
    muster_foreign_library(${folder})
    target_link_libraries(muster_${folder} INTERFACE muster_flags ${arg_USES} ${arg_LINKS})
    return()
  endif()
  string(REPLACE "/" "_" suffix ${folder})
  set(target muster_${suffix})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  if(NOT sources AND NOT arg_SOURCES)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/empty.cpp CONTENT "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/generated/empty.cpp)
  endif()
  list(APPEND sources ${arg_SOURCES})
  if(arg_MEASURES AND MUSTER_CONTROL_LEVEL)
    set(measuring ${sources})
    list(FILTER measuring INCLUDE REGEX "${arg_MEASURES}")
    list(FILTER sources EXCLUDE REGEX "${arg_MEASURES}")
    add_library(${target}_measuring OBJECT ${measuring})
    muster_precompiled(${target}_measuring muster_library_headers)
    target_link_libraries(${target}_measuring PUBLIC muster_flags ${arg_USES} ${arg_LINKS})
    list(APPEND sources $<TARGET_OBJECTS:${target}_measuring>)
  endif()
  add_library(${target} STATIC ${sources})
  if(arg_OPTIMISED)
    target_compile_options(${target} PRIVATE -O2)
  elseif(arg_CONTROL)
    muster_control(${target})
  else()
    muster_precompiled(${target} muster_library_headers)
  endif()
  target_link_libraries(${target} PUBLIC muster_flags ${arg_USES} ${arg_LINKS})
endfunction()

# muster_vendor_table(OUTPUT FUNCTION listed_gpu_vendors TYPE GpuVendor HEADER model/gpu_vendor.hpp FILE terms/vendor.cpp SUFFIX _gpus
#                     [NAMESPACE muster::inner])
# Writes a .cpp with a table of <folder><suffix> for every folder of src/device that has the file.
function(muster_vendor_table output)
  cmake_parse_arguments(arg "" "FUNCTION;TYPE;HEADER;FILE;SUFFIX;NAMESPACE" "" ${ARGN})
  set(space muster)
  if(arg_NAMESPACE)
    set(space ${arg_NAMESPACE})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src/device ${PROJECT_SOURCE_DIR}/src/device/*/${arg_FILE})
  list(SORT sources)
  set(externs "")
  set(entries "")
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "/.*" "" name ${source})
    string(APPEND externs "extern const ${arg_TYPE} ${name}${arg_SUFFIX};\n")
    string(APPEND entries "    &${name}${arg_SUFFIX},\n")
  endforeach()
  list(LENGTH sources count)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/generated/${output}.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Generated from the folders of vendors; do not edit.
#include <array>

#include "@arg_HEADER@"

namespace @space@ {

@externs@
std::span<const @arg_TYPE@* const> @arg_FUNCTION@() {
  static const std::array<const @arg_TYPE@*, @count@> table{
@entries@  };
  return table;
}

}  // namespace @space@
]])
  set(${output} ${file} PARENT_SCOPE)
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
