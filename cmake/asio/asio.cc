// What of Boost.Asio and Boost.Beast is no template. Whoever includes their headers is told by
// syrinx_asio (cmake/syrinx_asio.cmake) that it is here.
#include <utility>  // first: Boost 1.74 uses std::exchange without saying so
// clang-format off
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
// clang-format on
