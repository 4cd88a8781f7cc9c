# tests/parity as tests read it: in the build folder, at SYRINX_BINARY_DIR "/parity/", with the weights
# that are not kept but made again (tests/parity/seeded.py). Tests depend on `goldens`, or link it and
# have SYRINX_BINARY_DIR with it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE golden_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/parity/*)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/parity.made
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/parity/seeded.py
          ${PROJECT_SOURCE_DIR}/tests/parity ${PROJECT_BINARY_DIR}/parity
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/parity.made
  DEPENDS ${golden_files} COMMENT "Goldens" VERBATIM)
add_custom_target(make_goldens ALL DEPENDS ${PROJECT_BINARY_DIR}/parity.made)
add_library(goldens INTERFACE)
target_compile_definitions(goldens INTERFACE SYRINX_BINARY_DIR="${PROJECT_BINARY_DIR}")
add_dependencies(goldens make_goldens)
