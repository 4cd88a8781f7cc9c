#include "server/request/reply.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace syrinx {
namespace {

void append_headers(const Headers& headers, std::string& out) {
  for (const auto& [name, value] : headers) {
    out += name + ": ";
    for (const char c : value) {
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) out += c;
    }
    out += "\r\n";
  }
  out += "\r\n";
}

}  // namespace

Reply json_reply(const nlohmann::ordered_json& body, int status) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  return {.status = status, .body = body.dump(-1, ' ', false, replace) + "\n"};
}

Reply reply_of(const ApiError& error) {
  Reply reply{.status = error.status, .body = error_body(error)};
  if (error.retry_after_s > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  }
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

const char* status_text(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

std::string response_head(int status, const Headers& headers) {
  std::string out = concat("HTTP/1.1 ", status, " ", status_text(status), "\r\n");
  append_headers(headers, out);
  return out;
}

std::string http_chunk(std::string_view data) {
  SYRINX_CHECK(!data.empty(), "an empty chunk would end the body");
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), data.size(), 16).ptr;
  std::string out(size.data(), end);
  out.reserve(out.size() + data.size() + 4);
  out += "\r\n";
  out += data;
  out += "\r\n";
  return out;
}

std::string last_http_chunk(const Headers& trailers) {
  std::string out = "0\r\n";
  append_headers(trailers, out);
  return out;
}

}  // namespace syrinx
