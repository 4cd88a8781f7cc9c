# syrinx_library(name [DEPS targets...] [TEST_DEPS targets...] [WITHOUT regex] [UNITY_TESTS]
#                [PCH library|server])
# One folder = one static library `syrinx_<name>` from its *.cc (sub-folders too), and one test
# program `<name>_test` from its *_test.cc. Includes are written from src/ ("tensor/view.h").
# ./run and ./check compile several files of a library at once (CMAKE_UNITY_BUILD), which reads the
# same headers once; so names in unnamed namespaces are unique in a library. Tests are free of that
# rule but for UNITY_TESTS.
function(syrinx_library name)
  cmake_parse_arguments(ARG "UNITY_TESTS" "WITHOUT;PCH" "DEPS;TEST_DEPS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${ARG_WITHOUT}")
  endif()
  # A folder below with a CMakeLists.txt of its own is a library of its own.
  file(GLOB rooms CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(room ${rooms})
    get_filename_component(room ${room} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${room}/")
  endforeach()
  # The GPU backend, or what stands for it where it is not built. Its tests are always built.
  set(absent no_cuda)
  if(NOT SYRINX_CUDA)
    set(absent cuda)
  else()
    file(GLOB device_sources CONFIGURE_DEPENDS cuda/*.cu)
    list(APPEND sources ${device_sources})
  endif()
  # Files of their own in the archive, so that the emulation of the tests can stand for them.
  file(GLOB stand_ins CONFIGURE_DEPENDS no_cuda/*.cc)
  set_source_files_properties(${stand_ins} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  file(GLOB absent_sources CONFIGURE_DEPENDS ${absent}/*.cc cuda/emulation/*.cc)
  list(FILTER absent_sources EXCLUDE REGEX "_test\\.cc$")
  list(REMOVE_ITEM sources ${absent_sources} "")
  # Files for more than the base instruction set, by name; others must run anywhere. Those of the
  # products are built for it as a whole and share no inline code with the rest of the program; in
  # others kernels/cpu/avx2_begin.h marks what is (tests/instruction_sets.py looks for leaks).
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_(avx2|avxvnni|avx512|avx512vnni)\\.cc$")
  endif()
  set(avx2 -mavx2 -mfma -mf16c)
  set(avxvnni ${avx2} -mavxvnni)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512
    -Wno-maybe-uninitialized)
  set(avx512vnni ${avx512} -mavx512vnni)
  foreach(source ${sources})
    if(source MATCHES "_avx[a-z0-9]+\\.cc$")
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(source MATCHES "/gemm_(avx[a-z0-9]+)\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${CMAKE_MATCH_1}}")
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
    if(NOT ARG_PCH)
      set(ARG_PCH library)
    endif()
    syrinx_use_pch(syrinx_${target} ${ARG_PCH})
    if(SYRINX_CUDA)
      target_link_libraries(syrinx_${target} PUBLIC CUDA::cudart CUDA::cublasLt)
    endif()
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
    if(NOT ARG_UNITY_TESTS)
      set_target_properties(${target}_test PROPERTIES UNITY_BUILD OFF)
    endif()
    gtest_discover_tests(${target}_test TEST_PREFIX ${name}: DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300)
  endif()
endfunction()
