# Properties use one seed here, so that a run can be repeated; RC_PARAMS=seed=N bin/base_tests tries others.
set(muster_test_environment RC_PARAMS=seed=20261121)
# Of the code of tests alone: what they test has all line numbers, counters and checks. Linked last, so that these options come last.
add_library(muster_test_flags INTERFACE)
if(MUSTER_SANITIZE)
  # Line numbers, which gtest prints itself, take an eighth of the compile time of tests.
  target_compile_options(muster_test_flags INTERFACE -g0)
endif()
if(MUSTER_FUZZ)
  # Counters for the fuzzers and checks of pointers and objects take half of it. The address sanitizer sees most of what these see.
  target_compile_options(muster_test_flags INTERFACE -fno-sanitize-coverage=inline-8bit-counters,pc-table
                         -fno-sanitize=null,alignment,object-size,vptr,function)
endif()

# What may take longer in a build with sanitizers.
if(MUSTER_SANITIZE)
  list(APPEND muster_test_environment MUSTER_TEST_SLOWNESS=4)
endif()

# Label unit-aarch64: under qemu.
set(muster_cross_label "")
if(CMAKE_CROSSCOMPILING)
  set(muster_cross_label -${CMAKE_SYSTEM_PROCESSOR})
endif()

# muster_test_folder(FOLDER [KIND unit|threads] [LABEL label] USES folder...)
function(muster_test_folder folder)
  cmake_parse_arguments(arg "" "LABEL;KIND" "USES" ${ARGN})
  if(NOT arg_KIND)
    set(arg_KIND unit)
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit${muster_cross_label})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  set(program ${folder}_tests)
  add_executable(${program} ${sources})
  set_target_properties(${program} PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  list(TRANSFORM arg_USES PREPEND muster_)
  muster_precompiled(${program} muster_test_headers)
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE ${arg_USES} GTest::gtest GTest::gtest_main)
  if(RAPIDCHECK_INCLUDE AND RAPIDCHECK_LIBRARY)
    target_include_directories(${program} SYSTEM PRIVATE ${RAPIDCHECK_INCLUDE})
    target_compile_definitions(${program} PRIVATE MUSTER_HAVE_RAPIDCHECK)
    target_link_libraries(${program} PRIVATE ${RAPIDCHECK_LIBRARY})
  endif()
  target_compile_definitions(${program} PRIVATE MUSTER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${program} PRIVATE muster_test_flags)
  if(MUSTER_SANITIZE)
    # Each test is a process of its own: without relocations it starts in 60 % of the time.
    target_link_options(${program} PRIVATE -no-pie)
  endif()
  add_dependencies(unit_programs ${program})
  if(arg_KIND STREQUAL "threads")
    add_dependencies(threads_programs ${program})
  endif()
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${MUSTER_TEST_PREFIX}" PROPERTIES LABELS ${arg_LABEL}
                       TIMEOUT 300 ENVIRONMENT "${muster_test_environment}")
endfunction()
