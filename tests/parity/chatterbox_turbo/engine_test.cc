// Runs the golden checkpoint of Chatterbox Turbo through the whole engine: the authors' samples of
// the full mode, and the silence after a part.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::chatterbox_turbo {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/chatterbox_turbo/golden/" + name;
}

std::unique_ptr<Engine> engine(const EngineOptions& options = {.max_batch = 8}) {
  return golden_engine(golden("checkpoint"), options);
}

SpeechRequest request_of(size_t number) {
  const auto c = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20))[number];
  SpeechRequest request;
  request.say.text = c["text"];
  request.sampling.temperature = 0.f;
  request.sampling.seed = 7;
  return request;
}

TEST(ChatterboxTurboEngine, SpeaksAsTheAuthorsInTheFullMode) {
  const Safetensors file(golden("samples.safetensors"));
  const GoldenSamples want(file, "samples_full");
  SpeechRequest request = request_of(2);
  request.terms.flow = FlowMode::kFull;
  request.terms.max_frames = want.count() / 960;
  const std::vector<float> got = spoken(*engine(), request);
  ASSERT_EQ(std::ssize(got), want.count());
  EXPECT_LT(want.distance(got), 1e-4f);
}

TEST(ChatterboxTurboEngine, EndsWithThreeTokensOfSilence) {
  const Safetensors file(golden("tags.safetensors"));
  const auto sink = answered(*engine(), request_of(1));
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
  const int64_t tokens = file.view("tokens").count() - 1;  // without the stop token
  EXPECT_EQ(std::ssize(sink->samples()), (tokens + 3) * 960);
}

}  // namespace
}  // namespace syrinx::chatterbox_turbo
