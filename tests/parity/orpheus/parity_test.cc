// A small Orpheus checkpoint against its originals (see README.md): prompt ids, logits, greedy
// frames and samples, through the pipeline alone and through the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "engine/listening.h"
#include "families/orpheus/pipeline.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "runtime/small_load.h"
#include "runtime/trace.h"

namespace syrinx::orpheus {
namespace {

constexpr uint64_t kSeed = 77;  // of make_golden.py, for the codec's noise

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/orpheus/golden/" + name;
}

/// The small vocabulary is not the published one, so the checkpoint is loaded by name.
std::shared_ptr<const Pipeline> load(WeightType weights = WeightType::kF32) {
  return orpheus::load({golden("checkpoint"), "tiny", weights});
}

struct Case {
  std::string name;
  SpeechRequest request;
  int steps = 0;
  bool ended = false;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& json : nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.request.text = json["text"];
    c.request.voice = json["voice"];
    c.request.repetition_penalty = json["penalty"];
    c.request.temperature = 0.f;
    c.request.ignore_stop = json["ignore_stop"];
    c.request.seed = kSeed;
    c.request.max_frames = c.ended ? 1000 : c.steps / 7 * 4;
    out.push_back(std::move(c));
  }
  return out;
}

float worst_of(std::span<const float> got, const View& want) {
  EXPECT_GE(static_cast<int64_t>(got.size()), want.count());
  if (static_cast<int64_t>(got.size()) < want.count()) return 1e30f;
  float worst = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
  }
  return worst;
}

TEST(OrpheusParity, PromptLogitsFramesAndSamples) {
  const auto model = load();
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
    EXPECT_EQ(t.steps, c.ended ? c.steps + 1 : c.steps / 7 * 7) << c.name;
    EXPECT_EQ(t.frames, ints(file.view("frames"))) << c.name;
    const View logits = file.view("logits");
    float top = 0;
    for (int64_t i = 0; i < logits.count(); ++i) top = std::max(top, std::fabs(logits.f32()[i]));
    const float worst = worst_of(t.logits[0], logits);
    EXPECT_LT(worst, 1e-4f) << c.name << " (largest logit " << top << ")";
    RecordProperty(c.name + "_logits", std::to_string(worst * 1e6) + "e-6");
    if (!file.find("samples")) continue;
    const GoldenSamples samples(file);
    const float apart = samples.distance(t.samples);
    EXPECT_EQ(std::ssize(t.samples), samples.count());
    EXPECT_LT(apart, 1e-4f) << c.name;
    RecordProperty(c.name + "_samples", std::to_string(apart * 1e6) + "e-6");
  }
}

std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                               WeightType weights = WeightType::kF32) {
  return std::make_unique<Engine>(load(weights), unhurried(options));
}

TEST(OrpheusEngine, StreamsTheSamplesOfTheOriginals) {
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

TEST(OrpheusEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 90;
  request.ignore_stop = true;
  for (const WeightType weights : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    const std::vector<float> alone =
        expect_the_same_in_a_crowd(make, request, 9, [](int i, SpeechRequest& other) {
          if (i % 3 != 0) {
            other.text = "The fox number " + std::to_string(i);
            other.voice = i % 2 ? "none" : "leo";
            other.seed = static_cast<uint64_t>(i);
            other.temperature = 0.2f * static_cast<float>(i);
            other.max_frames = 20 * i;
          }
          return i % 3 != 0;
        });
    EXPECT_EQ(alone.size(), 90u * 512);
  }
}

TEST(OrpheusEngine, TextMayComeSentenceBySentence) {
  const std::string text =
      "Hello there, how are you today? I am fine. The weather is good in the north. The quick "
      "brown "
      "fox jumps over the lazy dog, and that is all that there is to say about it.";
  SpeechRequest late;
  late.seed = 3;
  late.max_frames = 400;
  expect_late_text_sounds_the_same(*engine(), late, text);
}

/// How far smaller weights move the logits of the same rows, as RMS over RMS. A width of 64 is a
/// single group of 8-bit weights, so this bounds mistakes; docs/families/orpheus.md has figures of
/// the published width.
TEST(OrpheusParity, SmallerWeightsLoseLittle) {
  SpeechRequest request = cases()[0].request;
  TraceOptions options;
  options.threads = 2;
  options.logit_steps = 1;  // later steps have other rows once a choice differs
  const Trace exact = trace_request(*load(), request, options).take();
  for (const auto& [weights, bound] :
       {std::pair{WeightType::kBF16, 0.01}, {WeightType::kQ8, 0.1}}) {
    const Trace other = trace_request(*load(weights), request, options).take();
    double error = 0, power = 0;
    for (size_t i = 0; i < exact.logits[0].size(); ++i) {
      const double d = other.logits[0][i] - exact.logits[0][i];
      error += d * d;
      power += double{exact.logits[0][i]} * exact.logits[0][i];
    }
    EXPECT_LT(std::sqrt(error / power), bound) << weight_type_name(weights);
    EXPECT_GT(error, 0) << weight_type_name(weights);
    RecordProperty(weight_type_name(weights),
                   std::to_string(100 * std::sqrt(error / power)) + " %");
  }
}

/// The step in which smaller weights first say another token, and until there the distance of the
/// logits (relative RMS, median over the steps): narrow.py's figures, of a checkpoint that only a
/// test can load.
TEST(OrpheusParity, SmallerWeightsLeadNotFar) {
  constexpr int kSteps = 100;
  SpeechRequest request = cases()[0].request;
  TraceOptions options;
  options.threads = 2;
  options.logit_steps = kSteps;
  const Trace exact = trace_request(*load(), request, options).take();
  const size_t width = exact.logits[0].size() / kSteps;
  for (const auto& [weights, bound] :
       {std::pair{WeightType::kBF16, 0.004}, {WeightType::kQ8, 0.1}}) {
    const Trace other = trace_request(*load(weights), request, options).take();
    std::vector<double> far;
    int step = 0;
    for (bool same = true; same && step < kSteps; ++step) {
      double error = 0, power = 0;
      for (size_t i = step * width; i < (step + 1) * width; ++i) {
        const double d = other.logits[0][i] - exact.logits[0][i];
        error += d * d;
        power += double{exact.logits[0][i]} * exact.logits[0][i];
      }
      far.push_back(std::sqrt(error / power));
      same = other.codes[step] == exact.codes[step];
    }
    std::ranges::nth_element(far, far.begin() + std::ssize(far) / 2);
    const double median = far[far.size() / 2];
    EXPECT_LT(median, bound) << weight_type_name(weights);
    EXPECT_GT(median, 0) << weight_type_name(weights);
    RecordProperty(weight_type_name(weights), "first other step " + std::to_string(step - 1) +
                                                  ", " + std::to_string(100 * median) + " %");
  }
}

}  // namespace
}  // namespace syrinx::orpheus
