#include "model/step.h"

#include <algorithm>
#include <numeric>

#include "kernels/id_limits.h"

namespace syrinx {

namespace {

/// Returns ArStage::fill_size(), or 0 for a stage with values, whose steps are not recalled.
int64_t fill_size(const ArStage& ar, int rows) {
  return ar.traits().values > 0 ? 0 : ar.fill_size(rows);
}

}  // namespace

/// Writes the description of the batch's rows. Returns the number of rows that yield a step,
/// counting those of companions and guesses.
int StepWork::lay_out(const Step& step) {
  seqs_.clear(), row_begin_.clear(), kv_len_.clear(), emitting_.clear(), merged_.clear();
  guided_ = scored_ = listed_ = tapped_ = false;
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
    listed_ = listed_ || (seq.emits && seq.scores > 0);
  }
  row_begin_.push_back(rows);
  pages_ = step.page_table;
  live_ = emitting_.size();
  return emits;
}

/// Repeats the last sequence of a decode step until the step has step_bucket() rows; returns this
/// number. A copy computes and stores what the sequence itself does, so it needs no page of its
/// own, and its results are ignored.
int StepWork::pad(int emits) {
  const int rows = step_bucket(emits);
  if (rows == emits) return emits;
  const size_t width = pages_.size() / seqs_.size();
  padded_pages_.assign(pages_.begin(), pages_.end());
  for (int row = emits; row < rows; ++row) {
    seqs_.push_back(seqs_.back());
    kv_len_.push_back(kv_len_.back());
    row_begin_.push_back(row + 1);
    emitting_.push_back(emitting_.back());
    merged_.push_back({row, false, 1});
    for (size_t i = 0; i < width; ++i) padded_pages_.push_back(pages_[pages_.size() - width + i]);
  }
  pages_ = padded_pages_;
  return rows;
}

void StepWork::run(StepContext& ctx, const ArStage& ar, const Step& step, StepResults& out) {
  int emits = lay_out(step);
  const ArTraits& traits = ar.traits();
  const bool plain = !listed_ && !tapped_ && !options_.watch;
  const bool one_row_each = step.rows == std::ssize(seqs_) && emits == step.rows;
  const bool repeats = ctx.stream && plain && one_row_each;
  const int64_t fills = scored_ ? 0 : fill_size(ar, emits);
  if (repeats && !guided_ && fills > 0) emits = pad(emits);
  out.codes_per_step = static_cast<int>(traits.vocab.size());
  out.faults.clear();
  results_.assign((emits + emitting_.size()) * out.codes_per_step, 0);
  if (scored_) out.scores.assign(emitting_.size(), {});
  if (guided_) set_scales(out.codes_per_step);
  if (ctx.stream) {
    run_on_gpu(ctx, ar, step, emits, repeats, out);
  } else {
    queue(ctx, ar, step, emits, out);
  }
  synchronize(ctx);
  read_results(out);
}

/// Writes the numbers of the step to one block of host memory. Then replays the recording of an
/// earlier step with the same key or, without one, queues the work.
void StepWork::run_on_gpu(StepContext& ctx, const ArStage& ar, const Step& step, int emits,
                          bool repeats, StepResults& out) {
  const Arena::Mark host_mark(ctx.host);
  set_draws(ar.traits());
  filled_ = {};
  place_block(repeats && !scored_ ? static_cast<int>(fill_size(ar, emits)) : 0);
  block_.memory = repeats ? static_cast<char*>(ctx.stream->block(block_.end)) : nullptr;
  const bool fits = block_.memory != nullptr;
  if (!fits) {
    const View memory = ctx.host.take({static_cast<int64_t>(block_.end)}, DType::kU8);
    block_.memory = static_cast<char*>(memory.data);
  }
  write_block();
  const auto work = [&] { queue(ctx, ar, step, emits, out); };
  if (!repeats) return work();
  if (!fits) return ctx.stream->repeat(work);
  if (!name_step(ctx, ar, step, emits)) key_.clear();
  ctx.stream->repeat_as(key_, results_.data(), results_.size() * sizeof(int32_t), work);
}

/// Writes to key_ all that the launches of a step depend on. Returns false if the stage has no
/// fill(), or fill() returns false.
bool StepWork::name_step(StepContext& ctx, const ArStage& ar, const Step& step, int emits) {
  const size_t size = (block_.merging - block_.filled) / sizeof(int32_t);
  const std::span<int32_t> filled(reinterpret_cast<int32_t*>(block_.memory + block_.filled), size);
  if (filled.empty()) return false;
  const Arena::Mark mark(ctx.arena);
  const auto scratch = reinterpret_cast<uintptr_t>(ctx.arena.take({1}, DType::kU8).data);
  key_ = {static_cast<uint64_t>(emits), emitting_.size(), static_cast<uint64_t>(step.table_width),
          scratch};
  for (const KvPool& pool : step.kv) {
    key_.push_back(reinterpret_cast<uintptr_t>(pool.keys(0, 0, 0)));
    key_.push_back(static_cast<uint64_t>(pool.pages()));
  }
  draws_.append_shape(key_);
  const Ragged ragged{row_begin_, kv_len_, pages_, step.table_width};
  const ArBatch rows{seqs_, row_begin_.back(), emits, ragged, step.kv, {}};
  if (!ar.fill(ctx, rows, filled, key_)) return false;
  filled_ = filled;
  return true;
}

void StepWork::set_draws(const ArTraits& traits) {
  const auto per_step = static_cast<int>(traits.vocab.size());
  draws_.begin(std::ssize(emitting_), per_step);
  for (size_t e = 0; e < emitting_.size(); ++e) {
    for (int k = 0; k < per_step; ++k) {
      const int32_t place = merged_[e].row * per_step + k;
      draws_.set(static_cast<int64_t>(e), k, draw_of(emitting_[e], k),
                 traits.vocab[static_cast<size_t>(k)], place,
                 merged_[e].guided ? place + per_step : -1);
    }
  }
}

void StepWork::set_scales(int per_step) {
  merging_.clear();
  for (int k = 0; k < per_step; ++k) {
    for (size_t e = 0; e < merged_.size(); ++e) {
      GuidedRow& row = merging_.emplace_back(merged_[e]);
      if (row.guided) row.scale = emitting_[e].sequence->state->step_guidance(k);
    }
  }
}

/// Sets the offsets of the block's parts; `filled`: the numbers of ArStage::fill().
void StepWork::place_block(int filled) {
  const auto behind = [](size_t begin, size_t bytes) { return (begin + bytes + 63) / 64 * 64; };
  const size_t ragged = row_begin_.size() + kv_len_.size() + pages_.size();
  block_.filled = behind(0, ragged * sizeof(int32_t));
  block_.merging = behind(block_.filled, static_cast<size_t>(filled) * sizeof(int32_t));
  block_.draws = behind(block_.merging, (guided_ ? merging_.size() : 0) * sizeof(GuidedRow));
  block_.end = block_.draws + draws_.bytes();
}

/// Writes all parts of the block except that of ArStage::fill().
void StepWork::write_block() {
  auto* ragged = reinterpret_cast<int32_t*>(block_.memory);
  for (const std::span<const int32_t> part :
       {std::span<const int32_t>(row_begin_), std::span<const int32_t>(kv_len_), pages_})
    ragged = std::copy(part.begin(), part.end(), ragged);
  if (guided_) {
    std::copy(merging_.begin(), merging_.end(),
              reinterpret_cast<GuidedRow*>(block_.memory + block_.merging));
  }
  draws_.write(block_.memory + block_.draws);
}

/// Queues all work of a step on a device. Waits for the device only if a row requests alternatives
/// to its id.
void StepWork::queue(StepContext& ctx, const ArStage& ar, const Step& step, int emits,
                     StepResults& out) {
  const ArTraits& traits = ar.traits();
  const int64_t per_step = out.codes_per_step, sampled = emitting_.size();
  Ragged ragged{row_begin_, kv_len_, pages_, step.table_width};
  const char* block = nullptr;  // on the GPU
  if (ctx.stream) {
    block = static_cast<const char*>(
        upload(ctx, {block_.memory, DType::kU8, {static_cast<int64_t>(block_.end)}}).data);
    ragged.on_device = reinterpret_cast<const int32_t*>(block);
  }
  ArBatch rows{
      seqs_,   row_begin_.back(),
      emits,   ragged,
      step.kv, ctx.arena.take({static_cast<int64_t>(ar.scratch_bytes(emits))}, DType::kU8)};
  rows.filled = filled_;
  if (tapped_) rows.taps = ctx.arena.take({step.rows, traits.tap}, DType::kF32);
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  ar.forward(ctx, rows, hidden);
  if (tapped_) fetch_taps(ctx, step, rows.taps, out);
  if (emits == 0) return;
  const View results = ctx.arena.take({emits + sampled, per_step}, DType::kI32);
  const View codes = results.slice(0, emits), status = results.slice(emits, emits + sampled);
  const GuidedRow* merging = merging_.data();
  if (block) merging = reinterpret_cast<const GuidedRow*>(block_.memory + block_.merging);
  for (int k = 0; k < per_step; ++k) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const View logits = ctx.arena.take({emits, traits.vocab[k]}, DType::kF32);
    ar.logits(ctx, k, rows, hidden, codes, logits);
    if (guided_) merge_guidance(ctx, logits, std::span(merging + k * sampled, merged_.size()));
    const View merged = logits.slice(0, sampled);
    if (options_.watch) options_.watch(ctx, k, merged);
    if (block) {
      draw_code(ctx, merged, draws_, block + block_.draws, k, codes, status);
    } else {
      sample_code(ctx, k, merged, codes, status);
    }
    if (scored_ && k == 0) score(ctx, logits, codes);
    if (listed_ && k == 0) list_best(ctx, logits, out);
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

/// Returns how a row draws code k.
SampleRow StepWork::draw_of(const Emitting& emitting, int k) const {
  const auto& [seq, guesses] = emitting;
  const Sequence& state = *seq->state;
  SampleRow row{state.sampling(k),
                guesses == 0 ? state.rule(k) : state.drafted_rule(guesses),
                guesses == 0 ? state.history(k) : state.drafted_history(guesses),
                seq->seed,
                seq->step + static_cast<uint32_t>(guesses),
                static_cast<uint32_t>(k)};
  if (options_.greedy) row.params.temperature = 0;
  return row;
}

/// Draws code k on the CPU.
void StepWork::sample_code(StepContext& ctx, int k, View logits, View codes, View status) {
  rows_.clear();
  for (const Emitting& emitting : emitting_) rows_.push_back(draw_of(emitting, k));
  sample_codes(ctx, logits, rows_, merged_, k, codes, status);
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

/// Computes log-softmax of the drawn ids, before temperature and rules: on the CPU for the rows
/// that request it, on a GPU for all rows in one launch.
void StepWork::score(StepContext& ctx, View logits, View codes) {
  const int64_t rows = logits.shape[0];
  scores_.assign(static_cast<size_t>(rows), 0);
  if (ctx.stream) {
    const View drawn = ctx.arena.take({rows}, DType::kF32);
    log_probabilities(ctx, logits, codes, 0, drawn);
    return fetch(ctx, drawn, scores_);
  }
  for (size_t e = 0; e < emitting_.size(); ++e) {
    const int64_t row = merged_[e].row;
    if (emitting_[e].sequence->scores < 0) continue;
    log_probabilities(ctx, logits.slice(row, row + 1), codes.slice(row, row + 1), 0,
                      {&scores_[static_cast<size_t>(row)], DType::kF32, {1}});
  }
}

/// Finds the best ids of the rows that request them, with their log-softmax.
void StepWork::list_best(StepContext& ctx, View logits, StepResults& out) {
  const auto vocab = static_cast<size_t>(logits.shape[1]);
  logits_.resize(vocab);
  for (size_t e = 0; e < emitting_.size(); ++e) {
    const int wanted = emitting_[e].sequence->scores;
    if (wanted <= 0) continue;
    const int row = merged_[e].row;
    fetch(ctx, logits.slice(row, row + 1), logits_);
    synchronize(ctx);
    const double all = log_sum(logits_);
    std::vector<int32_t> ids(vocab);
    std::iota(ids.begin(), ids.end(), 0);
    const auto most = ids.begin() + std::min<std::ptrdiff_t>(wanted, std::ssize(ids));
    std::partial_sort(ids.begin(), most, ids.end(), [&](int32_t a, int32_t b) {
      return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
    });
    for (auto id = ids.begin(); id != most; ++id) {
      out.scores[e].top.push_back({*id, static_cast<float>(logits_[*id] - all)});
    }
  }
}

void StepWork::read_results(StepResults& out) {
  const size_t per_step = out.codes_per_step, sampled = emitting_.size();
  out.codes.resize(live_ * per_step);
  out.status.assign(live_, SampleStatus::kOk);
  const size_t emits = results_.size() / per_step - sampled;
  for (size_t e = 0; e < live_; ++e) {
    const int32_t* codes = results_.data() + merged_[e].row * per_step;
    const int32_t* status = results_.data() + (emits + e) * per_step;
    std::copy_n(codes, per_step, out.codes.begin() + e * per_step);
    if (scored_ && emitting_[e].sequence->scores >= 0) {
      const auto row = static_cast<size_t>(merged_[e].row);
      out.scores[e].drawn = {codes[0], scores_[row]};
    }
    const int32_t* bad = std::find_if(status, status + per_step, [](int32_t s) { return s != 0; });
    if (bad != status + per_step) out.status[e] = static_cast<SampleStatus>(*bad);
  }
}

}  // namespace syrinx
