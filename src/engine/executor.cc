#include "engine/executor.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <utility>

#include "base/clock.h"

namespace syrinx {

namespace {

/// Waits, after a fault, for copies into a batch that were queued before it.
void settle(StepContext& ctx) {
  try {
    synchronize(ctx);
  } catch (const std::exception&) {  // the fault itself: it has been told
  }
}

}  // namespace

Executor::Executor(ExecutorOptions options)
    : options_(std::move(options)), pool_(options_.threads), cpu_(pool_, Device::kCpu) {}

StepContext& Executor::context(Device device) {
  if (device == Device::kCpu) return cpu_.context();
  if (!gpu_) gpu_.emplace(pool_, device);
  return gpu_->context();
}

void Executor::run(Batch& batch) {
  batch.began_s = now_s();
  batch.replayed = false;
  StepContext* ctx = nullptr;
  try {
    ctx = &context(batch.device());
    cpu_.reset();
    if (gpu_) gpu_->reset();
    if (batch.kind() == Plan::kAr) {
      run_step(*ctx, batch);
    } else {
      repeat(*ctx, batch, [&] { batch.stage().run(*ctx, batch.jobs()); });
    }
    synchronize(*ctx);
  } catch (const std::exception& e) {
    batch.fault = e.what();
    if (batch.fault.empty()) batch.fault = "a stage failed without a word";
    if (ctx) settle(*ctx);
  } catch (...) {
    batch.fault = "a stage threw something that is no exception";
    if (ctx) settle(*ctx);
  }
  batch.ended_s = now_s();
}

/// Writes the batch's ragged description; returns the rows that emit, those of companions and
/// guesses included.
int Executor::lay_out(const Batch& batch) {
  seqs_.clear(), row_begin_.clear(), kv_len_.clear(), emitting_.clear(), merged_.clear();
  guided_ = scored_ = tapped_ = false;
  int rows = 0, emits = 0;
  for (const StepSequence& seq : batch.sequences()) {
    const int steps = seq.emits ? 1 + seq.drafts : 0;
    seqs_.push_back({seq.state, seq.first_pos, seq.rows, steps, seq.companion});
    row_begin_.push_back(rows);
    kv_len_.push_back(seq.first_pos + seq.rows);
    tapped_ = tapped_ || seq.taps;
    rows += seq.rows;
    for (int guesses = 0; guesses < steps; ++guesses, ++emits) {
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

/// Work that is likely to queue the same launches as an earlier batch did.
template <typename Work>
void Executor::repeat(StepContext& ctx, Batch& batch, const Work& work) {
  if (!ctx.stream) return work();
  const uint64_t before = ctx.stream->played();
  ctx.stream->repeat(work);
  batch.replayed = ctx.stream->played() != before;
}

void Executor::run_step(StepContext& ctx, Batch& batch) {
  const int emits = lay_out(batch);
  batch.codes_per_step = static_cast<int>(batch.ar().traits().vocab.size());
  results_.assign((emits + emitting_.size()) * batch.codes_per_step, 0);
  if (scored_) batch.scores.assign(emitting_.size(), {});
  const bool valued = batch.ar().traits().values > 0;  // into memory that may move
  const bool plain = !scored_ && !tapped_ && !valued && !options_.watch;
  if (plain && batch.units() == std::ssize(seqs_) && emits == batch.units()) {  // one row each
    repeat(ctx, batch, [&] { queue_step(ctx, batch, emits); });
  } else {
    queue_step(ctx, batch, emits);
  }
  synchronize(ctx);
  read_results(batch);
}

/// Everything of a step that a device does; nothing in it waits for the device, but where
/// log-probabilities are wanted.
void Executor::queue_step(StepContext& ctx, Batch& batch, int emits) {
  const ArStage& ar = batch.ar();
  const ArTraits& traits = ar.traits();
  const int64_t per_step = batch.codes_per_step, sampled = emitting_.size();
  const Ragged ragged =
      resident(ctx, {row_begin_, kv_len_, batch.page_table(), batch.table_width()});
  ArBatch rows{
      seqs_,      batch.units(),
      emits,      ragged,
      batch.kv(), ctx.arena.take({static_cast<int64_t>(ar.scratch_bytes(emits))}, DType::kU8)};
  if (tapped_) rows.taps = ctx.arena.take({batch.units(), traits.tap}, DType::kF32);
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  ar.forward(ctx, rows, hidden);
  if (tapped_) fetch_taps(ctx, batch, rows.taps);
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
      score(ctx, batch, logits);
    }
  }
  fetch(ctx, results, results_);
  if (traits.values > 0) fetch_values(ctx, batch, rows, hidden, codes);
}

/// The values of the rows that yield a step, without those of companions.
void Executor::fetch_values(StepContext& ctx, Batch& batch, const ArBatch& rows, View hidden,
                            View codes) {
  const int64_t width = batch.ar().traits().values;
  const View values = ctx.arena.take({rows.emits, width}, DType::kF32);
  batch.ar().values(ctx, rows, hidden, codes, values);
  batch.values.resize(emitting_.size() * width);
  for (size_t e = 0; e < emitting_.size(); ++e) {
    fetch(ctx, values.slice(merged_[e].row, merged_[e].row + 1),
          std::span(batch.values).subspan(e * width, width));
  }
}

void Executor::sample_code(StepContext& ctx, int k, View logits, View codes, View status) {
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

/// The tapped rows of the sequences that asked for them.
void Executor::fetch_taps(StepContext& ctx, Batch& batch, View taps) {
  const size_t width = batch.ar().traits().tap;
  size_t rows = 0;
  for (const StepSequence& seq : batch.sequences()) rows += seq.taps ? seq.rows : 0;
  batch.taps.resize(rows * width);
  size_t to = 0;
  for (size_t s = 0; s < seqs_.size(); ++s) {
    if (!batch.sequences()[s].taps) continue;
    const size_t size = static_cast<size_t>(seqs_[s].rows) * width;
    fetch(ctx, taps.slice(row_begin_[s], row_begin_[s + 1]),
          std::span(batch.taps).subspan(to, size));
    to += size;
  }
}

/// Log-softmax of the rows that asked for it, before temperature and rules.
void Executor::score(StepContext& ctx, Batch& batch, View logits) {
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
    StepScores& out = batch.scores[e];
    out.drawn = scored(results_[static_cast<size_t>(row) * batch.codes_per_step]);
    std::vector<int32_t> ids(vocab);
    std::iota(ids.begin(), ids.end(), 0);
    const auto most = ids.begin() + std::min<std::ptrdiff_t>(wanted, std::ssize(ids));
    std::partial_sort(ids.begin(), most, ids.end(), [&](int32_t a, int32_t b) {
      return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
    });
    for (auto id = ids.begin(); id != most; ++id) out.top.push_back(scored(*id));
  }
}

void Executor::read_results(Batch& batch) {
  const size_t per_step = batch.codes_per_step, sampled = emitting_.size();
  batch.codes.resize(sampled * per_step);
  batch.status.assign(sampled, SampleStatus::kOk);
  const size_t emits = results_.size() / per_step - sampled;
  for (size_t e = 0; e < sampled; ++e) {
    const int32_t* codes = results_.data() + merged_[e].row * per_step;
    const int32_t* status = results_.data() + (emits + e) * per_step;
    std::copy_n(codes, per_step, batch.codes.begin() + e * per_step);
    const int32_t* bad = std::find_if(status, status + per_step, [](int32_t s) { return s != 0; });
    if (bad != status + per_step) batch.status[e] = static_cast<SampleStatus>(*bad);
  }
}

}  // namespace syrinx
