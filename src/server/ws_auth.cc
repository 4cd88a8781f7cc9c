#include "server/ws_auth.h"

#include <array>
#include <boost/beast/core/string.hpp>

#include "server/ws_fields.h"

namespace syrinx {
namespace {

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         boost::beast::iequals({text.data(), word.size()}, {word.data(), word.size()});
}

}  // namespace

std::string bearer_of(const KeyHeaders& headers) {
  const std::string_view given = trim(headers.authorization);
  if (begins_with(given, "bearer ")) return std::string(given);
  if (begins_with(given, "token ")) return "Bearer " + std::string(trim(given.substr(6)));
  for (const std::string_view key : {headers.xi_api_key, headers.x_api_key}) {
    if (!trim(key).empty()) return "Bearer " + std::string(trim(key));
  }
  for (const std::string_view scheme : {"token,", "bearer,"}) {
    if (begins_with(headers.subprotocols, scheme)) {
      return "Bearer " + std::string(trim(headers.subprotocols.substr(scheme.size())));
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
