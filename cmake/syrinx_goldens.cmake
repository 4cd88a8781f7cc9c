# Copies tests/parity for tests into the build folder, SYRINX_BINARY_DIR "/parity/", and makes the
# weights that are not stored (tests/parity/seeded.py). Tests depend on `goldens`, or link it and thus
# get SYRINX_BINARY_DIR.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE golden_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/parity/*)
list(FILTER golden_files EXCLUDE REGEX "(\\.cc|\\.md|/CMakeLists\\.txt)$")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/parity.made
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/parity/seeded.py
          ${PROJECT_SOURCE_DIR}/tests/parity ${PROJECT_BINARY_DIR}/parity
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/parity.made
  DEPENDS ${golden_files} COMMENT "Goldens" VERBATIM)
add_custom_target(make_goldens ALL DEPENDS ${PROJECT_BINARY_DIR}/parity.made)
add_library(goldens INTERFACE)
target_compile_definitions(goldens INTERFACE SYRINX_BINARY_DIR="${PROJECT_BINARY_DIR}")
add_dependencies(goldens make_goldens)

# syrinx_parity_test(name SOURCES files... LIBS targets...): a program of `parity:` tests, which read
# goldens of whole models; built like the tests of rooms.
function(syrinx_parity_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  find_package(nlohmann_json REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  syrinx_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} goldens nlohmann_json::nlohmann_json
                                        GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SYRINX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${SYRINX_TEST_OPTIONS})
  syrinx_use_pch(${name} test)
  gtest_discover_tests(${name} TEST_PREFIX parity: NO_PRETTY_VALUES PROPERTIES PROCESSORS 2 TIMEOUT 300)
endfunction()
