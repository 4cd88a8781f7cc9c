// For tests of the shipped voice: loads the voice and variants of it, and runs them without an
// engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "families/finch/finch.h"
#include "families/finch/state.h"

namespace syrinx::finch {

inline const std::string kVoice = SYRINX_SOURCE_DIR "/voices/finch";

inline std::shared_ptr<const Pipeline> voice() {
  static const auto pipeline = load({kVoice, "finch", WeightType::kF32, false});
  return pipeline;
}

/// Loads the shipped voice's config.json after `change` has edited it, with random weights.
inline std::shared_ptr<const Pipeline> dummy_voice(
    const std::function<void(nlohmann::json&)>& change) {
  std::ifstream file(kVoice + "/config.json");
  auto config = nlohmann::json::parse(file);
  change(config);
  const std::string dir = testing::TempDir() + "finch_dummy";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/config.json") << config;
  return load({dir, "finch", WeightType::kF32, true});
}

/// Loads a voice of four speakers with random weights.
inline std::shared_ptr<const Pipeline> four_voices() {
  static const auto pipeline = dummy_voice([](nlohmann::json& config) {
    config["speakers"] = nlohmann::json::array();
    for (const char* name : {"finch", "raven", "curlew", "crake"}) {
      config["speakers"].push_back({{"name", name}});
    }
    config["speeds"] = {0.6, 1.75};
  });
  return pipeline;
}

inline SpeechRequest greedy(const std::string& text) {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.temperature = 0.f;
  return request;
}

/// The results of one request.
struct Spoken {
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::vector<PhoneMark> phones;
  std::vector<float> first_logits;  // logits of all heads in the first steps
  int steps = 0;
  FinishReason reason = FinishReason::kError;
};

/// Runs requests together, with one row each, until all have ended. No engine; greedy choices.
class Driver {
 public:
  explicit Driver(const Pipeline& pipeline = *voice())
      : pipeline_(pipeline), pool_(1), ctx_{pool_, arena_} {}

  std::vector<Spoken> run(const std::vector<Sequence*>& states) {
    const ArStage& ar = pipeline_.graph().ar();
    const ArTraits& traits = ar.traits();
    const auto pages = KvPool::pages_for(traits.max_positions);
    KvPool kv(traits.kv[0], pages * static_cast<int64_t>(states.size()));
    std::vector<Spoken> spoken(states.size());
    std::vector<int> steps(states.size(), 0);
    std::vector<bool> done(states.size(), false);
    while (std::find(done.begin(), done.end(), false) != done.end()) {
      std::vector<size_t> live;
      for (size_t i = 0; i < states.size(); ++i) {
        if (!done[i]) live.push_back(i);
      }
      step(ar, kv, pages, states, live, spoken, steps, done);
    }
    return spoken;
  }

  StepContext& context() { return ctx_; }

 private:
  void step(const ArStage& ar, const KvPool& kv, int64_t pages,
            const std::vector<Sequence*>& states, const std::vector<size_t>& live,
            std::vector<Spoken>& spoken, std::vector<int>& steps, std::vector<bool>& done) {
    const auto count = static_cast<int>(live.size());
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin = {0}, length, table;
    for (const size_t i : live) {
      seqs.push_back({states[i], steps[i], 1, true});
      begin.push_back(begin.back() + 1);
      length.push_back(steps[i] + 1);
      for (int64_t p = 0; p < pages; ++p) {
        table.push_back(static_cast<int32_t>(static_cast<int64_t>(i) * pages + p));
      }
    }
    Tensor scratch({static_cast<int64_t>(ar.scratch_bytes(count))}, DType::kU8);
    Tensor values({count, ar.traits().values}, DType::kF32);
    const ArBatch batch{seqs,     count,  count, {begin, length, table, static_cast<int>(pages)},
                        {&kv, 1}, scratch};
    const auto& vocab = ar.traits().vocab;
    Tensor hidden({count, ar.traits().hidden}, DType::kF32);
    Tensor codes({count, static_cast<int64_t>(vocab.size())}, DType::kI32);
    ar.forward(ctx_, batch, hidden);
    for (size_t k = 0; k < vocab.size(); ++k) {
      Tensor logits({count, vocab[k]}, DType::kF32);
      ar.logits(ctx_, static_cast<int>(k), batch, hidden, codes, logits);
      for (int e = 0; e < count; ++e) {
        const float* row = logits.f32() + int64_t{e} * vocab[k];
        codes.i32()[e * vocab.size() + k] =
            static_cast<int32_t>(std::max_element(row, row + vocab[k]) - row);
        Spoken& one = spoken[live[e]];
        if (steps[live[e]] < 4) {
          one.first_logits.insert(one.first_logits.end(), row, row + vocab[k]);
        }
      }
    }
    ar.values(ctx_, batch, hidden, codes, values);
    for (int e = 0; e < count; ++e) {
      const size_t i = live[e];
      StepOutput out(spoken[i].frames, spoken[i].words, &spoken[i].phones, nullptr,
                     {values.f32() + e * kMoves, kMoves});
      const Verdict verdict =
          states[i]->advance({codes.i32() + e * vocab.size(), vocab.size()}, out);
      ++steps[i], ++spoken[i].steps;
      if (verdict.next == Verdict::kNextSegment) steps[i] = 0;
      done[i] = verdict.next == Verdict::kFinished || steps[i] >= states[i]->max_steps();
      if (verdict.next == Verdict::kFinished) spoken[i].reason = verdict.reason;
    }
    arena_.reset();
  }

  const Pipeline& pipeline_;
  ThreadPool pool_;
  Arena arena_;
  StepContext ctx_;
};

inline std::unique_ptr<Sequence> open(const SpeechRequest& request,
                                      const Pipeline& pipeline = *voice()) {
  auto state = pipeline.open(request);
  EXPECT_TRUE(state.ok()) << state.error().message;
  return state.take().only();
}

inline Spoken speak(const SpeechRequest& request, const Pipeline& pipeline = *voice()) {
  const auto state = open(request, pipeline);
  return Driver(pipeline).run({state.get()})[0];
}

/// Returns the samples of frames, decoded in chunks of the given sizes; the last size repeats.
inline std::vector<float> decode(const std::vector<int32_t>& frames, std::vector<int> cuts,
                                 const SpeechRequest& request = greedy("hi"),
                                 const Pipeline& pipeline = *voice()) {
  const ChunkStage& stage = *pipeline.graph().links()[0].stage;
  Driver driver;
  const auto state = open(request, pipeline);
  const auto stream = open_stream(stage, *state);
  const int total = static_cast<int>(frames.size()) / stage.in_width();
  const auto most = static_cast<size_t>(stage.most_out() * stage.out_width());  // samples
  std::vector<float> samples(static_cast<size_t>(total) * most);
  size_t made = 0;
  for (int at = 0, cut = 0; at < total; ++cut) {
    const int size = cuts[std::min<size_t>(cut, cuts.size() - 1)];
    ChunkJob job;
    job.state = stream.get();
    job.left = std::min(at, 1);
    job.fresh = std::min(size, total - at);
    job.ahead = std::min(1, total - at - job.fresh);
    job.last = at + job.fresh + job.ahead == total;
    const auto window = static_cast<size_t>(job.left + job.fresh + job.ahead);
    job.codes = std::span(frames).subspan(static_cast<size_t>(at - job.left) * stage.in_width(),
                                          window * stage.in_width());
    job.out = std::span(samples).subspan(made, static_cast<size_t>(job.fresh) * most);
    job.made = job.fresh * stage.most_out();
    stage.run(driver.context(), {&job, 1});
    made += static_cast<size_t>(job.made * stage.out_width());
    at += job.fresh;
  }
  samples.resize(made);
  return samples;
}

/// Returns the times of words and phones as text.
inline std::string times(const Spoken& spoken) {
  std::string out;
  for (const WordMark& word : spoken.words) {
    out += concat(word.begin, "-", word.end, "@", word.frame, " ");
  }
  for (const PhoneMark& phone : spoken.phones) out += concat(phone.phone, "@", phone.frame, " ");
  return out;
}

}  // namespace syrinx::finch
