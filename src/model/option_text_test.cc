#include "model/option_text.h"

#include <gtest/gtest.h>

#include "model/options.h"

namespace syrinx {
namespace {

std::string fault_of(std::string_view name, std::string_view value) {
  SpeechRequest request;
  const Status status = set_option(request, name, value);
  return status ? "" : status.error().message;
}

TEST(OptionText, SetsEveryOptionOfSpeech) {
  for (const RequestOption& option : request_options()) {
    if (option.bodies == kWrittenBodies) continue;
    const bool flow = std::holds_alternative<OptionMember<FlowMode>>(option.field);
    const bool flag = std::holds_alternative<OptionMember<std::optional<bool>>>(option.field);
    SpeechRequest request;
    ASSERT_TRUE(set_option(request, option.name,
                           flow   ? "full"
                           : flag ? "false"
                                  : "2"))
        << option.name;
    int set = 0;
    for_set_options(request, [&](const RequestOption& each, const auto&) {
      EXPECT_EQ(each.name, option.name);
      ++set;
    });
    EXPECT_EQ(set, 1) << option.name;
  }
}

TEST(OptionText, KeepsValues) {
  SpeechRequest request;
  ASSERT_TRUE(set_option(request, "seed", "18446744073709551615"));
  EXPECT_EQ(request.sampling.seed, 18446744073709551615u);
  ASSERT_TRUE(set_option(request, "exaggeration", "0.25"));
  EXPECT_EQ(request.voice.exaggeration, 0.25f);
  ASSERT_TRUE(set_option(request, "instructions", "softly, please"));
  EXPECT_EQ(request.say.instructions, "softly, please");
}

TEST(OptionText, RefusesWhatItCannotRead) {
  EXPECT_EQ(fault_of("loudness", "1"), "unknown option 'loudness'");
  EXPECT_EQ(fault_of("max_tokens", "1"), "unknown option 'max_tokens'");
  EXPECT_EQ(fault_of("top_k", "2.5"), "invalid 'top_k': expected an integer, not '2.5'");
  EXPECT_EQ(fault_of("top_p", "half"), "invalid 'top_p': expected a number, not 'half'");
  EXPECT_EQ(fault_of("top_p", ""), "invalid 'top_p': expected a number, not ''");
  EXPECT_EQ(fault_of("seed", "-1"), "invalid 'seed': expected an integer, not '-1'");
  EXPECT_EQ(fault_of("spell_numbers", "yes"),
            "invalid 'spell_numbers': expected true or false, not 'yes'");
  EXPECT_EQ(fault_of("flow", "half"), "invalid 'flow': expected auto, causal or full, not 'half'");
}

TEST(OptionText, ARefusedValueChangesNothing) {
  SpeechRequest request;
  request.sampling.top_k = 7;
  EXPECT_FALSE(set_option(request, "top_k", "7x"));
  EXPECT_EQ(request.sampling.top_k, 7);
}

}  // namespace
}  // namespace syrinx
