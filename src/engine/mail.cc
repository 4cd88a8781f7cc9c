// What the engine is told: requests, their ends, text that comes late, prompts that host threads
// made.
#include <utility>

#include "base/check.h"
#include "engine/scheduler.h"

namespace syrinx {

void Scheduler::take_in(std::list<std::unique_ptr<Active>> request) {
  waiting_.splice(waiting_.end(), request);
  Active& taken = *waiting_.back();
  ++taken.model->requests;
  guarded(taken, [&] {
    if (trace_) trace_->request_began(taken.id, taken.submitted_s);
    if (taken.unopened) open_soon(taken, std::move(taken.unopened));
  });
}

void Scheduler::take_in(std::unique_ptr<Active> request) {
  std::list<std::unique_ptr<Active>> one;
  one.push_back(std::move(request));
  take_in(std::move(one));
}

/// Has a host thread make the prompts.
void Scheduler::open_soon(Active& request, std::unique_ptr<const SpeechRequest> unopened) {
  auto job = std::make_unique<HostJob>();
  job->owner = &request;
  job->model = request.model;
  job->request = std::move(unopened);
  platform_.prepare(std::move(job));
  request.opening = true;
  ++jobs_away_;
}

Active* Scheduler::find(RequestId id) {
  for (auto& request : active_) {
    if (request->id == id && request->sink) return request.get();
  }
  for (auto& request : waiting_) {
    if (request->id == id && request->sink) return request.get();
  }
  return nullptr;
}

void Scheduler::cancel(RequestId id) {
  if (Active* request = find(id)) finish(*request, FinishReason::kCancelled);
}

/// Who hears or reads it begins now.
void Scheduler::hurry(RequestId id) {
  Active* request = find(id);
  if (!request || !request->background) return;
  request->background = false;
  request->playing_since_s = request->text_since_s = now();
}

void Scheduler::append_text(RequestId id, std::string text, bool last) {
  Active* request = find(id);
  if (!request) return;
  const int reader = request->model->graph().reader();
  if (reader == kClient) {
    return fail(*request, {ErrorCode::kUnsupported, "this model takes no text", "text"});
  }
  guarded(*request, [&] {
    Late late{.text = std::move(text), .last = last};
    if (request->parts) {
      SpokenParts::LiveText live;
      const Status read = request->parts->push(late.text, last, live);
      if (!read.ok()) return fail(*request, read.error());
      if (live.text.empty() && !live.last) return;
      late.text = std::move(live.text);
      late.last = live.last;
    }
    if (request->opening) {
      request->early.push_back(std::move(late));
    } else {
      give(*request, reader, std::move(late));
    }
  });
}

/// Hands something to a sequence, or keeps it until the sequence is back.
void Scheduler::give(Active& request, int node, Late late) {
  if (!request.runs[node].ar || !request.runs[node].ar->open) return;
  ArRun& run = *request.runs[node].ar;
  run.late.push_back(std::move(late));
  if (!run.away()) give_late(request, node);
}

/// What waits for a sequence that is here and goes on: frames at once, text by way of a host
/// thread.
void Scheduler::give_late(Active& request, int node) {
  ArRun& run = *request.runs[node].ar;
  while (run.open && !run.late.empty() && request.sink && !run.away()) {
    Late late = std::move(run.late.front());
    run.late.pop_front();
    if (late.port < 0) {
      auto job = std::make_unique<HostJob>();
      job->owner = &request;
      job->node = node;
      job->sequence = run.sequence.get();
      job->text = std::move(late.text);
      job->last = late.last;
      platform_.prepare(std::move(job));
      run.preparing = true;
      ++jobs_away_;
      continue;
    }
    guarded(request, [&] {
      const Frames frames{late.type, late.count, late.ints, late.floats, {}, late.last};
      const Status status = run.sequence->take(late.port, frames);
      if (!status.ok()) return fail(request, status.error());
      const std::string problem = misfit(request.model->nodes[node], *run.sequence);
      if (!problem.empty()) fail(request, {ErrorCode::kInvalid, problem, "input"});
    });
  }
}

void Scheduler::commit(std::unique_ptr<HostJob> job) {
  --jobs_away_;
  Active& request = *job->owner;
  if (request.opening) return commit_opened(request, *job);
  ArRun& run = *request.runs[job->node].ar;
  run.preparing = false;
  if (!request.sink) return drop_cache(request, job->node);  // it ended meanwhile
  if (!job->result.ok()) return fail(request, job->result.error());
  guarded(request, [&] {
    if (request.promoted && !run.begun) begin_segment(request, job->node);
    // Text may have made the segment longer than there is room for.
    const std::string problem = misfit(request.model->nodes[job->node], *run.sequence);
    if (!problem.empty()) return fail(request, {ErrorCode::kInvalid, problem, "input"});
    if (run.drains) close_edges(request);  // new streams waited for it
    give_late(request, job->node);
  });
}

void Scheduler::commit_opened(Active& request, HostJob& job) {
  request.opening = false;
  if (!request.sink) return;  // it ended meanwhile
  if (!job.result.ok()) return fail(request, job.result.error());
  request.runs = std::move(job.runs);
  guarded(request, [&] {
    const int reader = request.model->graph().reader();
    for (Late& late : request.early) give(request, reader, std::move(late));
    request.early.clear();
  });
  if (!request.promoted) return;  // promote() does it
  for (size_t n = 0; n < request.runs.size() && request.sink; ++n) {
    const ArRun* run = request.runs[n].ar.get();
    if (!run || run->away() || run->begun) continue;
    guarded(request, [&] { begin_segment(request, static_cast<int>(n)); });
  }
}

/// What follows a part that was spoken: silence, and the next one, for which the request keeps its
/// place.
void Scheduler::next_part(Active& request) {
  SpokenParts& parts = *request.parts;
  be_silent(request, parts.take_pause());
  if (!request.sink) return;
  const SpokenParts::Next next = parts.next();
  if (next == SpokenParts::Next::kDone) return finish(request, FinishReason::kStop);
  request.starved = next == SpokenParts::Next::kWait;
  if (request.starved) return;
  SYRINX_CHECK(!request.in_flight(), "a part has ended and is in a batch");
  drop_caches(request);
  request.runs = std::vector<NodeRun>(request.runs.size());
  request.part_began_s = request.outcome.audio_s;
  request.between = false;
  open_soon(request, parts.begin(request.frames_before));
}

/// Runs work on one request; whatever it throws fails that request and nobody else (I8).
void Scheduler::guarded(Active& request, FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& e) {
    fail(request, {ErrorCode::kInternal, e.what()});
  } catch (...) {
    fail(request, {ErrorCode::kInternal, "something was thrown that is no exception"});
  }
}

}  // namespace syrinx
