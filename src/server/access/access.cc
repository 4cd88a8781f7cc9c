#include "server/access/access.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Removes the port from "name:80" and "[::1]:80".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool known_host(const AccessRules& rules, std::string_view host) {
  return rules.hosts.empty() || host.empty() ||
         std::any_of(rules.hosts.begin(), rules.hosts.end(), [&](const std::string& name) {
           return same_but_case(name, without_port(host));
         });
}

bool same_site(const BrowserFacts& facts) {
  const size_t scheme = facts.origin.find("://");
  return scheme != std::string_view::npos &&
         same_but_case(facts.origin.substr(scheme + 3), facts.host);
}

/// Returns whether a pattern such as "https://*.example.org" matches the origin.
bool below(std::string_view pattern, std::string_view origin) {
  const size_t star = pattern.find("://*.");
  if (star == pattern.npos) return false;
  const std::string_view scheme = pattern.substr(0, star + 3), end = pattern.substr(star + 4);
  if (origin.size() <= scheme.size() + end.size()) return false;
  const std::string_view name =
      origin.substr(scheme.size(), origin.size() - scheme.size() - end.size());
  return same_but_case(origin.substr(0, scheme.size()), scheme) &&
         same_but_case(origin.substr(scheme.size() + name.size()), end) &&
         name.find_first_of(":/") == name.npos;
}

bool listed(const AccessRules& rules, std::string_view origin) {
  return std::any_of(rules.origins.begin(), rules.origins.end(), [&](const std::string& each) {
    return each == "*" || same_but_case(each, origin) || below(each, origin);
  });
}

}  // namespace

Result<std::string> read_origin(std::string_view given) {
  std::string_view origin = trimmed(given);
  if (origin == "*" || origin == "null") return std::string(origin);
  if (origin.ends_with('/')) origin.remove_suffix(1);
  const size_t scheme = origin.find("://");
  std::string_view host = scheme == origin.npos ? "" : origin.substr(scheme + 3);
  if (host.starts_with("*.")) host.remove_prefix(2);
  if (scheme == 0 || host.empty() || host.find_first_of("/*?#@ ") != host.npos) {
    return Error{
        ErrorCode::kInvalid,
        concat("'", given.substr(0, 200),
               "' is an invalid origin: write https://example.org or https://example.org:8443, "
               "without a path; https://*.example.org for all subdomains; or *")};
  }
  return std::string(origin);
}

std::optional<ApiError> refuse_access(const AccessRules& rules, const BrowserFacts& facts) {
  if (!known_host(rules, facts.host)) {
    return ApiError{.status = 403,
                    .message = concat("This server does not accept the host name '",
                                      facts.host.substr(0, 200), "' (see --allowed-host)."),
                    .code = "host_not_allowed"};
  }
  if (facts.origin.empty() || facts.reads_only || same_site(facts) || listed(rules, facts.origin)) {
    return {};
  }
  return ApiError{.status = 403,
                  .message = concat("Pages of '", facts.origin.substr(0, 200),
                                    "' may not use this server (see --cors-origin)."),
                  .code = "origin_not_allowed"};
}

Headers cors_headers(const AccessRules& rules, const BrowserFacts& facts) {
  if (facts.origin.empty() || !listed(rules, facts.origin)) return {};
  return {{"Access-Control-Allow-Origin", std::string(facts.origin)},
          {"Access-Control-Expose-Headers",
           "*, X-Request-Id, X-Sample-Rate, X-Seed, X-Warning, X-Finish-Reason, Retry-After"},
          {"Vary", "Origin"}};
}

std::optional<Reply> answer_preflight(const AccessRules& rules, const BrowserFacts& facts) {
  if (facts.origin.empty() || !listed(rules, facts.origin)) return {};
  Reply reply{.status = 204, .content_type = "", .body = {}, .headers = {}};
  reply.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                   {"Access-Control-Max-Age", "600"}};
  if (!facts.requested_headers.empty()) {
    reply.headers.emplace_back("Access-Control-Allow-Headers", facts.requested_headers);
  }
  return reply;
}

}  // namespace syrinx
