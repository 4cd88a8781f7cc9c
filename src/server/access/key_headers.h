// Finds the key of a request. Clients of other vendors send the server's key in the place of their
// vendor's key: in a special header, as "Authorization: Token KEY", in the query, or in the list of
// subprotocols. Plain data and free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Headers of a WebSocket upgrade that may have a key; empty if absent. Borrows from the request.
struct KeyHeaders {
  std::string_view authorization = {};  ///< "Bearer KEY", "Token KEY"
  std::string_view xi_api_key = {};     ///< the header of ElevenLabs' clients
  std::string_view x_api_key = {};      ///< the header of Cartesia's clients
  std::string_view subprotocols = {};   ///< "token, KEY" of Deepgram in browsers, or OpenAI's form
  std::string_view query = {};          ///< may have api_key, xi-api-key, authorization or token
};

/// Returns "Bearer KEY" for ApiKeys::find(), or nothing when no key was sent.
std::string bearer_of(const KeyHeaders& headers);

}  // namespace syrinx
