# syrinx_library(name [DEPS targets...] [TEST_DEPS targets...])
# One folder = one static library `syrinx_<name>` from its *.cc (sub-folders too), and one test
# program `<name>_test` from its *_test.cc. Includes are written from src/ ("tensor/view.h").
function(syrinx_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  # A folder below with a CMakeLists.txt of its own is a library of its own.
  file(GLOB rooms CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(room ${rooms})
    get_filename_component(room ${room} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${room}/")
  endforeach()
  # Files built for more than the base instruction set, by name; others must run anywhere.
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512)\\.cc$")
  endif()
  foreach(source ${sources})
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mprefer-vector-width=512;-Wno-maybe-uninitialized")
    endif()
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")

  if(sources)
    add_library(syrinx_${target} STATIC ${sources})
    target_include_directories(syrinx_${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(syrinx_${target} PUBLIC ${ARG_DEPS} Threads::Threads)
  else()
    add_library(syrinx_${target} INTERFACE)
    target_include_directories(syrinx_${target} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(syrinx_${target} INTERFACE ${ARG_DEPS})
  endif()

  if(SYRINX_TESTS AND tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE syrinx_${target} ${ARG_TEST_DEPS} GTest::gtest_main)
    target_compile_definitions(${target}_test PRIVATE
      SYRINX_SOURCE_DIR="${PROJECT_SOURCE_DIR}" SYRINX_BINARY_DIR="${PROJECT_BINARY_DIR}")
    # Tests are built to be built quickly; what they test is built for speed.
    target_compile_options(${target}_test PRIVATE -O1)
    gtest_discover_tests(${target}_test TEST_PREFIX ${name}: DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300)
  endif()
endfunction()
