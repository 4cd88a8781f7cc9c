// For tests of one family: a loaded golden checkpoint, requests, refusals, prompts, and steps as if
// the model had sampled given codes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/family.h"
#include "model/step_runner.h"

namespace syrinx {

/// `Model`: the family's pipeline.
template <typename Model>
class FamilyTest : public testing::Test {
 protected:
  /// `more`: further arguments of the model's constructor.
  template <typename... More>
  explicit FamilyTest(const std::string& checkpoint, const More&... more)
      : model_(LoadSpec{checkpoint, "tiny"}, more...) {}

  /// Returns a greedy request of `text` that ends only at its limit of frames.
  static SpeechRequest request(const std::string& text, int max_frames = 60) {
    SpeechRequest r;
    r.say.text = text;
    r.sampling.temperature = 0.f;
    r.terms.max_frames = max_frames;
    r.terms.ignore_stop = true;
    return r;
  }
  /// Returns a request of `text` that sets no options, or only the seed.
  static SpeechRequest plain(const std::string& text, uint64_t seed = 0) {
    SpeechRequest r;
    r.say.text = text;
    r.sampling.seed = seed;
    return r;
  }
  Error refusal(const SpeechRequest& r) const { return refusal_of(model_, r); }
  std::unique_ptr<Sequence> open(const SpeechRequest& r) const { return open_only(model_, r); }
  std::vector<int32_t> ids(const SpeechRequest& r) const {
    const auto state = open(r);
    return {state->prompt_ids().begin(), state->prompt_ids().end()};
  }
  static std::vector<uint64_t> keys(const Sequence& state) {
    std::vector<uint64_t> out;
    state.prefix_keys(false, out);
    return out;
  }
  size_t codes_a_step() const { return model_.graph().ar().traits().vocab.size(); }
  /// Returns the codes of `count` frames, all equal to `code`. A frame has the codes of a step.
  std::vector<int32_t> frames(int count, int32_t code = 1) const {
    return std::vector<int32_t>(static_cast<size_t>(count) * codes_a_step(), code);
  }
  /// Takes steps as if the model had sampled `codes`; returns the last verdict. The frames go to
  /// said_.
  Verdict say(Sequence& state, std::span<const int32_t> codes) {
    StepOutput out(said_, words_);
    Verdict verdict;
    for (size_t at = 0; at < codes.size(); at += codes_a_step())
      verdict = state.advance(codes.subspan(at, codes_a_step()), out);
    return verdict;
  }
  /// Takes a step as if the model had sampled `code` and made `values`. The rows go to rows_.
  Verdict say_values(Sequence& state, int32_t code, std::span<const float> values) {
    StepOutput out(said_, words_, nullptr, nullptr, values, &rows_);
    return state.advance({&code, 1}, out);
  }
  /// Returns the rows that the first `steps` steps of a request yield.
  std::vector<float> latents(const SpeechRequest& r, int steps) const {
    Runner runner(model_);
    Track track = runner.open(r);
    for (int i = 0; i < steps && !track.finished; ++i) runner.step(track);
    return track.rows;
  }
  /// Returns the ids of a row of a CodecLm.
  std::vector<int32_t> row(const Sequence& state, int pos) const {
    std::vector<int32_t> ids(static_cast<size_t>(model_.lm().tables()));
    row_of(state, pos, false, ids);
    return ids;
  }
  std::vector<std::vector<int32_t>> rows_fed(const Sequence& state, int count) const {
    std::vector<std::vector<int32_t>> out;
    for (int pos = 0; pos < count; ++pos) out.push_back(row(state, pos));
    return out;
  }
  static bool holds(std::span<const int32_t> all, std::span<const int32_t> part) {
    return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
  }

  const Model model_;
  std::vector<int32_t> said_;
  std::vector<WordMark> words_;
  std::vector<float> rows_;
};

}  // namespace syrinx
