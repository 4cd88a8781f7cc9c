// The target of a request (RFC 9112, 3.2), as clients and proxies write it. Free functions; any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// A target in the form that routes are compared with.
struct RequestTarget {
  std::string host = {};  ///< of "http://host/path", with its port; empty for "/path"
  std::string path = {};  ///< with its query, without a slash at the end of a longer path
};

/// Reads "http://host/path?query", "/path/" and "/path"; other targets stay as they are.
RequestTarget request_target(std::string_view target);

}  // namespace syrinx
