#include "codec/flow_estimator.h"

#include <cmath>
#include <numeric>

namespace syrinx {

FlowEstimator::State FlowEstimator::State::clone() const {
  State copy;
  for (const ConvState& conv : convs) copy.convs.push_back(conv.clone());
  copy.groups = groups;
  copy.frames = frames;
  copy.rows = rows;
  copy.whole = whole;
  copy.prompt = prompt;
  copy.order = order;
  return copy;
}

void FlowEstimator::hold(const Network& network, WeightType type, int64_t max_frames) {
  network_ = network;
  const KvSpec spec{1, static_cast<int>(network.heads), static_cast<int>(network.dim),
                    type == WeightType::kF32 ? DType::kF32 : DType::kF16};
  pages_ = std::make_shared<S3FlowPages>(spec, config_.steps * config_.branches() * network.layers,
                                         KvPool::pages_for(max_frames));
}

void FlowEstimator::begin(int64_t frames, State& state) const {
  const int64_t page = KvPool::kPageRows;
  if (state.whole) {
    SYRINX_CHECK(state.frames == 0, "[s3_flow] the utterance is not one chunk");
    const int64_t pages = config_.branches() * KvPool::pages_for(frames);
    for (int64_t i = 0; i < pages; i += pages_->slots()) state.groups.push_back(pages_->take());
    return;
  }
  // Stops sharing the last group, because this stream will write to the group's unused rows.
  if (state.rows % page != 0) pages_->own(state.groups.back());
  while (std::ssize(state.groups) * page < state.rows + frames)
    state.groups.push_back(pages_->take());
}

void FlowEstimator::end(int64_t frames, State& state) const {
  const int64_t before = state.rows;
  state.frames += frames;
  state.rows += frames;
  if (config_.recent == 0 || state.whole) return;
  if (before == 0) state.prompt = frames;
  std::vector<int32_t> order(static_cast<size_t>(frames));
  std::iota(order.begin(), order.end(), static_cast<int32_t>(before));
  order.insert(order.end(), state.order.begin(), state.order.end());
  state.order = std::move(order);
  if (state.rows > state.prompt + config_.recent) forget(state);
}

/// Drops the rows that are outside the limited past. Kept rows move to the places of dropped rows,
/// so that the kept rows are contiguous.
void FlowEstimator::forget(State& state) const {
  const int64_t most = state.prompt + config_.recent, page = KvPool::kPageRows;
  const auto first = state.order.begin() + state.prompt, last = state.order.end() - config_.recent;
  std::vector<int32_t> places;
  for (auto it = first; it != last; ++it)
    if (*it < most) places.push_back(*it);
  state.order.erase(first, last);
  for (int32_t& row : state.order) {
    if (row < most) continue;
    const int32_t to = places.back();
    places.pop_back();
    pages_->own(state.groups[to / page]);
    pages_->copy_row(state.groups[row / page], row % page, state.groups[to / page], to % page);
    row = to;
  }
  SYRINX_CHECK(places.empty(), "[s3_flow] ", places.size(), " rows of ", most, " are missing");
  state.rows = most;
  state.groups.resize(static_cast<size_t>(KvPool::pages_for(most)));
}

void FlowEstimator::convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                             const View& out) const {
  ConvJob jobs[kMostBranches];
  const int64_t branches = config_.branches();
  for (int64_t b = 0; b < branches; ++b) {
    const int64_t begin = b * call.frames, end = begin + call.frames;
    const int64_t at = (call.step * branches + b) * network_.convs + call.conv;
    jobs[b] = {x.slice(begin, end), &call.state.convs[at], out.slice(begin, end)};
  }
  conv.run(ctx, std::span(jobs).first(static_cast<size_t>(branches)));
  ++call.conv;
}

/// Returns the pages with the keys and values of all branches in this layer and step.
View FlowEstimator::page_table(StepContext& ctx, const Call& call) const {
  const State& state = call.state;
  const int64_t slots = pages_->slots(), pages = KvPool::pages_for(state.rows + call.frames);
  const int64_t branches = config_.branches();
  const View table = ctx.arena.take({branches, pages}, DType::kI32);
  for (int64_t b = 0; b < branches; ++b) {
    for (int64_t p = 0; p < pages; ++p) {
      const int64_t at = b * pages + p;  // all layers use one set of pages
      const int64_t group = state.whole ? at / slots : p;
      const int64_t slot =
          state.whole ? at % slots : (call.step * branches + b) * network_.layers + call.layer;
      table.i32()[at] = static_cast<int32_t>(*state.groups[group] * slots + slot);
    }
  }
  return table;
}

void FlowEstimator::attend(StepContext& ctx, Call& call, const HeadsView& q, const HeadsView& k,
                           const HeadsView& v, const View& mixed) const {
  const View table = page_table(ctx, call);
  const auto frames = static_cast<int32_t>(call.frames);
  const auto total = static_cast<int32_t>(call.state.rows + call.frames);
  const int32_t row_begin[] = {0, frames, 2 * frames}, kv_len[] = {total, total};
  const auto branches = static_cast<size_t>(config_.branches());
  const Ragged ragged{{row_begin, branches + 1},
                      {kv_len, branches},
                      {table.i32(), static_cast<size_t>(table.count())},
                      static_cast<int>(table.shape[1])};
  write_and_attend(ctx, q, k, v, pages_->pool(), 0, ragged,
                   {1.f / std::sqrt(static_cast<float>(network_.dim)), 0, false}, mixed);
  ++call.layer;
}

}  // namespace syrinx
