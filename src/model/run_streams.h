// For tests: runs chunk stages without an engine. Streams get their frames in pieces of any size
// and run side by side in one batch.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/graph.h"
#include "model/stage.h"
#include "model/step_runner.h"

namespace syrinx {

/// A stream of a chunk stage with the frames that it has received, and its output so far.
struct StageStream {
  std::unique_ptr<StreamState> state;
  std::vector<int32_t> codes = {};  ///< [n, in_width], if the stage's input is codes
  std::vector<float> values = {};   ///< [n, in_width], if it is rows or samples
  bool closed = true;               ///< no more frames will come
  int64_t taken = 0;                ///< frames that were fresh frames of a chunk
  std::vector<float> out = {};      ///< [made, out_width]

  int64_t frames(const ChunkStage& stage) const {
    return static_cast<int64_t>(codes.size() + values.size()) / stage.in_width();
  }
};

/// How run_streams() makes chunks: by ChunkStage::cut(), or all frames at once.
enum class Cutting { kByStage, kWhole };

/// Runs the streams in one batch until each waits for more frames. Uses `left` and `lookahead` of
/// the policy. A chunk has at most `most` fresh frames.
inline void run_streams(StepContext& ctx, const ChunkStage& stage, const ChunkPolicy& policy,
                        std::span<StageStream* const> streams, int64_t most = 1 << 20,
                        Cutting cutting = Cutting::kByStage) {
  const int width = stage.in_width();
  for (;;) {
    std::vector<ChunkJob> jobs;
    std::vector<StageStream*> owners;
    std::vector<std::vector<float>> outs(streams.size());
    for (StageStream* s : streams) {
      const int64_t waiting = s->frames(stage) - s->taken;
      const auto part = [&](const auto& all, int64_t from, int64_t count) {
        return all.empty() ? std::span(all) : std::span(all).subspan(from * width, count * width);
      };
      const WaitingFrames frames{part(s->codes, s->taken, waiting),
                                 part(s->values, s->taken, waiting), s->closed};
      const int64_t planned = std::min(most, waiting - (s->closed ? 0 : policy.lookahead));
      if (planned <= 0) continue;
      ChunkJob job;
      job.fresh = static_cast<int>(planned);
      if (cutting == Cutting::kByStage) job.fresh = stage.cut(*s->state, frames, job.fresh);
      if (job.fresh == 0) continue;
      job.state = s->state.get();
      job.left = static_cast<int>(std::min<int64_t>(s->taken, policy.left));
      job.ahead = static_cast<int>(std::min<int64_t>(waiting - job.fresh, policy.lookahead));
      job.last = s->closed && job.fresh + job.ahead == waiting;
      job.codes = part(s->codes, s->taken - job.left, job.left + job.fresh + job.ahead);
      job.values = part(s->values, s->taken - job.left, job.left + job.fresh + job.ahead);
      job.made = job.fresh * stage.most_out();
      std::vector<float>& out = outs[jobs.size()];
      out.resize(static_cast<size_t>(job.made * stage.out_width()));
      job.out = out;
      s->taken += job.fresh;
      jobs.push_back(job);
      owners.push_back(s);
    }
    if (jobs.empty()) return;
    const Arena::Mark mark(ctx.arena);
    stage.run(ctx, jobs);
    for (size_t j = 0; j < jobs.size(); ++j) {
      EXPECT_FALSE(jobs[j].fault) << jobs[j].fault->message;
      const auto made = jobs[j].out.first(static_cast<size_t>(jobs[j].made * stage.out_width()));
      owners[j]->out.insert(owners[j]->out.end(), made.begin(), made.end());
    }
  }
}

/// Makes a stream of a sequence with all its frames.
inline StageStream stream_of(const ChunkStage& stage, const Sequence& sequence,
                             std::span<const int32_t> codes) {
  return {.state = open_stream(stage, sequence), .codes = {codes.begin(), codes.end()}};
}
inline StageStream stream_of(const ChunkStage& stage, const Sequence& sequence,
                             std::span<const float> values) {
  return {.state = open_stream(stage, sequence), .values = {values.begin(), values.end()}};
}

/// Returns what a stage makes of a stream that has all its frames, `most` at a time at most.
inline std::vector<float> run_stream(StepContext& ctx, const ChunkStage& stage,
                                     const ChunkPolicy& policy, StageStream stream,
                                     int64_t most = 1 << 20, Cutting cutting = Cutting::kByStage) {
  StageStream* one[] = {&stream};
  run_streams(ctx, stage, policy, one, most, cutting);
  EXPECT_EQ(stream.taken, stream.frames(stage)) << "frames are left over";
  return std::move(stream.out);
}

/// Returns the same for a stream whose frames arrive `given` at a time.
inline std::vector<float> run_arriving(StepContext& ctx, const ChunkStage& stage,
                                       const ChunkPolicy& policy, StageStream stream,
                                       int64_t given) {
  const int64_t all = stream.frames(stage), width = stage.in_width();
  const auto codes = std::exchange(stream.codes, {});
  const auto values = std::exchange(stream.values, {});
  StageStream* one[] = {&stream};
  for (int64_t come = 0; come < all;) {
    come = std::min(all, come + given);
    if (!codes.empty()) stream.codes.assign(codes.begin(), codes.begin() + come * width);
    if (!values.empty()) stream.values.assign(values.begin(), values.begin() + come * width);
    stream.closed = come == all;
    run_streams(ctx, stage, policy, one);
  }
  EXPECT_EQ(stream.taken, all) << "frames are left over";
  return std::move(stream.out);
}

/// Returns the rows that node 0 of a graph makes of the samples of a request's recordings.
inline std::vector<float> heard_rows(StepContext& ctx, const Graph& graph, const Opened& opened,
                                     int64_t most = 1 << 20) {
  const ChunkStage& stage = *graph.node(0).chunk;
  return run_stream(ctx, stage, graph.edges()[0].policy,
                    stream_of(stage, opened.sequence(), std::span<const float>(opened.samples)),
                    most);
}

/// Passes rows of node 0 of a graph to the sequence of the node that takes them; all rows, unless
/// more follow (not `last`).
inline Status take_rows(const Graph& graph, Sequence& sequence, std::span<const float> rows,
                        bool last = true) {
  const FrameType type = graph.node(0).chunk->out();
  const auto edge =
      std::ranges::find_if(graph.edges(), [](const Edge& each) { return each.from.node == 0; });
  return sequence.take(
      edge->to.port,
      {.type = type, .count = std::ssize(rows) / type.width, .floats = rows, .last = last});
}

/// Opens a request and passes the rows of its recordings, if it has any, to its sequence.
inline Track hear(const Pipeline& model, Runner& runner, const SpeechRequest& request) {
  auto result = model.open(request);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  Opened opened = result.take();
  const std::vector<float> rows = opened.samples.empty()
                                      ? std::vector<float>()
                                      : heard_rows(runner.context(), model.graph(), opened);
  Track track;
  track.state = opened.only();
  if (rows.empty()) return track;
  EXPECT_FALSE(track.state->ready());
  EXPECT_TRUE(take_rows(model.graph(), *track.state, rows).ok());
  return track;
}

/// Returns the samples that the chunk stages of a graph with one AR node make of a sequence's
/// frames; each stage runs once, with all frames.
inline std::vector<float> through_chunk_stages(const Graph& graph, const Sequence& sequence,
                                               std::span<const int32_t> codes, StepContext& ctx) {
  std::vector<float> values;
  for (const Link& link : graph.links()) {
    StageStream stream = values.empty() ? stream_of(*link.stage, sequence, codes)
                                        : stream_of(*link.stage, sequence, values);
    values = run_stream(ctx, *link.stage, link.policy, std::move(stream), 1 << 20, Cutting::kWhole);
  }
  return values;
}

}  // namespace syrinx
