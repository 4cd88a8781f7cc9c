# Headers that most files read are compiled once, where SYRINX_PCH is on:
#   syrinx_use_pch(target library|cold|server|test)    cmake/pch/<which>.h; cold: library.h for COLD targets
# The first target of each kind compiles them, and the others use the result, so their options are the
# same. For tests, a separate program does this, so that building one test does not build another. Every
# file still includes the headers that it needs; a build without SYRINX_PCH detects missing ones.
if(SYRINX_PCH AND CCACHE)  # accepts macros before precompiled headers, which do not change them
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
function(syrinx_use_pch target which)
  if(NOT SYRINX_PCH)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY syrinx_pch_${which})
  if(which STREQUAL test AND NOT owner)
    set(owner syrinx_pch_of_tests)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch_of_tests.cc CONTENT "int main() {}\n")
    add_executable(${owner} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/pch_of_tests.cc)
    syrinx_flags(${owner})
    target_link_libraries(${owner} PRIVATE GTest::gtest)
    target_compile_options(${owner} PRIVATE ${SYRINX_TEST_OPTIONS})
    target_precompile_headers(${owner} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch/test.h)
    set_property(GLOBAL PROPERTY syrinx_pch_test ${owner})
  endif()
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    string(REPLACE cold library header ${which})
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch/${header}.h)
    set_property(GLOBAL PROPERTY syrinx_pch_${which} ${target})
  endif()
endfunction()
