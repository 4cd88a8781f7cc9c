// Tests the order of a recording's windows and which answers are kept, without an engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ears/transcript_text.h"
#include "ears/whisper_fixture.h"
#include "ears/whisper_recogniser.h"

namespace syrinx {
namespace {

/// The next window begins after the last word. If a single timestamp at the end marks that no
/// speech follows, it begins after the whole window.
TEST(WhisperLoop, TheNextWindowBeginsBehindTheLastWord) {
  const whisper::Whisper model({whisper_checkpoint("small"), "whisper", WeightType::kF32});
  WhisperOptions options;
  options.language = "en", options.word_times = true, options.temperatures = {0.f};
  const std::vector<int32_t> text = model.tokenizer().encode(" one", false);
  const int32_t time_0 = model.generation().timestamps();
  for (const bool to_the_end : {false, true}) {
    WhisperLoop loop(model, options);
    loop.hear(std::vector<float>(45 * 16000, 0.01f), true);
    const auto window = std::dynamic_pointer_cast<whisper::Window>(loop.next(false));
    ASSERT_TRUE(window);
    window->heard.language = "en";
    window->heard.ids = {time_0};
    window->heard.ids.insert(window->heard.ids.end(), text.begin(), text.end());
    if (to_the_end) window->heard.ids.push_back(time_0 + 400);  // 8 s
    EXPECT_TRUE(loop.take().empty()) << "its words have no times yet";
    const auto alignment = std::dynamic_pointer_cast<whisper::Alignment>(loop.next(false));
    ASSERT_TRUE(alignment);
    EXPECT_EQ(alignment->text, text);
    const auto columns = static_cast<size_t>(alignment->columns());
    alignment->probabilities.assign(text.size(), 0.5f);
    alignment->weights.assign((text.size() + 1) * columns, -1.f);
    for (size_t row = 0; row <= text.size(); ++row) {  // a fifth of a second per id
      for (size_t c = 0; c < 10; ++c) alignment->weights[row * columns + 10 * row + c] = 9.f;
    }
    const auto segments = loop.take();
    ASSERT_EQ(segments.size(), 1u);
    const double word_s = 0.2 * static_cast<double>(text.size());
    EXPECT_DOUBLE_EQ(segments[0].words.back().end_s, word_s);
    EXPECT_NEAR(loop.done_s(), to_the_end ? 30 : word_s, 1e-9);
  }
}

TEST(WhisperLoop, ReportsHowLikelyItsTokensAre) {
  const whisper::Whisper model({whisper_checkpoint("small"), "whisper", WeightType::kF32});
  const int32_t time_0 = model.generation().timestamps();
  for (const bool scores : {false, true}) {
    WhisperOptions options;
    options.language = "en", options.scores = scores, options.temperatures = {0.f};
    WhisperLoop loop(model, options);
    loop.hear(std::vector<float>(16000, 0.01f), true);
    const auto window = std::dynamic_pointer_cast<whisper::Window>(loop.next(false));
    ASSERT_TRUE(window);
    window->heard.language = "en";
    const std::vector<int32_t> text = model.tokenizer().encode(" one two", false);
    window->heard.ids = {time_0};
    window->heard.ids.insert(window->heard.ids.end(), text.begin(), text.end());
    window->heard.ids.push_back(time_0 + 50);
    for (size_t i = 0; i < window->heard.ids.size(); ++i)
      window->heard.logprobs.push_back(-0.5f * static_cast<float>(i));
    const auto segments = loop.take();
    ASSERT_EQ(segments.size(), 1u);
    ASSERT_EQ(segments[0].pieces.size(), scores ? text.size() : 0);
    if (!scores) continue;
    std::string all;
    for (const ScoredPiece& piece : segments[0].pieces) all += piece.bytes;
    EXPECT_EQ(all, " one two");
    EXPECT_EQ(segments[0].pieces[0].logprob, -0.5f) << "the timestamp before it is not a token";
  }
}

/// A loop over `seconds` without speech. The test answers its windows.
struct SilentLoop {
  SilentLoop(WhisperOptions options, double seconds) : loop(model, options) {
    loop.hear(std::vector<float>(static_cast<size_t>(seconds * 16000), 0.01f), true);
  }
  std::shared_ptr<whisper::Window> window() {
    return std::dynamic_pointer_cast<whisper::Window>(loop.next(false));
  }
  const whisper::Whisper model{{whisper_checkpoint("small"), "whisper", WeightType::kF32}};
  WhisperLoop loop;
};

/// Answers a window with `text`, whose ids all have the log-probability `logprob`, and with rows.
void answer(const SilentLoop& silent, whisper::Window& window, const std::string& text,
            double logprob) {
  const int32_t time_0 = silent.model.generation().timestamps();
  const std::vector<int32_t> ids = silent.model.tokenizer().encode(text, false);
  window.heard.language = "en";
  window.heard.ids = {time_0};
  window.heard.ids.insert(window.heard.ids.end(), ids.begin(), ids.end());
  window.heard.ids.push_back(time_0 + 50);
  window.heard.logprobs.assign(window.heard.ids.size(), static_cast<float>(logprob));
  window.heard.logprob_sum = logprob * static_cast<double>(window.heard.ids.size() + 1);
  if (!window.keep_rows) return;
  window.heard.rows = window.rows ? window.rows : std::make_shared<std::vector<float>>(1);
}

/// The model would write "you" for a muted microphone.
TEST(WhisperLoop, SkipsWindowsOfDigitalSilence) {
  const whisper::Whisper model({whisper_checkpoint("small"), "whisper", WeightType::kF32});
  for (const bool skips : {false, true}) {
    WhisperOptions options;
    options.language = "en", options.skips_silence = skips;
    WhisperLoop loop(model, options);
    std::vector<float> samples(100 * 16000, 5e-5f);
    loop.hear(std::span(samples).first(45 * 16000), false);
    EXPECT_EQ(loop.next(false) == nullptr, skips);
    EXPECT_EQ(loop.done_s(), skips ? 30 : 0);
    samples[90 * 16000] = -2e-4f;
    loop.hear(std::span(samples).subspan(45 * 16000), true);
    EXPECT_NE(loop.next(false), nullptr);
    EXPECT_EQ(loop.done_s(), skips ? 90 : 0);
  }
}

TEST(WhisperLoop, WhereAllAttemptsFailTheBestIsKept) {
  const std::string over = " over and over and over and over and over and over and over and over";
  struct Case {
    std::vector<std::pair<std::string, double>> attempts;
    bool keep_best;
    const char* kept;
  };
  for (const Case& c : {Case{{{" one", -3}, {" two", -2}, {" three", -4}}, true, " two"},
                        Case{{{" one", -3}, {" two", -2}, {" three", -4}}, false, " three"},
                        Case{{{over, -0.1}, {" two", -2}, {" three", -4}}, true, " two"},
                        Case{{{over, -0.3}, {over + over, -0.2}, {over, -0.4}}, true, nullptr}}) {
    WhisperOptions options;
    options.language = "en", options.temperatures = {0, 0.5f, 1}, options.keep_best = c.keep_best;
    SilentLoop silent(options, 2);
    std::vector<TranscriptSegment> got;
    for (const auto& [text, logprob] : c.attempts) {
      EXPECT_TRUE(got.empty());
      const auto window = silent.window();
      ASSERT_TRUE(window);
      answer(silent, *window, text, logprob);
      got = silent.loop.take();
    }
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].text, c.kept != nullptr ? c.kept : over + over);
  }
}

/// From the second attempt on, attempts may run together. Each has the seed and the temperature
/// that it has alone.
TEST(WhisperLoop, LaterAttemptsMayRunTogether) {
  const std::vector<float> temperatures{0, 0.2f, 0.4f, 0.6f, 0.8f};
  // The attempts that run together, for each number of attempts that look wrong.
  struct Case {
    int wrong;
    std::vector<size_t> together;
  };
  for (const auto& [wrong, together] :
       {Case{0, {1}}, Case{1, {1, 2}}, Case{2, {1, 2}}, Case{3, {1, 2, 2}}, Case{5, {1, 2, 2}}}) {
    WhisperOptions options;
    options.language = "en", options.temperatures = temperatures;
    SilentLoop silent(options, 2);
    std::vector<TranscriptSegment> got;
    int attempt = 0;
    for (const size_t count : together) {
      EXPECT_TRUE(got.empty());
      std::vector<std::shared_ptr<whisper::Window>> windows{silent.window()};
      for (const auto& window : silent.loop.ahead()) windows.push_back(window);
      ASSERT_EQ(windows.size(), count) << wrong << " look wrong";
      for (size_t i = 0; i < count; ++i, ++attempt) {
        EXPECT_EQ(windows[i]->temperature, temperatures[static_cast<size_t>(attempt)]);
        EXPECT_EQ(silent.loop.seed(static_cast<int>(i)), static_cast<uint64_t>(attempt));
        answer(silent, *windows[i], " " + std::to_string(attempt), attempt < wrong ? -3 : -0.1);
      }
      got = silent.loop.take(static_cast<int>(count) - 1);
    }
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].text, wrong < 5 ? " " + std::to_string(wrong) : " 0");
    EXPECT_EQ(silent.loop.windows(), std::min(wrong + 1, 5)) << "unneeded attempts do not count";
    EXPECT_TRUE(silent.loop.through());
  }
}

/// The engine may accept only the first window. The others are requested again.
TEST(WhisperLoop, AttemptsThatDidNotRunAreRequestedAgain) {
  WhisperOptions options;
  options.language = "en", options.temperatures = {0, 0.5f, 1};
  SilentLoop silent(options, 2);
  answer(silent, *silent.window(), " one", -3);
  EXPECT_TRUE(silent.loop.take().empty());
  answer(silent, *silent.window(), " two", -3);
  EXPECT_EQ(silent.loop.ahead().size(), 1u);
  EXPECT_TRUE(silent.loop.take(0).empty());
  const auto last = silent.window();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->temperature, 1);
  EXPECT_TRUE(silent.loop.ahead().empty());
}

/// In noise, the model may repeat itself with high probability although it finds no speech.
TEST(WhisperLoop, RepetitionWithoutSpeechIsSilence) {
  const std::string over = " over and over and over and over and over and over and over and over";
  for (const bool keep_best : {true, false}) {
    for (const float no_speech : {0.5f, 0.9f}) {
      WhisperOptions options;
      options.language = "en", options.temperatures = {0}, options.keep_best = keep_best;
      SilentLoop silent(options, 2);
      const auto window = silent.window();
      ASSERT_TRUE(window);
      answer(silent, *window, over, -0.2);
      window->heard.no_speech_prob = no_speech;
      const bool kept = !silent.loop.take().empty();
      EXPECT_EQ(kept, !keep_best || no_speech < 0.6f) << keep_best << ' ' << no_speech;
      EXPECT_TRUE(silent.loop.through());
    }
  }
}

TEST(WhisperLoop, HearsAShortRecordingWithLittleSilenceBehindIt) {
  const std::string over = " over and over and over and over and over and over and over and over";
  WhisperOptions options;
  options.trims = true, options.temperatures = {0};
  SilentLoop silent(options, 3);
  const auto window = silent.window();
  ASSERT_TRUE(window);
  EXPECT_EQ(window->audio.rows, 150 + 200);
  EXPECT_FALSE(window->only_language) << "the language is found there";
  answer(silent, *window, over, -0.2);
  EXPECT_TRUE(silent.loop.take().empty());
  const auto language = silent.window();
  ASSERT_TRUE(language);
  EXPECT_TRUE(language->only_language) << "as the text looked wrong";
  language->heard.language = "de";
  silent.loop.take();
  const auto whole = silent.window();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->audio.rows, WhisperEncoder::kRows);
  EXPECT_EQ(whole->language, "de");
  EXPECT_FALSE(whole->rows) << "of fewer rows";
  answer(silent, *whole, " one", -0.2);
  EXPECT_EQ(silent.loop.take().size(), 1u);

  for (const double seconds : {26.5, 31.0}) {
    SilentLoop longer(options, seconds);
    EXPECT_EQ(longer.window()->audio.rows, WhisperEncoder::kRows);
  }
  SilentLoop unheard(options, 3);
  const auto trimmed = unheard.window();
  ASSERT_TRUE(trimmed);
  answer(unheard, *trimmed, " one", -2);
  trimmed->heard.no_speech_prob = 0.9f;
  EXPECT_TRUE(unheard.loop.take().empty());
  EXPECT_FALSE(unheard.loop.through()) << "the whole window may have speech";
  options.word_times = true;
  SilentLoop timed(options, 3);
  EXPECT_EQ(timed.window()->audio.rows, WhisperEncoder::kRows);
}

TEST(WhisperLoop, TheEncoderHearsAWindowOnce) {
  WhisperOptions options;
  options.language = "en", options.temperatures = {0, 0.5f, 1};
  SilentLoop silent(options, 65);
  whisper::WindowRows first;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto window = silent.window();
    ASSERT_TRUE(window);
    EXPECT_EQ(window->rows, first) << attempt;
    EXPECT_EQ(window->keep_rows, attempt < 2);
    answer(silent, *window, " one", attempt < 2 ? -3 : -0.5);
    if (attempt == 0) first = window->heard.rows;
    silent.loop.take();
  }
  ASSERT_TRUE(first);
  const auto next = silent.window();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->rows, nullptr) << "the next window is another one";
}

/// The language of a short recording is detected with silence after it, as in the authors' code.
/// That of a long recording is detected with its first window, which is full.
TEST(WhisperLoop, TheLanguageOfAShortRecordingIsFoundWithSilenceBehindIt) {
  for (const double seconds : {2., 40.}) {
    SilentLoop silent({}, seconds);
    const auto first = silent.window();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->only_language, seconds < 30);
    EXPECT_EQ(first->audio.frames, 3000);
    if (!first->only_language) continue;
    first->heard.language = "de";
    EXPECT_TRUE(silent.loop.take().empty());
    const auto second = silent.window();
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->only_language);
    EXPECT_EQ(second->language, "de");
    EXPECT_EQ(second->rows, nullptr);
    EXPECT_EQ(second->audio.frames, 200);
  }
  WhisperOptions with_prompt;
  with_prompt.prompt = "Before.";
  SilentLoop prompted(with_prompt, 40);
  const auto first = prompted.window();
  ASSERT_TRUE(first && first->only_language);
  answer(prompted, *first, "", 0);
  prompted.loop.take();
  EXPECT_EQ(prompted.window()->rows, first->heard.rows) << "the same window";
}

/// Tests the texts of segments and the whole text if two segments share the bytes of a character.
TEST(WhisperLoop, ACharacterMayBeSplitOverSegments) {
  WhisperOptions options;
  options.language = "en";
  SilentLoop silent(options, 40);
  const int32_t time_0 = silent.model.generation().timestamps();
  const std::vector<int32_t> ids = silent.model.tokenizer().encode("\xe8\xaf\x86", false);
  ASSERT_GE(ids.size(), 2u) << "this vocabulary has the whole character";
  const auto window = silent.window();
  whisper::Heard& heard = window->heard;
  heard.language = "en";
  heard.ids = {time_0, ids[0], time_0 + 50, time_0 + 50};
  heard.ids.insert(heard.ids.end(), ids.begin() + 1, ids.end());
  heard.ids.push_back(time_0 + 100);
  const auto segments = silent.loop.take();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[1].window_s, 0);
  EXPECT_EQ(silent.loop.whole(), "\xe8\xaf\x86");
  EXPECT_EQ(
      (Transcript{.language = "en", .segments = segments, .whole = silent.loop.whole()}).text(),
      "\xe8\xaf\x86");
}

TEST(WhisperLoop, CompressionAsPythons) {
  EXPECT_EQ(compression_ratio(""), 0);
  EXPECT_NEAR(compression_ratio(std::string(100, 'a')), 100. / 12, 1e-9);
}

}  // namespace
}  // namespace syrinx
