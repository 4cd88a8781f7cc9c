#include "engine/batch.h"

#include <bit>

#include "engine/lane.h"

namespace syrinx {

void Batch::warm(int places, int pages, std::span<const Link> links) {
  page_table_.reserve(static_cast<size_t>(places) * std::bit_ceil(static_cast<unsigned>(pages)));
  sequences_.reserve(places), owners.reserve(places), jobs_.reserve(places);
  for (size_t i = 0; i < links.size(); ++i) {
    const ChunkPolicy& policy = links[i].policy;
    const size_t fresh = static_cast<size_t>(places) * most_frames(policy);
    const size_t window = fresh + static_cast<size_t>(places) * (policy.left + policy.lookahead);
    const size_t width = links[i].stage->in_width();
    i == 0 ? window_codes_.reserve(window * width) : window_values_.reserve(window * width);
    samples_.reserve(fresh * links[i].stage->out_width());
  }
}

void Batch::begin_step(int table_width) {
  kind_ = Plan::kAr;
  units_ = 0;
  table_width_ = static_cast<int>(std::bit_ceil(static_cast<unsigned>(table_width)));
  sequences_.clear(), page_table_.clear(), owners.clear(), fault.clear();
}

void Batch::add(const StepSequence& sequence, std::span<const int32_t> pages) {
  sequences_.push_back(sequence);
  units_ += sequence.rows;
  page_table_.insert(page_table_.end(), pages.begin(), pages.end());
  page_table_.resize(sequences_.size() * table_width_, 0);
}

void Batch::begin_chunks(int link, const ChunkStage& stage) {
  kind_ = Plan::kChunks;
  link_ = link;
  stage_ = &stage;
  units_ = 0;
  jobs_.clear(), window_codes_.clear(), window_values_.clear(), owners.clear(), fault.clear();
}

void Batch::add_job(StreamState* state, int left, int fresh, int ahead, bool last) {
  jobs_.push_back({state, {}, {}, left, fresh, ahead, last, {}});
  units_ += fresh;
}

void Batch::add(StreamState* state, std::span<const int32_t> window, int left, int fresh, int ahead,
                bool last) {
  add_job(state, left, fresh, ahead, last);
  window_codes_.insert(window_codes_.end(), window.begin(), window.end());
}

void Batch::add(StreamState* state, std::span<const float> window, int left, int fresh, int ahead,
                bool last) {
  add_job(state, left, fresh, ahead, last);
  window_values_.insert(window_values_.end(), window.begin(), window.end());
}

void Batch::seal_chunks() {
  const size_t in = stage_->in_width(), out = stage_->out_width();
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
    at += window;
    to += job.fresh * out;
  }
}

}  // namespace syrinx
