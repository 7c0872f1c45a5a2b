# Libraries. Each is looked for on the system first (Debian 12 names in docs/installing.md); what is not found is built from
# a pinned source archive. Offline: put the archives into a folder and set MUSTER_ARCHIVES to it; they are taken
# from there by the names below, and the hash must still be right.
set(MUSTER_ARCHIVES "" CACHE PATH "Folder with local copies of the source archives")
if(NOT "$ENV{MUSTER_ARCHIVES}" STREQUAL "")
  # Also when an earlier attempt had none.
  set(MUSTER_ARCHIVES "$ENV{MUSTER_ARCHIVES}" CACHE PATH "Folder with local copies of the source archives" FORCE)
endif()
option(MUSTER_SYSTEM_LIBRARIES "Use libraries that the system has" ON)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)
endif()
include(FetchContent)

# muster_archive(NAME FILE URL SHA256): declares a source archive, from MUSTER_ARCHIVES when it is there.
function(muster_archive name file url sha256)
  get_filename_component(local "${MUSTER_ARCHIVES}/${file}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(MUSTER_ARCHIVES AND EXISTS "${local}")
    set(url "${local}")
    message(STATUS "${name}: not on this system, taken from ${url}")
  else()
    message(STATUS "${name}: not on this system, taken from ${url} (offline: as ${file} in a folder that MUSTER_ARCHIVES names)")
  endif()
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256}
                       SOURCE_SUBDIR no-build-of-its-own)
endfunction()

# Downloads and unpacks, but does not add the library's own build (there is no such SOURCE_SUBDIR).
macro(muster_unpack name)
  FetchContent_MakeAvailable(${name})
endmacro()

# A library of headers alone.
function(muster_headers target include)
  add_library(muster_headers_${target} INTERFACE)
  target_include_directories(muster_headers_${target} SYSTEM INTERFACE ${include})
endfunction()

macro(muster_find package)
  if(MUSTER_SYSTEM_LIBRARIES)
    find_package(${package} ${ARGN} QUIET)
  endif()
endmacro()

muster_find(fmt 8)
if(NOT TARGET fmt::fmt)
  muster_archive(fmt fmt-9.1.0.tar.gz https://github.com/fmtlib/fmt/archive/9.1.0.tar.gz
                 5dea48d1fcddc3ec571ce2058e13910a0d4a6bab4cc09a809d8b1dd1c88ae6f2)
  muster_unpack(fmt)
  add_subdirectory(${fmt_SOURCE_DIR} ${fmt_BINARY_DIR} EXCLUDE_FROM_ALL)
endif()

muster_find(nlohmann_json 3.9)
if(NOT TARGET nlohmann_json::nlohmann_json)
  muster_archive(json json-3.11.2.tar.gz https://github.com/nlohmann/json/archive/v3.11.2.tar.gz
                 d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273)
  muster_unpack(json)
  muster_headers(json ${json_SOURCE_DIR}/include)
  add_library(nlohmann_json::nlohmann_json ALIAS muster_headers_json)
endif()

muster_find(tomlplusplus 3)
if(NOT TARGET tomlplusplus::tomlplusplus)
  muster_archive(tomlplusplus tomlplusplus-3.3.0.tar.gz https://github.com/marzer/tomlplusplus/archive/v3.3.0.tar.gz
                 fc1a5eb410f3c67e90e5ad1264a1386d020067cfb01b633cc8c0441789aa6cf2)
  muster_unpack(tomlplusplus)
  muster_headers(tomlplusplus ${tomlplusplus_SOURCE_DIR}/include)
  add_library(tomlplusplus::tomlplusplus ALIAS muster_headers_tomlplusplus)
endif()

muster_find(CLI11 2)
if(NOT TARGET CLI11::CLI11)
  muster_archive(cli11 CLI11-2.3.2.tar.gz https://github.com/CLIUtils/CLI11/archive/v2.3.2.tar.gz
                 aac0ab42108131ac5d3344a9db0fdf25c4db652296641955720a4fbe52334e22)
  muster_unpack(cli11)
  muster_headers(cli11 ${cli11_SOURCE_DIR}/include)
  add_library(CLI11::CLI11 ALIAS muster_headers_cli11)
endif()

muster_find(tl-expected 1)
if(NOT TARGET tl::expected)
  muster_archive(expected expected-1.0.0.tar.gz https://github.com/TartanLlama/expected/archive/refs/tags/v1.0.0.tar.gz
                 8f5124085a124113e75e3890b4e923e3a4de5b26a973b891b3deb40e19c03cee)
  muster_unpack(expected)
  muster_headers(expected ${expected_SOURCE_DIR}/include)
  add_library(tl::expected ALIAS muster_headers_expected)
endif()

muster_find(pugixml 1.10)
if(NOT TARGET pugixml::pugixml)
  muster_archive(pugixml pugixml-1.13.tar.gz https://github.com/zeux/pugixml/archive/v1.13.tar.gz
                 5c5ad5d7caeb791420408042a7d88c2c6180781bf218feca259fd9d840a888e1)
  muster_unpack(pugixml)
  add_subdirectory(${pugixml_SOURCE_DIR} ${pugixml_BINARY_DIR} EXCLUDE_FROM_ALL)
endif()

muster_find(SQLiteCpp 3)
if(NOT TARGET SQLiteCpp)
  # Has SQLite itself in its archive, for systems without that.
  muster_archive(sqlitecpp SQLiteCpp-3.2.0.tar.gz https://github.com/SRombauts/SQLiteCpp/archive/3.2.0.tar.gz
                 57f91ed44ef205fe97b8c6586002fe6031cd02771d1c5d8415d9c515ad1532d1)
  foreach(choice SQLITECPP_RUN_CPPLINT SQLITECPP_RUN_CPPCHECK SQLITECPP_USE_STATIC_RUNTIME)
    set(${choice} OFF CACHE INTERNAL "")
  endforeach()
  muster_unpack(sqlitecpp)
  add_subdirectory(${sqlitecpp_SOURCE_DIR} ${sqlitecpp_BINARY_DIR} EXCLUDE_FROM_ALL)
endif()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND MUSTER_SYSTEM_LIBRARIES)
  pkg_check_modules(re2 QUIET IMPORTED_TARGET re2)
endif()
if(TARGET PkgConfig::re2)
  # -pthread, which glibc no longer needs, would differ from the flags of the precompiled header.
  set_property(TARGET PkgConfig::re2 PROPERTY INTERFACE_COMPILE_OPTIONS "")
  add_library(muster_re2 ALIAS PkgConfig::re2)
else()
  # The last line of versions that does without Abseil.
  muster_archive(re2 re2-2022-06-01.tar.gz https://github.com/google/re2/archive/2022-06-01.tar.gz
                 f89c61410a072e5cbcf8c27e3a778da7d6fd2f2b5b1445cd4f4508bee946ab0f)
  set(RE2_BUILD_TESTING OFF CACHE INTERNAL "")
  muster_unpack(re2)
  add_subdirectory(${re2_SOURCE_DIR} ${re2_BINARY_DIR} EXCLUDE_FROM_ALL)
  add_library(muster_re2 ALIAS re2)
endif()

if(PkgConfig_FOUND AND MUSTER_SYSTEM_LIBRARIES)
  pkg_check_modules(libuv QUIET IMPORTED_TARGET libuv>=1.40)
endif()
if(TARGET PkgConfig::libuv)
  add_library(muster_libuv ALIAS PkgConfig::libuv)
else()
  muster_archive(libuv libuv-1.44.2.tar.gz https://github.com/libuv/libuv/archive/v1.44.2.tar.gz
                 e6e2ba8b4c349a4182a33370bb9be5e23c51b32efb9b9e209d0e8556b73a48da)
  set(LIBUV_BUILD_TESTS OFF CACHE INTERNAL "")
  set(LIBUV_BUILD_SHARED OFF CACHE INTERNAL "")
  muster_unpack(libuv)
  add_subdirectory(${libuv_SOURCE_DIR} ${libuv_BINARY_DIR} EXCLUDE_FROM_ALL)
  add_library(muster_libuv ALIAS uv_a)
endif()

# What travels between driver and agents is encrypted (src/run/sealed_frames.cpp).
if(PkgConfig_FOUND AND MUSTER_SYSTEM_LIBRARIES)
  pkg_check_modules(libsodium QUIET IMPORTED_TARGET libsodium>=1.0.12)
endif()
if(TARGET PkgConfig::libsodium)
  add_library(muster_sodium ALIAS PkgConfig::libsodium)
else()
  muster_archive(libsodium libsodium-1.0.18.tar.gz https://download.libsodium.org/libsodium/releases/libsodium-1.0.18.tar.gz
                 6f504490b342a4f8a4c4a02fc9b866cbef8622d5df4e5452b46be121e46636c1)
  muster_unpack(libsodium)
  # Its own build is for make alone; without its configure step the portable implementations are compiled.
  file(GLOB_RECURSE sodium_sources ${libsodium_SOURCE_DIR}/src/libsodium/*.c)
  set(sodium_include ${libsodium_SOURCE_DIR}/src/libsodium/include)
  set(VERSION 1.0.18)
  set(SODIUM_LIBRARY_VERSION_MAJOR 10)
  set(SODIUM_LIBRARY_VERSION_MINOR 3)
  configure_file(${sodium_include}/sodium/version.h.in ${libsodium_BINARY_DIR}/include/sodium/version.h)
  add_library(muster_sodium STATIC EXCLUDE_FROM_ALL ${sodium_sources})
  target_compile_definitions(muster_sodium PUBLIC SODIUM_STATIC=1 PRIVATE CONFIGURED=1 _GNU_SOURCE=1 DEV_MODE=0)
  target_include_directories(muster_sodium SYSTEM PUBLIC ${libsodium_BINARY_DIR}/include ${sodium_include}
                             PRIVATE ${sodium_include}/sodium ${libsodium_BINARY_DIR}/include/sodium)
  set_target_properties(muster_sodium PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_compile_options(muster_sodium PRIVATE -w)
endif()

# hwloc is too large to build along: it comes from the system or from the site's modules.
if(PkgConfig_FOUND)
  pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc>=2)
endif()
if(TARGET PkgConfig::hwloc)
  add_library(muster_hwloc ALIAS PkgConfig::hwloc)
else()
  find_path(HWLOC_INCLUDE hwloc.h HINTS ENV HWLOC_ROOT ENV HWLOC_DIR PATH_SUFFIXES include)
  find_library(HWLOC_LIBRARY hwloc HINTS ENV HWLOC_ROOT ENV HWLOC_DIR PATH_SUFFIXES lib lib64)
  if(NOT HWLOC_INCLUDE OR NOT HWLOC_LIBRARY)
    message(FATAL_ERROR "hwloc 2 is missing. Install libhwloc-dev (Debian, Ubuntu), hwloc-devel (Fedora, RHEL, SLES) "
                        "or hwloc (Spack), or load the site's module; HWLOC_ROOT names its folder.")
  endif()
  add_library(muster_hwloc INTERFACE)
  target_include_directories(muster_hwloc SYSTEM INTERFACE ${HWLOC_INCLUDE})
  target_link_libraries(muster_hwloc INTERFACE ${HWLOC_LIBRARY})
endif()

# A CBLAS for the matrix products of probe training. It is opened at run time (src/device/cblas.cpp), from this path or,
# where that is not there, by its name; without one the probe has loops of its own.
find_library(MUSTER_CBLAS NAMES openblas openblaso openblasp HINTS ENV OPENBLAS_ROOT ENV OPENBLAS_DIR
             PATH_SUFFIXES lib lib64 DOC "CBLAS for probe training; empty: the node's libopenblas, if any")
