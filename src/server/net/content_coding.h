// Decodes bodies that a client compressed (RFC 9110, 8.4). Bodies are not trusted: the decoded size
// is bounded before memory is taken. Thread-safe free functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace syrinx {

/// The coding of a body.
enum class ContentCoding { kNone, kGzip };

/// Reads a Content-Encoding header; returns nothing for unsupported codings.
std::optional<ContentCoding> content_coding(std::string_view header);

/// The result of decoding a gzip file.
struct Gunzipped {
  std::string bytes = {};              ///< the decoded bytes; empty after a fault
  bool too_large = false;              ///< the decoded bytes exceed the limit
  std::optional<ApiError> error = {};  ///< the reason why the file is invalid
};

/// Decodes a gzip file of one or more members. Stops when the result exceeds `limit` bytes.
Gunzipped gunzip(std::string_view bytes, size_t limit);

}  // namespace syrinx
