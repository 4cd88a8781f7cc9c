#include "engine/executor.h"

#include <algorithm>

namespace syrinx {

Executor::Executor(const Pipeline& pipeline, int threads, int64_t pages, int max_batch)
    : ar_(pipeline.ar()), pool_(threads) {
  const int64_t widest = std::min(pages, KvPool::pages_for(ar_.traits().max_positions));
  page_table_.reserve(max_batch * widest);
  codes_.reserve(max_batch * ar_.traits().vocab.size());
  for (const KvSpec& spec : ar_.traits().kv) {
    kv_.emplace_back(spec, pages);
    kv_bytes_ += KvPool::page_bytes(spec) * pages;
  }
}

/// Writes the batch's ragged description; returns its rows.
int Executor::lay_out(std::span<const StepSequence> sequences) {
  seqs_.clear(), row_begin_.clear(), kv_len_.clear(), emitting_.clear();
  size_t widest = 1;
  for (const StepSequence& seq : sequences) widest = std::max(widest, seq.pages.size());
  table_width_ = static_cast<int>(widest);
  page_table_.assign(widest * sequences.size(), 0);
  int rows = 0;
  for (size_t b = 0; b < sequences.size(); ++b) {
    const StepSequence& seq = sequences[b];
    seqs_.push_back({seq.state, seq.first_pos, seq.rows, seq.emits});
    row_begin_.push_back(rows);
    kv_len_.push_back(seq.first_pos + seq.rows);
    std::copy(seq.pages.begin(), seq.pages.end(), page_table_.begin() + b * widest);
    if (seq.emits) emitting_.push_back(&seq);
    rows += seq.rows;
  }
  row_begin_.push_back(rows);
  return rows;
}

void Executor::run_step(std::span<const StepSequence> sequences) {
  arena_.reset();
  StepContext ctx{pool_, arena_};
  const ArTraits& traits = ar_.traits();
  const int rows = lay_out(sequences);
  const int emits = static_cast<int>(emitting_.size());
  const int codes_per_step = static_cast<int>(traits.vocab.size());
  const Ragged ragged{row_begin_, kv_len_, page_table_, table_width_};
  const ArBatch batch{
      seqs_,  rows, emits,
      ragged, kv_,  arena_.take({static_cast<int64_t>(ar_.scratch_bytes(emits))}, DType::kU8)};
  const View hidden = arena_.take({emits, traits.hidden}, DType::kF32);
  ar_.forward(ctx, batch, hidden);

  codes_.assign(static_cast<size_t>(emits) * codes_per_step, -1);
  status_.assign(emits, SampleStatus::kOk);
  if (emits == 0) return;
  const View codes{codes_.data(), DType::kI32, {emits, codes_per_step}};
  for (int k = 0; k < codes_per_step; ++k) {
    Arena::Mark mark(arena_);
    const View logits = arena_.take({emits, traits.vocab[k]}, DType::kF32);
    ar_.logits(ctx, k, batch, hidden, codes, logits);
    sample_code(k, logits, codes);
  }
}

void Executor::sample_code(int k, View logits, View codes) {
  const size_t emits = emitting_.size();
  rows_.clear();
  for (const StepSequence* seq : emitting_) {
    rows_.push_back({seq->state->sampling(k), seq->state->rule(k), seq->state->history(k),
                     seq->seed, seq->step, static_cast<uint32_t>(k)});
  }
  ids_.resize(emits);
  code_status_.resize(emits);
  StepContext ctx{pool_, arena_};
  sample(ctx, logits, rows_, ids_, code_status_);
  const int64_t per_step = codes.shape[1];
  for (size_t e = 0; e < emits; ++e) {
    if (status_[e] == SampleStatus::kOk) status_[e] = code_status_[e];
    // A failed row goes on with a harmless code, so that the others are not disturbed.
    codes_[e * per_step + k] = std::max(ids_[e], 0);
  }
}

std::span<const int32_t> Executor::codes(int e) const {
  const size_t per_step = ar_.traits().vocab.size();
  return std::span<const int32_t>(codes_).subspan(e * per_step, per_step);
}

void Executor::run_chunks(const ChunkStage& stage, std::span<ChunkJob> jobs) {
  StepContext ctx{pool_, arena_};
  stage.run(ctx, jobs);
}

}  // namespace syrinx
