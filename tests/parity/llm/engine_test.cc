// Compares small text models with transformers (see README.md), through the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "families/llm/fixture.h"
#include "runtime/runtime.h"

namespace syrinx::llm {
namespace {

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

class LlmEngine : public testing::TestWithParam<const char*> {};

TEST_P(LlmEngine, WritesWhatTransformersWrites) {
  LoadOptions options;
  options.model = golden_dir(GetParam());
  options.weights = "f32";
  options.engine.threads = 2;
  const std::unique_ptr<Engine> engine = load_engine(options);
  EXPECT_TRUE(engine->pipeline().info().writes);
  std::vector<Case> all = load_cases(GetParam());
  std::vector<std::shared_ptr<Reader>> readers;
  for (Case& c : all) {  // all cases run at once, in any batches
    c.request.writing.top_logprobs = 3;
    readers.push_back(std::make_shared<Reader>());
    const auto id = engine->submit(c.request, readers.back());
    ASSERT_TRUE(id.ok()) << id.error().message;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Outcome& outcome = readers[i]->wait();
    const Safetensors golden = all[i].golden(GetParam());
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
