// Tests Qwen3-ASR through the engine: the authors' texts, on the small checkpoints (see
// make_golden.py). tests/parity/writing has the promises of the graph.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/testing/mixed_schedules.h"
#include "families/qwen3_asr/fixture.h"
#include "families/qwen3_asr/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::qwen3_asr {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLayouts[] = {"original", "hf"};

std::string golden_dir(const std::string& layout) {
  return SYRINX_BINARY_DIR "/parity/qwen3_asr/golden/" + layout;
}
std::shared_ptr<const Pipeline> asr(const std::string& layout) {
  return load_as<qwen3_asr::Qwen3Asr>({golden_dir(layout) + "/checkpoint", "asr"});
}

/// Returns the requests of the golden cases, each with the text of its golden ids.
std::vector<std::pair<SpeechRequest, std::string>> golden_requests(const std::string& layout,
                                                                   const Pipeline& pipeline) {
  std::vector<std::pair<SpeechRequest, std::string>> out;
  const Tokenizer tokenizer = Tokenizer::load(golden_dir(layout) + "/checkpoint");
  const ordered_json cases =
      ordered_json::parse(read_file(golden_dir(layout) + "/cases.json", 1 << 16));
  for (const auto& [name, c] : cases.items()) {
    const SpeechRequest request = request_of(pipeline, c);
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

}  // namespace
}  // namespace syrinx::qwen3_asr
