#include "server/http/playground.h"

#include <string>

namespace syrinx {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

const char* type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

}  // namespace

std::optional<Reply> playground_reply(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(path.empty() ? 0 : 1);
  for (const WebFile& file : web_files()) {
    if (file.name != name) continue;
    Reply reply;
    reply.content_type = type_of(name);
    reply.body = std::string(file.bytes);
    reply.headers = {{"Content-Security-Policy", kPolicy},
                     {"X-Content-Type-Options", "nosniff"},
                     {"Referrer-Policy", "no-referrer"},
                     {"Cross-Origin-Opener-Policy", "same-origin"},
                     {"Cross-Origin-Resource-Policy", "same-origin"},
                     {"Cache-Control", "no-cache"},  // another version has another page
                     {"Vary", "Accept"}};
    return reply;
  }
  return std::nullopt;
}

}  // namespace syrinx
