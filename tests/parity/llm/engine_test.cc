// Compares small text models with transformers (see README.md), through the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace syrinx::llm {
namespace {

using nlohmann::ordered_json;

class Reader : public Sink {
 public:
  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override {
    const std::lock_guard lock(mutex_);
    text_ += piece;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  void finished(const Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
    done_ = true;
    changed_.notify_all();
  }
  const Outcome& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return outcome_;
  }
  const std::string& text() const { return text_; }
  const std::vector<ScoredToken>& tokens() const { return tokens_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::vector<ScoredToken> tokens_;
  Outcome outcome_;
  bool done_ = false;
};

struct Case {
  std::string name, text;
  SpeechRequest request;
  int steps = 0;
  bool ended = false;
};

std::string folder(const std::string& type) { return SYRINX_BINARY_DIR "/parity/llm/" + type; }

std::vector<Case> cases(const std::string& type) {
  std::vector<Case> out;
  const std::string text = read_file(folder(type) + "/golden/cases.json", 1 << 20);
  for (const auto& json : ordered_json::parse(text)) {
    Case c{json["name"], json["text"], {}, json["steps"], json["ended"]};
    if (json.contains("messages")) {
      c.request.writing.chat = std::make_shared<Chat>(Chat{
          json["messages"].dump(), json.contains("tools") ? json["tools"].dump() : std::string()});
    } else {
      c.request.say.text = json["prompt"];
    }
    c.request.sampling.temperature = 0.f;
    c.request.sampling.top_k = 0;
    c.request.sampling.top_p = 1.f;
    c.request.sampling.repetition_penalty = json["penalty"].get<float>();
    c.request.writing.max_tokens = 96;
    c.request.writing.top_logprobs = 3;
    out.push_back(std::move(c));
  }
  return out;
}

class LlmEngine : public testing::TestWithParam<const char*> {};

TEST_P(LlmEngine, WritesWhatTransformersWrites) {
  LoadOptions options;
  options.model = folder(GetParam());
  options.weights = "f32";
  options.engine.threads = 2;
  const std::unique_ptr<Engine> engine = load_engine(options);
  EXPECT_TRUE(engine->pipeline().info().writes);
  const std::vector<Case> all = cases(GetParam());
  std::vector<std::shared_ptr<Reader>> readers;
  for (const Case& c : all) {  // all cases run at once, in any batches
    readers.push_back(std::make_shared<Reader>());
    const auto id = engine->submit(c.request, readers.back());
    ASSERT_TRUE(id.ok()) << id.error().message;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Outcome& outcome = readers[i]->wait();
    const Safetensors golden(folder(GetParam()) + "/golden/" + all[i].name + ".safetensors");
    EXPECT_EQ(outcome.reason, all[i].ended ? FinishReason::kStop : FinishReason::kLength)
        << outcome.error.message;
    EXPECT_EQ(readers[i]->text(), all[i].text) << all[i].name;
    EXPECT_EQ(outcome.prompt_tokens, golden.view("prompt_ids").count());
    EXPECT_EQ(outcome.completion_tokens, all[i].steps);
    ASSERT_EQ(static_cast<int>(readers[i]->tokens().size()), all[i].steps - all[i].ended);
    // Log-probabilities are the log softmax of the golden logits.
    const View logits = golden.view("logits");
    const int64_t vocab = logits.shape[1];
    for (int64_t step = 0; step < logits.shape[0]; ++step) {
      const float* row = logits.f32() + step * vocab;
      double sum = 0;
      for (int64_t v = 0; v < vocab; ++v) sum += std::exp(static_cast<double>(row[v]));
      const int32_t drawn = golden.view("tokens").i32()[step];
      const ScoredToken& token = readers[i]->tokens()[static_cast<size_t>(step)];
      EXPECT_NEAR(token.drawn.logprob, row[drawn] - std::log(sum), 1e-3);
      EXPECT_EQ(token.top.size(), 3u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LlmEngine, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace syrinx::llm
