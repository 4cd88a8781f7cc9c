#include "model/step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace syrinx {

/// Writes the description of the batch's rows. Returns the number of rows that yield a step,
/// counting those of companions and guesses.
int StepWork::lay_out(const Step& step) {
  seqs_.clear(), row_begin_.clear(), kv_len_.clear(), emitting_.clear(), merged_.clear();
  guided_ = scored_ = tapped_ = false;
  int rows = 0, emits = 0;
  for (const StepSequence& seq : step.sequences) {
    const int yields = seq.emits ? 1 + seq.drafts : 0;
    seqs_.push_back({seq.state, seq.first_pos, seq.rows, yields, seq.companion});
    row_begin_.push_back(rows);
    kv_len_.push_back(seq.first_pos + seq.rows);
    tapped_ = tapped_ || seq.taps;
    rows += seq.rows;
    for (int guesses = 0; guesses < yields; ++guesses, ++emits) {
      if (seq.companion) continue;
      emitting_.push_back({&seq, guesses});
      merged_.push_back({emits, seq.guided, 1});
    }
    guided_ = guided_ || seq.guided;
    scored_ = scored_ || (seq.emits && seq.scores >= 0);
  }
  row_begin_.push_back(rows);
  return emits;
}

void StepWork::run(StepContext& ctx, const ArStage& ar, const Step& step, StepResults& out) {
  const int emits = lay_out(step);
  const ArTraits& traits = ar.traits();
  out.codes_per_step = static_cast<int>(traits.vocab.size());
  out.faults.clear();
  results_.assign((emits + emitting_.size()) * out.codes_per_step, 0);
  if (scored_) out.scores.assign(emitting_.size(), {});
  const bool valued = traits.values > 0;  // values are written to memory whose address may change
  const bool plain = !scored_ && !tapped_ && !valued && !options_.watch;
  const bool one_row_each = step.rows == std::ssize(seqs_) && emits == step.rows;
  // a step like this probably queues the same work as an earlier step
  if (ctx.stream && plain && one_row_each) {
    ctx.stream->repeat([&] { queue(ctx, ar, step, emits, out); });
  } else {
    queue(ctx, ar, step, emits, out);
  }
  synchronize(ctx);
  read_results(out);
}

/// Queues all work of a step on a device. Waits for the device only if log-probabilities are
/// requested.
void StepWork::queue(StepContext& ctx, const ArStage& ar, const Step& step, int emits,
                     StepResults& out) {
  const ArTraits& traits = ar.traits();
  const int64_t per_step = out.codes_per_step, sampled = emitting_.size();
  const Ragged ragged = resident(ctx, {row_begin_, kv_len_, step.page_table, step.table_width});
  ArBatch rows{
      seqs_,   step.rows,
      emits,   ragged,
      step.kv, ctx.arena.take({static_cast<int64_t>(ar.scratch_bytes(emits))}, DType::kU8)};
  if (tapped_) rows.taps = ctx.arena.take({step.rows, traits.tap}, DType::kF32);
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  ar.forward(ctx, rows, hidden);
  if (tapped_) fetch_taps(ctx, step, rows.taps, out);
  if (emits == 0) return;
  const View results = ctx.arena.take({emits + sampled, per_step}, DType::kI32);
  const View codes = results.slice(0, emits), status = results.slice(emits, emits + sampled);
  for (int k = 0; k < per_step; ++k) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const View logits = ctx.arena.take({emits, traits.vocab[k]}, DType::kF32);
    ar.logits(ctx, k, rows, hidden, codes, logits);
    if (guided_) {
      for (size_t e = 0; e < merged_.size(); ++e) {
        if (merged_[e].guided) merged_[e].scale = emitting_[e].sequence->state->step_guidance(k);
      }
      merge_guidance(ctx, logits, merged_);
    }
    if (options_.watch) options_.watch(ctx, k, logits.slice(0, std::ssize(emitting_)));
    sample_code(ctx, k, logits, codes, status);
    if (scored_ && k == 0) {
      fetch(ctx, results, results_);
      synchronize(ctx);
      score(ctx, logits, out);
    }
  }
  fetch(ctx, results, results_);
  if (traits.values > 0) fetch_values(ctx, ar, rows, hidden, codes, out);
}

/// Fetches the values of the rows that yield a step, except those of companions.
void StepWork::fetch_values(StepContext& ctx, const ArStage& ar, const ArBatch& rows, View hidden,
                            View codes, StepResults& out) {
  const int64_t width = ar.traits().values;
  const View values = ctx.arena.take({rows.emits, width}, DType::kF32);
  ar.values(ctx, rows, hidden, codes, values);
  out.values.resize(emitting_.size() * width);
  for (size_t e = 0; e < emitting_.size(); ++e) {
    fetch(ctx, values.slice(merged_[e].row, merged_[e].row + 1),
          std::span(out.values).subspan(e * width, width));
  }
}

void StepWork::sample_code(StepContext& ctx, int k, View logits, View codes, View status) {
  rows_.clear();
  for (const auto& [seq, guesses] : emitting_) {
    const Sequence& state = *seq->state;
    rows_.push_back({state.sampling(k), guesses == 0 ? state.rule(k) : state.drafted_rule(guesses),
                     guesses == 0 ? state.history(k) : state.drafted_history(guesses), seq->seed,
                     seq->step + static_cast<uint32_t>(guesses), static_cast<uint32_t>(k)});
    if (options_.greedy) rows_.back().params.temperature = 0;
  }
  const View sampled = logits.slice(0, static_cast<int64_t>(emitting_.size()));
  sample_codes(ctx, sampled, rows_, merged_, k, codes, status);
}

/// Fetches the tapped rows of the sequences that request them.
void StepWork::fetch_taps(StepContext& ctx, const Step& step, View taps, StepResults& out) {
  const auto width = static_cast<size_t>(taps.shape[1]);
  size_t rows = 0;
  for (const StepSequence& seq : step.sequences) rows += seq.taps ? seq.rows : 0;
  out.taps.resize(rows * width);
  size_t to = 0;
  for (size_t s = 0; s < seqs_.size(); ++s) {
    if (!step.sequences[s].taps) continue;
    const size_t size = static_cast<size_t>(seqs_[s].rows) * width;
    fetch(ctx, taps.slice(row_begin_[s], row_begin_[s + 1]), std::span(out.taps).subspan(to, size));
    to += size;
  }
}

/// Computes log-softmax for the rows that request scores, before temperature and rules.
void StepWork::score(StepContext& ctx, View logits, StepResults& out) {
  const auto vocab = static_cast<size_t>(logits.shape[1]);
  logits_.resize(vocab);
  for (size_t e = 0; e < emitting_.size(); ++e) {
    const int wanted = emitting_[e].sequence->scores;
    if (wanted < 0) continue;
    const int row = merged_[e].row;
    fetch(ctx, logits.slice(row, row + 1), logits_);
    synchronize(ctx);
    const float top = *std::max_element(logits_.begin(), logits_.end());
    double sum = 0;
    for (const float l : logits_) sum += std::exp(static_cast<double>(l) - top);
    const auto scored = [&](int32_t id) {
      return ScoredId{id, static_cast<float>(logits_[id] - top - std::log(sum))};
    };
    StepScores& scores = out.scores[e];
    scores.drawn = scored(results_[static_cast<size_t>(row) * out.codes_per_step]);
    std::vector<int32_t> ids(vocab);
    std::iota(ids.begin(), ids.end(), 0);
    const auto most = ids.begin() + std::min<std::ptrdiff_t>(wanted, std::ssize(ids));
    std::partial_sort(ids.begin(), most, ids.end(), [&](int32_t a, int32_t b) {
      return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
    });
    for (auto id = ids.begin(); id != most; ++id) scores.top.push_back(scored(*id));
  }
}

void StepWork::read_results(StepResults& out) {
  const size_t per_step = out.codes_per_step, sampled = emitting_.size();
  out.codes.resize(sampled * per_step);
  out.status.assign(sampled, SampleStatus::kOk);
  const size_t emits = results_.size() / per_step - sampled;
  for (size_t e = 0; e < sampled; ++e) {
    const int32_t* codes = results_.data() + merged_[e].row * per_step;
    const int32_t* status = results_.data() + (emits + e) * per_step;
    std::copy_n(codes, per_step, out.codes.begin() + e * per_step);
    const int32_t* bad = std::find_if(status, status + per_step, [](int32_t s) { return s != 0; });
    if (bad != status + per_step) out.status[e] = static_cast<SampleStatus>(*bad);
  }
}

}  // namespace syrinx
