#include "engine/batch.h"

#include <bit>

namespace syrinx {

void Batch::warm_steps(int sequences, int pages) {
  page_table_.reserve(static_cast<size_t>(sequences) * std::bit_ceil(static_cast<unsigned>(pages)));
  sequences_.reserve(sequences), owners.reserve(sequences), guesses_.reserve(sequences);
}

void Batch::warm_chunks(int streams, const ChunkStage& stage, const ChunkPolicy& policy) {
  owners.reserve(streams), jobs_.reserve(streams);
  const size_t fresh = static_cast<size_t>(streams) * most_frames(policy);
  const size_t window = fresh + static_cast<size_t>(streams) * (policy.left + policy.lookahead);
  const size_t elements = window * stage.in_width();
  is_float(stage.in()) ? window_values_.reserve(elements) : window_codes_.reserve(elements);
  samples_.reserve(fresh * stage.most_out() * stage.out_width());
}

void Batch::begin_step(const ArStage& stage, std::span<const KvPool> kv, int table_width) {
  kind_ = Plan::kAr;
  ar_ = &stage;
  kv_ = kv;
  units_ = 0;
  table_width_ = static_cast<int>(std::bit_ceil(static_cast<unsigned>(table_width)));
  sequences_.clear(), page_table_.clear(), guesses_.clear(), owners.clear(), fault.clear();
  scores.clear(), taps.clear(), faults.clear(), copies.clear();
}

void Batch::add(const StepSequence& sequence, std::span<const int32_t> pages,
                std::span<const int32_t> guesses) {
  sequences_.push_back(sequence);
  guesses_.insert(guesses_.end(), guesses.begin(), guesses.end());
  units_ += sequence.rows;
  page_table_.insert(page_table_.end(), pages.begin(), pages.end());
  page_table_.resize(sequences_.size() * table_width_, 0);
}

void Batch::begin_chunks(const ChunkStage& stage) {
  kind_ = Plan::kChunks;
  stage_ = &stage;
  units_ = 0;
  jobs_.clear(), window_codes_.clear(), window_values_.clear(), owners.clear(), fault.clear();
}

void Batch::add(StreamState* state, const Frames& window, const ChunkCut& cut) {
  jobs_.push_back(
      {.state = state, .left = cut.left, .fresh = cut.fresh, .ahead = cut.ahead, .last = cut.last});
  units_ += cut.fresh;
  window_codes_.insert(window_codes_.end(), window.ints.begin(), window.ints.end());
  window_values_.insert(window_values_.end(), window.floats.begin(), window.floats.end());
}

void Batch::seal_chunks() {
  const size_t in = stage_->in_width(), most = stage_->most_out();
  const size_t out = most * stage_->out_width();
  samples_.resize(static_cast<size_t>(units_) * out);
  size_t at = 0, to = 0;
  for (ChunkJob& job : jobs_) {
    const size_t window = static_cast<size_t>(job.left + job.fresh + job.ahead) * in;
    if (window_codes_.empty()) {
      job.values = std::span<const float>(window_values_).subspan(at, window);
    } else {
      job.codes = std::span<const int32_t>(window_codes_).subspan(at, window);
    }
    job.out = std::span(samples_).subspan(to, job.fresh * out);
    job.made = job.fresh * static_cast<int>(most);
    at += window;
    to += job.fresh * out;
  }
}

}  // namespace syrinx
