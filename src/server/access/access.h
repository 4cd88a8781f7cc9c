// What browsers may do here. A page of another site must not be able to use a server that happens
// to listen on its visitor's machine: not by a form, not by a script, not by making its own name
// point to 127.0.0.1 (DNS rebinding). Free functions over plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/request/reply.h"

namespace syrinx {

/// Which requests are admitted.
struct AccessRules {
  /// Names, without a port, that the Host header may have; empty: any.
  std::vector<std::string> hosts;
  /// Origins ("https://example.org") whose pages may use the server, as read_origin() has them;
  /// "*": every page. "https://*.example.org" stands for every name below example.org.
  std::vector<std::string> origins;
};

/// An origin as an operator writes it: a slash at its end is dropped. An Error says how origins are
/// written, for one with a path, without a scheme or with a wildcard elsewhere.
Result<std::string> read_origin(std::string_view given);

/// What a browser says of where a request comes from. Borrows from the request.
struct BrowserFacts {
  std::string_view host = {};
  std::string_view origin = {};             ///< empty: not a page's request
  std::string_view requested_headers = {};  ///< of a CORS preflight
  bool reads_only = true;                   ///< GET, HEAD or OPTIONS, and not a WebSocket
};

/// 403 for a name that is not the server's, and for pages of strangers that want more than to read
/// (which, without a header that allows it, browsers do not let them).
std::optional<ApiError> refuse_access(const AccessRules& rules, const BrowserFacts& facts);

/// Headers that let a listed origin read the answer; nothing for others.
Headers cors_headers(const AccessRules& rules, const BrowserFacts& facts);

/// The answer to OPTIONS, or nothing where CORS is off.
std::optional<Reply> answer_preflight(const AccessRules& rules, const BrowserFacts& facts);

}  // namespace syrinx
