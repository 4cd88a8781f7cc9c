#include "model/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace syrinx {
namespace {

std::string option_fault(const PipelineInfo& info, const SpeechRequest& request) {
  const Status status = check_options(info, request);
  return status ? "" : status.error().message;
}

std::vector<std::string> set_names(const SpeechRequest& request) {
  std::vector<std::string> out;
  for_set_options(request,
                  [&](const RequestOption& option, const auto&) { out.emplace_back(option.name); });
  return out;
}

TEST(Options, NamesAndFieldsAreInTheTableOnce) {
  std::set<std::string_view> names, arguments;
  const auto options = request_options();
  for (size_t i = 0; i < options.size(); ++i) {
    EXPECT_TRUE(names.insert(options[i].name).second) << options[i].name;
    if (!options[i].argument.empty()) {
      EXPECT_TRUE(arguments.insert(options[i].argument).second) << options[i].argument;
    }
    EXPECT_EQ(std::count_if(options.begin(), options.end(),
                            [&](const auto& each) { return each.field == options[i].field; }),
              1)
        << options[i].name;
    EXPECT_FALSE(options[i].help.empty() || options[i].help.ends_with('.')) << options[i].name;
    EXPECT_EQ(&request_option(options[i].name), &options[i]);
  }
  EXPECT_THROW((void)request_option("loudness"), InternalError);
}

TEST(Options, OnesThatAreSetAreListed) {
  EXPECT_TRUE(set_names({}).empty());
  SpeechRequest request;
  request.voice.exaggeration = 0.f;
  request.terms.flow = FlowMode::kFull;
  request.voice.speaker = 0;
  request.say.language = "de";
  EXPECT_EQ(set_names(request),
            (std::vector<std::string>{"language", "flow", "exaggeration", "speaker"}));
  for_set_options(request, [](const RequestOption& option, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, std::string_view>) {
      EXPECT_EQ(value, "full");
    }
    if constexpr (std::same_as<Value, float>) {
      EXPECT_EQ(option.name, "exaggeration");
    }
  });
}

TEST(Options, RefusalsNameTheOptionAndWhatTheModelOffers) {
  PipelineInfo info;
  info.model = "toy";
  SpeechRequest request;
  request.voice.exaggeration = 1.f;
  EXPECT_EQ(option_fault(info, request),
            "the model 'toy' does not support 'exaggeration'; leave it out");
  info.offers.add({{"flow"}, {"speaker", {0, 2}}});
  EXPECT_EQ(option_fault(info, request),
            "the model 'toy' does not support 'exaggeration'; leave it out (further options "
            "that this model supports: 'flow', 'speaker')");
  info.offers.add("exaggeration");
  EXPECT_EQ(option_fault(info, request), "");
  request.voice.exaggeration = 2.5f;
  EXPECT_EQ(option_fault(info, request), "'exaggeration' must be between 0 and 2, not 2.5");
  EXPECT_EQ(check_options(info, request).error().code, ErrorCode::kInvalid);
}

TEST(Options, AModelMaySayWhatToDoInstead) {
  PipelineInfo info;
  info.model = "toy";
  info.offers.lack({"instructions"}, "write tags into the text");
  SpeechRequest request;
  request.say.instructions = "whisper";
  EXPECT_EQ(option_fault(info, request),
            "the model 'toy' does not support 'instructions'; write tags into the text");
}

TEST(Options, AModelMayLackOrBoundWhatMostModelsHave) {
  PipelineInfo info;
  info.model = "toy";
  SpeechRequest request;
  request.sampling.top_k = 5;
  EXPECT_EQ(option_fault(info, request), "");
  info.offers.lack({"top_k", "top_p"}, "it draws no codes");
  EXPECT_EQ(option_fault(info, request),
            "the model 'toy' does not support 'top_k'; it draws no codes");
  info.offers.add("top_k", {0, 0});
  EXPECT_EQ(option_fault(info, request), "'top_k' must be 0 with the model 'toy', not 5");
  request.sampling.top_k = 0;
  EXPECT_EQ(option_fault(info, request), "");
}

TEST(Options, AModelMayTakeLessThanTheTable) {
  PipelineInfo info;
  info.model = "toy";
  info.offers.add("speed", {0.5f, 2});
  SpeechRequest request;
  request.voice.speed = 3;
  EXPECT_EQ(option_fault(info, request),
            "'speed' must be between 0.5 and 2 with the model 'toy', not 3");
  EXPECT_EQ(check_options(info, request).error().code, ErrorCode::kUnsupported);
  request.voice.speed = 9;
  EXPECT_EQ(check_options(info, request).error().code, ErrorCode::kInvalid);
  request.voice.speed = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(option_fault(info, request), "");
  request.voice.speed = 1, request.voice.pitch = 1;
  EXPECT_NE(option_fault(info, request), "");
  info.offers.add("pitch", {0, 4});
  EXPECT_EQ(option_fault(info, request), "");
}

TEST(Options, EveryNumberHasItsBounds) {
  PipelineInfo info;
  info.offers.add({{"inner_temperature"}, {"inner_top_p"}, {"inner_top_k"}, {"exaggeration"}});
  info.offers.add("speaker", {0, 1});
  for (const RequestOption& option : request_options()) {
    if (option.bounds.high == std::numeric_limits<double>::infinity()) continue;
    for (const double past : {option.bounds.low - 1, option.bounds.high * 2 + 1}) {
      SpeechRequest request;
      std::visit(
          [&](auto field) {
            if constexpr (std::is_assignable_v<decltype(field(request)), float>) {
              field(request) = static_cast<float>(past);
            }
          },
          option.field);
      const Status status = check_options(info, request);
      if (past == -1 && option.name == "speaker") continue;  // -1 means that the option is not set
      if (past == 0) continue;                               // 0 means that the option is not set
      ASSERT_FALSE(status) << option.name << ' ' << past;
      EXPECT_EQ(status.error().param, option.name);
    }
  }
}

TEST(Options, BoundsThatNoFloatHoldsExactlyAreInside) {
  SpeechRequest request;
  request.sampling.repetition_penalty = 0.01f;  // as a float, less than 0.01
  EXPECT_EQ(option_fault({}, request), "");
  request.sampling.repetition_penalty = 0.009f;
  EXPECT_NE(option_fault({}, request), "");
}

TEST(Options, BoundsInWords) {
  EXPECT_EQ(bounds_text({0.25, 4}), "between 0.25 and 4");
  EXPECT_EQ(bounds_text({1, 2147483647}), "at least 1");
  EXPECT_EQ(bounds_text({1, 1}), "1");
}

}  // namespace
}  // namespace syrinx
