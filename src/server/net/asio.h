// The part of Boost.Asio that the server's headers need. Only files of src/server include it.
#pragma once

// clang-format off
#include <utility>  // first: Boost 1.74 uses std::exchange without including its header
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace syrinx {

namespace net = boost::asio;
using SystemError = boost::system::error_code;

}  // namespace syrinx
