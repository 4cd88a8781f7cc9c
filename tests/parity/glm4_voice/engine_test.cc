// Tests GLM-4-Voice through the engine: its results equal those of its authors' code (see
// README.md). tests/parity/writing has the promises of the graph.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/testing/spoken_answers.h"
#include "families/glm4_voice/pipeline.h"
#include "families/golden_requests.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "model/step_runner.h"

namespace syrinx::glm4_voice {
namespace {

using nlohmann::ordered_json;

constexpr int kFlow = 2;

std::string golden_path(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/glm4_voice/golden/" + name;
}

std::shared_ptr<const Pipeline> glm(WeightType weights = WeightType::kF32) {
  return load_as<glm4_voice::Glm4Voice>(
      {golden_path("checkpoint"), "glm", weights, false, Device::kCpu});
}

ordered_json golden_cases() {
  return ordered_json::parse(read_file(golden_path("cases.json"), 1 << 20));
}

/// Compares golden answers to speech, in text and speech, each as a whole.
TEST(GlmEngine, AnswersAsTheAuthors) {
  expect_golden_answers(
      glm(), golden_cases(), [](const ordered_json& c) { return golden_chat(c); }, golden_path,
      [](int64_t codes) { return GlmFlowConfig().frames(codes) * 256; });
}

/// Compares blocks of the flow with their cross-fades, for lengths around the end of a block.
TEST(GlmEngine, MelsAreStreamedAsTheAuthors) {
  const auto pipeline = glm();
  const ChunkStage& flow = *pipeline->graph().node(kFlow).chunk;
  const Safetensors golden(golden_path("decoder.safetensors"));
  const std::vector<int32_t> codes = ints(golden.view("codes"));
  fixture::Bench bench;
  for (const int tokens : {25, 26, 76, 182}) {
    SCOPED_TRACE(tokens);
    const std::span<const int32_t> all = std::span(codes).first(static_cast<size_t>(tokens));
    const auto stream = flow.open({});
    std::vector<float> mel;
    size_t at = 0;
    for (size_t there = 1; at < all.size();) {
      const bool closed = there == all.size();
      const int fresh = flow.cut(*stream, {all.subspan(at, there - at), {}, closed}, 25);
      if (fresh == 0) {
        ASSERT_FALSE(closed);
        ++there;
        continue;
      }
      const int ahead = std::min<int>(1, static_cast<int>(there - at) - fresh);
      std::vector<float> out(static_cast<size_t>(fresh * flow.most_out() * flow.out_width()));
      ChunkJob job{stream.get(),
                   all.subspan(at, static_cast<size_t>(fresh + ahead)),
                   {},
                   0,
                   fresh,
                   ahead,
                   closed && at + fresh + ahead == all.size(),
                   out,
                   fresh * flow.most_out()};
      flow.run(bench.ctx, std::span(&job, 1));
      bench.arena.reset();
      mel.insert(mel.end(), out.begin(), out.begin() + int64_t{job.made} * flow.out_width());
      at += static_cast<size_t>(fresh);
    }
    const int64_t width = flow.out_width(), frames = std::ssize(mel) / width;
    EXPECT_EQ(frames, ints(golden.view("count_" + std::to_string(tokens)))[0]);
    const View want = golden.view("stream_" + std::to_string(tokens));
    Tensor got(want.shape, DType::kF32);
    for (int64_t t = 0; t < want.shape[0] && 7 * t < frames; ++t)
      std::copy_n(mel.begin() + 7 * t * width, width, got.f32() + t * width);
    EXPECT_LT(fixture::difference(got, want), 1e-3);
  }
}

/// Blocks of several answers in one call equal blocks that were computed alone.
TEST(GlmEngine, InABatchABlockIsAsAlone) {
  const auto pipeline = glm();
  const ChunkStage& flow = *pipeline->graph().node(kFlow).chunk;
  const std::vector<int32_t> codes =
      ints(Safetensors(golden_path("decoder.safetensors")).view("codes"));
  fixture::Bench bench;
  using Mels = std::vector<std::vector<float>>;
  // Each answer has two blocks; the end of the first block waits for the second.
  const auto run = [&](std::span<const size_t> begins) {
    std::vector<std::unique_ptr<StreamState>> streams;
    for (size_t i = 0; i < begins.size(); ++i) streams.push_back(flow.open({}));
    Mels out(begins.size());
    for (const auto& [from, fresh] : {std::pair(0, 25), std::pair(25, 30)}) {
      std::vector<ChunkJob> jobs;
      Mels made(begins.size());
      for (size_t i = 0; i < begins.size(); ++i) {
        const bool last = from > 0;
        made[i].resize(static_cast<size_t>(fresh * flow.most_out() * flow.out_width()));
        jobs.push_back({streams[i].get(),
                        std::span(codes).subspan(begins[i] + static_cast<size_t>(from),
                                                 static_cast<size_t>(fresh + (last ? 0 : 1))),
                        {},
                        0,
                        fresh,
                        last ? 0 : 1,
                        last,
                        made[i],
                        fresh * flow.most_out()});
      }
      flow.run(bench.ctx, jobs);
      bench.arena.reset();
      for (size_t i = 0; i < jobs.size(); ++i)
        out[i].insert(out[i].end(), made[i].begin(),
                      made[i].begin() + int64_t{jobs[i].made} * flow.out_width());
    }
    return out;
  };
  const size_t begins[] = {0, 40, 100};
  const Mels together = run(begins);
  for (size_t i = 0; i < std::size(begins); ++i) {
    EXPECT_FALSE(together[i].empty());
    EXPECT_TRUE(run(std::span(begins).subspan(i, 1))[0] == together[i]) << i;
  }
}

/// The first block of audio is sent before the answer has ended.
TEST(GlmSchedules, SpeaksWhileItGoesOn) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Do it step by step, 12345 with 678!";
  request.writing.max_tokens = 120;
  request.sampling.temperature = 0.f;
  const SpokenTimes times = spoken_times(glm(), request);
  EXPECT_LT(times.first_flow_s, 50) << "13 ids of text and 26 codes";
  EXPECT_GT(times.last_step_s, times.first_flow_s + 30);
}

TEST(Glm, DescribesItself) {
  const auto pipeline = glm();
  const PipelineInfo& info = pipeline->info();
  EXPECT_TRUE(info.writes && info.speaks);
  EXPECT_EQ(info.speech.sample_rate, 22050);
  EXPECT_EQ(info.speech.default_voice, "glm");
  EXPECT_EQ(info.parts.size(), 5u);
}

}  // namespace
}  // namespace syrinx::glm4_voice
