#include "kernels/step_draws.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr size_t kLeastHistory = 2048;  // least room, in ids, if a draw needs history

/// Returns the part of a row's history that its draw needs: the last ids, as far back as penalise()
/// and repeats() (sample.cc) look.
std::span<const int32_t> looked_at(const SampleRow& row) {
  const SampleParams& p = row.params;
  const size_t all = row.history.size();
  const bool bounded = p.penalty_window > 0 && !p.penalty_last;
  const size_t window = bounded ? static_cast<size_t>(p.penalty_window) : all;
  const size_t punished = p.repetition_penalty == 1 ? 0 : window;
  const size_t counted = static_cast<size_t>(std::max(0, p.ras_window));
  return row.history.last(std::min(all, std::max(punished, counted)));
}

template <typename T>
size_t room(size_t count) {
  return (count * sizeof(T) + 63) / 64 * 64;
}

template <typename T>
void write_list(const std::vector<T>& list, void* to, size_t at) {
  if (!list.empty()) std::memcpy(static_cast<char*>(to) + at, list.data(), list.size() * sizeof(T));
}

}  // namespace

void StepDraws::begin(int64_t rows, int codes) {
  rows_ = rows;
  looks_back_ = false;
  specs_.resize(static_cast<size_t>(rows * codes));
  ranges_.clear(), history_.clear(), masks_.clear();
}

void StepDraws::set(int64_t i, int k, const SampleRow& row, int64_t vocabulary, int32_t place,
                    int32_t again) {
  const SampleRule& rule = row.rule;
  cuda::DeviceSampleRow& spec = specs_[static_cast<size_t>(k * rows_ + i)];
  spec.params = row.params;
  spec.forced = rule.forced, spec.wanted = rule.wanted, spec.wanted_among = rule.wanted_among;
  spec.seed = row.seed, spec.step = row.step, spec.codebook = row.codebook;
  spec.place = place, spec.again = again;

  const auto last = static_cast<int32_t>(vocabulary);
  spec.range_begin = static_cast<int32_t>(ranges_.size());
  if (rule.ranges == 0) ranges_.push_back({0, last});
  for (int r = 0; r < rule.ranges; ++r) {
    const IdRange& own = rule.allowed[static_cast<size_t>(r)];
    const IdRange inside{std::max(0, own.begin), std::min(last, own.end)};
    if (inside.begin < inside.end) ranges_.push_back(inside);
  }
  spec.range_count = static_cast<int32_t>(ranges_.size()) - spec.range_begin;

  const bool looks_back = row.params.repetition_penalty != 1 || row.params.ras_window > 0;
  const std::span<const int32_t> past = looks_back ? looked_at(row) : std::span<const int32_t>();
  looks_back_ = looks_back_ || looks_back;
  spec.history_begin = static_cast<int32_t>(history_.size());
  spec.history_count = static_cast<int32_t>(past.size());
  history_.insert(history_.end(), past.begin(), past.end());

  spec.mask_begin = static_cast<int32_t>(masks_.size());
  spec.mask_count = static_cast<int32_t>(rule.mask.size());
  masks_.insert(masks_.end(), rule.mask.begin(), rule.mask.end());
}

StepDraws::Layout StepDraws::layout() const {
  const size_t past = looks_back_ ? std::max(history_.size(), kLeastHistory) : 0;
  Layout out{};
  out.ranges = room<cuda::DeviceSampleRow>(specs_.size());
  out.history =
      out.ranges + room<IdRange>(std::bit_ceil(std::max(ranges_.size(), 2 * specs_.size())));
  out.masks = out.history + (past == 0 ? 0 : room<int32_t>(std::bit_ceil(past)));
  out.end = out.masks + (masks_.empty() ? 0 : room<uint64_t>(std::bit_ceil(masks_.size())));
  return out;
}

void StepDraws::append_shape(std::vector<uint64_t>& key) const {
  const Layout at = layout();
  key.insert(key.end(), {specs_.size(), at.history, at.masks, at.end});
}

void StepDraws::write(void* to) const {
  const Layout at = layout();
  write_list(specs_, to, 0);
  write_list(ranges_, to, at.ranges);
  write_list(history_, to, at.history);
  write_list(masks_, to, at.masks);
}

void StepDraws::locate(int k, const void* there, cuda::SampleCall& call) const {
  const Layout at = layout();
  const auto* base = static_cast<const char*>(there);
  call.rows = reinterpret_cast<const cuda::DeviceSampleRow*>(base) + k * rows_;
  call.ranges = reinterpret_cast<const IdRange*>(base + at.ranges);
  call.history = reinterpret_cast<const int32_t*>(base + at.history);
  call.masks = masks_.empty() ? nullptr : reinterpret_cast<const uint64_t*>(base + at.masks);
}

void draw_code(StepContext& ctx, const View& logits, const StepDraws& draws, const void* there,
               int k, const View& codes, const View& status) {
  SYRINX_CHECK(logits.device == Device::kCuda && logits.shape[0] >= draws.rows() &&
                   status.shape[0] == draws.rows() && k < codes.shape[1] &&
                   status.shape[1] == codes.shape[1],
               "[draw_code] ", draws.rows(), " draws from ", logits.shape.str(), " for codes ",
               codes.shape.str());
  cuda::draw_code(ctx, logits, draws, there, k, codes, status);
}

}  // namespace syrinx
