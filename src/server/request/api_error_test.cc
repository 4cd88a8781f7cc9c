#include "server/request/api_error.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/past_context.h"

namespace syrinx {
namespace {

TEST(ApiError, FromEngine) {
  EXPECT_EQ(to_api_error({ErrorCode::kInvalid, "m", "input"}).status, 400);
  EXPECT_EQ(to_api_error({ErrorCode::kNotFound, "m", "voice"}).code, "voice_not_found");
  EXPECT_EQ(to_api_error({ErrorCode::kNotFound, "m", "model"}).status, 404);
  EXPECT_EQ(to_api_error({ErrorCode::kUnsupported, "m"}).code, "unsupported_value");
  EXPECT_GT(to_api_error({ErrorCode::kOverloaded, "m"}).retry_after_s, 0);
  const ApiError past = to_api_error(past_context(8192, 9000, "messages"));
  EXPECT_EQ(past.status, 400);
  EXPECT_EQ(past.code, "context_length_exceeded");
  EXPECT_EQ(
      past.message,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in "
      "9000 tokens, and an answer needs 1 more at least. Please shorten the messages.");
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_api_error({ErrorCode::kOverloaded, "m", "model", never}).retry_after_s, 0);
  const ApiError internal = to_api_error({ErrorCode::kInternal, "secret"});
  EXPECT_EQ(internal.status, 500);
  EXPECT_EQ(internal.message.find("secret"), std::string::npos);
}

TEST(ApiError, Json) {
  EXPECT_EQ(error_body({.status = 404, .message = "No \"x\".", .param = "model", .code = "c"}),
            R"({"error":{"message":"No \"x\".","type":"invalid_request_error","param":"model",)"
            R"("code":"c"}})"
            "\n");
  EXPECT_EQ(error_object({.status = 500, .message = "\xff"}),
            "{\"message\":\"\xef\xbf\xbd\",\"type\":\"server_error\",\"param\":null,"
            "\"code\":null}");
}

}  // namespace
}  // namespace syrinx
