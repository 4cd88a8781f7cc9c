// Tests Qwen3-ASR through the engine: the authors' ids, and the promises of the graph under any
// schedule, on the small checkpoints (see make_golden.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/qwen3_audio_fixture.h"
#include "engine/testing/mixed_schedules.h"
#include "families/qwen3_asr/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::qwen3_asr {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLayouts[] = {"original", "hf"};
constexpr int kDecoder = 1;

std::string golden_dir(const std::string& layout) {
  return SYRINX_BINARY_DIR "/parity/qwen3_asr/golden/" + layout;
}
std::shared_ptr<const Pipeline> asr(const std::string& layout,
                                    WeightType weights = WeightType::kF32) {
  return load_as<qwen3_asr::Qwen3Asr>({golden_dir(layout) + "/checkpoint", "asr", weights});
}

/// Returns the requests of the golden cases, each with the text of its golden ids.
std::vector<std::pair<SpeechRequest, std::string>> golden_requests(const std::string& layout,
                                                                   const Pipeline& pipeline) {
  std::vector<std::pair<SpeechRequest, std::string>> out;
  const Tokenizer tokenizer = Tokenizer::load(golden_dir(layout) + "/checkpoint");
  const ordered_json cases =
      ordered_json::parse(read_file(golden_dir(layout) + "/cases.json", 1 << 16));
  for (const auto& [name, c] : cases.items()) {
    auto recording = std::make_shared<Recording>();
    recording->samples = fixture::golden_signal(c["samples"], c["seed"]);
    recording->sample_rate = 16000;
    SpeechRequest request =
        pipeline
            .dictation({.recording = recording, .language = c["language"], .prompt = c["context"]})
            .take();
    request.writing.max_tokens = c["steps"];
    const Safetensors file(golden_dir(layout) + "/" + name + ".safetensors");
    const std::vector<int32_t> ids = ints(file.view("ids"));
    out.emplace_back(request,
                     tokenizer.decode(std::span(ids).subspan(c["prompt"].get<size_t>()), true));
  }
  return out;
}

TEST(Qwen3AsrEngine, WritesAsTheAuthors) {
  Executor executor(1);
  for (const char* layout : kLayouts) {
    const auto pipeline = asr(layout);
    for (const auto& [request, text] : golden_requests(layout, *pipeline)) {
      EXPECT_EQ(run_alone(pipeline, request, executor).text, text) << layout;
    }
  }
}

TEST(Qwen3AsrEngine, MixedRequestsAreTheSameUnderAnySchedule) {
  Executor executor(1);
  for (const char* layout : kLayouts) {
    const auto pipeline = asr(layout);
    std::vector<ExpectedAnswer> expected;
    for (auto& [request, text] : golden_requests(layout, *pipeline)) {
      request.writing.max_tokens = std::min(request.writing.max_tokens, 40);
      expected.push_back(run_alone(pipeline, request, executor));
      request.sampling.temperature = 1.2f;
      request.sampling.seed = 3;
      expected.push_back(run_alone(pipeline, request, executor));
    }
    const size_t page = KvPool::page_bytes(pipeline->graph().node(kDecoder).ar->traits().kv[0]);
    double preemptions = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const size_t kv_bytes = page * (seed % 2 == 0 ? 5 : 200);
      preemptions += MixedSchedule(seed, pipeline, expected, kv_bytes, executor).run().preemptions;
      if (HasFailure()) FAIL() << layout << ", schedule " << seed;
    }
    EXPECT_GT(preemptions, 0) << "no preemption was forced";
  }
}

TEST(Qwen3AsrEngine, IsCancelledAtAnyMoment) {
  Executor executor(1);
  const auto pipeline = asr("hf");
  SpeechRequest request = golden_requests("hf", *pipeline).back().first;
  request.writing.max_tokens = 6;
  cancel_at_any_moment(pipeline, run_alone(pipeline, request, executor), executor);
}

}  // namespace
}  // namespace syrinx::qwen3_asr
