#include "engine/commit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fault.h"

namespace syrinx {
namespace {

constexpr double kNewOdds = 0.1;  // weight of the newest guess

/// Passes wasted results to a sequence. These come after result `e`, and belong to the row of a
/// wrong guess and to the guesses after it.
void report_missed(ArRun& run, const Batch& batch, int e, size_t count) {
  const auto first = static_cast<size_t>(e) + 1;
  for (size_t i = first; i < first + count; ++i)
    if (batch.status[i] != SampleStatus::kOk) count = i - first;
  run.sequence->missed(std::span<const int32_t>(batch.codes).subspan(first, count));
}

/// Returns the number of codes in a frame of the node's output.
int frame_codes(const Node& node) {
  for (const FrameType& type : node.out)
    if (type.flow == Flow::kCodes) return type.width;
  return 1;
}

}  // namespace

void Committer::commit(Batch& batch) {
  const std::optional<std::string> fault =
      fault_of([&] { batch.kind() == Plan::kAr ? commit_steps(batch) : commit_chunks(batch); });
  if (fault) {
    for (Active* owner : batch.owners) {
      owner->leave_batch(batch.node);
      roster_.fail(*owner, {ErrorCode::kInternal, *fault});
    }
  }
  batch.owners.clear();
}

// ---------------------------------------------------------------------------- AR steps

void Committer::commit_steps(Batch& batch) {
  ResidentNode& node = batch.model->nodes[batch.node];
  const std::span<const StepSequence> ran = batch.sequences();
  const size_t width = node.ar->traits().tap;
  int emitted = 0;
  size_t tapped = 0;   // tapped rows so far, in batch.taps
  size_t guessed = 0;  // guesses so far, in batch.guesses()
  for (size_t i = 0; i < ran.size();) {
    Active& request = *batch.owners[i];
    size_t end = i + 1;
    while (end < ran.size() && batch.owners[end] == &request) ++end;
    Brought brought{.ran = ran.subspan(i, end - i)};
    if (!batch.faults.empty() && batch.faults[i]) brought.fault = &*batch.faults[i];
    if (ran[i].emits) brought.result = emitted;
    if (ran[i].emits) emitted += 1 + ran[i].drafts;
    brought.guesses = batch.guesses().subspan(guessed, ran[i].drafts);
    guessed += brought.guesses.size();
    brought.taps =
        std::span<const float>(batch.taps).subspan(tapped, ran[i].taps ? ran[i].rows * width : 0);
    tapped += brought.taps.size();
    request.leave_batch(batch.node);
    roster_.guarded(request, [&] { commit_sequence(request, batch, brought); });
    // The request may have ended while the batch ran.
    if (!request.live()) node.pages->release(*request.runs[batch.node].ar);
    i = end;
  }
}

void Committer::commit_sequence(Active& request, const Batch& batch, const Brought& brought) {
  const int n = batch.node;
  if (!request.live()) return;
  if (!batch.fault.empty()) {
    return roster_.fail(request, {ErrorCode::kInternal, batch.fault});
  }
  if (brought.fault) return roster_.fail(request, *brought.fault);
  if (!brought.taps.empty()) pass_taps(request, n, brought.ran.front(), brought.taps);
  request.model->nodes[n].pages->commit(*request.runs[n].ar, brought.ran);
  if (brought.result >= 0) take_steps(request, batch, brought);
  edges_.give_waiting(request, n);
}

/// Takes the step that was due, then one more step for each right guess, up to the first wrong one.
/// The row that ran for a right guess is the row of the next step.
void Committer::take_steps(Active& request, const Batch& batch, const Brought& brought) {
  const int n = batch.node;
  ArRun& run = *request.runs[n].ar;
  const std::span<const int32_t> guesses = brought.guesses;
  const bool scored = !batch.scores.empty() && run.sequence->scores() >= 0;
  for (size_t i = 0;; ++i) {
    const int at = brought.result + static_cast<int>(i);
    if (batch.status[at] != SampleStatus::kOk) {
      return roster_.fail(request, {ErrorCode::kInternal, sample_status_text(batch.status[at])});
    }
    const std::span<const int32_t> codes = batch.codes_of(at);
    const bool hit = i < guesses.size() && codes[0] == guesses[i];
    if (i < guesses.size()) run.draft_odds += kNewOdds * ((hit ? 1 : 0) - run.draft_odds);
    const std::span<const float> values = batch.values_of(at);
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      return roster_.fail(request, {ErrorCode::kInternal, "the model returned NaN or infinity"});
    }
    advance(request, n, codes, values, scored ? &batch.scores[at] : nullptr);
    if (!request.live() || !run.open || run.steps == 0) return;
    if (!hit) {
      if (i < guesses.size()) report_missed(run, batch, at, guesses.size() - i);
      return;
    }
    ++run.tracks[0].cache.rows;
    request.model->metrics.draft_hits.add();
    ++request.output.outcome().right_guesses;
  }
}

/// Passes the rows that the stage tapped along the node's edges of rows.
void Committer::pass_taps(Active& request, int n, const StepSequence& ran,
                          std::span<const float> taps) {
  ArRun& run = *request.runs[n].ar;
  const size_t width = taps.size() / ran.rows;
  rows_.clear();
  for (int i = 0; i < ran.rows; ++i) {
    const int pos = ran.first_pos + i;
    if (pos < run.tapped || !run.sequence->tapped(pos)) continue;
    const auto row = taps.subspan(i * width, width);
    rows_.insert(rows_.end(), row.begin(), row.end());
  }
  run.tapped = std::max(run.tapped, ran.first_pos + ran.rows);
  edges_.pass(request, n, Flow::kRows, {}, rows_);
}

void Committer::advance(Active& request, int n, std::span<const int32_t> codes,
                        std::span<const float> values, const StepScores* scores) {
  const Graph& graph = request.model->graph();
  ArRun& run = *request.runs[n].ar;
  Output& client = request.output;
  Outcome& outcome = client.outcome();
  codes_.clear(), rows_.clear();
  const Output::Marks marks = client.marks();
  StepOutput out(codes_, outcome.words, &outcome.phones, scores, values,
                 values.empty() ? nullptr : &rows_);
  const Verdict verdict = run.sequence->advance(codes, out);
  ++run.steps, ++run.total_steps;
  const size_t width = frame_codes(graph.node(n));
  for (size_t i = 0; i < codes_.size(); i += width) {
    run.guard.frame(std::span(codes_).subspan(i, width));
  }
  const SpokenParts* parts = request.parts.get();
  client.notes(out, marks, parts ? parts->text_begin() : 0, parts ? parts->pause_s() : 0);
  edges_.pass(request, n, Flow::kCodes, codes_, {});
  edges_.pass(request, n, Flow::kRows, {}, rows_);
  edges_.pass(request, n, Flow::kIds, out.ids(), {});
  if (!request.live()) return;
  if (graph.writer() == n) {
    run.sound_steps += codes_.empty() ? 0 : 1;
    outcome.completion_tokens = static_cast<int>(run.total_steps - run.sound_steps);
    client.text(out, request.speaks(), clock_.now());
  }
  go_on(request, n, verdict);
}

/// Acts on a verdict: ends the node's steps, begins its next segment, or does nothing.
void Committer::go_on(Active& request, int n, const Verdict& verdict) {
  ResidentModel& model = *request.model;
  ArRun& run = *request.runs[n].ar;
  const double repetition_s = model.options.repetition_s;
  const double frame_rate = model.pipeline->info().speech.frame_rate;
  if (verdict.next == Verdict::kFinished) return end_steps(request, n, verdict.reason);
  if (repetition_s > 0 && run.guard.repeated() > repetition_s * frame_rate) {
    return end_steps(request, n, FinishReason::kRepetition);
  }
  if (verdict.next == Verdict::kNextSegment) {
    Pages& pages = *model.nodes[n].pages;
    model.metrics.prefix_rows.add(pages.keep(run, verdict));
    run.steps = 0;
    const std::string problem = pages.misfit(*run.sequence);
    if (!problem.empty()) {
      return roster_.fail(request, {ErrorCode::kInvalid, problem, "input"});
    }
    request.begin_segment(n);
    if (verdict.new_streams) edges_.end_streams(request, n);
  } else if (run.steps >= run.sequence->max_steps()) {
    end_steps(request, n, FinishReason::kLength);
  }
}

void Committer::end_steps(Active& request, int n, FinishReason reason) {
  ArRun& run = *request.runs[n].ar;
  run.open = false;
  run.reason = reason;
  Pages& pages = *request.model->nodes[n].pages;
  pages.publish_steps(run);
  pages.release(run);
  edges_.close(request);
}

// ---------------------------------------------------------------------------- chunks

void Committer::commit_chunks(Batch& batch) {
  const int n = batch.node;
  const std::span<ChunkJob> jobs = batch.jobs();
  for (size_t i = 0; i < jobs.size(); ++i) {
    Active& request = *batch.owners[i];
    request.leave_batch(n);
    if (!request.live()) continue;
    roster_.guarded(request, [&] {
      if (!batch.fault.empty()) {
        return roster_.fail(request, {ErrorCode::kInternal, batch.fault});
      }
      if (jobs[i].fault) return roster_.fail(request, *jobs[i].fault);
      const FrameType type = batch.stage().out();
      // Frames of earlier turns only rebuild the stream: the client has heard them.
      if (request.runs[n].chunk->lane.taken() > 0)
        edges_.pass(request, n, type.flow, {},
                    jobs[i].out.first(int64_t{jobs[i].made} * type.width));
      if (request.live()) edges_.close(request);
    });
  }
}

}  // namespace syrinx
