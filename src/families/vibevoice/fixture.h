// For tests: the golden checkpoints and their cases, and steps with guidance.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/vibevoice/pipeline.h"
#include "families/vibevoice/state.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step.h"
#include "model/step_runner.h"

namespace syrinx::vibevoice {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/vibevoice/golden/" + name;
}

inline nlohmann::json cases_of(const std::string& checkpoint) {
  return nlohmann::json::parse(read_file(golden_path(checkpoint + "/cases.json"), 1 << 20));
}

inline SpeechRequest request_of(const nlohmann::json& json) {
  SpeechRequest request;
  request.say.text = json["text"];
  request.sampling.seed = json["seed"];
  request.voice.name = json["voice"];
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
  if (!json["ended"].get<bool>()) request.terms.max_frames = json["frames"];
  return request;
}

/// A stage that stores the rows of its last step.
class WatchedStage : public ArStage {
 public:
  explicit WatchedStage(const ArStage& stage) : stage_(stage) {}
  const ArTraits& traits() const override { return stage_.traits(); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override {
    stage_.forward(ctx, batch, hidden);
    hidden_.assign(hidden.f32(), hidden.f32() + hidden.count());
  }
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override {
    stage_.logits(ctx, k, batch, hidden, codes, out);
  }
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override {
    stage_.values(ctx, batch, hidden, codes, out);
  }
  /// Returns row `e` of the last step.
  std::span<const float> hidden(size_t e) const {
    const auto width = static_cast<size_t>(traits().hidden);
    return std::span<const float>(hidden_).subspan(e * width, width);
  }

 private:
  const ArStage& stage_;
  mutable std::vector<float> hidden_;
};

/// Runs one request with its companion, one step at a time, like the engine.
class GuidedRun {
 public:
  GuidedRun(const VibeVoice& model, const SpeechRequest& request)
      : ar_(model.graph().ar()),
        state_(open_only(model, request)),
        pool_(1),
        work_(pool_, Device::kCpu),
        kv_(ar_.traits().kv[0], 2 * kPages),
        steps_({.watch = [this](StepContext&, int, View logits) { end_ = logits.f32()[1]; }}) {
    for (int32_t page = 0; page < 2 * kPages; ++page) table_.push_back(page);
  }

  bool finished() const { return finished_; }
  bool ended() const { return finished_ && reason_ == FinishReason::kStop; }
  /// Return the latents so far [steps, D], and the logit of kEnd in each step after a latent.
  const std::vector<float>& latents() const { return latents_; }
  const std::vector<float>& ends() const { return ends_; }
  /// Return the rows from which the latents are made: the sequence's, and its companion's.
  const std::vector<float>& rows() const { return rows_; }
  const std::vector<float>& companion_rows() const { return companion_rows_; }
  Sequence& state() { return *state_; }
  /// Takes a step if the request can take one.
  void step();

 private:
  static constexpr int kPages = 48;
  const WatchedStage ar_;
  std::unique_ptr<Sequence> state_;
  ThreadPool pool_;
  Workspace work_;
  KvPool kv_;
  StepWork steps_;
  StepResults results_;
  std::vector<int32_t> table_;
  int cached_[2] = {0, 0};  // cached positions of the sequence, of its companion
  int taken_ = 0;           // number of steps of the segment
  float end_ = 0;
  bool finished_ = false;
  FinishReason reason_ = FinishReason::kStop;
  std::vector<float> latents_, ends_, rows_, companion_rows_;
};

inline void GuidedRun::step() {
  if (finished_ || !state_->ready()) return;
  const bool guided = state_->step_guidance(0) != 1;
  std::vector<StepSequence> all;
  for (int t = 0; t < (guided ? 2 : 1); ++t) {
    const int prompt = t == 0 ? state_->prompt_rows() : state_->companion_rows();
    StepSequence one;
    one.state = state_.get(), one.first_pos = cached_[t];
    one.rows = prompt + taken_ - cached_[t];
    one.companion = t == 1, one.guided = t == 0 && guided;
    cached_[t] += one.rows;
    all.push_back(one);
  }
  work_.reset();
  const bool behind_latent = taken_ > 0, makes = !static_cast<State&>(*state_).looking();
  steps_.run(work_.context(), ar_,
             {.sequences = all,
              .rows = all[0].rows + (guided ? all[1].rows : 0),
              .page_table = std::span(table_).first(all.size() * kPages),
              .table_width = kPages,
              .kv = std::span(&kv_, 1)},
             results_);
  if (behind_latent) ends_.push_back(end_);
  if (makes) std::ranges::copy(ar_.hidden(0), std::back_inserter(rows_));
  if (makes && guided) std::ranges::copy(ar_.hidden(1), std::back_inserter(companion_rows_));
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words, nullptr, nullptr, results_.values, &latents_);
  const Verdict verdict = state_->advance(results_.codes, out);
  ++taken_;
  finished_ = verdict.next == Verdict::kFinished, reason_ = verdict.reason;
  if (verdict.next != Verdict::kNextSegment) return;
  taken_ = 0;
  cached_[0] = std::min({cached_[0], verdict.kept, state_->prompt_rows() - 1});
  cached_[1] = std::min({cached_[1], verdict.companion_kept, state_->companion_rows() - 1});
}

}  // namespace syrinx::vibevoice
