# Tests of whole programs: one test for each file. Exit status 77: skipped, with the reason on its last line.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  return()
endif()

# Made-up machines by hand and for the end-to-end tests.
add_executable(write_machine device/write_machine.cpp)
target_include_directories(write_machine PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(write_machine PRIVATE muster_base)
add_executable(print_inventory device/print_inventory.cpp)
target_link_libraries(print_inventory PRIVATE muster_device)
add_dependencies(system_programs write_machine print_inventory muster muster-rank manual)

set(environment
    MUSTER_BUILD=${PROJECT_BINARY_DIR} MUSTER_STAND_INS=${MUSTER_STAND_IN_FOLDER} MUSTER_SOURCE=${PROJECT_SOURCE_DIR}
    XDG_STATE_HOME=${PROJECT_BINARY_DIR}/state PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
if(MUSTER_SANITIZE MATCHES address)
  # Programs with MPI are not searched for leaks, see docs/adr/0006-sanitizers.md; nor is what starts them here.
  list(APPEND environment ASAN_OPTIONS=detect_leaks=0)
endif()
if(MUSTER_SANITIZE)
  list(APPEND environment MUSTER_TEST_SLOWNESS=4)
endif()
if(MUSTER_SANITIZE MATCHES thread)
  # MPI libraries and the thread sanitizer do not get along: the driver alone has it.
  list(APPEND environment MUSTER_AGENT_BUILD=${PROJECT_SOURCE_DIR}/build/release)
endif()

if(MUSTER_SYSTEM_PREFIX STREQUAL "plain.")
  list(APPEND environment MUSTER_EVERY_HEADER=1)
endif()

# What has the machine to itself: links are timed there, or slowed down and compared.
set(alone cluster.compare_test cluster.gate_test cluster.p2p_test cluster.shared_uplinks_test)
set(slurm cluster.bound_shapes_test cluster.bundle_test cluster.forged_answers_test cluster.gate_test cluster.health_test cluster.init_test cluster.launches_test cluster.mpi4py_test cluster.night_test cluster.pages_test cluster.scheduler_test
    cluster.site_jobs_test cluster.slurm_networks_test cluster.slurm_test cluster.submit_test cluster.system_pages_test cluster.undescribed_test)
# Long ones first, so that the last minutes have two cores' work.
set(long e2e.other_mpis_test e2e.pytorch_test cluster.default_checks_test e2e.selftest_test cluster.slurm_test cluster.site_jobs_test install.plugin_test
    cluster.four_nodes_test)

# Whose ranks wait for one that never comes, until the time of the check is over: they sleep where they would yield.
set(waiting e2e.every_fault_test e2e.gpu_training_test e2e.nccl_test e2e.selftest_test)

file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/house/*_test.py ${CMAKE_CURRENT_SOURCE_DIR}/e2e/*_test.py
     ${CMAKE_CURRENT_SOURCE_DIR}/cluster/*_test.py ${CMAKE_CURRENT_SOURCE_DIR}/pytorch/*_test.py
     ${CMAKE_CURRENT_SOURCE_DIR}/install/*_test.py)
foreach(script IN LISTS scripts)
  get_filename_component(file ${script} NAME_WE)
  get_filename_component(kind ${script} DIRECTORY)
  get_filename_component(kind ${kind} NAME)
  set(short ${kind}.${file})
  set(name ${MUSTER_SYSTEM_PREFIX}${short})
  set(labels ${kind} ${MUSTER_SYSTEM_LABEL})
  foreach(label gpu:e2e.gpu_test chromium:e2e.html_test pytorch:e2e.pytorch_test reframe:e2e.reframe_test mpis:e2e.other_mpis_test)
    if(label MATCHES "^(.*):${short}$")
      list(APPEND labels ${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(short IN_LIST slurm)
    list(APPEND labels slurm)
  endif()
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${script})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 SKIP_RETURN_CODE 77 COST 100 ENVIRONMENT "${environment}")
  if(short IN_LIST waiting AND NOT MUSTER_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT LD_PRELOAD=${PROJECT_BINARY_DIR}/bin/sleepy_yield.so)
  endif()
  if(short IN_LIST long)
    set_tests_properties(${name} PROPERTIES COST 200)
  endif()
  if(short IN_LIST alone)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endforeach()

set(name ${MUSTER_SYSTEM_PREFIX}gpu-offline.amd_kernels)
add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu_offline/amd_kernels_test.py
                              ${PROJECT_SOURCE_DIR}/src/device/kernels)
set_tests_properties(${name} PROPERTIES LABELS "gpu-offline;${MUSTER_SYSTEM_LABEL}" TIMEOUT 120 SKIP_RETURN_CODE 77)
