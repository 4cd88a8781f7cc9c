# syrinx_suites(program PREFIX prefix): the tests of a program for ctest, each suite (what their names
# have before the dot) in a process of its own: to start one takes longer than most tests do. ctest
# knows a suite by prefix and name, and lists those that the program had when it was built.
# tools/run_tests counts the tests in them, and says how many processors there are.
set(suites_script ${CMAKE_CURRENT_LIST_DIR}/list_suites.cmake)
function(syrinx_suites program)
  cmake_parse_arguments(ARG "" "PREFIX" "" ${ARGN})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${list}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:${program}>"
            -DPREFIX=${ARG_PREFIX} -DOUTPUT=${list} -P ${suites_script}
    VERBATIM)
  # Also before there is a program: then ctest has one test of it, which fails.
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
