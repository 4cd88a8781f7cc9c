// For tests of families: sends requests through a whole engine, one alone or many at once, also
// with late text. Checks samples and text.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collector.h"

namespace syrinx {

/// A collector of samples and text. Read it after the end of the request.
class Reader : public Collector {
 public:
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    const std::lock_guard lock(mutex_);
    text_ += piece;
    if (heard_ > 0) ++late_pieces_;
  }
  void audio(std::span<const float> samples) override {
    {
      const std::lock_guard lock(mutex_);
      heard_ += samples.size();
    }
    Collector::audio(samples);
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  /// Returns the number of pieces of text that came after the first samples.
  int late_pieces() const {
    const std::lock_guard lock(mutex_);
    return late_pieces_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  size_t heard_ = 0;
  int late_pieces_ = 0;
};

inline std::shared_ptr<Reader> ask(Engine& engine, const SpeechRequest& request) {
  auto sink = std::make_shared<Reader>();
  const auto id = engine.submit(request, sink);
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
  if (!id.ok()) {  // ends the wait of a thread in wait()
    Outcome refused;
    refused.reason = FinishReason::kError;
    refused.error = id.error();
    sink->finished(refused);
  }
  return sink;
}

/// Waits for the end and expects no error.
inline void expect_ended(Reader& sink) {
  EXPECT_NE(sink.wait().reason, FinishReason::kError) << sink.wait().error.message;
}

inline std::shared_ptr<Reader> answered(Engine& engine, const SpeechRequest& request) {
  auto sink = ask(engine, request);
  expect_ended(*sink);
  return sink;
}

inline std::vector<float> spoken(Engine& engine, const SpeechRequest& request) {
  return answered(engine, request)->samples();
}

/// Returns the samples of a request that runs alone on an engine from `make(EngineOptions)`.
/// Expects the same samples among `count` requests on an engine with batches of six, so that
/// requests begin and end in different batches. `change(i, other)` may change the i-th request and
/// returns whether it did. The samples of changed requests are not compared.
template <typename Make, typename Change>
std::vector<float> expect_the_same_in_a_crowd(Make make, const SpeechRequest& request, int count,
                                              Change change) {
  std::vector<float> alone = spoken(*make(EngineOptions{}), request);
  EXPECT_FALSE(alone.empty());
  EngineOptions crowded;
  crowded.max_batch = 6;
  const auto engine = make(crowded);
  std::vector<std::shared_ptr<Reader>> sinks;
  std::vector<bool> changed;
  for (int i = 0; i < count; ++i) {
    SpeechRequest other = request;
    changed.push_back(change(i, other));
    sinks.push_back(ask(*engine, other));
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    expect_ended(*sinks[i]);
    if (changed[i]) continue;
    EXPECT_TRUE(sinks[i]->samples() == alone) << "request " << i;
  }
  return alone;
}

/// Expects the same samples whether the text comes as a whole or in pieces of three bytes.
inline void expect_late_text_sounds_the_same(Engine& engine, SpeechRequest request,
                                             const std::string& text) {
  request.say.open = true;
  const auto expected = [&](size_t piece) {
    auto sink = std::make_shared<Reader>();
    const auto id = engine.submit(request, sink);
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
    if (!id.ok()) return std::vector<float>();
    for (size_t at = 0; at < text.size(); at += piece)
      engine.append_text(id.value(), text.substr(at, piece), at + piece >= text.size());
    expect_ended(*sink);
    return sink->samples();
  };
  const std::vector<float> whole = expected(text.size());
  EXPECT_FALSE(whole.empty());
  EXPECT_TRUE(expected(3) == whole);
}

}  // namespace syrinx
