// The parts of Boost.Asio and Boost.Beast that are not templates. The target syrinx_asio
// (cmake/syrinx_asio.cmake) makes their headers leave these parts out.
#include <utility>  // first: Boost 1.74 uses std::exchange without including <utility>
// clang-format off
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
// clang-format on
