#include "server/request/reply.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(Reply, HeadersCannotBeSmuggled) {
  EXPECT_EQ(response_head(200, {{"A", "b\r\nEvil: 1"}}), "HTTP/1.1 200 OK\r\nA: bEvil: 1\r\n\r\n");
}

TEST(Reply, Chunks) {
  EXPECT_EQ(http_chunk(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
  EXPECT_THROW(http_chunk(""), InternalError);
  EXPECT_EQ(last_http_chunk({}), "0\r\n\r\n");
  EXPECT_EQ(last_http_chunk({{"X", "y"}}), "0\r\nX: y\r\n\r\n");
}

}  // namespace
}  // namespace syrinx
