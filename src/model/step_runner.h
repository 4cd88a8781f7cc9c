// For tests of families: a step loop without an engine, and comparisons with goldens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/worst.h"
#include "model/input_rows.h"
#include "model/pipeline.h"

namespace syrinx {

/// Returns the largest difference divided by the largest magnitude; infinite if one is not finite.
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

/// Returns the root mean square of the differences divided by that of the wanted values.
inline double rms_off(std::span<const float> got, std::span<const float> want) {
  EXPECT_EQ(got.size(), want.size());
  double off = 0, power = 0;
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    off += std::pow(double{got[i]} - want[i], 2);
    power += std::pow(double{want[i]}, 2);
  }
  return std::sqrt(off / power);
}

/// Compares computed logits with the wanted ones, except logits that a stage does not compute
/// (StreamHead), which are -inf. At least `least` numbers must have been computed.
struct Computed {
  std::vector<float> got, want;

  Computed(std::span<const float> all, std::span<const float> wanted, size_t least) {
    EXPECT_EQ(all.size(), wanted.size());
    for (size_t i = 0; i < std::min(all.size(), wanted.size()); ++i) {
      if (all[i] == -INFINITY) continue;
      got.push_back(all[i]);
      want.push_back(wanted[i]);
    }
    EXPECT_GE(got.size(), least);
  }
};
/// Returns the largest difference relative to the largest wanted value.
inline float relative(const Computed& computed) { return relative(computed.got, computed.want); }

/// Returns the numbers of an f32 view on the CPU.
inline std::span<const float> floats(const View& view) {
  return {view.f32(), static_cast<size_t>(view.count())};
}
/// Returns a copy of the numbers of an i32 view on the CPU.
inline std::vector<int32_t> ints(const View& view) {
  return {view.i32(), view.i32() + view.count()};
}
/// Returns every 16th row of [T, C], from the first on.
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
/// Returns the reason why a model or the facts about it refuse a request.
inline Error refusal_of(const Pipeline& model, const SpeechRequest& request) {
  if (const Status checked = check_request(model.info(), request); !checked) return checked.error();
  auto opened = model.open(request);
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? Error{} : opened.error();
}

/// Writes the ids of a row into `ids` [T] and returns its vector.
inline GivenRow row_of(const Sequence& sequence, int pos, bool companion, std::span<int32_t> ids) {
  GivenRow given;
  std::fill(ids.begin(), ids.end(), -1);
  InputRows rows(static_cast<int>(ids.size()), ids, {&given, 1});
  sequence.rows(pos, companion, rows);
  return given;
}

/// One sequence of a Runner.
struct Track {
  std::unique_ptr<Sequence> state;
  std::vector<int32_t> pages;
  int cached = 0;  // positions in the cache
  int steps = 0;   // steps of the segment
  bool finished = false;
  bool ended = false;  // ended by itself, not at its bound
  std::vector<int32_t> frames;
  std::string text;                        // StepOutput::text()
  std::vector<std::vector<float>> logits;  // logits of codebook 0 of each step
  // logits of the other codebooks of each step, side by side
  std::vector<std::vector<float>> inner;
  std::vector<int32_t> codes;       // [steps, codes of a step], as drawn or forced
  std::span<const int32_t> follow;  // codes that replace the drawn ones, until they are used up
  std::vector<float> rows;          // StepOutput::row()
  std::vector<int32_t> answer_ids;  // StepOutput::answer_id()
};

/// Steps sequences of a stage with one cache together, as the engine would.
class Runner {
 public:
  explicit Runner(const Pipeline& model, int threads = 1)
      : model_(model),
        pool_(threads),
        work_(pool_, model.graph().ar().device()),
        kv_(model.graph().ar().traits().kv[0], kPages, model.graph().ar().device()) {
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
  /// Drops the cache of a track, so that its rows are computed again.
  void drop(Track& track) {
    track.cached = 0;
    free_.insert(free_.end(), track.pages.begin(), track.pages.end());
    track.pages.clear();
  }
  StepContext& context() { return work_.context(); }

 private:
  static constexpr int kPages = 512, kTable = 64;
  const Pipeline& model_;
  ThreadPool pool_;
  Workspace work_;
  KvPool kv_;
  std::vector<int32_t> free_;
};

inline void Runner::step(std::span<Track*> tracks, int chunk) {
  const ArTraits& traits = model_.graph().ar().traits();
  const int codes_per_step = static_cast<int>(traits.vocab.size());
  std::vector<ArSeq> seqs;
  std::vector<Track*> running;
  std::vector<int32_t> row_begin{0}, kv_len, table;
  int emits = 0;
  for (Track* track : tracks) {
    if (track->finished || !track->state->ready()) continue;
    const int due = track->state->prompt_rows() + track->steps - track->cached;
    const int rows = std::min(due, chunk);
    seqs.push_back({track->state.get(), track->cached, rows, rows == due});
    track->cached += rows;
    while (static_cast<int>(track->pages.size()) * KvPool::kPageRows < track->cached) {
      track->pages.push_back(free_.back());
      free_.pop_back();
    }
    row_begin.push_back(row_begin.back() + rows);
    kv_len.push_back(track->cached);
    std::vector<int32_t> line = track->pages;
    line.resize(kTable, 0);
    table.insert(table.end(), line.begin(), line.end());
    if (rows == due) running.push_back(track), ++emits;
  }
  if (seqs.empty()) return;
  work_.reset();
  StepContext& ctx = work_.context();
  const Ragged ragged{row_begin, kv_len, table, kTable};
  const View scratch =
      ctx.arena.take({static_cast<int64_t>(model_.graph().ar().scratch_bytes(emits))}, DType::kU8);
  const ArBatch batch{seqs, row_begin.back(), emits, ragged, std::span(&kv_, 1), scratch};
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  model_.graph().ar().forward(ctx, batch, hidden);
  if (emits == 0) return;
  std::vector<int32_t> memory(emits * codes_per_step, 0), ids(emits);
  const View codes{memory.data(), DType::kI32, {emits, codes_per_step}};
  for (Track* track : running) track->inner.emplace_back();
  for (int k = 0; k < codes_per_step; ++k) {
    const View logits = ctx.arena.take({emits, traits.vocab[k]}, DType::kF32);
    model_.graph().ar().logits(ctx, k, batch, hidden, upload(ctx, codes), logits);
    std::vector<SampleRow> rows;
    for (int e = 0; e < emits; ++e) {
      Sequence& state = *running[e]->state;
      rows.push_back({state.sampling(k), state.rule(k), state.history(k), 0, 0, 0});
      std::vector<float> row(static_cast<size_t>(traits.vocab[k]));
      fetch(ctx, logits.slice(e, e + 1), row);
      synchronize(ctx);
      if (k == 0) running[e]->logits.push_back(row);
      if (k > 0)
        running[e]->inner.back().insert(running[e]->inner.back().end(), row.begin(), row.end());
    }
    std::vector<SampleStatus> status(emits);
    sample(ctx, logits, rows, ids, status);
    for (int e = 0; e < emits; ++e) {
      EXPECT_EQ(status[e], SampleStatus::kOk);
      const Track& track = *running[e];
      const size_t said = track.codes.size() + static_cast<size_t>(k);
      memory[e * codes_per_step + k] = said < track.follow.size() ? track.follow[said] : ids[e];
    }
  }
  for (int e = 0; e < emits; ++e) {
    const auto* said = memory.data() + e * codes_per_step;
    running[e]->codes.insert(running[e]->codes.end(), said, said + codes_per_step);
  }
  std::vector<float> values(static_cast<size_t>(emits * traits.values));
  if (traits.values > 0) {
    const View made = ctx.arena.take({emits, traits.values}, DType::kF32);
    model_.graph().ar().values(ctx, batch, hidden, upload(ctx, codes), made);
    fetch(ctx, made, values);
    synchronize(ctx);
  }
  for (int e = 0; e < emits; ++e) {
    std::vector<WordMark> words;
    StepOutput out(running[e]->frames, words, nullptr, nullptr,
                   std::span(values).subspan(e * traits.values, traits.values), &running[e]->rows);
    const Verdict verdict = running[e]->state->advance(
        std::span(memory).subspan(e * codes_per_step, codes_per_step), out);
    running[e]->finished = verdict.next == Verdict::kFinished;
    running[e]->ended = running[e]->finished && verdict.reason == FinishReason::kStop;
    running[e]->text += out.written();
    ++running[e]->steps;
    if (verdict.next == Verdict::kNextSegment) {
      running[e]->steps = 0;
      running[e]->cached = std::min(running[e]->cached, verdict.kept);
    }
    running[e]->answer_ids.insert(running[e]->answer_ids.end(), out.answer_ids().begin(),
                                  out.answer_ids().end());
  }
}

}  // namespace syrinx
