#include "server/net/multipart.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMaxParts = 32, kMaxHeaderBytes = 4096, kMaxBoundaryBytes = 70;
constexpr std::string_view kType = "multipart/form-data";

/// Returns the parameter `name` of `value; a=1; b="two"`. Nothing if absent or malformed.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  size_t at = header.find(';');
  while (at != std::string_view::npos) {
    header.remove_prefix(at + 1);
    const size_t equals = header.find_first_of("=;");
    if (equals == std::string_view::npos) return {};
    const bool wanted = same_but_case(trimmed(header.substr(0, equals)), name);
    if (header[equals] == ';') {
      at = equals;
      continue;
    }
    header.remove_prefix(equals + 1);
    std::string value;
    if (header.starts_with('"')) {
      size_t i = 1;
      // Browsers escape a quote as %22; a backslash escapes only a quote or a backslash.
      for (; i < header.size() && header[i] != '"'; ++i) {
        const bool escape = header[i] == '\\' && i + 1 < header.size() &&
                            (header[i + 1] == '"' || header[i + 1] == '\\');
        value += header[escape ? ++i : i];
      }
      if (i >= header.size()) return {};
      header.remove_prefix(i + 1);
    } else {
      value = trimmed(header.substr(0, header.find(';')));
    }
    if (wanted) return value;
    at = header.find(';');
  }
  return {};
}

ApiError malformed(std::string what) {
  return {.message = concat("The form is malformed: ", what, "."), .code = "invalid_form"};
}

/// Reads the header lines of a part; returns false if they do not describe a part of a form.
bool read_headers(std::string_view headers, FormPart& part) {
  bool named = false;
  while (!headers.empty()) {
    const size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(headers.size(), end + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    if (!same_but_case(trimmed(line.substr(0, colon)), "content-disposition")) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!same_but_case(trimmed(value.substr(0, value.find(';'))), "form-data")) return false;
    const auto name = parameter(value, "name");
    if (!name) return false;
    part.name = *name;
    part.filename = parameter(value, "filename").value_or("");
    named = true;
  }
  return named;
}

}  // namespace

bool is_multipart(std::string_view content_type) {
  return same_but_case(trimmed(content_type.substr(0, content_type.find(';'))), kType);
}

std::variant<std::vector<FormPart>, ApiError> parse_multipart(std::string_view body,
                                                              std::string_view content_type) {
  const auto boundary = parameter(content_type, "boundary");
  if (!is_multipart(content_type) || !boundary || boundary->empty() ||
      boundary->size() > kMaxBoundaryBytes) {
    return malformed("Content-Type has no valid boundary");
  }
  // Every delimiter but the first follows a line end.
  const std::string delimiter = "\r\n--" + *boundary;
  const std::string_view first = std::string_view(delimiter).substr(2);
  size_t at = body.starts_with(first) ? 0 : body.find(delimiter);
  if (at == std::string_view::npos) return malformed("the boundary does not occur");
  at += at == 0 && body.starts_with(first) ? first.size() : delimiter.size();
  std::vector<FormPart> parts;
  while (true) {
    const std::string_view rest = body.substr(at);
    if (rest.starts_with("--")) return parts;
    const size_t line = rest.find_first_not_of(" \t");
    if (line == std::string_view::npos || !rest.substr(line).starts_with("\r\n")) {
      return malformed("a boundary does not end its line");
    }
    const std::string_view part = rest.substr(line + 2);
    // Searches only within the limit, so that a large part does not cost a search of all its bytes.
    const size_t headers = part.substr(0, kMaxHeaderBytes + 4).find("\r\n\r\n");
    if (headers == std::string_view::npos) {
      return malformed(
          concat("a part has no end of its headers within ", kMaxHeaderBytes, " bytes"));
    }
    const size_t data = headers + 4;
    const size_t end = part.find(delimiter, data - 2);  // an empty part may share its headers' CRLF
    if (end == std::string_view::npos) return malformed("the last boundary is missing");
    FormPart out;
    if (!read_headers(part.substr(0, headers), out)) {
      return malformed("a part needs 'Content-Disposition: form-data; name=...'");
    }
    out.data = end > data ? part.substr(data, end - data) : std::string_view();
    parts.push_back(std::move(out));
    if (parts.size() > kMaxParts) return malformed(concat("more than ", kMaxParts, " parts"));
    at = static_cast<size_t>(part.data() - body.data()) + end + delimiter.size();
  }
}

}  // namespace syrinx
