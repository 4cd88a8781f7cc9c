// Compares long speech in several voices with the originals (see long.py), because errors of
// caches, positions and windows may appear late. Each request runs alone, then all of a family in
// one batch.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/worst.h"
#include "engine/collector.h"
#include "families/family.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "runtime/runtime.h"
#include "runtime/trace.h"

namespace syrinx::long_parity {
namespace {

using nlohmann::json;

struct Small {
  const char *family, *dir;
  int forced_steps = 0;  ///< the first steps, whose codes are given and have no logits
};

SpeechRequest request_of(const json& told) {
  SpeechRequest r;
  r.say.text = told["text"];
  r.voice.name = told["voice"];
  r.say.language = told.value("language", "");
  r.say.instructions = told.value("instructions", "");
  r.terms.max_frames = told["frames"];
  r.sampling.temperature = 0.f;
  r.terms.ignore_stop = true;
  const auto take = [&]<typename T>(const char* name, std::optional<T>& to) {
    if (told.contains(name)) to = told[name].get<T>();
  };
  take("guidance", r.sampling.guidance);
  take("repetition_penalty", r.sampling.repetition_penalty);
  take("text_in_prompt", r.say.in_prompt);
  take("spell_numbers", r.say.spell_numbers);
  return r;
}

/// Returns the numbers in [-1, 1) that originals.fingerprints uses; integer arithmetic makes them
/// the same in Python and C++.
std::vector<double> direction(uint32_t state, int64_t count) {
  std::vector<double> out(static_cast<size_t>(count));
  for (double& number : out) {
    state = state * 1664525 + 1013904223;
    number = (static_cast<double>(state >> 16) - 32768) / 32768 / std::sqrt(count);
  }
  return out;
}

/// Returns fingerprints [S, 2] of the logits of the first `steps` steps. The first widths[k] logits
/// of code k count.
std::vector<float> fingerprints(const Trace& t, int64_t steps, const std::vector<int64_t>& widths) {
  std::vector<float> out;
  const int64_t all = std::accumulate(widths.begin(), widths.end(), int64_t{0});
  const std::vector<double> directions[] = {direction(1, all), direction(2, all)};
  for (int64_t step = 0; step < steps; ++step) {
    for (const std::vector<double>& along : directions) {
      double sum = 0;
      auto weight = along.begin();
      for (size_t k = 0; k < widths.size(); ++k) {
        const int64_t width = std::ssize(t.logits[k]) / t.logit_steps;
        const float* row = t.logits[k].data() + step * width;
        for (int64_t i = 0; i < widths[k]; ++i) sum += *weight++ * row[i];
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

class LongParity : public testing::TestWithParam<Small> {
 protected:
  LongParity() : folder_(SYRINX_BINARY_DIR "/parity/" + std::string(GetParam().dir)) {
    const std::filesystem::path checkpoint = folder_ + "/checkpoint";
    for (const auto& each : std::filesystem::directory_iterator(checkpoint)) {
      std::filesystem::create_symlink(each.path(), place_.path(each.path().filename()));
    }
    if (is_file(folder_ + "/cloned.pt")) {  // the checkpoint has a second voice
      std::filesystem::create_directories(place_.path("voices"));
      std::filesystem::create_symlink(folder_ + "/cloned.pt", place_.path("voices/cloned.pt"));
    }
    for (const Family& family : families()) {
      if (family.name != std::string(GetParam().family)) continue;
      model_ = family.load({.dir = place_.path(), .model = "tiny"});
    }
  }

  std::string folder_;
  TestDir place_;
  std::shared_ptr<const Pipeline> model_;
};

TEST_P(LongParity, EveryFrameAndAllLogitsAreTheOriginals) {
  const Safetensors golden(folder_ + "/long.safetensors");
  const json told = json::parse(read_file(folder_ + "/long.json", 1 << 20));
  const auto widths = told["widths"].get<std::vector<int64_t>>();
  std::vector<std::vector<float>> alone;
  float worst = 0, worst_print = 0, largest = 0;
  for (const json& each : told["requests"]) {
    const std::string name = std::to_string(alone.size());
    const SpeechRequest request = request_of(each);
    const View frames = golden.view(name), logits = golden.view(name + ".logits");
    const Result<Trace> traced = trace_request(
        *model_, request, {.threads = 1, .logit_steps = 4 * request.terms.max_frames});
    ASSERT_TRUE(traced.ok()) << traced.error().message;
    const Trace& t = traced.value();
    ASSERT_EQ(t.frame_count(), frames.shape[0]) << name;
    ASSERT_EQ(t.frame_codes, frames.shape[1]) << name;
    for (int64_t i = 0; i < frames.count(); ++i) {
      ASSERT_EQ(t.frames[i], frames.i32()[i])
          << "request " << name << ", frame " << i / t.frame_codes << ", code "
          << i % t.frame_codes;
    }
    // The last step that the original stores is the step of the last frame.
    const int64_t width = std::ssize(t.logits[0]) / t.logit_steps;
    const float* last = t.logits[0].data() + (each["steps"].get<int64_t>() - 1) * width;
    float top = 0;
    for (int64_t i = 0; i < std::min(width, logits.count()); ++i) {
      worst = worse(worst, std::fabs(last[i] - logits.f32()[i]));
      top = std::max(top, std::fabs(logits.f32()[i]));
    }
    EXPECT_GT(top, 0.1f);
    ASSERT_EQ(t.logits.size(), widths.size());
    for (size_t k = 0; k < widths.size(); ++k)
      ASSERT_GE(std::ssize(t.logits[k]), widths[k] * t.logit_steps) << k;
    const View prints = golden.view(name + ".prints");
    const auto got = fingerprints(t, prints.shape[0], widths);
    for (int64_t i = GetParam().forced_steps * prints.shape[1]; i < prints.count(); ++i) {
      worst_print = worse(worst_print, std::fabs(got[i] - prints.f32()[i]));
      largest = std::max(largest, std::fabs(prints.f32()[i]));
    }
    alone.push_back(t.samples);
  }
  EXPECT_LT(worst, 1e-4f);
  EXPECT_LT(worst_print, 5e-5f);
  EXPECT_GT(largest, 0.1f);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_print", std::to_string(worst_print * 1e6) + "e-6");

  const auto engine = std::make_unique<Engine>(
      model_, EngineOptions{.threads = 1, .max_unread_s = 1e9, .repetition_s = 0});
  std::vector<std::shared_ptr<Collector>> sinks;
  for (const json& each : told["requests"]) {
    sinks.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(engine->submit(request_of(each), sinks.back()).ok());
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i]->wait().reason, FinishReason::kLength);
    EXPECT_TRUE(sinks[i]->samples() == alone[i]) << "request " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, LongParity,
                         testing::Values(Small{"qwen3_tts", "qwen3_tts/golden/equal_width"},
                                         Small{"csm", "csm/golden/published_rates"},
                                         Small{"orpheus", "orpheus/golden"},
                                         Small{"zonos", "zonos/golden", 8},
                                         Small{"chatterbox", "chatterbox/golden"},
                                         Small{"cosyvoice2", "cosyvoice2/golden"}),
                         [](const auto& small) { return std::string(small.param.family); });

}  // namespace
}  // namespace syrinx::long_parity
