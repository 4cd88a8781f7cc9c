// Bodies that a client compressed (RFC 9110, 8.4). Nothing is trusted: what a body decodes to is
// bounded before it is made. Free functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace syrinx {

/// How the bytes of a body are coded.
enum class ContentCoding { kNone, kGzip };

/// Reads a Content-Encoding header; nothing for codings that the server does not decode.
std::optional<ContentCoding> content_coding(std::string_view header);

/// What a gzip file decodes to.
struct Gunzipped {
  std::string bytes = {};              ///< empty after a fault
  bool too_large = false;              ///< more bytes than the limit
  std::optional<ApiError> error = {};  ///< what is wrong with the file
};

/// Decodes a gzip file of one member or more. It stops as soon as there are more than `limit`
/// bytes.
Gunzipped gunzip(std::string_view bytes, size_t limit);

}  // namespace syrinx
