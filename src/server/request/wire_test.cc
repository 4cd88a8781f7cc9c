#include "server/request/wire.h"

#include <gtest/gtest.h>

#include <utility>

namespace syrinx {
namespace {

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
  info.speech.frame_rate = 10;
  info.speech.word_times = true;
  SpeechCall call;
  call.request.say.text = "h\xc3\xa9";
  Outcome outcome;
  outcome.frames = 5;
  outcome.words = {{0, 3, 2}};
  EXPECT_EQ(done_event(call, outcome, info),
            "data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":2,"
            "\"output_tokens\":5,\"total_tokens\":7},\"finish_reason\":\"stop\","
            "\"words\":[{\"begin\":0,\"end\":3,\"start_s\":0.2}]}\n\n");
  call.words = false;
  call.request.terms.phone_times = true;
  outcome.phones = {{"ay1", 4}};
  EXPECT_TRUE(done_event(call, outcome, info)
                  .ends_with("\"stop\",\"phones\":[{\"phone\":\"ay1\",\"start_s\":0.4}]}\n\n"));
  EXPECT_NE(error_event({.message = "cut in a character: \xc3"}).find("character: \xef\xbf\xbd"),
            std::string::npos);
}

}  // namespace
}  // namespace syrinx
