// The small parts of the server that need no socket: keys, errors, replies, events, the queue.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "server/api_error.h"
#include "server/api_keys.h"
#include "server/audio_queue.h"
#include "server/reply.h"
#include "server/wire.h"

namespace syrinx {
namespace {

TEST(ApiKeys, Admission) {
  EXPECT_TRUE(ApiKeys().admits(""));
  EXPECT_TRUE(ApiKeys({""}).empty());
  const ApiKeys keys({"alpha", "beta"});
  EXPECT_TRUE(keys.admits("Bearer alpha"));
  EXPECT_TRUE(keys.admits("bearer   beta "));
  for (const char* wrong : {"", "Bearer", "Bearer ", "alpha", "Basic alpha", "Bearer alph",
                            "Bearer alphaa", "Bearer alphaalpha", "Bearer  ", "Bearer ALPHA"}) {
    EXPECT_FALSE(keys.admits(wrong)) << wrong;
  }
}

TEST(ApiKeys, File) {
  const std::string path = testing::TempDir() + "syrinx_keys";
  std::ofstream(path) << "# ours\n\n  one \r\ntwo\n";
  const ApiKeys keys = ApiKeys::from_file(path);
  EXPECT_TRUE(keys.admits("Bearer one"));
  EXPECT_TRUE(keys.admits("Bearer two"));
  EXPECT_FALSE(keys.admits("Bearer # ours"));
  std::ofstream(path) << "# nothing\n";
  EXPECT_THROW(ApiKeys::from_file(path), LoadError);
  std::remove(path.c_str());
  EXPECT_THROW(ApiKeys::from_file(path), LoadError);
}

TEST(ApiError, FromEngine) {
  EXPECT_EQ(to_api_error({ErrorCode::kInvalid, "m", "input"}).status, 400);
  EXPECT_EQ(to_api_error({ErrorCode::kNotFound, "m", "voice"}).code, "voice_not_found");
  EXPECT_EQ(to_api_error({ErrorCode::kNotFound, "m", "model"}).status, 404);
  EXPECT_EQ(to_api_error({ErrorCode::kUnsupported, "m"}).code, "unsupported_value");
  EXPECT_GT(to_api_error({ErrorCode::kOverloaded, "m"}).retry_after_s, 0);
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

TEST(Reply, HeadersCannotBeSmuggled) {
  EXPECT_EQ(response_head(200, {{"A", "b\r\nEvil: 1"}}), "HTTP/1.1 200 OK\r\nA: bEvil: 1\r\n\r\n");
}

TEST(Reply, Chunks) {
  EXPECT_EQ(http_chunk(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
  EXPECT_THROW(http_chunk(""), InternalError);
  EXPECT_EQ(last_http_chunk({}), "0\r\n\r\n");
  EXPECT_EQ(last_http_chunk({{"X", "y"}}), "0\r\nX: y\r\n\r\n");
}

TEST(Wire, Base64) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, want] : vectors) EXPECT_EQ(base64(bytes), want);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Wire, Done) {
  PipelineInfo info;
  info.frame_rate = 10;
  info.word_times = true;
  SpeechCall call;
  call.request.text = "h\xc3\xa9";
  Outcome outcome;
  outcome.frames = 5;
  outcome.words = {{0, 3, 2}};
  EXPECT_EQ(done_event(call, outcome, info),
            "data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":2,"
            "\"output_tokens\":5,\"total_tokens\":7},\"finish_reason\":\"stop\","
            "\"words\":[{\"begin\":0,\"end\":3,\"start_s\":0.2}]}\n\n");
  call.words = false;
  call.request.phone_times = true;
  outcome.phones = {{"ay1", 4}};
  EXPECT_TRUE(done_event(call, outcome, info)
                  .ends_with("\"stop\",\"phones\":[{\"phone\":\"ay1\",\"start_s\":0.4}]}\n\n"));
}

TEST(AudioQueue, CountsWhatIsUnread) {
  int wakes = 0;
  AudioQueue queue(1000, [&wakes] { ++wakes; });
  queue.audio(std::vector<float>(500));
  EXPECT_EQ(wakes, 1);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.5);
  std::vector<float> out;
  EXPECT_EQ(queue.take(out, 300), 300u);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.5);  // taken is not yet written
  queue.written(300);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.2);
  queue.finished({});
  EXPECT_EQ(wakes, 2);
  EXPECT_FALSE(queue.end().has_value());
  EXPECT_EQ(queue.take(out, 600), 200u);
  EXPECT_TRUE(queue.end().has_value());
  EXPECT_EQ(out.size(), 500u);
}

TEST(AudioQueue, DetachedDropsAudio) {
  AudioQueue queue(1000, [] { FAIL(); });
  queue.detach();
  queue.audio(std::vector<float>(10));
  queue.finished({});
  EXPECT_EQ(queue.unread_s(), 0);
}

}  // namespace
}  // namespace syrinx
