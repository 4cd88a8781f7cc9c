#include "server/access/key_headers.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>

#include "base/ascii.h"
#include "server/request/fields.h"

namespace syrinx {
namespace {

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         boost::beast::iequals({text.data(), word.size()}, {word.data(), word.size()});
}

}  // namespace

std::string bearer_of(const KeyHeaders& headers) {
  const std::string_view given = trimmed(headers.authorization);
  if (begins_with(given, "bearer ")) return std::string(given);
  if (begins_with(given, "token ")) return "Bearer " + std::string(trimmed(given.substr(6)));
  for (const std::string_view key : {headers.xi_api_key, headers.x_api_key}) {
    if (!trimmed(key).empty()) return "Bearer " + std::string(trimmed(key));
  }
  for (const std::string_view scheme : {"token,", "bearer,"}) {
    if (begins_with(headers.subprotocols, scheme)) {
      return "Bearer " + std::string(trimmed(headers.subprotocols.substr(scheme.size())));
    }
  }
  constexpr std::string_view kBrowserKey = "openai-insecure-api-key.";
  for (std::string_view list = headers.subprotocols; !list.empty();) {
    const std::string_view each = trimmed(list.substr(0, list.find(',')));
    list.remove_prefix(
        std::min(list.size(), list.find(',') == list.npos ? list.size() : list.find(',') + 1));
    if (begins_with(each, kBrowserKey)) {
      return "Bearer " + std::string(each.substr(kBrowserKey.size()));
    }
  }
  const Query query(headers.query);
  for (const char* name : {"api_key", "xi-api-key", "authorization", "token"}) {
    const auto key = query.find(name);
    if (!key || key->empty()) continue;
    return begins_with(*key, "bearer ") ? *key : "Bearer " + *key;
  }
  return {};
}

}  // namespace syrinx
