// What the tests on a GPU share: checkpoints by their folders, and the text of an answer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "families/family.h"
#include "io/file.h"
#include "io/parity_dir.h"
#include "tensor/device.h"

namespace syrinx {

constexpr Device kGpu = Device::kCuda;

/// Collects an answer in text.
class Reader : public Sink {
 public:
  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override {
    text_ += piece;
    for (const ScoredToken& token : tokens) scores_.push_back(token.drawn.logprob);
  }
  void finished(const Outcome& outcome) override { ended_.set_value(outcome); }

  Outcome wait() { return ended_.get_future().get(); }
  /// Only after wait().
  const std::string& text() const { return text_; }
  const std::vector<float>& scores() const { return scores_; }

 private:
  std::string text_;
  std::vector<float> scores_;  // log-probabilities of the tokens
  std::promise<Outcome> ended_;
};

/// Loads a checkpoint in tests/parity, whose first folder is the family's name.
inline std::shared_ptr<const Pipeline> load(const std::string& dir, Device device,
                                            WeightType weights = WeightType::kF32) {
  std::string name = dir.substr(0, dir.find('/'));
  if (name == "transducer") name = "nemotron_asr";
  const auto all = families();
  const auto family = std::ranges::find_if(all, [&](const Family& f) { return f.name == name; });
  return family->load({parity_dir() + dir, "tiny", weights, false, device});
}

/// Returns the answer of a checkpoint in tests/parity to a request.
inline std::shared_ptr<Reader> answer(const std::string& dir, const SpeechRequest& request,
                                      Device device) {
  Engine engine(load(dir, device), {.threads = 2});
  auto reader = std::make_shared<Reader>();
  const auto id = engine.submit(request, reader);
  if (!id.ok()) throw InternalError(id.error().message);
  const Outcome outcome = reader->wait();
  EXPECT_NE(outcome.reason, FinishReason::kError) << outcome.error.message;
  return reader;
}

/// The parameter is the folder of a checkpoint in tests/parity.
class CheckpointOnGpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = device_missing(kGpu); !why.empty()) GTEST_SKIP() << why;
    if (!is_directory(parity_dir() + GetParam())) GTEST_SKIP() << "the kit has no such checkpoint";
  }
};

/// Returns the name of a test for a folder.
inline std::string test_name(const testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace syrinx
