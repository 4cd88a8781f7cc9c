#include "server/net/request_target.h"

#include <algorithm>

#include "base/ascii.h"

namespace syrinx {

RequestTarget request_target(std::string_view target) {
  RequestTarget out;
  for (const std::string_view scheme : {"http://", "https://", "ws://", "wss://"}) {
    if (!same_but_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find_first_of("/?"), target.size());
    out.host = target.substr(0, end);
    target.remove_prefix(end);
    if (!target.starts_with('/')) out.path = "/";
    break;
  }
  const size_t query = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, query);
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  out.path += path;
  out.path += target.substr(query);
  return out;
}

}  // namespace syrinx
