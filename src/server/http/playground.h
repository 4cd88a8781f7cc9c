// The web page that the server shows at "/": files of web/, part of the program since the build.
// Static data; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "server/request/reply.h"

namespace syrinx {

/// A file of web/ and its name there ("playground/app.js").
struct WebFile {
  std::string_view name;
  std::string_view bytes;
};
std::span<const WebFile> web_files();

/// The answer to a GET of the page ("/") or of one of its parts; nothing for other paths. The page
/// may run only its own scripts and talk only to this server.
std::optional<Reply> playground_reply(std::string_view path);

}  // namespace syrinx
