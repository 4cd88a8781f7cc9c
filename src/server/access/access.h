// Access rules for browsers. They prevent pages of other sites from using a server on the visitor's
// machine, by a form, a script or DNS rebinding (a host name of the page that resolves to
// 127.0.0.1). Free functions over plain data; any thread.
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
  /// Host names, without a port, that the Host header may contain. Empty means any name.
  std::vector<std::string> hosts;
  /// Origins ("https://example.org", see read_origin()) whose pages may use the server. "*" allows
  /// every page; "https://*.example.org" allows every subdomain of example.org.
  std::vector<std::string> origins;
};

/// Reads an origin from the command line; drops a slash at its end. Returns an error for a path, a
/// missing scheme, or a wildcard that is not the first label of the host name.
Result<std::string> read_origin(std::string_view given);

/// Facts that a browser sends about the page behind a request. Borrows from the request.
struct BrowserFacts {
  std::string_view host = {};
  std::string_view origin = {};             ///< empty when the request does not come from a page
  std::string_view requested_headers = {};  ///< headers that a CORS preflight asks for
  bool reads_only = true;                   ///< GET, HEAD or OPTIONS, and not a WebSocket
};

/// Returns status 403 for an unlisted host name, and for a page of another site whose origin is
/// unlisted and whose request does more than read. Such a page may send requests that only read,
/// but its browser withholds the answers, which lack CORS headers.
std::optional<ApiError> refuse_access(const AccessRules& rules, const BrowserFacts& facts);

/// Returns the CORS headers that let a listed origin read the answer. Empty for other origins.
Headers cors_headers(const AccessRules& rules, const BrowserFacts& facts);

/// Returns the answer to an OPTIONS request of a listed origin; nothing for other origins.
std::optional<Reply> answer_preflight(const AccessRules& rules, const BrowserFacts& facts);

}  // namespace syrinx
