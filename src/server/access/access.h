// Rules for browsers. A page of another site must not be able to use a server on its visitor's
// machine: neither by a form or a script, nor by making its own name point to 127.0.0.1 (DNS
// rebinding). Free functions over plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/request/reply.h"

namespace syrinx {

/// The host names and origins that may use the server.
struct AccessRules {
  /// Host names, without a port, that the Host header may contain; empty: any.
  std::vector<std::string> hosts;
  /// Origins ("https://example.org") whose pages may use the server, as read_origin() returns them;
  /// "*": every page. "https://*.example.org": every name below example.org.
  std::vector<std::string> origins;
};

/// Reads an origin as an operator writes it; drops a slash at its end. Returns an error that
/// explains the format for an origin with a path, without a scheme or with a wildcard elsewhere.
Result<std::string> read_origin(std::string_view given);

/// What a browser states about the source of a request. Borrows from the request.
struct BrowserFacts {
  std::string_view host = {};
  std::string_view origin = {};             ///< empty: the request is not from a page
  std::string_view requested_headers = {};  ///< headers that a CORS preflight asks for
  bool reads_only = true;                   ///< GET, HEAD or OPTIONS, and not a WebSocket
};

/// Returns 403 for a host name that the server does not have, and for pages of unlisted origins
/// that do more than read. Browsers keep such pages from reading the answers, which lack a CORS
/// header.
std::optional<ApiError> refuse_access(const AccessRules& rules, const BrowserFacts& facts);

/// Returns the headers that let a listed origin read the answer; nothing for other origins.
Headers cors_headers(const AccessRules& rules, const BrowserFacts& facts);

/// Returns the answer to OPTIONS, or nothing when CORS is off.
std::optional<Reply> answer_preflight(const AccessRules& rules, const BrowserFacts& facts);

}  // namespace syrinx
