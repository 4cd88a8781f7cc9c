#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "codec/qwen3_audio_fixture.h"
#include "ears/dictation_recogniser.h"
#include "ears/ears.h"
#include "ears/notes.h"
#include "ears/repeated_passes.h"
#include "families/qwen3_asr/pipeline.h"
#include "io/file.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

TEST(DictationRecogniser, StretchesEndWhereItIsQuietest) {
  constexpr size_t kMost = 10 * kHearingRate, kPause = 8 * kHearingRate;
  std::vector<float> samples(12 * kHearingRate);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.3f * std::sin(0.1f * i);
  std::fill_n(samples.begin() + kPause, kHearingRate / 5, 0.f);
  EXPECT_NEAR(static_cast<double>(quietest_cut(samples, kMost)), kPause + kHearingRate / 10., 16);
  // A pause before the last third is too early, even if it is quiet. Samples that fit need no cut.
  std::fill_n(samples.begin() + kPause, kHearingRate / 5, 0.01f);
  std::fill_n(samples.begin() + kHearingRate, kHearingRate, 0.f);
  EXPECT_GT(quietest_cut(samples, kMost), kPause);
  EXPECT_EQ(quietest_cut(std::span(samples).first(500), kMost), 500u);
  EXPECT_LE(quietest_cut(samples, kMost), kMost);
  EXPECT_EQ(quietest_cut(samples, 100), 100u);
}

TEST(DictationRecogniser, IsOfModelsThatWriteRecordingsDown) {
  const auto engine = std::make_shared<Engine>(make_toy_pipeline());
  EXPECT_EQ(dictation_recogniser(engine), nullptr);
  EXPECT_EQ(recogniser_of(engine), nullptr);
  EXPECT_EQ(engine->pipeline().dictation({}).error().code, ErrorCode::kUnsupported);
}

std::string asr_golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_asr/golden/" + name;
}

TEST(DictationRecogniser, CutsWhereTheAuthorsOfQwen3AsrCut) {
  const auto cases = nlohmann::json::parse(read_file(asr_golden("cuts.json"), 1 << 16));
  ASSERT_GE(cases.size(), 4u);
  for (const auto& c : cases) {
    std::vector<float> samples = fixture::golden_signal(c["samples"], c["seed"]);
    for (const auto& quiet : c["quiet"]) {
      for (size_t i = quiet[0]; i < quiet[1]; ++i) samples[i] *= 0.015625f;
    }
    const size_t most = c["longest_s"].get<size_t>() * kHearingRate;
    std::span<const float> rest = samples;
    std::vector<size_t> parts;
    while (rest.size() > most) {
      parts.push_back(quietest_near(rest, most, 5 * kHearingRate));
      rest = rest.subspan(parts.back());
    }
    // The authors pad the last part to half a second.
    parts.push_back(std::max<size_t>(rest.size(), kHearingRate / 2));
    EXPECT_EQ(parts, c["parts"].get<std::vector<size_t>>()) << c;
  }
  const std::vector<float> silence(3 * kHearingRate);
  EXPECT_EQ(quietest_near(silence, 2 * kHearingRate, kHearingRate), size_t{kHearingRate});
}

/// A recogniser that uses Qwen3-ASR with random weights.
class DictatedByAModel : public testing::Test {
 protected:
  DictatedByAModel() {
    EngineOptions options;
    options.threads = 2;
    ears_ = recogniser_of(std::make_shared<Engine>(
        load_as<qwen3_asr::Qwen3Asr>({asr_golden("original/checkpoint"), "asr", WeightType::kF32}),
        options));
  }
  struct Heard {
    std::shared_ptr<Notes> notes = std::make_shared<Notes>();
    std::unique_ptr<Listener> listener;
  };
  Heard open(const ListenOptions& options, double seconds, uint32_t seed) {
    Heard out;
    auto opened = ears_->open(options, out.notes);
    EXPECT_TRUE(opened.ok());
    out.listener = opened.take();
    const std::vector<float> samples =
        fixture::golden_signal(static_cast<int64_t>(seconds * kHearingRate), seed);
    for (size_t at = 0; at < samples.size(); at += 70'001) {
      out.listener->hear(
          std::span(samples).subspan(at, std::min<size_t>(70'001, samples.size() - at)));
    }
    out.listener->end();
    return out;
  }
  static std::vector<std::string> texts(const Heard& heard) {
    std::vector<std::string> out;
    const auto& result = heard.notes->wait(300);
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (!result.ok()) return out;
    for (const TranscriptSegment& segment : result.value().segments) out.push_back(segment.text);
    return out;
  }
  std::shared_ptr<Recogniser> ears_;
};

TEST_F(DictatedByAModel, DescribesItself) {
  const RecogniserInfo& info = ears_->info();
  EXPECT_EQ(info.family, "qwen3_asr");
  EXPECT_EQ(info.languages.size(), 30u);
  EXPECT_TRUE(info.detects_language && info.prompts);
  EXPECT_FALSE(info.word_times || info.scores || info.translates);
  EXPECT_FALSE(check_listen(info, {.language = "sw"}));
  EXPECT_TRUE(check_listen(info, {.language = "tl", .prompt = "Zoe"}));
}

/// Whole recordings are one stretch; recordings with times have segments of about 30 s. The text is
/// the same alone and with other recordings, and is reported while it is written.
TEST_F(DictatedByAModel, ReportsTheTextWhileItIsWritten) {
  // Samples ids nearly evenly, because likely ids would repeat, and repetitions are removed.
  const ListenOptions whole{.language = "de", .prompt = "Zoe", .temperatures = {2}, .follow = true};
  ListenOptions timed = whole;
  timed.segment_times = true;
  std::vector<Heard> together;
  for (const uint32_t seed : {3u, 4u}) {
    together.push_back(open(whole, 50, seed));
    together.push_back(open(timed, 50, seed));
  }
  std::array<int, 2> begun{};  // reported beginnings of the first and the second segments
  for (size_t i = 0; i < together.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<std::string> got = texts(together[i]);
    Heard alone = open(i % 2 == 0 ? whole : timed, 50, i < 2 ? 3 : 4);
    EXPECT_EQ(got, texts(alone));
    ASSERT_EQ(got.size(), i % 2 == 0 ? 1u : 2u);
    const Transcript& transcript = alone.notes->result->value();
    EXPECT_EQ(transcript.language, "de");
    EXPECT_EQ(transcript.duration_s, 50);
    EXPECT_GT(transcript.prompt_tokens, 50 * 13);
    size_t segment = 0;
    for (const std::string& partial : alone.notes->partials) {
      if (segment + 1 < got.size() && got[segment + 1].starts_with(partial)) ++segment;
      begun[segment] += got[segment].starts_with(partial);
    }
    if (got.size() < 2) continue;
    EXPECT_TRUE(got[1].starts_with(" "));
    EXPECT_NEAR(transcript.segments[0].end_s, 30, 5);
    EXPECT_EQ(transcript.segments[1].start_s, transcript.segments[0].end_s);
  }
  // A busy machine may report few beginnings of a single segment, so they are counted over all
  // recordings.
  for (const int count : begun) EXPECT_GT(count, 2);
}

TEST_F(DictatedByAModel, JoinsLanguagesWithoutBlanks) {
  const Heard heard = open({.language = "zh", .segment_times = true}, 50, 3);
  const std::vector<std::string> got = texts(heard);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_FALSE(got[1].starts_with(" "));
}

/// A live recording is transcribed in passes while it continues. The last transcript covers the
/// whole recording.
TEST_F(DictatedByAModel, HearsASpeakerInPasses) {
  const std::vector<float> samples = fixture::golden_signal(6 * kHearingRate, 5);
  const ListenOptions live{.language = "de", .live = true};
  Heard said;
  auto opened = listen_in_passes(ears_, live, said.notes, true);
  ASSERT_TRUE(opened.ok());
  said.listener = opened.take();
  for (int second = 0; second < 6; ++second) {
    said.listener->hear(
        std::span(samples).subspan(size_t(second) * kHearingRate, size_t{kHearingRate}));
    const auto enough = [&] { return std::ssize(said.notes->partials) > second; };
    for (int i = 0; i < 2000 && !enough(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  said.listener->end();
  EXPECT_EQ(texts(said), texts(open({.language = "de"}, 6, 5)));
  EXPECT_GE(said.notes->partials.size(), 6u);
}

}  // namespace
}  // namespace syrinx
