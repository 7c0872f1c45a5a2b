# Unit tests: one program for each folder.
muster_test_folder(model USES model probe_table)
muster_test_folder(config USES config probe_table)
muster_test_folder(system USES system)
add_dependencies(system_tests test_libraries)
target_compile_definitions(system_tests PRIVATE MUSTER_LIBRARIES="${PROJECT_BINARY_DIR}/libraries")
muster_test_folder(device USES device config)
target_link_libraries(device_tests PRIVATE nlohmann_json::nlohmann_json pugixml::pugixml)
# Vendors' libraries that load without a GPU, as they are.
muster_test_folder(gpu_offline LABEL gpu-offline USES device)
muster_test_folder(stats USES stats)
# Simulations of thousands of faults.
muster_optimised(-O2 stats/culprits_test.cpp stats/drift_test.cpp)
muster_test_folder(probes USES probe_table)
muster_test_folder(launchers USES launchers)
muster_test_folder(schedulers USES schedulers)
muster_test_folder(reporters USES reporters)
muster_test_folder(evaluate USES evaluate probe_table)
muster_test_folder(history USES history probe_table)

# These open stand-ins for vendors' libraries.
target_compile_definitions(device_tests PRIVATE MUSTER_STAND_INS="${MUSTER_STAND_IN_FOLDER}")
target_compile_definitions(probes_tests PRIVATE MUSTER_STAND_INS="${MUSTER_STAND_IN_FOLDER}/drivers")
add_dependencies(device_tests stand_ins)
add_dependencies(probes_tests stand_ins)

# Vendors' libraries as they are, where they load without a GPU: they give their own errors.
add_test(NAME ${MUSTER_TEST_PREFIX}gpu-offline.rocm_smi COMMAND device_tests --gtest_filter=RealRocmSmi.*)
set_tests_properties(${MUSTER_TEST_PREFIX}gpu-offline.rocm_smi PROPERTIES LABELS gpu-offline TIMEOUT 60
                     SKIP_REGULAR_EXPRESSION "PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+(\n *YOU HAVE [^\n]*\n+)?$")

# What a fuzzer needs; all others need everything. Few libraries are soon built.
foreach(entry "frame:base" "hostlist:base" "mask:base" "observation:model" "report_json:model" "kernel_log:device" "launch_script:config"
              "topology:system")
  string(REGEX MATCH "(.*):(.*)" _ ${entry})
  set(fuzz_uses_${CMAKE_MATCH_1} muster_${CMAKE_MATCH_2})
endforeach()
# Of muster_run, these need one file: after each execution libFuzzer reads the counters of all code that is linked.
set(fuzz_uses_wire muster_base muster_sodium)
set(fuzz_sources_wire ${PROJECT_SOURCE_DIR}/src/run/sealed_frames.cpp)
set(fuzz_uses_messages muster_model nlohmann_json::nlohmann_json)
set(fuzz_sources_messages ${PROJECT_SOURCE_DIR}/src/run/messages.cpp)

file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.cpp)
foreach(source IN LISTS fuzzers)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" subject ${name})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${subject})
  set(uses muster_run muster_config muster_history muster_probe_table)
  if(fuzz_uses_${subject})
    set(uses ${fuzz_uses_${subject}})
  endif()
  if(MUSTER_FUZZ)
    # libFuzzer replays the corpus before it goes on from there.
    add_executable(${name} ${source} ${fuzz_sources_${subject}})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${uses})
    muster_precompiled(${name} muster_library_headers)
    add_dependencies(fuzzers ${name})
    add_test(NAME ${MUSTER_TEST_PREFIX}${name}_replay COMMAND ${name} -runs=0 ${corpus})
    # These start processes or write files for each input: ten seconds are a few hundred inputs. ./dev fuzz gives them hours.
    if(NOT subject MATCHES "^(driver|history|topology)$")
      add_test(NAME ${MUSTER_TEST_PREFIX}fuzz.${subject} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_a_while $<TARGET_FILE:${name}> ${corpus})
      set_tests_properties(${MUSTER_TEST_PREFIX}fuzz.${subject} PROPERTIES LABELS fuzz TIMEOUT 600)
    endif()
  else()
    add_executable(${name} ${source} ${fuzz_sources_${subject}} fuzz/replay_main.cpp)
    target_link_libraries(${name} PRIVATE ${uses})
    add_dependencies(unit_programs ${name})
    add_test(NAME ${MUSTER_TEST_PREFIX}${name}_replay COMMAND ${name} ${corpus})
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(${MUSTER_TEST_PREFIX}${name}_replay PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
