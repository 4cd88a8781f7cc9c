// The key that a request carries. Clients of other vendors carry the server's key where theirs
// goes: a header of their own, "Authorization: Token KEY", the query, or the list of subprotocols.
// Plain data and free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Headers of an upgrade that may carry a key, empty when absent. Borrows from the request.
struct KeyHeaders {
  std::string_view authorization = {};  ///< "Bearer KEY", "Token KEY"
  std::string_view xi_api_key = {};     ///< ElevenLabs
  std::string_view x_api_key = {};      ///< Cartesia
  std::string_view subprotocols = {};   ///< "token, KEY": browsers at Deepgram; OpenAI's
  std::string_view query = {};          ///< api_key, xi-api-key, authorization, token
};

/// "Bearer KEY" for ApiKeys::admits(), or nothing when no key was sent.
std::string bearer_of(const KeyHeaders& headers);

}  // namespace syrinx
