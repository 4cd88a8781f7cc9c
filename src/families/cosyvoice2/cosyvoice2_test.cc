// Requests, voices and files of CosyVoice2 and 3 on the small checkpoints of their parity tests.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "families/cosyvoice2/pipeline.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::cosyvoice2 {
namespace {

const std::string& checkpoint() {
  static const std::string path = SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/checkpoint";
  return path;
}

const CosyVoice2& model() {
  static const CosyVoice2 m({checkpoint(), "tiny"});
  return m;
}

SpeechRequest hello() {
  SpeechRequest request;
  request.say.text = "Hello there!";
  request.voice.name = "fox";
  return request;
}

std::unique_ptr<Sequence> open(const SpeechRequest& request) {
  auto opened = model().open(request);
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  return opened.ok() ? opened.take().only() : nullptr;
}

TEST(CosyVoice2, MinPReplacesTheAuthorsSampling) {
  SpeechRequest other = hello();
  other.sampling.min_p = 0.1f;
  EXPECT_EQ(open(other)->sampling(0).ras_window, 0) << "another way of sampling than theirs";
}

TEST(CosyVoice2, TheFlowHearsWhereAPartBegins) {
  SpeechRequest request = hello();
  while (request.say.text.size() < 1200)
    request.say.text += " The quick brown fox jumps over the dog.";
  const auto state = open(request);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  const int32_t code = 3, end = static_cast<int32_t>(model().config().speech_codes);
  for (int step = 0; step < 2; ++step) state->advance({&code, 1}, out);
  EXPECT_EQ(state->advance({&end, 1}, out).next, Verdict::kNextSegment);
  for (int step = 0; step < 2; ++step) state->advance({&code, 1}, out);
  EXPECT_EQ(frames, (std::vector<int32_t>{3, 3, 3 | kS3SegmentStart, 3}));
}

TEST(CosyVoice2, AFullFlowBoundsAPartWhateverIsAsked) {
  SpeechRequest request = hello();
  while (request.say.text.size() < 1200)
    request.say.text += " The quick brown fox jumps over the dog.";
  request.terms.flow = FlowMode::kFull;
  EXPECT_EQ(open(request)->max_steps(), kMostFullTokens);
  request.terms.max_frames = 2 * kMostFullTokens;
  EXPECT_EQ(open(request)->max_steps(), kMostFullTokens);
}

TEST(CosyVoice2, SpeechEndsAsItsAuthorsEndIt) {
  const auto state = open(hello());
  const auto codes = static_cast<int32_t>(model().config().speech_codes);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  const int text = static_cast<int>(model().frontend().ids("Hello there!").size());
  const int32_t code = 3;
  for (int step = 0; step < 20 * text; ++step) {
    const SampleRule rule = state->rule(0);
    EXPECT_EQ(rule.forced, -1);
    EXPECT_EQ(rule.ranges, step < 2 * text ? 2 : 0) << step;
    if (step < 2 * text) {
      EXPECT_EQ(rule.allowed[0].end, codes);
      EXPECT_EQ(rule.allowed[1].begin, codes + 1);
    }
    EXPECT_EQ(state->advance({&code, 1}, out).next, Verdict::kContinue);
  }
  EXPECT_EQ(state->rule(0).forced, codes);
  EXPECT_EQ(state->advance({&codes, 1}, out).next, Verdict::kFinished);
  EXPECT_EQ(frames.size(), static_cast<size_t>(20 * text));
}

TEST(CosyVoice2, SentencesAreNeverCut) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a,b,c,d ";
  text.back() = '.';
  EXPECT_EQ(model().frontend().parts(text), std::vector<std::string>{text});
}

TEST(CosyVoice2, RefusesWhatItCannotDo) {
  const auto fault = [](auto change) {
    SpeechRequest request = hello();
    change(request);
    auto opened = model().open(request);
    return opened.ok() ? std::string("accepted") : opened.error().param;
  };
  EXPECT_EQ(fault([](SpeechRequest& r) { r.say.text = " ... "; }), "input");
  SpeechRequest told = hello();
  for (int i = 0; i < 4000; ++i) told.say.instructions += "speak 1 2 3 ";
  const auto opened = model().open(told);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().param, "input");
  EXPECT_NE(opened.error().message.find("text, voice and instructions"), std::string::npos);
}

TEST(CosyVoice2, VoicesOfOtherFilesJoin) {
  TestDir dir;
  std::filesystem::copy(checkpoint(), dir.path("m"), std::filesystem::copy_options::recursive);
  std::filesystem::create_directory(dir.path("m/voices"));
  std::filesystem::rename(dir.path("m/spk2info.pt"), dir.path("m/voices/mine.pt"));
  const CosyVoice2 moved({dir.path("m"), "x"});
  EXPECT_EQ(moved.voices().size(), 3u);
  std::filesystem::remove_all(dir.path("m/voices"));
  const CosyVoice2 none({dir.path("m"), "x"});
  const auto opened = none.open(hello());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("spk2info.pt"), std::string::npos);
}

const std::string& third_checkpoint() {
  static const std::string path = SYRINX_BINARY_DIR "/parity/cosyvoice3/golden/checkpoint";
  return path;
}

const CosyVoice2& third() {
  static const CosyVoice2 m({third_checkpoint(), "tiny"}, kThirdEdition);
  return m;
}

std::vector<int32_t> prompt_of(const SpeechRequest& request) {
  const Opened opened = third().open(request).take();
  const auto ids = opened.sequence().prompt_ids();
  return {ids.begin(), ids.end()};
}

TEST(CosyVoice3, TheMelEndsAtHalfTheRate) { EXPECT_EQ(third().config().mel_top_hz, 12000); }

TEST(CosyVoice3, LongSilenceIsLeftOutAsByItsAuthors) {
  nlohmann::json golden;
  std::ifstream(SYRINX_BINARY_DIR "/parity/cosyvoice3/golden/silence.json") >> golden;
  SpeechRequest request = hello();
  while (request.say.text.size() < 1200)
    request.say.text += " The quick brown fox jumps over the dog.";
  const auto state = third().open(request).take().only();
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (const int32_t code : golden["given"]) state->advance({&code, 1}, out);
  EXPECT_EQ(frames, golden["kept"].get<std::vector<int32_t>>());
  // Each part counts its silence from zero.
  const int32_t quiet = 1, end = third().config().end_id();
  EXPECT_EQ(state->advance({&end, 1}, out).next, Verdict::kNextSegment);
  frames.clear();
  for (int i = 0; i < 7; ++i) state->advance({&quiet, 1}, out);
  EXPECT_EQ(frames, (std::vector<int32_t>{1 | kS3SegmentStart, 1, 1, 1, 1}));
}

TEST(CosyVoice3, EveryPromptEndsOnce) {
  const Frontend& frontend = third().frontend();
  const int32_t end = frontend.ids("<|endofprompt|>").front();
  const auto ends = [&](const SpeechRequest& request) {
    const std::vector<int32_t> ids = prompt_of(request);
    return std::count(ids.begin(), ids.end(), end);
  };
  SpeechRequest request = hello();
  EXPECT_EQ(ends(request), 1) << "a voice with words";
  request.voice.name = "plain";
  EXPECT_EQ(ends(request), 1) << "a voice without words";
  request.say.text = "You are a helpful assistant.<|endofprompt|>Hello there!";
  EXPECT_EQ(ends(request), 1) << "a text with a prompt";
  SpeechRequest told = hello(), whole = hello();
  told.say.instructions = "speak slowly";
  whole.say.instructions = "You are a helpful assistant. speak slowly<|endofprompt|>";
  EXPECT_EQ(prompt_of(told), prompt_of(whole));
  EXPECT_EQ(ends(told), 1);
  EXPECT_NE(prompt_of(told), prompt_of(hello()));
  EXPECT_EQ(frontend.prompt_text("It is 5"),
            frontend.ids("You are a helpful assistant.<|endofprompt|>It is 5"));
  EXPECT_EQ(frontend.prompt_text("Speak.<|endofprompt|>Yes"),
            frontend.ids("Speak.<|endofprompt|>Yes"));
}

TEST(CosyVoice3, PhonemesAndPinyinAreTokens) {
  for (const char* mark : {"[AA]", "[ZH]", "[a]", "[ǐ]", "[ǜ]", "<|endofsystem|>", "[breath]"})
    EXPECT_EQ(third().frontend().ids(mark).size(), 1u) << mark;
  EXPECT_GT(model().frontend().ids("[AA]").size(), 1u);
}

TEST(CosyVoice3, AnyMarkEndsSpeech) {
  const auto state = third().open(hello()).take().only();
  const auto codes = static_cast<int32_t>(third().config().speech_codes);
  const SampleRule rule = state->rule(0);
  ASSERT_EQ(rule.ranges, 2);
  EXPECT_EQ(rule.allowed[0].end, codes);
  EXPECT_EQ(rule.allowed[1].begin, codes + 1);
  EXPECT_EQ(rule.allowed[1].end, codes + 200);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  const int32_t mark = codes + 7;
  EXPECT_EQ(state->advance({&mark, 1}, out).next, Verdict::kFinished);
  EXPECT_TRUE(frames.empty());
}

}  // namespace
}  // namespace syrinx::cosyvoice2
