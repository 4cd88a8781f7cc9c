// The part of Boost.Asio that this folder's sources need; included before everything else. Headers
// name io_context alone (bench/target.h), so that few files compile Asio.
#pragma once

// clang-format off
#include <utility>  // first: Boost 1.74 uses std::exchange without saying so
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace syrinx {

namespace net = boost::asio;
using SystemError = boost::system::error_code;

}  // namespace syrinx
