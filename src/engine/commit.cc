// The part of the scheduler that changes requests: what a batch brought, and ends.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/scheduler.h"

namespace syrinx {
namespace {

constexpr double kLearnEvery_s = 0.1;  // between two looks at the capacity
constexpr double kNewOdds = 0.1;       // weight of the newest guess
constexpr double kNewMean = 0.02;      // weight of the newest request in the mean length

/// Whether the wait for its first output is the machine's doing.
bool counts_for_slowdown(const Active& request) {
  return !request.background && !request.waited_for;
}

/// Frames that the part that is spoken has given to the first link so far.
int64_t frames_of(Active& request) {
  const int link = request.model->first_link;
  if (request.runs.empty() || !request.opens(link)) return 0;
  return request.runs[link].chunk->with_lane([](auto& lane) { return lane.given(); });
}

/// Marks from these on are of the part alone: they become those of the whole text and its audio.
void shift_marks(Active& request, size_t words, size_t phones) {
  const double before_s = request.part_began_s + request.parts->pause_s();
  const int64_t frames = std::llround(before_s * request.model->pipeline->info().frame_rate);
  Outcome& outcome = request.outcome;
  for (size_t i = words; i < outcome.words.size(); ++i) {
    outcome.words[i].begin += request.parts->text_begin();
    outcome.words[i].end += request.parts->text_begin();
    outcome.words[i].frame += frames;
  }
  for (size_t i = phones; i < outcome.phones.size(); ++i) outcome.phones[i].frame += frames;
}

}  // namespace

std::string misfit(const ResidentNode& node, const Sequence& sequence) {
  const int64_t sequences = is_guided(sequence) ? 2 : 1;
  const int64_t needed =
      std::max(sequence.prompt_rows(), sequence.companion_rows()) + int64_t{sequence.max_steps()};
  const int64_t room =
      std::min<int64_t>(node.ar->traits().max_positions,
                        node.cache->total() / sequences * int64_t{KvPool::kPageRows});
  if (needed <= room) return {};
  return concat("the text may need ", needed, " positions, there is room for ", room);
}

void Scheduler::commit(Batch* batch) {
  const double began_s = now();
  const double took_s = batch->ended_s - batch->began_s;
  const bool step = batch->kind() == Plan::kAr;
  ResidentModel& model = *batch->model;
  ResidentNode& node = model.nodes[batch->node];
  StageMetrics& stage = *node.metrics;
  stage.batch.observe(static_cast<double>(batch->owners.size()));
  stage.step_seconds.observe(took_s);
  if (batch->replayed) stage.replayed.add();
  stage.units.add(batch->units());
  if (!node.away) {
    model.metrics.busy_s.add(took_s);
    busy_s_ += took_s;
    if (batch->background) {
      model.metrics.background_s.add(took_s);
      background_time_.took(took_s);
    }
  }
  node.cost.sample(batch->units(), took_s);
  node.units += batch->units();
  if (trace_) {
    trace_->work(batch->executor + 1, stage.stage.c_str(), model.label.c_str(), batch->began_s,
                 batch->ended_s, static_cast<int>(batch->owners.size()), batch->units());
  }
  try {
    step ? commit_step(*batch) : commit_chunks(*batch);
  } catch (const std::exception& e) {
    for (Active* owner : batch->owners) fail(*owner, {ErrorCode::kInternal, e.what()});
  }
  batch->owners.clear();
  places_[batch->executor].free.push_back(batch);
  --batches_away_;
  model.metrics.overhead_s.add(now() - began_s);
}

/// Now and then, what can be known of every model.
void Scheduler::learn() {
  const double at = now();
  const double busy_s = busy_s_ / spec_.here();
  for (ResidentModel* model : models_) {
    model->limit.observe(busy_s, model->holding, at);
    model->metrics.places_limit.set(model->limit.limited() ? model->limit.places() : 0);
  }
  if (at - learned_s_ < kLearnEvery_s) return;
  learned_s_ = at;
  for (ResidentModel* model : models_) learn_capacity(*model), learn_slowdown(*model);
}

void Scheduler::learn_slowdown(ResidentModel& model) {
  const double at = now();
  double waited_s = 0;
  int waiting = 0;
  const auto look = [&](const Active& request) {
    if (request.model != &model || !request.sink || !counts_for_slowdown(request)) return;
    const double since_s = at - request.submitted_s;
    if (request.heard() || request.tokens_read > 0 || !model.slowdown.is_slow(since_s)) return;
    waited_s += since_s;
    ++waiting;
  };
  for (const auto& request : active_) look(*request);
  for (const auto& request : waiting_) look(*request);
  model.metrics.slowdown.set(model.slowdown.value(waited_s, waiting, at));
  model.metrics.slowdown_at_s.set(at);
}

void Scheduler::learn_capacity(ResidentModel& model) {
  const double at = now();
  const double chunks = model.chunk_rate.per_second(at);
  model.late_share = chunks > 0 ? model.late_rate.per_second(at) / chunks : 0;
  if (model.made_s <= 0) return;
  work_.clear();
  for (const ResidentNode& node : model.nodes) {
    work_.push_back({node.cost.cost(), node.ar != nullptr, node.units / model.made_s,
                     std::max(1, node.policy.steady), node.away});
  }
  const Sharing sharing{spec_.split || spec_.inline_run ? 1 : spec_.here(), spec_.split};
  const double capacity = stream_capacity(work_, options_.max_batch, sharing);
  model.capacity = std::isfinite(capacity) ? capacity : 0;
  model.metrics.streams_capacity.set(model.capacity);
}

// ---------------------------------------------------------------------------- AR steps

void Scheduler::commit_step(Batch& batch) {
  const int n = batch.node;
  const std::span<const StepSequence> ran = batch.sequences();
  const size_t width = batch.model->nodes[n].ar->traits().tap;
  int emitted = 0;
  size_t tapped = 0;   // in batch.taps
  size_t guessed = 0;  // in batch.guesses()
  for (size_t i = 0; i < ran.size();) {
    Active& request = *batch.owners[i];
    size_t end = i + 1;
    while (end < ran.size() && batch.owners[end] == &request) ++end;
    const int e = ran[i].emits ? emitted : -1;
    if (ran[i].emits) emitted += 1 + ran[i].drafts;
    const std::span<const int32_t> guesses = batch.guesses().subspan(guessed, ran[i].drafts);
    guessed += guesses.size();
    const auto taps =
        std::span<const float>(batch.taps).subspan(tapped, ran[i].taps ? ran[i].rows * width : 0);
    tapped += taps.size();
    request.runs[n].ar->stepping = false;
    --batch.model->nodes[n].steps_in_flight;
    const size_t first = i;
    guarded(request, [&] {
      if (!request.sink) return;
      if (!batch.fault.empty()) return fail(request, {ErrorCode::kInternal, batch.fault});
      if (!batch.faults.empty() && batch.faults[first]) return fail(request, *batch.faults[first]);
      if (!taps.empty()) tell_taps(request, n, ran[i], taps);
      commit_rows(request, n, ran.subspan(i, end - i));
      if (e >= 0) commit_steps(request, batch, e, guesses);
      give_late(request, n);
    });
    if (!request.sink) drop_cache(request, n);  // it ended while the batch ran
    i = end;
  }
}

/// The step that was due, result `e` of the batch, and those after it as far as guesses came true:
/// then the row that was run for the guess is the row of the step.
void Scheduler::commit_steps(Active& request, const Batch& batch, int e,
                             std::span<const int32_t> guesses) {
  const int n = batch.node;
  ArRun& run = *request.runs[n].ar;
  const bool scored = !batch.scores.empty() && run.sequence->scores() >= 0;
  for (size_t i = 0;; ++i) {
    const size_t at = e + i;
    if (batch.status[at] != SampleStatus::kOk) {
      return fail(request, {ErrorCode::kInternal, sample_status_text(batch.status[at])});
    }
    const std::span<const int32_t> codes = batch.codes_of(static_cast<int>(at));
    const bool hit = i < guesses.size() && codes[0] == guesses[i];
    if (i < guesses.size()) run.draft_odds += kNewOdds * ((hit ? 1 : 0) - run.draft_odds);
    const std::span<const float> values = batch.values_of(static_cast<int>(at));
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      return fail(request, {ErrorCode::kInternal, "the model's values are not finite"});
    }
    advance(request, n, codes, values, scored ? &batch.scores[at] : nullptr);
    if (!request.sink || !run.open || run.steps == 0) break;
    if (!hit) {
      if (i < guesses.size()) tell_missed(run, batch, static_cast<int>(at), guesses.size() - i);
      break;
    }
    ++run.tracks[0].cache.rows;
    request.model->metrics.draft_hits.add();
    ++request.outcome.right_guesses;
  }
}

/// What came of the rows behind result `e`, which a wrong guess and those after it made.
void Scheduler::tell_missed(ArRun& run, const Batch& batch, int e, size_t count) {
  const auto first = static_cast<size_t>(e) + 1;
  for (size_t i = first; i < first + count; ++i)
    if (batch.status[i] != SampleStatus::kOk) count = i - first;
  run.sequence->missed(std::span<const int32_t>(batch.codes).subspan(first, count));
}

/// The rows are in the cache; a prompt that is complete becomes known to others.
void Scheduler::commit_rows(Active& request, int n, std::span<const StepSequence> ran) {
  ArRun& run = *request.runs[n].ar;
  KvCache& cache = *request.model->nodes[n].cache;
  for (const StepSequence& seq : ran) {
    HeldRows& track = run.tracks[seq.companion ? 1 : 0];
    track.cache.rows += seq.rows - seq.drafts;
    if (!request.model->options.share_prefixes || track.published || track.keys.empty()) continue;
    if (track.cache.rows < static_cast<int>(track.keys.size())) continue;
    cache.publish(track.keys, track.cache);
    track.published = true;
  }
  if (run.common_rows > 0 && run.tracks[1].cache.rows == 0 &&
      run.tracks[0].cache.rows >= run.common_rows) {
    cache.fork(run.tracks[0].cache, run.tracks[1].cache);
    cache.truncate(run.tracks[1].cache, run.common_rows);
  }
}

/// Rows that the stage tapped go to the node's edges of rows.
void Scheduler::tell_taps(Active& request, int n, const StepSequence& ran,
                          std::span<const float> taps) {
  const Graph& graph = request.model->graph();
  ArRun& run = *request.runs[n].ar;
  const size_t width = taps.size() / ran.rows;
  Late late;
  for (int i = 0; i < ran.rows; ++i) {
    const int pos = ran.first_pos + i;
    if (pos < run.told || !run.sequence->tapped(pos)) continue;
    const auto row = taps.subspan(i * width, width);
    late.floats.insert(late.floats.end(), row.begin(), row.end());
    ++late.count;
  }
  run.told = std::max(run.told, ran.first_pos + ran.rows);
  if (late.count == 0) return;
  for (const int e : graph.leaving(n)) {
    const Edge& edge = graph.edges()[e];
    late.type = graph.node(n).out[edge.from.port];
    late.port = edge.to.port;
    if (late.type.flow == Flow::kRows) give(request, edge.to.node, late);
  }
}

void Scheduler::advance(Active& request, int n, std::span<const int32_t> codes,
                        std::span<const float> values, const StepScores* scores) {
  const Graph& graph = request.model->graph();
  ArRun& run = *request.runs[n].ar;
  // Frames go straight into the lane of the node that they feed.
  std::vector<int32_t>* frames = &codes_;
  std::vector<float>* rows = nullptr;
  int width = 1;
  codes_.clear();
  for (const int e : graph.leaving(n)) {
    const Edge& edge = graph.edges()[e];
    if (edge.to.node == kClient) continue;
    const Flow flow = graph.node(n).out[edge.from.port].flow;
    if (flow == Flow::kRows && !values.empty()) {
      rows = &std::get<Lane<float>>(request.runs[edge.to.node].chunk->lane).input();
    }
    if (flow != Flow::kCodes) continue;
    frames = &std::get<Lane<int32_t>>(request.runs[edge.to.node].chunk->lane).input();
    width = graph.node(edge.to.node).chunk->in_width();
  }
  const size_t before = frames->size();
  const size_t words = request.outcome.words.size(), phones = request.outcome.phones.size();
  StepOutput out(*frames, request.outcome.words, &request.outcome.phones, scores, values, rows);
  const Verdict verdict = run.sequence->advance(codes, out);
  ++run.steps, ++run.total_steps;
  const std::span<const int32_t> fresh = std::span(*frames).subspan(before);
  for (size_t i = 0; i < fresh.size(); i += width) run.guard.frame(fresh.subspan(i, width));
  if (request.parts) shift_marks(request, words, phones);
  if (request.outcome.words.size() > words) {
    request.sink->words(std::span(request.outcome.words).subspan(words));
  }
  for (const int e : graph.leaving(n)) {
    const Edge& edge = graph.edges()[e];
    const FrameType type = graph.node(n).out[edge.from.port];
    if (type.flow != Flow::kIds || out.ids().empty()) continue;
    give(request, edge.to.node,
         {.port = edge.to.port,
          .type = type,
          .count = std::ssize(out.ids()),
          .ints = {out.ids().begin(), out.ids().end()}});
    if (!request.sink) return;
  }
  if (graph.writer() == n) {
    run.sound_steps += fresh.empty() ? 0 : 1;
    request.outcome.completion_tokens = static_cast<int>(run.total_steps - run.sound_steps);
    deliver(request, out, now());
  }

  const double repetition_s = request.model->options.repetition_s;
  const double frame_rate = request.model->pipeline->info().frame_rate;
  if (verdict.next == Verdict::kFinished) return end_steps(request, n, verdict.reason);
  if (repetition_s > 0 && run.guard.repeated() > repetition_s * frame_rate) {
    return end_steps(request, n, FinishReason::kRepetition);
  }
  if (verdict.next == Verdict::kNextSegment) {
    keep_rows(request, n, verdict);
    run.steps = 0;
    const std::string problem = misfit(request.model->nodes[n], *run.sequence);
    if (!problem.empty()) return fail(request, {ErrorCode::kInvalid, problem, "input"});
    begin_segment(request, n);
    if (verdict.new_streams) end_streams(request, n);
  } else if (run.steps >= run.sequence->max_steps()) {
    end_steps(request, n, FinishReason::kLength);
  }
}

/// What the node has given is the end of its streams; it waits until they are through.
void Scheduler::end_streams(Active& request, int n) {
  request.runs[n].ar->drains = true;
  for (const int e : request.model->graph().leaving(n)) {
    const int to = request.model->graph().edges()[e].to.node;
    if (to == kClient || !request.runs[to].chunk) continue;
    request.runs[to].chunk->with_lane([](auto& lane) { lane.close(); });
  }
  close_edges(request);
}

/// New streams of the chunk nodes behind node `n`, once the old ones are through and its sequence
/// is here to be asked.
void Scheduler::begin_streams(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  if (run.away()) return;
  const Graph& graph = request.model->graph();
  std::vector<int> behind;
  const auto follow = [&](int from) {
    for (const int e : graph.leaving(from)) {
      const int to = graph.edges()[e].to.node;
      if (to != kClient && request.runs[to].chunk) behind.push_back(to);
    }
  };
  follow(n);
  for (size_t i = 0; i < behind.size(); ++i) follow(behind[i]);
  for (const int node : behind)
    if (!request.runs[node].ended) return;
  request.frames_before += frames_of(request);
  for (const int node : behind) {
    request.runs[node].chunk = open_chunk_run(request.model->nodes[node], *run.sequence);
    request.runs[node].ended = false;
  }
  run.drains = false;
  request.starved = true;  // what is said next may come behind much that is written
}

void Scheduler::end_steps(Active& request, int n, FinishReason reason) {
  ArRun& run = *request.runs[n].ar;
  run.open = false;
  run.reason = reason;
  HeldRows& track = run.tracks[0];
  const size_t prompt = track.keys.size();
  if (track.published) run.sequence->step_keys(false, track.keys);
  if (track.keys.size() > prompt) request.model->nodes[n].cache->publish(track.keys, track.cache);
  drop_cache(request, n);
  close_edges(request);
}

// ---------------------------------------------------------------------------- chunks

void Scheduler::commit_chunks(Batch& batch) {
  const int n = batch.node;
  const std::span<ChunkJob> jobs = batch.jobs();
  for (size_t i = 0; i < jobs.size(); ++i) {
    Active& request = *batch.owners[i];
    request.runs[n].chunk->running = false;
    if (!request.sink) continue;
    guarded(request, [&] {
      if (!batch.fault.empty()) return fail(request, {ErrorCode::kInternal, batch.fault});
      if (jobs[i].fault) return fail(request, *jobs[i].fault);
      const int width = batch.stage().out_width();
      pass_on(request, n, jobs[i].out.first(int64_t{jobs[i].made} * width), jobs[i].made);
      if (request.sink) close_edges(request);
    });
  }
}

/// What a chunk node made goes along its edge: `count` frames.
void Scheduler::pass_on(Active& request, int n, std::span<const float> values, int64_t count) {
  const Graph& graph = request.model->graph();
  const Edge& edge = graph.edges()[graph.leaving(n).front()];
  if (edge.to.node == kClient) return deliver(request, values, now());
  NodeRun& next = request.runs[edge.to.node];
  if (next.chunk) {
    std::vector<float>& lane = std::get<Lane<float>>(next.chunk->lane).input();
    lane.insert(lane.end(), values.begin(), values.end());
  } else {
    give(request, edge.to.node,
         {.port = edge.to.port,
          .type = graph.node(n).out.front(),
          .count = count,
          .floats = {values.begin(), values.end()}});
  }
}

/// Passes the end of what a node makes on along its edges; when the client's edges have ended, the
/// request is done.
void Scheduler::close_edges(Active& request) {
  const Graph& graph = request.model->graph();
  bool all = true;
  FinishReason reason = FinishReason::kStop;
  for (size_t n = 0; n < request.runs.size(); ++n) {
    NodeRun& run = request.runs[n];
    if (!run.opened()) continue;
    if (run.ar && reason == FinishReason::kStop) reason = run.ar->reason;
    const bool through = run.ar ? !run.ar->open : run.chunk->through();
    if (through && !run.ended) {
      run.ended = true;
      for (const int e : graph.leaving(static_cast<int>(n))) {
        const Edge& edge = graph.edges()[e];
        if (edge.to.node == kClient) continue;
        NodeRun& next = request.runs[edge.to.node];
        if (next.chunk) {
          next.chunk->with_lane([](auto& lane) { lane.close(); });
        } else if (next.ar) {
          give(request, edge.to.node,
               {.port = edge.to.port,
                .type = graph.node(static_cast<int>(n)).out[edge.from.port],
                .last = true});
        }
        if (!request.sink) return;
      }
    }
    const int node = static_cast<int>(n);
    if (node == graph.speaker() || node == graph.writer()) all = all && run.ended;
  }
  for (size_t n = 0; n < request.runs.size(); ++n) {
    if (!request.runs[n].ar || !request.runs[n].ar->drains) continue;
    all = false;
    begin_streams(request, static_cast<int>(n));
  }
  if (!all) return;
  if (!request.parts || reason != FinishReason::kStop) return finish(request, reason);
  request.parts->end();
  if (request.parts->over()) return finish(request, reason);
  // Whoever called still holds the runs; dispatch() goes on.
  request.frames_before += frames_of(request);
  request.between = true;
}

void Scheduler::deliver(Active& request, std::span<const float> samples, double now) {
  ResidentModel& model = *request.model;
  EngineMetrics& metrics = model.metrics;
  Outcome& outcome = request.outcome;
  const double slack = request.slack_s(now);
  if (request.chunks_delivered == 0) {
    outcome.first_audio_s = now - request.submitted_s;
    request.playing_since_s = now;
    metrics.first_audio_s.observe(outcome.first_audio_s);
    note_first_output(request, outcome.first_audio_s, now);
    if (trace_) trace_->request_moment(request.id, "first audio", now);
  } else {
    const bool counts = !request.starved && !request.background;  // else it comes when it comes
    const bool late = counts && slack < 0;
    if (counts) metrics.slack_s.observe(slack);
    if (counts && request.chunks_delivered == 1 && request.first_frames == 0 &&
        model.first_link >= 0) {
      model.nodes[model.first_link].first_chunk.second_chunk(slack, outcome.audio_s);
    }
    model.chunk_rate.add(1, now);
    model.limit.chunk(late);
    if (slack < 0) request.playing_since_s -= slack;  // the player waits and goes on from here
    if (late) {
      // The listener ran dry, and not because the text came late.
      model.late_rate.add(1, now);
      ++outcome.underruns;
      outcome.max_underrun_s = std::max(outcome.max_underrun_s, -slack);
      metrics.underruns.add();
      if (trace_) trace_->request_moment(request.id, "underrun", now);
    }
  }
  ++request.chunks_delivered;
  request.starved = false;
  if (request.parts && request.parts->pause_s() > 0 && !request.between) {
    // A pause before the first word, which nobody is told of before the word is there.
    be_silent(request, request.parts->take_pause());
    request.part_began_s = request.outcome.audio_s;
    if (!request.sink) return;
  }
  const double before_s = request.outcome.audio_s;
  hand_over(request, samples);
  const double seconds = request.outcome.audio_s - before_s;
  metrics.audio_s.add(seconds);
  model.made_s += seconds;
}

void Scheduler::note_first_output(Active& request, double seconds, double now) {
  if (counts_for_slowdown(request))
    request.model->slowdown.first_output(seconds, request.alone, now);
}

/// Samples for the client, as far as it may have them; then it ends.
void Scheduler::hand_over(Active& request, std::span<const float> samples) {
  const ResidentModel& model = *request.model;
  Outcome& outcome = request.outcome;
  const double most_s = model.options.max_audio_s, rate = model.pipeline->info().sample_rate;
  const bool full = most_s > 0 && outcome.audio_s + samples.size() / rate >= most_s;
  if (full) {
    samples = samples.first(static_cast<size_t>(std::llround((most_s - outcome.audio_s) * rate)));
  }
  outcome.audio_s += static_cast<double>(samples.size()) / rate;
  request.sink->audio(samples);
  if (full) finish(request, FinishReason::kLength);
}

/// Exact to the sample; it costs nobody anything and tells nothing of the model's pace.
void Scheduler::be_silent(Active& request, double seconds) {
  const int rate = request.model->pipeline->info().sample_rate;
  const std::vector<float> silence(static_cast<size_t>(rate));
  for (int64_t left = std::llround(seconds * rate); left > 0 && request.sink;) {
    const int64_t part = std::min<int64_t>(left, rate);
    hand_over(request, std::span(silence).first(static_cast<size_t>(part)));
    left -= part;
  }
}

/// Text of a step. A reader is never said to run dry, but its pace is a deadline all the same; who
/// had to wait for a word goes on from there, as listeners do.
void Scheduler::deliver(Active& request, const StepOutput& out, double now) {
  if (request.tokens_read == 0) {
    request.text_since_s = now;
    request.outcome.first_text_s = now - request.submitted_s;
    request.model->metrics.first_text_s.observe(request.outcome.first_text_s);
    if (!request.speaks()) note_first_output(request, request.outcome.first_text_s, now);
    if (trace_) trace_->request_moment(request.id, "first text", now);
  }
  request.text_since_s += std::max(0.0, -request.text_slack_s(now));
  ++request.tokens_read;
  request.model->metrics.text_tokens.add();
  if (!request.speaks()) request.model->made_s += 1 / kTokensReadASecond;
  if (!out.written().empty() || !out.tokens().empty()) {
    request.sink->text(out.written(), out.tokens());
  }
  if (!out.answer_ids().empty()) request.sink->answer_ids(out.answer_ids());
}

// ---------------------------------------------------------------------------- the end

void Scheduler::fail(Active& request, Error error) {
  if (!request.sink) return;
  request.outcome.error = std::move(error);
  finish(request, FinishReason::kError);
}

/// Tells the sink; the record goes at the next sweep(), when no batch needs it any more.
void Scheduler::finish(Active& request, FinishReason reason) {
  if (!request.sink) return;
  const double at = now();
  ResidentModel& model = *request.model;
  Outcome& outcome = request.outcome;
  outcome.reason = reason;
  for (NodeRun& run : request.runs) {
    if (run.ar) run.ar->open = false;
  }
  outcome.frames = request.frames_before + (request.between ? 0 : frames_of(request));
  drop_caches(request);
  tell_pages(model);  // who hears of the end sees its pages free
  outcome.total_s = at - request.submitted_s;
  const double made_s =
      std::max(outcome.audio_s, static_cast<double>(request.tokens_read) / kTokensReadASecond);
  if (made_s > 0) {
    const double weight = model.mean_made_s > 0 ? kNewMean : 1;
    model.mean_made_s += weight * (made_s - model.mean_made_s);
  }
  model.metrics.finished[static_cast<size_t>(reason)].add();
  if (outcome.max_underrun_s > 0) model.metrics.underrun_s.observe(outcome.max_underrun_s);
  if (trace_) trace_->request_ended(request.id, finish_reason_name(reason), at);
  const std::shared_ptr<Sink> sink = std::move(request.sink);
  request.sink = nullptr;
  try {
    sink->finished(outcome);
  } catch (...) {  // the client's own fault, and it has had its end
  }
}

void Scheduler::fail_all(const char* why) {
  for (auto& request : active_) fail(*request, {ErrorCode::kInternal, why});
  for (auto& request : waiting_) fail(*request, {ErrorCode::kInternal, why});
}

void Scheduler::end_all() {
  for (auto& request : active_) finish(*request, FinishReason::kCancelled);
  for (auto& request : waiting_) finish(*request, FinishReason::kCancelled);
  sweep();
  promote();
  let_go();
}

}  // namespace syrinx
