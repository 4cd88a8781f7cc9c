#include "engine/output.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/resident.h"
#include "engine/trace_log.h"

namespace syrinx {

Output::Output(ResidentModel& model, std::shared_ptr<Sink> sink, const SpeechRequest& request,
               double now)
    : model_(model),
      sink_(std::move(sink)),
      submitted_s_(now),
      first_frames_(request.terms.initial_chunk_frames),
      background_(request.terms.background) {}

void Output::accept(RequestId id, TraceLog* trace) {
  id_ = id;
  trace_ = trace;
  if (trace_) trace_->request_began(id, submitted_s_);
}

void Output::starve(bool client) {
  starved_ = true;
  waited_for_ = waited_for_ || client;
}

void Output::raise_priority(double now) {
  if (!background_) return;
  background_ = false;
  listener_.since_s = reader_.since_s = now;
}

void Output::look_at_reader(double now) {
  const double most_s = model_.options.max_unread_s;
  const double unread_s = heard() || read() ? sink_->unread_s() : 0;
  unread_ = unread_s > most_s;
  if (unread_s > 0) {
    // The client cannot have played the audio that it has not read.
    const double left_s = std::min({unread_s, most_s, outcome_.audio_s});
    listener_.since_s += std::max(0.0, left_s - listener_.slack_s(now));
  }
  if (unread_) reader_.wait(now);
}

void Output::first_step(double now) {
  if (outcome_.waited_s > 0) return;
  outcome_.waited_s = std::max(1e-9, now - submitted_s_);
  model_.metrics.wait_s.observe(outcome_.waited_s);
  if (trace_) trace_->request_moment(id_, "first step", now);
}

void Output::first_output(double seconds, double now) {
  if (counts_for_slowdown()) model_.load.first_output(seconds, alone_, now);
}

// ---------------------------------------------------------------------------- audio

bool Output::audio(std::span<const float> samples, double silence_s, double now) {
  if (chunks_ == 0) {
    outcome_.first_audio_s = now - submitted_s_;
    listener_.since_s = now;
    model_.metrics.first_audio_s.observe(outcome_.first_audio_s);
    first_output(outcome_.first_audio_s, now);
    if (trace_) trace_->request_moment(id_, "first audio", now);
  } else {
    later_chunk(now);
  }
  ++chunks_;
  starved_ = false;
  if (silence_s > 0) {
    // Silence before a part is sent together with the part's first samples, not earlier.
    if (!silence(silence_s)) return false;
    begin_part();
  }
  const double before_s = outcome_.audio_s;
  const bool more = hand_over(samples);
  const double seconds = outcome_.audio_s - before_s;
  model_.metrics.audio_s.add(seconds);
  model_.load.made(seconds);
  return more;
}

void Output::later_chunk(double now) {
  const double slack = listener_.slack_s(now);
  const bool counts = !starved_ && !background_;  // otherwise the chunk cannot count as late
  const bool late = counts && slack < 0;
  if (counts) model_.metrics.slack_s.observe(slack);
  if (counts && chunks_ == 1 && first_frames_ == 0 && model_.first_link >= 0) {
    model_.nodes[model_.first_link].first_chunk.second_chunk(slack, outcome_.audio_s);
  }
  model_.load.chunk(late, now);
  listener_.wait(now);
  if (!late) return;
  // The listener has run dry, and not because its text came late.
  ++outcome_.underruns;
  outcome_.max_underrun_s = std::max(outcome_.max_underrun_s, -slack);
  model_.metrics.underruns.add();
  if (trace_) trace_->request_moment(id_, "underrun", now);
}

bool Output::hand_over(std::span<const float> samples) {
  const double most_s = model_.options.max_audio_s,
               rate = model_.pipeline->info().speech.sample_rate;
  const bool full = most_s > 0 && outcome_.audio_s + samples.size() / rate >= most_s;
  if (full) {
    samples = samples.first(static_cast<size_t>(std::llround((most_s - outcome_.audio_s) * rate)));
  }
  outcome_.audio_s += static_cast<double>(samples.size()) / rate;
  listener_.given_s = outcome_.audio_s;
  sink_->audio(samples);
  return !full;
}

bool Output::silence(double seconds) {
  const int rate = model_.pipeline->info().speech.sample_rate;
  const std::vector<float> silence(static_cast<size_t>(rate));
  bool more = true;
  for (int64_t left = std::llround(seconds * rate); left > 0 && more;) {
    const int64_t part = std::min<int64_t>(left, rate);
    more = hand_over(std::span(silence).first(static_cast<size_t>(part)));
    left -= part;
  }
  return more;
}

// ---------------------------------------------------------------------------- text

/// A reader's waits are not reported as underruns. But its clock sets deadlines: after a wait for a
/// word, the clock continues from the time of that word, like a listener's clock.
void Output::text(const StepOutput& out, bool speaks, double now) {
  if (tokens_read_ == 0) {
    reader_.since_s = now;
    outcome_.first_text_s = now - submitted_s_;
    model_.metrics.first_text_s.observe(outcome_.first_text_s);
    if (!speaks) first_output(outcome_.first_text_s, now);
    if (trace_) trace_->request_moment(id_, "first text", now);
  }
  reader_.wait(now);
  ++tokens_read_;
  reader_.given_s = static_cast<double>(tokens_read_) / kTokensReadASecond;
  model_.metrics.text_tokens.add();
  if (!speaks) model_.load.made(1 / kTokensReadASecond);
  if (!out.written().empty() || !out.tokens().empty()) sink_->text(out.written(), out.tokens());
}

void Output::notes(const StepOutput& out, Marks before, int64_t text_begin, double silence_s) {
  if (!out.answer_ids().empty()) sink_->answer_ids(out.answer_ids());
  for (const std::string& text : out.warnings()) {
    sink_->warning(text);
    outcome_.warnings.push_back(text);
  }
  const double rate = model_.pipeline->info().speech.frame_rate;
  const int64_t frames = std::llround((part_began_s_ + silence_s) * rate);
  for (size_t i = before.words; i < outcome_.words.size(); ++i) {
    outcome_.words[i].begin += text_begin;
    outcome_.words[i].end += text_begin;
    outcome_.words[i].frame += frames;
  }
  for (size_t i = before.phones; i < outcome_.phones.size(); ++i) {
    outcome_.phones[i].frame += frames;
  }
  const std::span<const WordMark> all = outcome_.words;
  if (all.size() > before.words) sink_->words(all.subspan(before.words));
}

void Output::begin_part() {
  part_began_s_ = outcome_.audio_s;
  starved_ = false;
}

// ---------------------------------------------------------------------------- the end

void Output::end(FinishReason reason, double now) {
  outcome_.reason = reason;
  outcome_.total_s = now - submitted_s_;
  model_.load.ended(std::max(listener_.given_s, reader_.given_s));
  model_.metrics.finished[static_cast<size_t>(reason)].add();
  if (outcome_.max_underrun_s > 0) model_.metrics.underrun_s.observe(outcome_.max_underrun_s);
  if (trace_) trace_->request_ended(id_, finish_reason_name(reason), now);
  const std::shared_ptr<Sink> sink = std::move(sink_);
  sink_ = nullptr;
  try {
    sink->finished(outcome_);
  } catch (...) {  // the sink threw, but its finished() was called
  }
}

}  // namespace syrinx
