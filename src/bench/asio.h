// The part of Boost.Asio that this folder's sources need. Include it before all other headers.
// Headers only declare io_context (bench/target.h), so few files compile Asio.
#pragma once

// clang-format off
#include <utility>  // must be first: Boost 1.74 uses std::exchange without its header
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace syrinx {

namespace net = boost::asio;
using SystemError = boost::system::error_code;

}  // namespace syrinx
