// For tests of families: a step loop without an engine, and comparisons with goldens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/worst.h"
#include "model/input_rows.h"
#include "model/pipeline.h"
#include "model/step.h"

namespace syrinx {

/// Returns the largest difference divided by the largest |want|. Infinite for non-finite numbers.
inline float relative(std::span<const float> got, std::span<const float> want) {
  EXPECT_EQ(got.size(), want.size());
  float worst = 0, top = 1e-30f;
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    const float d = std::fabs(got[i] - want[i]);
    worst = worse(worst, d);
    top = std::max(top, std::fabs(want[i]));
  }
  return worst / top;
}

/// Returns the root mean square of the differences divided by that of `want`.
inline double rms_off(std::span<const float> got, std::span<const float> want) {
  EXPECT_EQ(got.size(), want.size());
  double off = 0, power = 0;
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    off += std::pow(double{got[i]} - want[i], 2);
    power += std::pow(double{want[i]}, 2);
  }
  return std::sqrt(off / power);
}

/// Compares computed logits with the expected ones. Skips logits that a stage does not compute
/// (StreamHead), which are -inf. At least `least` numbers must have been computed.
struct Computed {
  std::vector<float> got, want;

  Computed(std::span<const float> all, std::span<const float> wanted, size_t least) {
    EXPECT_EQ(all.size(), wanted.size());
    for (size_t i = 0; i < std::min(all.size(), wanted.size()); ++i) {
      if (!std::isfinite(all[i])) continue;
      got.push_back(all[i]);
      want.push_back(wanted[i]);
    }
    EXPECT_GE(got.size(), least);
  }
};
/// Returns the largest difference, relative to the largest expected value.
inline float relative(const Computed& computed) { return relative(computed.got, computed.want); }

/// Returns the numbers of an f32 view on the CPU as a span.
inline std::span<const float> floats(const View& view) {
  return {view.f32(), static_cast<size_t>(view.count())};
}
/// Returns a copy of the numbers of an i32 view on the CPU.
inline std::vector<int32_t> ints(const View& view) {
  return {view.i32(), view.i32() + view.count()};
}
/// Returns every 16th row of [T, C], beginning with the first.
inline std::vector<float> every_16th(const View& view) {
  std::vector<float> out;
  for (int64_t t = 0; t < view.shape[0]; t += 16) {
    const float* row = view.f32() + t * view.shape[1];
    out.insert(out.end(), row, row + view.shape[1]);
  }
  return out;
}

/// Opens a request of a model with one AR node.
inline std::unique_ptr<Sequence> open_only(const Pipeline& model, const SpeechRequest& request) {
  auto opened = model.open(request);
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  return opened.take().only();  // throws if the request was refused
}
/// Returns the error with which a model, or the facts about it, refuse a request.
inline Error refusal_of(const Pipeline& model, const SpeechRequest& request) {
  if (const Status checked = check_request(model.info(), request); !checked) return checked.error();
  auto opened = model.open(request);
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? Error{} : opened.error();
}

/// Writes the ids of a sequence's row into `ids` [T] and returns the row's vector.
inline GivenRow row_of(const Sequence& sequence, int pos, bool companion, std::span<int32_t> ids) {
  GivenRow given;
  std::fill(ids.begin(), ids.end(), -1);
  InputRows rows(static_cast<int>(ids.size()), ids, {&given, 1});
  sequence.rows(pos, companion, rows);
  return given;
}

/// The rows of a sequence, or of its companion, in a Runner's cache.
struct KeptRows {
  std::vector<int32_t> pages;
  int rows = 0;
};

/// One sequence of a Runner.
struct Track {
  std::unique_ptr<Sequence> state;
  KeptRows kept, companion;
  int steps = 0;  // steps in the current segment
  bool finished = false;
  bool ended = false;  // ended by itself, not at its largest number of steps
  std::vector<int32_t> frames;
  std::string text;                        // StepOutput::text()
  std::vector<std::vector<float>> logits;  // logits of codebook 0 of each step, after guidance
  std::vector<std::vector<float>> inner;   // logits of the other codebooks, each step, side by side
  std::vector<int32_t> codes;              // [steps, codes of a step]
  std::vector<float> rows;                 // StepOutput::row()
  std::vector<int32_t> answer_ids;         // StepOutput::answer_id()
  /// Codes that the next steps must draw, [steps, codes of a step]; only on the CPU.
  std::span<const int32_t> follow;

  /// Begins the next segment as `verdict` describes.
  void begin_segment(const Verdict& verdict) {
    steps = 0;
    kept.rows = std::min(kept.rows, verdict.kept);
    companion.rows = std::min(companion.rows, verdict.companion_kept);
  }
};

/// Runs steps of several sequences of a stage with one cache together, like the engine. A guided
/// sequence runs with its companion. All seeds are 0.
class Runner {
 public:
  /// `watched`: whether tracks get their logits. Watched steps are never recorded.
  explicit Runner(const Pipeline& model, int threads = 1, bool watched = true)
      : model_(model),
        pool_(threads),
        work_(pool_, model.graph().ar().device()),
        kv_(model.graph().ar().traits().kv[0], kPages, model.graph().ar().device()),
        steps_(watched ? StepOptions{.watch = [this](StepContext& ctx, int k,
                                                     View logits) { keep(ctx, k, logits); }}
                       : StepOptions{}) {
    for (int32_t page = kPages - 1; page >= 0; --page) free_.push_back(page);
  }

  Track open(const SpeechRequest& request) {
    Track track;
    track.state = open_only(model_, request);
    return track;
  }

  /// Takes one step of every unfinished, ready track; runs prompts in parts of `chunk` rows.
  void step(std::span<Track*> tracks, int chunk = 1 << 20);
  void step(Track& track) {
    Track* one[] = {&track};
    step(one);
  }
  /// Drops the cache of a track, so its rows are computed again.
  void drop(Track& track) {
    for (KeptRows* each : {&track.kept, &track.companion}) {
      free_.insert(free_.end(), each->pages.begin(), each->pages.end());
      *each = {};
    }
  }
  StepContext& context() { return work_.context(); }

 private:
  static constexpr int kPages = 512, kTable = 64;

  int codes() const { return static_cast<int>(model_.graph().ar().traits().vocab.size()); }
  bool guided(const Sequence& state) const {
    bool any = false;
    for (int k = 0; k < codes() && state.guidance(); ++k) any |= state.step_guidance(k) != 1;
    return any;
  }
  void add(Track& track, KeptRows& kept, int rows, StepSequence one);
  void keep(StepContext& ctx, int k, const View& logits);
  void advance(Track& track, std::span<const int32_t> codes, std::span<const float> values);

  const Pipeline& model_;
  ThreadPool pool_;
  Workspace work_;
  KvPool kv_;
  StepWork steps_;
  StepResults results_;
  std::vector<int32_t> free_;
  // Members of the running step:
  std::vector<Track*> running_;  // tracks that take a step
  std::vector<StepSequence> sequences_;
  std::vector<int32_t> table_;
};

inline void Runner::add(Track& track, KeptRows& kept, int rows, StepSequence one) {
  one.state = track.state.get(), one.first_pos = kept.rows, one.rows = rows;
  sequences_.push_back(one);
  kept.rows += rows;
  while (std::ssize(kept.pages) * KvPool::kPageRows < kept.rows) {
    kept.pages.push_back(free_.back());
    free_.pop_back();
  }
  table_.insert(table_.end(), kept.pages.begin(), kept.pages.end());
  table_.resize(sequences_.size() * kTable, 0);
}

inline void Runner::keep(StepContext& ctx, int k, const View& logits) {
  std::vector<float> row(static_cast<size_t>(logits.shape[1]));
  for (size_t e = 0; e < running_.size(); ++e) {
    fetch(ctx, logits.slice(static_cast<int64_t>(e), static_cast<int64_t>(e) + 1), row);
    synchronize(ctx);
    Track& track = *running_[e];
    if (k == 0) track.logits.push_back(row), track.inner.emplace_back();
    if (k > 0) track.inner.back().insert(track.inner.back().end(), row.begin(), row.end());
    const size_t drawn = track.codes.size() + static_cast<size_t>(k);
    if (drawn >= track.follow.size()) continue;
    float* scores = logits.f32() + static_cast<int64_t>(e) * logits.shape[1];
    std::fill(scores, scores + logits.shape[1], -std::numeric_limits<float>::infinity());
    scores[track.follow[drawn]] = 0;
  }
}

inline void Runner::step(std::span<Track*> tracks, int chunk) {
  running_.clear(), sequences_.clear(), table_.clear();
  int rows_of_all = 0;
  for (Track* track : tracks) {
    if (track->finished || !track->state->ready()) continue;
    const int due = track->state->prompt_rows() + track->steps - track->kept.rows;
    const int rows = std::min(due, chunk);
    const bool emits = rows == due, pair = emits && guided(*track->state);
    add(*track, track->kept, rows, {.emits = emits, .guided = pair});
    rows_of_all += rows;
    if (emits) running_.push_back(track);
    if (!pair) continue;
    const int more = track->state->companion_rows() + track->steps - track->companion.rows;
    add(*track, track->companion, more, {.companion = true});
    rows_of_all += more;
  }
  if (sequences_.empty()) return;
  work_.reset();
  steps_.run(work_.context(), model_.graph().ar(),
             {.sequences = sequences_,
              .rows = rows_of_all,
              .page_table = table_,
              .table_width = kTable,
              .kv = std::span(&kv_, 1)},
             results_);
  const size_t width = running_.empty() ? 0 : results_.values.size() / running_.size();
  for (size_t e = 0; e < running_.size(); ++e) {
    EXPECT_EQ(results_.status[e], SampleStatus::kOk);
    const auto per_step = static_cast<size_t>(codes());
    advance(*running_[e], std::span(results_.codes).subspan(e * per_step, per_step),
            std::span(results_.values).subspan(e * width, width));
  }
}

inline void Runner::advance(Track& track, std::span<const int32_t> codes,
                            std::span<const float> values) {
  track.codes.insert(track.codes.end(), codes.begin(), codes.end());
  std::vector<WordMark> words;
  StepOutput out(track.frames, words, nullptr, nullptr, values, &track.rows);
  const Verdict verdict = track.state->advance(codes, out);
  track.finished = verdict.next == Verdict::kFinished;
  track.ended = track.finished && verdict.reason == FinishReason::kStop;
  track.text += out.written();
  ++track.steps;
  if (verdict.next == Verdict::kNextSegment) track.begin_segment(verdict);
  track.answer_ids.insert(track.answer_ids.end(), out.answer_ids().begin(), out.answer_ids().end());
}

}  // namespace syrinx
