// CosyVoice2 against what the authors' code computes on a small checkpoint: parts and prompt ids,
// logits of every step, greedy tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "families/cosyvoice2/pipeline.h"
#include "families/cosyvoice2/state.h"
#include "families/s3/fixture.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "kernels/sample.h"
#include "model/step_runner.h"
#include "text/inflect.h"

namespace syrinx::cosyvoice2 {
namespace {

std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/" + name;
}

SpeechRequest request_of(const nlohmann::json& c) {
  SpeechRequest request;
  request.text = c["text"];
  request.voice = c["voice"];
  request.instructions = c.value("instruct", "");
  request.temperature = 0.f;
  request.spell_numbers = false;  // these goldens were made without inflect
  return request;
}

/// The language model alone, one request.
struct Runner {
  explicit Runner(const CosyVoice2& m) : model(m), kv(m.lm().traits().kv[0], kPages) {
    for (int32_t page = 0; page < kPages; ++page) pages.push_back(page);
  }

  /// Logits of the step after rows [begin, end) of the state.
  std::vector<float> step(State& state, int begin, int end) {
    arena.reset();
    const ArSeq seq{&state, begin, end - begin, true};
    const int32_t row_begin[] = {0, end - begin}, kv_len[] = {end};
    const Ragged ragged{row_begin, kv_len, pages, kPages};
    const ArBatch batch{{&seq, 1}, end - begin, 1, ragged, {&kv, 1}, {}};
    const View hidden = arena.take({1, model.lm().traits().hidden}, DType::kF32);
    const View out = arena.take({1, model.lm().traits().vocab[0]}, DType::kF32);
    model.lm().forward(ctx, batch, hidden);
    model.lm().logits(ctx, 0, batch, hidden, {}, out);
    return {out.f32(), out.f32() + out.count()};
  }
  int32_t sample_one(const State& state, std::vector<float>& logits) {
    const View view{logits.data(), DType::kF32, {1, static_cast<int64_t>(logits.size())}};
    const SampleRow row{state.sampling(0), state.rule(0), state.history(0), 0, 0, 0};
    int32_t id = -1;
    SampleStatus status;
    sample(ctx, view, {&row, 1}, {&id, 1}, {&status, 1});
    return id;
  }

  static constexpr int kPages = 32;
  const CosyVoice2& model;
  ThreadPool pool{1};
  Arena arena;
  StepContext ctx{pool, arena};
  KvPool kv;
  std::vector<int32_t> pages;
};

class CosyVoice2Parity : public testing::Test {
 protected:
  CosyVoice2Parity() : model_({golden_path("checkpoint"), "tiny"}) {
    std::ifstream(golden_path("cases.json")) >> cases_;
  }
  CosyVoice2 model_;
  nlohmann::json cases_;
};

TEST_F(CosyVoice2Parity, PartsOfTextsAreTheAuthors) {
  for (const auto& c : cases_) {
    EXPECT_EQ(model_.frontend().parts(c["text"].get<std::string>(), false),
              c["parts"].get<std::vector<std::string>>())
        << c["name"];
  }
}

// The authors' program with the package inflect and no normaliser beside it.
TEST_F(CosyVoice2Parity, NumbersAreSpelledAsTheAuthorsSpellThem) {
  nlohmann::json golden;
  std::ifstream(golden_path("numbers.json")) >> golden;
  ASSERT_GE(golden["numbers"].size(), 20u);
  for (const auto& pair : golden["numbers"])
    EXPECT_EQ(inflect_number(pair[0].get<std::string>()), pair[1].get<std::string>());
  const Frontend& frontend = model_.frontend();
  for (const auto& c : golden["texts"]) {
    const std::string text = c["text"];
    EXPECT_EQ(frontend.parts(text), c["parts"].get<std::vector<std::string>>()) << text;
    EXPECT_EQ(frontend.prompt_text(text), frontend.ids(c["whole"].get<std::string>())) << text;
    SpeechRequest request;
    request.text = text;
    request.voice = "plain";
    const auto prompt = [&](std::optional<bool> spell) {
      request.spell_numbers = spell;
      const Opened opened = model_.open(request).take();
      const auto ids = opened.sequence().prompt_ids();
      return std::vector<int32_t>(ids.begin(), ids.end());
    };
    const bool changes = frontend.parts(text) != frontend.parts(text, false);
    EXPECT_EQ(prompt({}), prompt(true)) << text;
    EXPECT_EQ(prompt(true) != prompt(false), changes) << text;
  }
}

TEST_F(CosyVoice2Parity, PromptsLogitsAndGreedyTokens) {
  float worst = 0;
  for (const auto& c : cases_) {
    const std::string name = c["name"];
    const Safetensors golden(golden_path(name + ".safetensors"));
    auto opened = model_.open(request_of(c));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    auto& state = static_cast<State&>(opened.value().sequence());
    const std::vector<int32_t> want = ints(golden.view("tokens")),
                               counts = ints(golden.view("counts"));
    const std::vector<int32_t> prompts = ints(golden.view("prompt_ids"));
    const std::vector<int32_t> sizes = ints(golden.view("prompt_sizes"));
    const View logits = golden.view("logits");
    size_t token = 0, prompt = 0;
    int64_t row = 0;
    for (size_t part = 0; part < counts.size(); ++part) {
      const std::span<const int32_t> ids = state.prompt_ids();
      EXPECT_EQ(
          std::vector<int32_t>(ids.begin(), ids.end()),
          std::vector<int32_t>(prompts.begin() + prompt, prompts.begin() + prompt + sizes[part]))
          << name << ", part " << part;
      prompt += sizes[part];
      Runner runner(model_);
      int begin = 0;
      for (int t = 0; t < counts[part]; ++t, ++row) {
        const int end = state.prompt_rows() + t;
        std::vector<float> got = runner.step(state, begin, end);
        begin = end;
        const float* expected = logits.f32() + row * logits.shape[1];
        float top = 0;
        for (int i = 0; i < logits.shape[1]; ++i) top = std::max(top, std::fabs(expected[i]));
        for (int i = 0; i < logits.shape[1]; ++i) {
          worst = worse(worst, std::fabs(got[i] - expected[i]) / top);
        }
        const int32_t id = runner.sample_one(state, got);
        ASSERT_EQ(id, want[token]) << name << ", step " << t;
        ++token;
        std::vector<int32_t> frames;
        std::vector<WordMark> words;
        StepOutput out(frames, words);
        EXPECT_EQ(state.advance({&id, 1}, out).next, Verdict::kContinue);
        ASSERT_EQ(frames.size(), 1u);
        EXPECT_EQ(frames[0] & ~kS3SegmentStart, id);
        EXPECT_EQ((frames[0] & kS3SegmentStart) != 0, part > 0 && t == 0);
      }
      if (part + 1 == counts.size()) {
        if (c["ended"]) {
          EXPECT_EQ(state.rule(0).forced, model_.config().speech_codes) << name;
        }
        break;
      }
      const int32_t end = static_cast<int32_t>(model_.config().speech_codes);
      std::vector<int32_t> frames;
      std::vector<WordMark> words;
      StepOutput out(frames, words);
      EXPECT_EQ(state.advance({&end, 1}, out).next, Verdict::kNextSegment);
    }
    EXPECT_EQ(token, want.size());
  }
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

/// Frames of the golden tokens through a chain of stages, whole.
TEST_F(CosyVoice2Parity, SamplesOfSeveralParts) {
  const Safetensors golden(golden_path("parts.safetensors"));
  std::vector<int32_t> frames = ints(golden.view("tokens"));
  const std::vector<int32_t> counts = ints(golden.view("counts"));
  ASSERT_EQ(counts.size(), 2u);
  frames[counts[0]] |= kS3SegmentStart;
  SpeechRequest request;
  request.text = "Hello";
  request.voice = "owl";
  request.seed = 7;
  const auto state = model_.open(request).take().only();
  Runner runner(model_);
  const std::vector<float> values =
      through_chunk_stages(model_.graph(), *state, frames, runner.ctx);
  const GoldenSamples want(golden);
  ASSERT_EQ(std::ssize(values), want.count());
  EXPECT_LT(want.distance(values), 1e-4f);
}

}  // namespace
}  // namespace syrinx::cosyvoice2
