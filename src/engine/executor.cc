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
  batch.replayed = false;
  const bool step = batch.kind() == Plan::kAr;
  StepContext& ctx = context(step ? ar_.device() : batch.stage().device());
  try {
    cpu_.reset();
    if (gpu_) gpu_->reset();
    if (step) {
      run_step(ctx, batch);
    } else {
      repeat(ctx, batch, [&] { batch.stage().run(ctx, batch.jobs()); });
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
  batch.codes_per_step = static_cast<int>(ar_.traits().vocab.size());
  results_.assign((emits + emitting_.size()) * batch.codes_per_step, 0);
  if (emits == batch.units()) {  // one row a sequence
    repeat(ctx, batch, [&] { queue_step(ctx, batch, emits); });
  } else {
    queue_step(ctx, batch, emits);
  }
  synchronize(ctx);
  read_results(batch);
}

/// Everything of a step that a device does; nothing in it waits for the device.
void Executor::queue_step(StepContext& ctx, const Batch& batch, int emits) {
  const ArTraits& traits = ar_.traits();
  const int64_t per_step = batch.codes_per_step, sampled = emitting_.size();
  const Ragged ragged =
      resident(ctx, {row_begin_, kv_len_, batch.page_table(), batch.table_width()});
  const ArBatch rows{
      seqs_, batch.units(),
      emits, ragged,
      kv_,   ctx.arena.take({static_cast<int64_t>(ar_.scratch_bytes(emits))}, DType::kU8)};
  const View hidden = ctx.arena.take({emits, traits.hidden}, DType::kF32);
  ar_.forward(ctx, rows, hidden);
  if (emits == 0) return;
  const View results = ctx.arena.take({emits + sampled, per_step}, DType::kI32);
  const View codes = results.slice(0, emits), status = results.slice(emits, emits + sampled);
  for (int k = 0; k < per_step; ++k) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const View logits = ctx.arena.take({emits, traits.vocab[k]}, DType::kF32);
    ar_.logits(ctx, k, rows, hidden, codes, logits);
    if (guided_) merge_guidance(ctx, logits, merged_);
    sample_code(ctx, k, logits, codes, status);
  }
  fetch(ctx, results, results_);
}

void Executor::sample_code(StepContext& ctx, int k, View logits, View codes, View status) {
  rows_.clear();
  for (const StepSequence* seq : emitting_) {
    rows_.push_back({seq->state->sampling(k), seq->state->rule(k), seq->state->history(k),
                     seq->seed, seq->step, static_cast<uint32_t>(k)});
  }
  const View sampled = logits.slice(0, static_cast<int64_t>(emitting_.size()));
  sample_codes(ctx, sampled, rows_, merged_, k, codes, status);
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
