# The GPU kernels as text, and as PTX where there is an nvcc: OUTPUT names the .cpp that holds both.
# PTX is made when muster is configured, so that a build needs no nvcc. Its version is set back as far as the assembler
# takes it: a driver refuses PTX that is newer than itself.
option(MUSTER_NVCC "Compile the GPU kernels to PTX where there is an nvcc" ON)

function(muster_gpu_kernels output)
  # One translation unit, kernels.cu first: it has what the others use.
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/kernels/*.cu)
  set(first ${PROJECT_SOURCE_DIR}/src/device/kernels/kernels.cu)
  list(REMOVE_ITEM sources ${first})
  list(SORT sources)
  set(text "")
  foreach(file ${first} ${sources})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} part)
    string(APPEND text "${part}")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/kernels.cu)
  file(WRITE ${source} "${text}")
  set(ptx "")
  set(made ${CMAKE_CURRENT_BINARY_DIR}/generated/kernels.ptx)
  if(MUSTER_NVCC)
    find_program(MUSTER_NVCC_PROGRAM nvcc PATHS /usr/local/cuda/bin)
  endif()
  if(MUSTER_NVCC AND MUSTER_NVCC_PROGRAM)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/generated)
    execute_process(COMMAND ${MUSTER_NVCC_PROGRAM} -ptx -arch=compute_75 -o ${made} ${source}
                    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(status EQUAL 0)
      file(READ ${made} ptx)
      string(REGEX REPLACE "\n\\.version [0-9.]+" "\n.version 6.3" older "${ptx}")
      get_filename_component(folder ${MUSTER_NVCC_PROGRAM} DIRECTORY)
      file(WRITE ${made} "${older}")
      execute_process(COMMAND ${folder}/ptxas -arch=sm_75 -o ${made}.cubin ${made} RESULT_VARIABLE status
                      OUTPUT_VARIABLE said ERROR_VARIABLE said)
      if(status EQUAL 0)
        set(ptx "${older}")
      endif()
    else()
      message(STATUS "GPU kernels: nvcc failed, NVRTC will compile them where they run: ${said}")
    endif()
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/generated/gpu_kernels.cpp)
  file(CONFIGURE OUTPUT ${file}.new @ONLY CONTENT [[
// Generated; do not edit.
#include "device/kernels.hpp"

namespace muster {

std::string_view kernel_source() {
  return R"muster(@text@)muster";
}

std::string_view kernel_ptx() {
  return R"muster(@ptx@)muster";
}

}  // namespace muster
]])
  file(COPY_FILE ${file}.new ${file} ONLY_IF_DIFFERENT)
  set(${output} ${file} PARENT_SCOPE)
endfunction()
