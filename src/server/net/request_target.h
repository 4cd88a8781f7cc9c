// The target of a request (RFC 9112, 3.2), as clients and proxies write it. The functions are
// thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// A target in the form that routes use.
struct RequestTarget {
  std::string host = {};  ///< host of "http://host/path", with its port; empty for "/path"
  std::string path = {};  ///< path with its query; without a slash at its end, except "/"
};

/// Parses "http://host/path?query", "/path/" and "/path"; leaves other targets unchanged.
RequestTarget request_target(std::string_view target);

}  // namespace syrinx
