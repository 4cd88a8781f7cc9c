// A small Zonos checkpoint against the authors' code (see README.md): symbols, prefix, guided
// logits, greedy frames and samples, through the pipeline alone and through the engine. The
// phonemes are those that the authors' code made, so that nothing here needs espeak-ng.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "engine/testing/listening.h"
#include "families/zonos/numbers.h"
#include "families/zonos/pipeline.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "runtime/small_load.h"
#include "runtime/trace.h"

namespace syrinx::zonos {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/zonos/golden/" + name;
}

nlohmann::json read_cases() {
  return nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20));
}

/// Returns the phonemes of a golden text, or the letters of any other text.
Result<std::string> phonemes(std::string_view text, std::string_view) {
  const nlohmann::json all = read_cases()["cases"];
  for (const auto& c : all) {
    if (zonos::normalize_numbers(c["text"].get<std::string>()) == text)
      return c["phonemes"].get<std::string>();
  }
  return std::string(text);
}

std::shared_ptr<const zonos::Zonos> load(WeightType weights = WeightType::kF32) {
  return std::make_shared<zonos::Zonos>(LoadSpec{golden("checkpoint"), "tiny", weights}, phonemes);
}

struct Case {
  std::string name;
  SpeechRequest request;
  int frames = 0;
  bool ended = false;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const nlohmann::json all = read_cases()["cases"];
  EXPECT_EQ(all.size(), 4u);
  for (const auto& json : all) {
    Case c;
    c.name = json["name"];
    c.frames = json["frames"];
    c.ended = json["ended"];
    c.request.say.text = json["text"];
    c.request.say.language = json["language"];
    c.request.voice.name = json["speaker"].is_null() ? "" : json["speaker"].get<std::string>();
    c.request.sampling.guidance = json["guidance"].get<float>();
    c.request.sampling.temperature = 0.f;
    c.request.terms.max_frames = c.ended ? 1000 : c.frames;
    for (const auto& [name, value] : json["conditions"].items()) {
      std::string list = value.dump();
      std::erase_if(list, [](char ch) { return ch == '[' || ch == ']'; });
      c.request.say.instructions += name + "=" + list + " ";
    }
    out.push_back(std::move(c));
  }
  return out;
}

float worst_of(std::span<const float> got, std::span<const float> want) {
  EXPECT_GE(got.size(), want.size());
  if (got.size() < want.size()) return 1e30f;
  float worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = worse(worst, std::fabs(got[i] - want[i]));
  return worst;
}

TEST(ZonosParity, SymbolsLogitsFramesAndSamples) {
  const auto model = load();
  const auto columns = read_cases()["columns"].get<std::vector<int64_t>>();
  const int books = static_cast<int>(model->config().codebooks);
  constexpr int64_t kVocab = 1025;
  TraceOptions options;
  options.threads = 2;
  options.logit_steps = 1000;
  for (const Case& c : cases()) {
    const Safetensors file(golden(c.name + ".safetensors"));
    const Result<Trace> traced = trace_request(*model, c.request, options);
    ASSERT_TRUE(traced.ok()) << traced.error().message;
    const Trace& t = traced.value();
    EXPECT_EQ(t.prompt_ids, ints(file.view("prompt_ids"))) << c.name;
    EXPECT_EQ(t.reason, c.ended ? FinishReason::kStop : FinishReason::kLength) << c.name;
    EXPECT_EQ(t.frames, ints(file.view("frames"))) << c.name;

    const View full = file.view("logits_full"), some = file.view("logits_some");
    const int steps = std::min<int>(t.logit_steps, static_cast<int>(some.shape[0]));
    EXPECT_GE(steps, c.frames);
    float worst = 0, top = 0;
    const auto compare = [&](float got, float want) {
      worst = worse(worst, std::fabs(got - want));
      top = std::max(top, std::fabs(want));
    };
    for (int step = 0; step < steps; ++step) {
      for (int k = 0; k < books; ++k) {
        const float* row = t.logits[k].data() + step * kVocab;
        const int frame = step - k;
        const bool ended = c.ended && frame >= c.frames + (k == 0);  // codebook 0 makes the end
        const bool forced = frame < 0 || ended;
        ASSERT_EQ(std::isfinite(row[0]), !forced) << "step " << step << " codebook " << k;
        if (forced) continue;  // no logits are computed
        const int64_t at = step * books + k;
        if (step < full.shape[0]) {
          for (int64_t id = 0; id < kVocab; ++id) compare(row[id], full.f32()[at * kVocab + id]);
        }
        for (size_t i = 0; i < columns.size(); ++i) {
          compare(row[columns[i]], some.f32()[at * std::ssize(columns) + i]);
        }
      }
    }
    EXPECT_LT(worst, 1e-4f) << c.name << ", largest logit " << top;
    RecordProperty(c.name + "_logits",
                   std::to_string(worst * 1e6) + "e-6 of " + std::to_string(top));
    if (!file.find("samples")) continue;
    const GoldenSamples samples(file);
    EXPECT_EQ(std::ssize(t.samples), samples.count());
    const float apart = samples.distance(t.samples);
    EXPECT_LT(apart, 1e-4f) << c.name;
    RecordProperty(c.name + "_samples", std::to_string(apart * 1e6) + "e-6");
  }
}

TEST(ZonosParity, PrefixIsTheAuthors) {
  const auto model = load();
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const Case& c : cases()) {
    const Safetensors file(golden(c.name + ".safetensors"));
    const auto state = model->open(c.request).take().only();
    const View want = file.view("prefix");  // [2, rows, H]: conditional, then unconditional
    ASSERT_EQ(state->prompt_rows(), want.shape[1] + 1) << c.name;
    for (const bool companion : {false, true}) {
      const ArSeq seq{state.get(), 0, static_cast<int>(want.shape[1]), false, companion};
      const ArBatch batch{std::span(&seq, 1), seq.rows, 0, {}, {}, {}};
      const View rows = model->lm().embed_rows(ctx, batch);
      EXPECT_LT(worst_of(floats(rows), floats(want.slice(companion, companion + 1))), 1e-5f)
          << c.name << " " << companion;
    }
  }
}

std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                               WeightType weights = WeightType::kF32) {
  return std::make_unique<Engine>(load(weights), unhurried(options));
}

TEST(ZonosEngine, StreamsTheSamplesOfTheAuthors) {
  const auto server = engine();
  for (const Case& c : cases()) {
    const Safetensors file(golden(c.name + ".safetensors"));
    if (!file.find("samples")) continue;
    const std::vector<float> got = spoken(*server, c.request);
    const GoldenSamples want(file);
    EXPECT_EQ(std::ssize(got), want.count());
    EXPECT_LT(want.distance(got), 1e-4f) << c.name;
  }
}

TEST(ZonosEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you?";
  request.voice.name = "ann";
  request.sampling.seed = 5;
  request.terms.max_frames = 40;
  request.terms.ignore_stop = true;
  for (const WeightType weights : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    const std::vector<float> alone =
        expect_the_same_in_a_crowd(make, request, 8, [](int i, SpeechRequest& other) {
          if (i % 3 != 0) {
            other.say.text = "The fox number " + std::to_string(i);
            other.voice.name = i % 2 ? "none" : "bob";
            other.sampling.seed = static_cast<uint64_t>(i);
            other.sampling.guidance =
                0.5f * static_cast<float>(i);  // a scale of 1 means no companion
            other.terms.max_frames = 8 * i;
            other.say.instructions = "pitch_std=" + std::to_string(10 * i);
          }
          return i % 3 != 0;
        });
    EXPECT_EQ(alone.size(), 40u * 512);
  }
}

}  // namespace
}  // namespace syrinx::zonos
