// The part of the scheduler that changes requests: what a batch brought, and ends.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "engine/scheduler.h"

namespace syrinx {
namespace {

constexpr int kLearnEvery = 32;    // batches between two looks at the capacity
constexpr double kNewMean = 0.02;  // weight of the newest request in the mean length

}  // namespace

std::string Scheduler::misfit(const Sequence& state) const {
  const int64_t sequences = state.guidance() ? 2 : 1;
  const int64_t needed =
      std::max(state.prompt_rows(), state.companion_rows()) + int64_t{state.max_steps()};
  const int64_t room = std::min<int64_t>(pipeline_->ar().traits().max_positions,
                                         cache_.total() / sequences * int64_t{KvPool::kPageRows});
  if (needed <= room) return {};
  return concat("the text may need ", needed, " positions, there is room for ", room);
}

void Scheduler::commit(Batch* batch) {
  const double began_s = now_s();
  const double took_s = batch->ended_s - batch->began_s;
  const bool step = batch->kind() == Plan::kAr;
  StageMetrics& stage = metrics_.stages[step ? 0 : batch->link() + 1];
  stage.batch.observe(static_cast<double>(batch->owners.size()));
  stage.step_seconds.observe(took_s);
  if (batch->replayed) stage.replayed.add();
  stage.units.add(batch->units());
  metrics_.busy_s.add(took_s);
  (step ? step_cost_ : chunk_costs_[batch->link()]).sample(batch->units(), took_s);
  if (trace_) {
    trace_->work(batch->executor + 1, stage.stage.c_str(), batch->began_s, batch->ended_s,
                 static_cast<int>(batch->owners.size()), batch->units());
  }
  step ? commit_step(*batch) : commit_chunks(*batch);
  batch->owners.clear();
  places_[batch->executor].free.push_back(batch);
  --in_flight_;
  if (++commits_ % kLearnEvery == 0) learn_capacity();
  metrics_.overhead_s.add(now_s() - began_s);
}

void Scheduler::learn_capacity() {
  const double now = now_s();
  const double chunks = chunk_rate_.per_second(now);
  late_share_ = chunks > 0 ? late_rate_.per_second(now) / chunks : 0;
  place_limit_.observe(late_share_, static_cast<int>(active_.size()), now);
  const double audio_s = metrics_.audio_s.value();
  if (audio_s <= 0) return;
  per_second_.ar_rows = totals_.ar_rows / audio_s;
  for (size_t i = 0; i < totals_.link_frames.size(); ++i) {
    per_second_.link_frames[i] = totals_.link_frames[i] / audio_s;
  }
  const double capacity =
      stream_capacity(snapshot_.costs, per_second_, options_.max_batch, chunk_frames_, sharing_);
  metrics_.streams_capacity.set(std::isfinite(capacity) ? capacity : 0);
}

// ---------------------------------------------------------------------------- AR steps

void Scheduler::commit_step(Batch& batch) {
  totals_.ar_rows += batch.units();
  const std::span<const StepSequence> ran = batch.sequences();
  int emitted = 0;
  for (size_t i = 0; i < ran.size();) {
    Active& request = *batch.owners[i];
    size_t end = i + 1;
    while (end < ran.size() && batch.owners[end] == &request) ++end;
    const int e = ran[i].emits ? emitted++ : -1;
    request.stepping = false;
    --steps_in_flight_;
    if (request.sink && !batch.fault.empty()) fail(request, ErrorCode::kInternal, batch.fault);
    if (request.sink) {
      guarded(request, [&] {
        commit_rows(request, ran.subspan(i, end - i));
        if (e < 0) return;
        if (batch.status[e] != SampleStatus::kOk) {
          return fail(request, ErrorCode::kInternal, sample_status_text(batch.status[e]));
        }
        advance(request, batch.codes_of(e));
      });
    } else {
      drop_cache(request);  // it ended while the batch ran
    }
    for (const Active::LateText& late : request.late) {
      if (request.sink) give_text(request, late.text, late.last);
    }
    request.late.clear();
    i = end;
  }
}

/// The rows are in the cache; a prompt that is complete becomes known to others.
void Scheduler::commit_rows(Active& request, std::span<const StepSequence> ran) {
  for (const StepSequence& seq : ran) {
    Track& track = request.tracks[seq.companion ? 1 : 0];
    track.cache.rows += seq.rows;
    if (!options_.share_prefixes || track.published || track.keys.empty()) continue;
    if (track.cache.rows < static_cast<int>(track.keys.size())) continue;
    cache_.publish(track.keys, track.cache);
    track.published = true;
  }
  if (request.common_rows > 0 && request.tracks[1].cache.rows == 0 &&
      request.tracks[0].cache.rows >= request.common_rows) {
    cache_.fork(request.tracks[0].cache, request.tracks[1].cache);
    cache_.truncate(request.tracks[1].cache, request.common_rows);
  }
}

void Scheduler::advance(Active& request, std::span<const int32_t> codes) {
  const int width = pipeline_->links().front().stage->in_width();
  const size_t before = request.codes.input().size();
  const size_t words = request.outcome.words.size();
  StepOutput out(request.codes.input(), request.outcome.words,
                 &request.outcome.phones);
  const Verdict verdict = request.state->advance(codes, out);
  ++request.steps, ++request.total_steps;
  const std::span<const int32_t> fresh = std::span(request.codes.input()).subspan(before);
  for (size_t i = 0; i < fresh.size(); i += width) request.guard.frame(fresh.subspan(i, width));
  if (request.outcome.words.size() > words) {
    request.sink->words(std::span(request.outcome.words).subspan(words));
  }

  const double frame_rate = pipeline_->info().frame_rate;
  if (verdict.next == Verdict::kFinished) return end_steps(request, verdict.reason);
  if (options_.repetition_s > 0 && request.guard.repeated() > options_.repetition_s * frame_rate) {
    return end_steps(request, FinishReason::kRepetition);
  }
  if (verdict.next == Verdict::kNextSegment) {
    drop_cache(request);
    request.steps = 0;
    const std::string problem = misfit(*request.state);
    if (!problem.empty()) return fail(request, ErrorCode::kInvalid, problem);
    begin_segment(request);
  } else if (request.steps >= request.state->max_steps()) {
    end_steps(request, FinishReason::kLength);
  }
}

void Scheduler::end_steps(Active& request, FinishReason reason) {
  request.ar_open = false;
  request.reason = reason;
  request.codes.close();
  drop_cache(request);
  close_lanes(request);
}

// ---------------------------------------------------------------------------- chunks

void Scheduler::commit_chunks(Batch& batch) {
  const size_t link = batch.link();
  totals_.link_frames[link] += batch.units();
  const std::span<ChunkJob> jobs = batch.jobs();
  for (size_t i = 0; i < jobs.size(); ++i) {
    Active& request = *batch.owners[i];
    request.chunking &= ~(1u << link);
    if (!request.sink) continue;
    if (!batch.fault.empty()) {
      fail(request, ErrorCode::kInternal, batch.fault);
    } else {
      guarded(request, [&] { commit_chunk(request, link, jobs[i]); });
    }
  }
}

void Scheduler::commit_chunk(Active& request, size_t link, const ChunkJob& job) {
  if (link + 1 < request.streams.size()) {
    std::vector<float>& next = request.values[link].input();
    next.insert(next.end(), job.out.begin(), job.out.end());
  } else {
    deliver(request, job.out, now_s());
  }
  close_lanes(request);
}

/// Passes the end of a stream on from lane to lane; past the last one the request is done.
void Scheduler::close_lanes(Active& request) {
  for (size_t link = 0; link < request.streams.size(); ++link) {
    const bool through = request.with_lane(link, [](auto& lane) { return lane.exhausted(); });
    if (!through || request.chunk_in_flight(link)) return;
    if (link + 1 < request.streams.size()) request.values[link].close();
  }
  finish(request, request.reason);
}

void Scheduler::deliver(Active& request, std::span<const float> samples, double now) {
  Outcome& outcome = request.outcome;
  const double slack = request.slack_s(now);
  if (request.chunks_delivered == 0) {
    outcome.first_audio_s = now - request.submitted_s;
    request.playing_since_s = now;
    metrics_.first_audio_s.observe(outcome.first_audio_s);
    if (trace_) trace_->request_moment(request.id, "first audio", now);
  } else {
    metrics_.slack_s.observe(slack);
    if (request.chunks_delivered == 1 && request.first_frames == 0) {
      first_chunk_.second_chunk(slack, outcome.audio_s);
    }
    chunk_rate_.add(1, now);
    if (slack < 0 && request.starved) {
      request.playing_since_s -= slack;  // it was the text that came late
    } else if (slack < 0) {
      late_rate_.add(1, now);
      // The listener ran dry: the player waits and goes on from here.
      ++outcome.underruns;
      outcome.max_underrun_s = std::max(outcome.max_underrun_s, -slack);
      request.playing_since_s -= slack;
      metrics_.underruns.add();
      if (trace_) trace_->request_moment(request.id, "underrun", now);
    }
  }
  ++request.chunks_delivered;
  request.starved = false;
  const double seconds = static_cast<double>(samples.size()) / pipeline_->info().sample_rate;
  outcome.audio_s += seconds;
  metrics_.audio_s.add(seconds);
  request.sink->audio(samples);
}

// ---------------------------------------------------------------------------- the end

void Scheduler::fail(Active& request, ErrorCode code, const std::string& message) {
  if (!request.sink) return;
  request.outcome.error = {code, message};
  finish(request, FinishReason::kError);
}

/// Tells the sink; the record goes at the next sweep(), when no batch needs it any more.
void Scheduler::finish(Active& request, FinishReason reason) {
  if (!request.sink) return;
  const double now = now_s();
  if (!request.stepping) drop_cache(request);
  request.ar_open = false;
  Outcome& outcome = request.outcome;
  outcome.reason = reason;
  outcome.frames = request.codes.given();
  outcome.total_s = now - request.submitted_s;
  if (outcome.audio_s > 0) {
    const double weight = mean_audio_s_ > 0 ? kNewMean : 1;
    mean_audio_s_ += weight * (outcome.audio_s - mean_audio_s_);
  }
  metrics_.finished[static_cast<size_t>(reason)].add();
  if (outcome.max_underrun_s > 0) metrics_.underrun_s.observe(outcome.max_underrun_s);
  if (trace_) trace_->request_ended(request.id, finish_reason_name(reason), now);
  const std::shared_ptr<Sink> sink = std::move(request.sink);
  request.sink = nullptr;
  sink->finished(outcome);
}

void Scheduler::end_all() {
  for (auto& request : active_) finish(*request, FinishReason::kCancelled);
  for (auto& request : waiting_) finish(*request, FinishReason::kCancelled);
  sweep();
  promote();
}

}  // namespace syrinx
