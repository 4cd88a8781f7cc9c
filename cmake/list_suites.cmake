# Writes what ctest includes for a program's suites (see syrinx_suites.cmake):
#   cmake -DPROGRAM=[emulator;]path -DPREFIX=room: -DOUTPUT=file -P list_suites.cmake
cmake_minimum_required(VERSION 3.22...3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed TIMEOUT 60
  COMMAND_ERROR_IS_FATAL ANY)
# Names of suites are at the beginning of a line and end with a dot; a remark may follow.
string(REGEX MATCHALL "(^|\n)[^ \n]+\\.(  #[^\n]*)?\n" lines "${listed}")
set(text "")
list(TRANSFORM PROGRAM REPLACE "(.+)" "[=[\\1]=]" OUTPUT_VARIABLE command)
string(REPLACE ";" " " command "${command}")
foreach(line ${lines})
  string(REGEX REPLACE "^\n?([^ \n]+)\\..*$" "\\1" suite "${line}")
  string(APPEND text
    "add_test([=[${PREFIX}${suite}]=] ${command} [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${PREFIX}${suite}]=] PROPERTIES PROCESSORS 2 TIMEOUT 300)\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
