// Answers as bytes: the head of an HTTP/1.1 response, and whole small answers.
// Plain data and free functions; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/api_error.h"

namespace syrinx {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// An answer that is known as a whole.
struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
};

Reply reply_of(const ApiError& error);
/// One line; bytes that are no UTF-8 are replaced.
Reply json_reply(const nlohmann::ordered_json& body, int status = 200);

/// "OK", "Not Found", ...; static storage.
const char* status_text(int status);

/// Status line and headers with the empty line after them. Control characters in values are
/// dropped, so that no value can begin a header of its own.
std::string response_head(int status, const Headers& headers);

/// A chunk of a chunked body. `data` must not be empty: that would end the body.
std::string http_chunk(std::string_view data);
/// The chunk that ends a body, with trailers.
std::string last_http_chunk(const Headers& trailers);

}  // namespace syrinx
