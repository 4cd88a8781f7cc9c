#include "codec/flow_estimator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/copy.h"

namespace syrinx {

FlowEstimator::State FlowEstimator::State::clone() const {
  return {convs.clone(), groups, frames, rows, whole, prompt, order};
}

FlowEstimator::State FlowEstimator::open(bool whole) const {
  std::vector<const CausalConv1d*> layers;
  const std::vector<const CausalConv1d*> once = convolutions();
  for (int64_t i = 0; i < config_.steps * config_.branches(); ++i)
    layers.insert(layers.end(), once.begin(), once.end());
  State state;
  state.convs = ConvStates(layers);
  state.whole = whole;
  return state;
}

void FlowEstimator::hold(const Network& network, WeightType type, int64_t max_frames) {
  network_ = network;
  convs_ = std::ssize(convolutions());
  const KvSpec spec{1, static_cast<int>(network.heads), static_cast<int>(network.dim),
                    type == WeightType::kF32 ? DType::kF32 : DType::kF16};
  pages_ = std::make_shared<S3FlowPages>(spec, config_.steps * config_.branches() * network.layers,
                                         KvPool::pages_for(max_frames));
}

void FlowEstimator::move_to(Device device) {
  move_weights(device);
  pages_ = std::make_shared<S3FlowPages>(pages_->spec(), pages_->slots(), pages_->groups(), device);
}

FlowEstimator::Chunks FlowEstimator::begin(StepContext& ctx, std::span<const Job> jobs) const {
  Chunks chunks;
  int64_t numbers = 0;
  for (const Job& job : jobs) {
    SYRINX_CHECK(!job.state->whole || (jobs.size() == 1 && job.state->frames == 0),
                 "[s3_flow] a whole utterance must be the only chunk of a call and of its stream");
    hold_pages(*job.state, job.frames);
    chunks.parts_.push_back({job, chunks.frames_, job.state->convs.all(), {}});
    chunks.frames_ += job.frames;
    numbers += job.state->convs.memory().count();
  }
  list_pages(chunks);
  if (device() == Device::kCpu) return chunks;
  // The pasts of all streams are at the same addresses in all calls, so that the work of a call is
  // that of an earlier one (Stream::repeat).
  chunks.ragged_ = resident(ctx, chunks.ragged_);
  chunks.pasts_ = ctx.arena.take({numbers}, DType::kF32);
  copy_pasts(ctx, chunks, false);
  return chunks;
}

/// Makes space for `frames` more keys and values.
void FlowEstimator::hold_pages(State& state, int64_t frames) const {
  const int64_t page = KvPool::kPageRows;
  if (state.whole) {
    const int64_t pages = config_.branches() * KvPool::pages_for(frames);
    for (int64_t i = 0; i < pages; i += pages_->slots()) state.groups.push_back(pages_->take());
    return;
  }
  // Stops sharing the last group, because this stream will write to the group's unused rows.
  if (state.rows % page != 0) pages_->own(state.groups.back());
  while (std::ssize(state.groups) * page < state.rows + frames)
    state.groups.push_back(pages_->take());
}

/// Makes the page table of all branches and streams in step 0 and layer 0. pool_from() leads from
/// there to other steps and layers. In a whole utterance all of them have the same pages.
void FlowEstimator::list_pages(Chunks& chunks) const {
  const int64_t branches = config_.branches(), slots = pages_->slots();
  int64_t width = 1;
  for (const Chunks::Part& part : chunks.parts_)
    width = std::max(width, KvPool::pages_for(part.job.state->rows + part.job.frames));
  if (device() == Device::kCuda)
    width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width)));
  chunks.row_begin_.push_back(0);
  for (int64_t b = 0; b < branches; ++b) {
    for (const Chunks::Part& part : chunks.parts_) {
      const State& state = *part.job.state;
      const int64_t rows = state.rows + part.job.frames, pages = KvPool::pages_for(rows);
      chunks.row_begin_.push_back(chunks.row_begin_.back() + static_cast<int32_t>(part.job.frames));
      chunks.kv_len_.push_back(static_cast<int32_t>(rows));
      for (int64_t p = 0; p < width; ++p) {
        const int64_t at = state.whole ? b * pages + p : p * slots + b * network_.layers;
        const int64_t page = p < pages ? *state.groups[at / slots] * slots + at % slots : 0;
        chunks.table_.push_back(static_cast<int32_t>(page));
      }
    }
  }
  chunks.ragged_ = {chunks.row_begin_, chunks.kv_len_, chunks.table_, static_cast<int>(width)};
}

/// Copies the pasts of all parts to scratch memory, or back.
void FlowEstimator::copy_pasts(StepContext& ctx, Chunks& chunks, bool back) const {
  std::vector<CopySpan> spans;
  int64_t at = 0;
  for (Chunks::Part& part : chunks.parts_) {
    const View own = part.job.state->convs.memory();
    const View copy = chunks.pasts_.slice(at, at + own.count());
    at += own.count();
    const View &from = back ? copy : own, &to = back ? own : copy;
    spans.push_back({from.f32(), to.f32(), own.count()});
    if (back) continue;
    part.copies = part.job.state->convs.in(copy);
    part.convs = part.copies;
  }
  copy_spans(ctx, spans);
}

void FlowEstimator::end(StepContext& ctx, Chunks& chunks) const {
  if (device() == Device::kCuda) {
    copy_pasts(ctx, chunks, true);
    synchronize(ctx);
  }
  for (Chunks::Part& part : chunks.parts_) {
    State& state = *part.job.state;
    const int64_t before = state.rows, frames = part.job.frames;
    state.frames += frames;
    state.rows += frames;
    if (config_.recent == 0 || state.whole) continue;
    if (before == 0) state.prompt = frames;
    std::vector<int32_t> order(static_cast<size_t>(frames));
    std::iota(order.begin(), order.end(), static_cast<int32_t>(before));
    order.insert(order.end(), state.order.begin(), state.order.end());
    state.order = std::move(order);
    if (state.rows > state.prompt + config_.recent) forget(ctx, state);
  }
}

/// Drops the rows that are outside the limited past. Kept rows move to the places of dropped rows,
/// so that the kept rows are contiguous.
void FlowEstimator::forget(StepContext& ctx, State& state) const {
  const int64_t most = state.prompt + config_.recent, page = KvPool::kPageRows;
  const auto first = state.order.begin() + state.prompt, last = state.order.end() - config_.recent;
  std::vector<int32_t> places;
  for (auto it = first; it != last; ++it)
    if (*it < most) places.push_back(*it);
  state.order.erase(first, last);
  std::vector<S3FlowPages::RowCopy> moves;
  for (int32_t& row : state.order) {
    if (row < most) continue;
    const int32_t to = places.back();
    places.pop_back();
    pages_->own(state.groups[to / page]);
    moves.push_back(
        {{&state.groups[row / page], row % page}, {&state.groups[to / page], to % page}});
    row = to;
  }
  SYRINX_CHECK(places.empty(), "[s3_flow] ", places.size(), " rows of ", most, " are missing");
  pages_->copy_rows(ctx, moves);
  synchronize(ctx);  // other streams may take the released groups
  state.rows = most;
  state.groups.resize(static_cast<size_t>(KvPool::pages_for(most)));
}

void FlowEstimator::convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                             const View& out) const {
  const Arena::Mark mark(ctx.host);
  const int64_t branches = config_.branches(), parts = std::ssize(call.chunks.parts_);
  const std::span<ConvJob> jobs = take_array<ConvJob>(ctx, branches * parts);
  size_t number = 0;
  for (int64_t b = 0; b < branches; ++b) {
    for (const Chunks::Part& part : call.chunks.parts_) {
      const int64_t begin = b * call.chunks.frames_ + part.begin, end = begin + part.job.frames;
      const int64_t at = (call.step * branches + b) * convs_ + call.conv;
      jobs[number++] = {x.slice(begin, end), &part.convs[static_cast<size_t>(at)],
                        out.slice(begin, end)};
    }
  }
  conv.run(ctx, jobs);
  ++call.conv;
}

void FlowEstimator::attend(StepContext& ctx, Call& call, const HeadsView& q, const HeadsView& k,
                           const HeadsView& v, const View& mixed) const {
  const bool whole = call.chunks.parts_[0].job.state->whole;
  const int64_t slot = call.step * config_.branches() * network_.layers + call.layer;
  write_and_attend(ctx, q, k, v, pages_->pool_from(whole ? 0 : slot), 0, call.chunks.ragged_,
                   {1.f / std::sqrt(static_cast<float>(network_.dim)), 0, false}, mixed);
  ++call.layer;
}

void FlowEstimator::positions(const Call& call, std::span<int32_t> out) const {
  auto to = out.begin();
  for (int64_t b = 0; b < config_.branches(); ++b) {
    for (const Chunks::Part& part : call.chunks.parts_) {
      std::iota(to, to + part.job.frames, static_cast<int32_t>(part.job.state->frames));
      to += part.job.frames;
    }
  }
}

}  // namespace syrinx
