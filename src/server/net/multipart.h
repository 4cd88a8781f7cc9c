// Parses multipart/form-data (RFC 7578) from a complete body, from which the parts borrow. Bodies
// are not trusted: parts, headers and boundaries are bounded, and anything malformed is refused.
// Thread-safe free functions.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/request/api_error.h"

namespace syrinx {

struct FormPart {
  std::string name, filename;  ///< as sent; empty if absent
  std::string_view data;
};

/// Returns whether a Content-Type is that of a form with files.
bool is_multipart(std::string_view content_type);
/// Parses at most 32 parts, with at most 4 KiB of headers each.
std::variant<std::vector<FormPart>, ApiError> parse_multipart(std::string_view body,
                                                              std::string_view content_type);

}  // namespace syrinx
