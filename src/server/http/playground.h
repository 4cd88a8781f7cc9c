// The web page at "/": the files of web/, which are part of the program. Static data; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "server/request/reply.h"

namespace syrinx {

/// A file of web/, with its path relative to web/ ("playground/app.js").
struct WebFile {
  std::string_view name;
  std::string_view bytes;
};
std::span<const WebFile> web_files();

/// Answers GET of the page ("/") or of one of its parts. Returns nothing for other paths. The page
/// may run only its own scripts and connect only to this server.
std::optional<Reply> playground_reply(std::string_view path);

}  // namespace syrinx
