// The page as the server sends it: complete, with the right types, and with few permissions.
#include "server/http/playground.h"

#include <gtest/gtest.h>

#include <string>

#include "server/http/routes.h"

namespace syrinx {
namespace {

std::string header(const Reply& reply, const std::string& name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(Playground, PageAndItsParts) {
  const auto page = playground_reply("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_TRUE(page->body.starts_with("<!doctype html>"));
  EXPECT_TRUE(page->body.ends_with("</html>\n"));
  for (size_t at = 0; (at = page->body.find("\"playground/", at)) != std::string::npos; ++at) {
    const std::string path = page->body.substr(at + 1, page->body.find('"', at + 1) - at - 1);
    EXPECT_TRUE(playground_reply("/" + path)) << path;
  }
  EXPECT_EQ(playground_reply("/playground/app.js")->content_type, "text/javascript; charset=utf-8");
  for (const char* path : {"", "/playground", "/playground/", "/playground/../index.html",
                           "//playground/app.js", "/README.md"}) {
    EXPECT_FALSE(playground_reply(path)) << path;
  }
}

TEST(Playground, MayDoLittle) {
  for (const WebFile& file : web_files()) {
    const auto reply = playground_reply("/" + std::string(file.name));
    ASSERT_TRUE(reply) << file.name;
    const std::string policy = header(*reply, "Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(header(*reply, "X-Content-Type-Options"), "nosniff");
    EXPECT_NE(reply->content_type, "application/octet-stream") << file.name;
    // Nothing is loaded from other sites. SVG files are skipped: their namespace is an address.
    if (!file.name.ends_with(".svg")) {
      EXPECT_EQ(file.bytes.find("http:"), std::string_view::npos) << file.name;
      EXPECT_EQ(file.bytes.find("https:"), std::string_view::npos) << file.name;
    }
  }
}

TEST(Playground, BrowsersGetThePageAndOthersAList) {
  const ServerView loading;
  const auto get = [&](const char* path, const char* accept, const char* method = "GET") {
    const RequestHead head{.method = method, .path = path, .accept = accept};
    return std::get<Reply>(route(head, loading));
  };
  EXPECT_TRUE(get("/", "text/html,application/xhtml+xml,*/*;q=0.8").body.starts_with("<!doctype"));
  EXPECT_TRUE(get("/", "*/*").body.starts_with("Syrinx"));
  EXPECT_EQ(get("/playground/app.js", "*/*").status, 200);
  EXPECT_NE(get("/playground/app.js", "*/*", "POST").status, 200);
}

TEST(Playground, KeysDoNotHideThePage) {
  const ApiKeys keys({"secret"});
  const ServerView server{.keys = &keys};
  const RequestHead page{.method = "GET", .path = "/", .accept = "text/html"};
  EXPECT_EQ(std::get<Reply>(route(page, server)).status, 200);
  const RequestHead voices{.method = "GET", .path = "/v1/audio/voices"};
  EXPECT_EQ(std::get<Reply>(route(voices, server)).status, 401);
}

}  // namespace
}  // namespace syrinx
