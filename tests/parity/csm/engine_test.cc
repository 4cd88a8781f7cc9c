// A golden checkpoint through the whole engine: audio of the original implementation, the same
// samples alone and in a crowd, conversation context, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::csm {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/csm/golden/" + name;
}

std::unique_ptr<Engine> engine(const std::string& name, const EngineOptions& options = {}) {
  return golden_engine(golden(name) + "/checkpoint", options);
}

class CsmEngine : public testing::TestWithParam<const char*> {};

TEST_P(CsmEngine, SpeaksAsTheOriginal) {
  const auto server = engine(GetParam());
  int compared = 0;
  for (const auto& c :
       nlohmann::json::parse(read_file(golden(GetParam()) + "/cases.json", 1 << 20))) {
    const Safetensors file(golden(GetParam()) + "/" + c["name"].get<std::string>() +
                           ".safetensors");
    if (!file.find("samples")) continue;
    SpeechRequest request;
    request.text = c["text"];
    request.voice = c["voice"];
    request.temperature = 0.f;
    request.max_frames = c["steps"];
    const auto sink = ask(*server, request);
    EXPECT_EQ(sink->wait().reason, c["ended"] ? FinishReason::kStop : FinishReason::kLength);
    const std::vector<float>& got = sink->samples();
    const GoldenSamples want(file);
    ASSERT_GE(std::ssize(got), want.count());
    EXPECT_LE(want.distance(std::span(got).first(static_cast<size_t>(want.count()))), 1e-4f)
        << c["name"];
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(CsmEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const size_t codebooks = engine(GetParam())->pipeline().graph().ar().traits().vocab.size();
  const auto make = [](const EngineOptions& options) { return engine(GetParam(), options); };
  expect_the_same_in_a_crowd(make, request, 12, [&](int i, SpeechRequest& other) {
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    if (i % 3 == 1) other.context = {{"1", "fine", std::vector<int32_t>(codebooks * (i + 1), i)}};
    if (i % 3 == 2) other.temperature = 0.3f, other.top_k = 5, other.voice = "7";
    return i % 3 != 0;
  });
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CsmEngine, testing::Values("published_rates", "taught"));

TEST(CsmEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.temperature = 0.f;
  expect_late_text_sounds_the_same(*engine("taught"), request,  // it has learned to end
                                   "hello there. How are you? I'm fine.");
}

}  // namespace
}  // namespace syrinx::csm
