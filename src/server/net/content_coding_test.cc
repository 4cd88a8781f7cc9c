#include "server/net/content_coding.h"

#include <gtest/gtest.h>

#include <string>

#include "server/net/gzipped_test.h"
#include "server/net/request_target.h"

namespace syrinx {
namespace {

TEST(ContentCoding, Names) {
  EXPECT_EQ(content_coding(""), ContentCoding::kNone);
  EXPECT_EQ(content_coding("identity"), ContentCoding::kNone);
  EXPECT_EQ(content_coding(" GZip "), ContentCoding::kGzip);
  EXPECT_EQ(content_coding("x-gzip"), ContentCoding::kGzip);
  for (const char* other : {"br", "deflate", "zstd", "gzip, gzip"}) {
    EXPECT_FALSE(content_coding(other)) << other;
  }
}

TEST(ContentCoding, DecodesWithinABound) {
  const std::string text = std::string(100'000, 'a') + "b";
  const std::string coded = gzipped(text);
  EXPECT_EQ(gunzip(coded, text.size()).bytes, text);
  EXPECT_EQ(gunzip(coded + coded, 2 * text.size()).bytes, text + text);
  EXPECT_TRUE(gunzip(coded, text.size() - 1).too_large);
  std::string zeros;
  zeros.resize(50'000'000);
  EXPECT_TRUE(gunzip(gzipped(zeros), 1 << 20).too_large);
  EXPECT_EQ(gunzip(gzipped(""), 0).bytes, "");
  for (size_t end = 0; end < coded.size(); ++end) {
    const Gunzipped cut = gunzip(std::string_view(coded).substr(0, end), 1 << 20);
    ASSERT_TRUE(cut.error) << end;
    EXPECT_NE(cut.error->message.find("ends too early"), std::string::npos) << end;
  }
  std::string damaged = coded;
  damaged[damaged.size() - 6] ^= 1;  // damages a byte of the checksum
  EXPECT_TRUE(gunzip(damaged, 1 << 20).error);
  EXPECT_TRUE(gunzip("{\"input\": \"hello\"}", 1 << 20).error);
  EXPECT_TRUE(gunzip(coded + "more", 1 << 20).error);
}

TEST(RequestTarget, Forms) {
  const auto check = [](const char* target, const char* host, const char* path) {
    const RequestTarget read = request_target(target);
    EXPECT_EQ(read.host, host) << target;
    EXPECT_EQ(read.path, path) << target;
  };
  check("/v1/models", "", "/v1/models");
  check("/v1/models/", "", "/v1/models");
  check("/v1/realtime/?model=a/", "", "/v1/realtime?model=a/");
  check("/", "", "/");
  check("//", "", "/");
  check("*", "", "*");
  check("", "", "");
  check("http://a:8080/health?x=1", "a:8080", "/health?x=1");
  check("HTTPS://[::1]:1/v1/models/", "[::1]:1", "/v1/models");
  check("http://a", "a", "/");
  check("http://a?x", "a", "/?x");
  check("http:/a", "", "http:/a");
}

}  // namespace
}  // namespace syrinx
