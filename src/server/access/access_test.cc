#include "server/access/access.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

const AccessRules kLoopback = {.hosts = {"localhost", "127.0.0.1", "[::1]"}, .origins = {}};
const AccessRules kListed = {.hosts = {}, .origins = {"https://app.example"}};

TEST(Access, NamesOfTheServer) {
  for (const char* host :
       {"localhost", "LocalHost:8080", "127.0.0.1:1", "[::1]:8080", "[::1]", ""}) {
    EXPECT_FALSE(refuse_access(kLoopback, {.host = host})) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "[::2]",
                           "localhost.evil.example", ":8080", "[", "127.0.0.1@evil.example"}) {
    const auto refusal = refuse_access(kLoopback, {.host = host});
    ASSERT_TRUE(refusal) << host;
    EXPECT_EQ(refusal->status, 403);
    EXPECT_EQ(refusal->code, "host_not_allowed");
  }
  EXPECT_FALSE(refuse_access({}, {.host = "any.example"}));
}

TEST(Access, PagesOfStrangersChangeNothing) {
  const auto allowed = [](const char* origin, bool reads_only) {
    return !refuse_access(kListed, {.host = "api.example:8080",
                                    .origin = origin,
                                    .requested_headers = {},
                                    .reads_only = reads_only});
  };
  EXPECT_TRUE(allowed("", false));
  EXPECT_TRUE(allowed("http://api.example:8080", false));
  EXPECT_TRUE(allowed("https://app.example", false));
  EXPECT_TRUE(allowed("https://evil.example", true));
  for (const char* origin :
       {"https://evil.example", "null", "https://app.example.evil", "http://api.example",
        "https://evil.example/api.example:8080", "api.example:8080"}) {
    EXPECT_FALSE(allowed(origin, false)) << origin;
  }
  const auto same = [](const char* origin) {
    return !refuse_access(
        kListed,
        {.host = "api.example", .origin = origin, .requested_headers = {}, .reads_only = false});
  };
  EXPECT_TRUE(same("http://API.example"));
  EXPECT_FALSE(same("http://api.example.evil"));
  EXPECT_FALSE(same("http://api.example:8080"));
}

TEST(Access, OriginsAsOperatorsWriteThem) {
  const auto read = [](const char* given) {
    const auto origin = read_origin(given);
    return origin ? origin.value() : "";
  };
  EXPECT_EQ(read("https://app.example/"), "https://app.example");
  EXPECT_EQ(read("http://app.example:8080"), "http://app.example:8080");
  EXPECT_EQ(read("https://*.app.example"), "https://*.app.example");
  EXPECT_EQ(read("*"), "*");
  for (const char* bad : {"", "app.example", "https://", "https://app.example/page", "https://a*.b",
                          "*.app.example", "https://*", "https://*.", "://x", "https://u@h"}) {
    EXPECT_EQ(read(bad), "") << bad;
  }
  const AccessRules rules{.hosts = {}, .origins = {"https://*.app.example"}};
  const auto allowed = [&](const char* origin) {
    return !cors_headers(rules, {.host = "a", .origin = origin}).empty();
  };
  EXPECT_TRUE(allowed("https://a.app.example"));
  EXPECT_TRUE(allowed("https://a.b.APP.example"));
  for (const char* other :
       {"https://app.example", "https://evilapp.example", "http://a.app.example",
        "https://.app.example", "https://a.app.example:8080", "https://evil/.app.example",
        "https://evil:1.app.example"}) {
    EXPECT_FALSE(allowed(other)) << other;
  }
}

TEST(Access, Cors) {
  EXPECT_TRUE(cors_headers(kListed, {.host = "a", .origin = "https://evil.example"}).empty());
  EXPECT_TRUE(cors_headers(kListed, {.host = "a"}).empty());
  const Headers headers = cors_headers(kListed, {.host = "a", .origin = "https://app.example"});
  ASSERT_FALSE(headers.empty());
  EXPECT_EQ(headers[0].second, "https://app.example");
  EXPECT_FALSE(answer_preflight(kLoopback, {.host = "a", .origin = "https://app.example"}));
  const auto preflight = answer_preflight(
      {.hosts = {}, .origins = {"*"}},
      {.host = "a", .origin = "https://x.example", .requested_headers = "authorization"});
  ASSERT_TRUE(preflight);
  EXPECT_EQ(preflight->status, 204);
  EXPECT_EQ(preflight->headers.back().second, "authorization");
}

}  // namespace
}  // namespace syrinx
