// Answers as bytes: the head of an HTTP/1.1 response, and complete small answers. Plain data and
// free functions; thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/api_error.h"

namespace syrinx {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A complete answer.
struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
};

Reply reply_of(const ApiError& error);
/// Returns an answer with one line of JSON; replaces invalid UTF-8.
Reply json_reply(const nlohmann::ordered_json& body, int status = 200);

/// Returns "OK", "Not Found", ...; static storage.
const char* status_text(int status);

/// Returns the status line and headers with the empty line after them. Drops control characters in
/// values, so that no value can start another header.
std::string response_head(int status, const Headers& headers);

/// Returns a chunk of a chunked body. `data` must not be empty: that would end the body.
std::string http_chunk(std::string_view data);
/// Returns the chunk that ends a body, with trailers.
std::string last_http_chunk(const Headers& trailers);

}  // namespace syrinx
