# libmuster-plugin.a: the non-template declarations of the public headers, for probes outside of this tree. It is compiled
# apart from the rest: a plug-in has its own copy, shows none of it, and needs no fmt.
add_library(muster_plugin STATIC
            ${PROJECT_SOURCE_DIR}/src/base/text.cpp ${PROJECT_SOURCE_DIR}/src/base/units.cpp
            ${PROJECT_SOURCE_DIR}/src/model/params.cpp ${PROJECT_SOURCE_DIR}/src/model/verdict.cpp
            ${PROJECT_SOURCE_DIR}/src/model/facts.cpp ${PROJECT_SOURCE_DIR}/src/model/expected_node.cpp
            ${PROJECT_SOURCE_DIR}/src/stats/stats.cpp)
set_target_properties(muster_plugin PROPERTIES OUTPUT_NAME muster-plugin EXPORT_NAME plugin POSITION_INDEPENDENT_CODE ON
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
target_include_directories(muster_plugin PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_BINARY_DIR}/include
                           $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>
                           $<TARGET_PROPERTY:tl::expected,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(muster_plugin PRIVATE FMT_HEADER_ONLY=1 MUSTER_VERSION="${PROJECT_VERSION}")
target_compile_features(muster_plugin PUBLIC cxx_std_20)
target_include_directories(muster_plugin INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS muster_plugin EXPORT muster-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT muster-targets NAMESPACE muster:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/muster ${PROJECT_BINARY_DIR}/include/muster
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Where this system had none, the one header that ours include goes along.
if(TARGET muster_headers_expected)
  install(DIRECTORY ${expected_SOURCE_DIR}/include/tl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  set(MUSTER_BRINGS_EXPECTED TRUE)
else()
  set(MUSTER_BRINGS_EXPECTED FALSE)
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/muster-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package/muster-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
# Another version's headers make plug-ins that this one refuses.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/muster-config-version.cmake COMPATIBILITY ExactVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/muster-config.cmake ${PROJECT_BINARY_DIR}/package/muster-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/package/muster-probe.cmake ${PROJECT_SOURCE_DIR}/cmake/package/plugin.cpp.in
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
