#include "engine/edges.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace syrinx {

// ---------------------------------------------------------------------------- host threads

void Edges::prepare(std::unique_ptr<HostJob> job) {
  platform_.prepare(std::move(job));
  ++jobs_;
}

void Edges::open(Active& request, std::unique_ptr<const SpeechRequest> unopened) {
  auto job = std::make_unique<HostJob>();
  job->owner = &request;
  job->request = std::move(unopened);
  prepare(std::move(job));
  request.opening = true;
}

void Edges::commit(std::unique_ptr<HostJob> job) {
  --jobs_;
  Active& request = *job->owner;
  if (request.opening) return commit_opened(request, *job);
  const int node = job->node;
  ArRun& run = *request.runs[node].ar;
  run.preparing = false;
  if (!request.live()) return request.model->nodes[node].pages->release(run);
  if (!job->result.ok()) {
    const Error& error = job->result.error();
    return roster_.guarded(request, [&] {
      if (!job->last || !request.stays_silent({}, error)) roster_.fail(request, error);
    });
  }
  roster_.guarded(request, [&] {
    if (request.promoted && !run.begun) request.begin_segment(node);
    // With the new text, the segment may be too long for the cache.
    if (!check_fit(request, node)) return;
    if (run.drains) close(request);  // also opens the streams that waited for the sequence
    give_waiting(request, node);
  });
}

void Edges::commit_opened(Active& request, HostJob& job) {
  request.opening = false;
  if (!request.live()) return;  // the request ended while the job ran
  if (!job.result.ok()) {
    const Error& error = job.result.error();
    return roster_.guarded(request, [&] {
      if (!request.stays_silent(job.request->say.text, error)) roster_.fail(request, error);
    });
  }
  request.runs = std::move(job.runs);
  roster_.guarded(request, [&] {
    for (Late& late : request.early) {
      accept(request, std::move(late));
      if (!request.live()) return;
    }
    request.early.clear();
    if (request.promoted && request.live()) request.begin_segments();  // else promote() begins them
  });
}

void Edges::append(Active& request, Late late) {
  roster_.guarded(request, [&] {
    if (request.parts && late.type.flow != Flow::kSamples) {
      Result<SpokenParts::LiveText> read = request.parts->push(late.text, late.last);
      if (!read.ok()) return roster_.fail(request, read.error());
      late.text = std::move(read.value().text);
      late.last = read.value().last;
      if (late.text.empty() && !late.last) return;
    }
    request.opening ? request.early.push_back(std::move(late)) : accept(request, std::move(late));
  });
}

/// Passes a client's input to the opened node that reads it.
void Edges::accept(Active& request, Late late) {
  if (late.type.flow == Flow::kSamples) return take_samples(request, late);
  const int reader = request.model->graph().reader();
  if (reader != kClient) return give(request, reader, std::move(late));
  roster_.fail(request, {ErrorCode::kUnsupported, "this model does not accept text", "text"});
}

/// Appends a client's samples. Audio that waited for them does not count as late.
void Edges::take_samples(Active& request, const Late& late) {
  const Graph& graph = request.model->graph();
  ChunkRun* fed = nullptr;
  int width = 1;
  for (size_t n = 0; n < request.runs.size(); ++n) {
    const int node = static_cast<int>(n);
    if (!request.runs[n].chunk || graph.feeding(node).from.node != kClient) continue;
    fed = request.runs[n].chunk.get();
    width = graph.node(node).chunk->in_width();
  }
  if (fed == nullptr || fed->lane.closed()) {
    return roster_.fail(request,
                        {ErrorCode::kUnsupported, "this request does not accept more samples"});
  }
  if (late.floats.size() % static_cast<size_t>(width) != 0) {
    return roster_.fail(request, {ErrorCode::kInvalid,
                                  concat(late.floats.size(),
                                         " samples are not a multiple of the frame size ", width)});
  }
  fed->lane.give({}, late.floats);
  request.output.starve(true);
  if (!late.last) return;
  fed->lane.close();
  close(request);
}

/// Begins the next part, or waits for its text. The request keeps its seat between two parts.
/// Before the first sound, silence waits for that sound, because the request may still be refused.
void Edges::next_part(Active& request) {
  SpokenParts& parts = *request.parts;
  const SpokenParts::Next next = parts.next();
  const bool heard = request.output.heard();
  if (request.unspoken && !heard && next == SpokenParts::Next::kDone) {
    return roster_.fail(request, *request.unspoken);
  }
  const bool now = heard || next == SpokenParts::Next::kDone;
  if (now && !request.output.silence(parts.take_pause())) {
    return roster_.finish(request, FinishReason::kLength);
  }
  if (next == SpokenParts::Next::kDone) return roster_.finish(request, FinishReason::kStop);
  if (next == SpokenParts::Next::kWait) return request.output.starve(false);
  SYRINX_CHECK(!request.in_flight(), "a part ended while a batch of its request runs");
  request.release_pages();
  request.runs = std::vector<NodeRun>(request.runs.size());
  request.output.begin_part();
  request.between = false;
  open(request, parts.begin(request.frames_before));
}

// ---------------------------------------------------------------------------- into nodes

void Edges::give(Active& request, int node, Late late) {
  if (!request.runs[node].ar || !request.runs[node].ar->open) return;
  ArRun& run = *request.runs[node].ar;
  const bool text = late.port < 0;
  if (text && !run.late.empty() && run.late.back().port < 0 && !run.late.back().last) {
    run.late.back().text += late.text;
    run.late.back().last = late.last;
  } else {
    run.late.push_back(std::move(late));
  }
  if (!run.remote()) give_waiting(request, node);
}

void Edges::give_waiting(Active& request, int node) {
  ArRun& run = *request.runs[node].ar;
  while (run.open && request.live() && !run.remote()) {
    run.unused = run.sequence->unused_frames();
    if (run.late.empty()) return;
    if (run.late.front().port < 0 && run.may_step()) return;
    Late late = std::move(run.late.front());
    run.late.pop_front();
    if (late.port >= 0) {
      roster_.guarded(request, [&] { take_frames(request, node, late); });
      continue;
    }
    auto job = std::make_unique<HostJob>();
    job->owner = &request;
    job->node = node;
    job->sequence = run.sequence.get();
    job->text = std::move(late.text);
    job->last = late.last;
    prepare(std::move(job));
    run.preparing = true;
  }
}

void Edges::take_frames(Active& request, int node, const Late& late) {
  const Frames frames{late.type, late.count, late.ints, late.floats, {}, late.last};
  const Status status = request.runs[node].ar->sequence->take(late.port, frames);
  if (!status.ok()) return roster_.fail(request, status.error());
  check_fit(request, node);
}

/// Fails the request and returns false if its segment can never fit into the cache.
bool Edges::check_fit(Active& request, int node) {
  const std::string problem =
      request.model->nodes[node].pages->misfit(*request.runs[node].ar->sequence);
  if (problem.empty()) return true;
  roster_.fail(request, {ErrorCode::kInvalid, problem, "input"});
  return false;
}

void Edges::pass(Active& request, int n, Flow flow, std::span<const int32_t> ints,
                 std::span<const float> floats) {
  if (ints.empty() && floats.empty()) return;
  const Graph& graph = request.model->graph();
  for (const int e : graph.leaving(n)) {
    const Edge& edge = graph.edges()[e];
    const FrameType type = graph.node(n).out[edge.from.port];
    if (type.flow != flow) continue;
    if (edge.to.node == kClient) {
      const bool leads = request.parts && !request.between;
      const double silence_s = leads ? request.parts->take_pause() : 0;
      const bool more = request.output.audio(floats, silence_s, platform_.now());
      if (!more) roster_.finish(request, FinishReason::kLength);
    } else if (ChunkRun* next = request.runs[edge.to.node].chunk.get()) {
      next->lane.give(ints, floats);
    } else {
      give(request, edge.to.node,
           {.port = edge.to.port,
            .type = type,
            .count = std::ssize(ints) / type.width + std::ssize(floats) / type.width,
            .ints = {ints.begin(), ints.end()},
            .floats = {floats.begin(), floats.end()}});
    }
    if (!request.live()) return;
  }
}

// ---------------------------------------------------------------------------- ends

void Edges::end_streams(Active& request, int n) {
  request.runs[n].ar->drains = true;
  for (const int e : request.model->graph().leaving(n)) {
    const int to = request.model->graph().edges()[e].to.node;
    if (to != kClient && request.runs[to].chunk) request.runs[to].chunk->lane.close();
  }
  close(request);
}

/// Opens new streams of the chunk nodes after node `n`, once the old streams have finished and no
/// batch or host thread has the node's sequence.
void Edges::begin_streams(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  if (run.remote()) return;
  const Graph& graph = request.model->graph();
  std::vector<int> behind;
  for (int node = n + 1; node < std::ssize(request.runs); ++node) {
    if (!request.runs[node].chunk) continue;
    const int from = graph.feeding(node).from.node;
    if (from != n && std::ranges::find(behind, from) == behind.end()) continue;
    if (!request.runs[node].ended) return;
    behind.push_back(node);
  }
  request.frames_before += request.frames();
  for (const int node : behind) {
    const ResidentNode& to = request.model->nodes[node];
    request.runs[node].chunk = open_chunk_run(*to.chunk, to.policy, *run.sequence);
    request.runs[node].ended = false;
  }
  run.drains = false;
  request.output.starve(false);  // because the model may write much text before it speaks again
}

void Edges::end_node(Active& request, int n) {
  const Graph& graph = request.model->graph();
  NodeRun& run = request.runs[n];
  run.ended = true;
  if (run.chunk && run.chunk->kept) request.model->keep(*run.chunk);
  for (const int e : graph.leaving(n)) {
    const Edge& edge = graph.edges()[e];
    if (edge.to.node == kClient) continue;
    NodeRun& next = request.runs[edge.to.node];
    if (next.chunk) {
      next.chunk->lane.close();
    } else if (next.ar) {
      give(request, edge.to.node,
           {.port = edge.to.port, .type = graph.node(n).out[edge.from.port], .last = true});
    }
    if (!request.live()) return;
  }
}

void Edges::close(Active& request) {
  const Graph& graph = request.model->graph();
  const int nodes = static_cast<int>(request.runs.size());
  bool all = true;
  FinishReason reason = FinishReason::kStop;
  for (int n = 0; n < nodes; ++n) {
    NodeRun& run = request.runs[n];
    if (!run.opened()) continue;
    if (run.ar && reason == FinishReason::kStop) reason = run.ar->reason;
    const bool through = run.ar ? !run.ar->open : run.chunk->through();
    if (through && !run.ended) {
      end_node(request, n);
      if (!request.live()) return;
    }
    if (n == graph.speaker() || n == graph.writer()) all = all && run.ended;
  }
  for (int n = 0; n < nodes; ++n) {
    if (!request.runs[n].ar || !request.runs[n].ar->drains) continue;
    all = false;
    begin_streams(request, n);
  }
  if (!all) return;
  if (!request.parts || reason != FinishReason::kStop) return roster_.finish(request, reason);
  request.parts->end();
  if (request.parts->over()) return roster_.finish(request, reason);
  // The caller still uses the runs, so the next part begins in the next turn of the engine's loop.
  request.frames_before += request.frames();
  request.between = true;
}

}  // namespace syrinx
