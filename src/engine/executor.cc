#include "engine/executor.h"

#include <algorithm>
#include <exception>

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

Executor::Executor(const Pipeline& pipeline, std::span<const KvPool> kv, int threads)
    : ar_(pipeline.ar()), kv_(kv), pool_(threads), cpu_(pool_, Device::kCpu) {
  bool gpu = ar_.device() == Device::kCuda;
  for (const Link& link : pipeline.links()) gpu = gpu || link.stage->device() == Device::kCuda;
  if (gpu) gpu_.emplace(pool_, Device::kCuda);
}

void Executor::run(Batch& batch) {
  batch.began_s = now_s();
  const bool step = batch.kind() == Plan::kAr;
  StepContext& ctx = context(step ? ar_.device() : batch.stage().device());
  try {
    cpu_.reset();
    if (gpu_) gpu_->reset();
    if (step) {
      run_step(ctx, batch);
    } else {
      batch.stage().run(ctx, batch.jobs());
    }
    synchronize(ctx);
  } catch (const std::exception& e) {
    batch.fault = e.what();
    if (batch.fault.empty()) batch.fault = "a stage failed without a word";
    settle(ctx);
  }
  batch.ended_s = now_s();
}

/// Writes the batch's ragged description; returns the rows that emit, companions included.
int Executor::lay_out(const Batch& batch) {
  seqs_.clear(), row_begin_.clear(), kv_len_.clear(), emitting_.clear(), merged_.clear();
  guided_ = false;
  int rows = 0, emits = 0;
  for (const StepSequence& seq : batch.sequences()) {
    seqs_.push_back({seq.state, seq.first_pos, seq.rows, seq.emits, seq.companion});
    row_begin_.push_back(rows);
    kv_len_.push_back(seq.first_pos + seq.rows);
    rows += seq.rows;
    if (!seq.emits) continue;
    if (!seq.companion) {
      emitting_.push_back(&seq);
      merged_.push_back({emits, seq.guided, seq.scale});
      guided_ = guided_ || seq.guided;
    }
    ++emits;
  }
  row_begin_.push_back(rows);
  return emits;
}

void Executor::run_step(StepContext& ctx, Batch& batch) {
  const ArTraits& traits = ar_.traits();
  const int emits = lay_out(batch);
  const int per_step = static_cast<int>(traits.vocab.size());
  const Ragged ragged =
      resident(ctx, {row_begin_, kv_len_, batch.page_table(), batch.table_width()});
  const ArBatch rows{
      seqs_, batch.units(),
      emits, ragged,
      kv_,   ctx.arena.take({static_cast<int64_t>(ar_.scratch_bytes(emits))}, DType::kU8)};
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  ar_.forward(ctx, rows, hidden);

  batch.codes_per_step = per_step;
  batch.codes.assign(emitting_.size() * per_step, -1);
  batch.status.assign(emitting_.size(), SampleStatus::kOk);
  if (emits == 0) return;
  row_codes_.assign(static_cast<size_t>(emits) * per_step, -1);
  const View codes{row_codes_.data(), DType::kI32, {emits, per_step}};
  for (int k = 0; k < per_step; ++k) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const View logits = ctx.arena.take({emits, traits.vocab[k]}, DType::kF32);
    ar_.logits(ctx, k, rows, hidden, codes, logits);
    if (guided_) merge_guidance(ctx, logits, merged_);
    sample_code(ctx, batch, k, logits);
  }
}

void Executor::sample_code(StepContext& ctx, Batch& batch, int k, View logits) {
  const size_t emits = emitting_.size();
  rows_.clear();
  for (const StepSequence* seq : emitting_) {
    rows_.push_back({seq->state->sampling(k), seq->state->rule(k), seq->state->history(k),
                     seq->seed, seq->step, static_cast<uint32_t>(k)});
  }
  ids_.resize(emits);
  code_status_.resize(emits);
  const View sampled = logits.slice(0, static_cast<int64_t>(emits));
  sample(ctx, sampled, rows_, ids_, code_status_);
  const size_t per_step = batch.codes_per_step;
  for (size_t e = 0; e < emits; ++e) {
    if (batch.status[e] == SampleStatus::kOk) batch.status[e] = code_status_[e];
    // A failed row goes on with a harmless code, so that the others are not disturbed.
    const int32_t id = std::max(ids_[e], 0);
    batch.codes[e * per_step + k] = id;
    row_codes_[merged_[e].row * per_step + k] = id;
    if (merged_[e].guided) row_codes_[(merged_[e].row + 1) * per_step + k] = id;
  }
}

}  // namespace syrinx
