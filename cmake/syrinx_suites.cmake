# syrinx_suites(program PREFIX prefix): adds the tests of a program to ctest. Each suite (the part of
# a test's name before the dot) has its own process, because a start takes longer than most tests.
# ctest knows a suite by prefix and name, and lists those that the program had when it was built.
# tools/run_tests counts the tests of suites, and passes the number of processors.
set(suites_script ${CMAKE_CURRENT_LIST_DIR}/list_suites.cmake)
function(syrinx_suites program)
  cmake_parse_arguments(ARG "" "PREFIX" "" ${ARGN})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${list}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:${program}>"
            -DPREFIX=${ARG_PREFIX} -DOUTPUT=${list} -P ${suites_script}
    VERBATIM)
  # If the program is not built yet, ctest has one test for it, which fails.
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake)
  file(CONFIGURE OUTPUT ${include} @ONLY CONTENT [[
if(EXISTS "@list@")
  include("@list@")
else()
  add_test(@program@_is_not_built @program@_is_not_built)
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
