# Boost.Asio and Boost.Beast, compiled once. Link it to get their headers: all files that include
# them need the same definitions.
find_package(Boost 1.74 REQUIRED)
find_package(OpenSSL REQUIRED)
add_library(syrinx_asio STATIC ${CMAKE_CURRENT_LIST_DIR}/asio/asio.cc)
syrinx_flags(syrinx_asio)
target_compile_definitions(syrinx_asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION
  BOOST_BEAST_SEPARATE_COMPILATION
  # With Clang, Boost 1.74 uses <experimental/coroutine> and std::result_of, which no longer exist.
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:BOOST_ASIO_HAS_STD_INVOKE_RESULT=1>
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:BOOST_ASIO_HAS_CO_AWAIT=1>)
target_link_libraries(syrinx_asio PUBLIC Boost::headers OpenSSL::SSL Threads::Threads)
