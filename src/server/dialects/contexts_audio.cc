// The output of the contexts: audio, words, marks and ends, in the order of the text.
#include <algorithm>
#include <utility>

#include "server/dialects/contexts.h"
#include "text/silent_text.h"

namespace syrinx {
namespace {

constexpr double kPieceS = 0.4;

/// Ends the text of a context up to a flush or the end. Returns `end`; if nothing of the text was
/// spoken, returns kUnspoken and puts `end` before the other events.
SpeechEvent end_of_text(SpeechContext& context, SpeechEvent::Kind end,
                        std::deque<SpeechEvent>& events) {
  SpeechEvent event{.kind = end, .context = context.name};
  std::optional<ApiError> unspoken = context.end_text();
  if (!unspoken) return event;
  events.push_front(std::move(event));
  return {.kind = SpeechEvent::kUnspoken, .context = context.name, .error = std::move(*unspoken)};
}

}  // namespace

std::optional<SpeechEvent> SpeechContexts::next() {
  for (size_t turns = contexts_.size(); events_.empty() && turns > 0; --turns) {
    contexts_.splice(contexts_.end(), contexts_, contexts_.begin());
    if (auto event = next_of(contexts_.back())) return event;
  }
  if (events_.empty()) return {};
  SpeechEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<SpeechEvent> SpeechContexts::next_of(SpeechContext& context) {
  if (context.ahead_s) {
    look_ahead(context);
    return {};
  }
  while (!context.utterances.empty()) {
    SpokenUtterance& first = context.utterances.front();
    if (!first.queue && first.speakable) {
      const std::string name = context.name;
      advance(context);
      if (find(name) == nullptr) return {};  // the context failed; kFailed is queued
      if (!first.queue) return {};           // the voice is still being fetched
    }
    if (first.queue) return audio_of(context, first);
    if (!first.closed) return {};
    if (context.drop_first()) return end_of_text(context, SpeechEvent::kFlushed, events_);
  }
  if (!context.finishing) return {};
  SpeechEvent event = end_of_text(context, SpeechEvent::kFinished, events_);
  forget(event.context);
  return event;
}

std::optional<SpeechEvent> SpeechContexts::audio_of(SpeechContext& context,
                                                    SpokenUtterance& utterance) {
  const int rate_hz = context.info().speech.sample_rate;
  if (auto event = context.words_of(utterance, false)) return event;
  samples_.clear();
  const size_t count = utterance.queue->take(samples_, static_cast<size_t>(kPieceS * rate_hz));
  if (count == 0) {
    const auto outcome = utterance.queue->end();
    if (!outcome) return {};
    const bool without_sound = utterance.encoder == nullptr;
    if (without_sound && is_nothing_to_say(outcome->error)) {
      context.unspoken = to_api_error(outcome->error);
      if (context.drop_first()) return end_of_text(context, SpeechEvent::kFlushed, events_);
      return next_of(context);
    }
    return end_of(context, utterance, *outcome);
  }
  taken_.emplace_back(utterance.queue, count);
  utterance.audio_s += static_cast<double>(count) / rate_hz;
  SpeechEvent audio{.kind = SpeechEvent::kAudio, .context = context.name};
  const bool begins = utterance.encoder == nullptr;
  if (begins) {
    auto encoder = make_encoder(context.options.call.audio);
    if (!encoder) {
      fail(context, inner_fault(encoder.error()));
      return {};
    }
    utterance.encoder = encoder.take();
    context.heard = true;
  }
  utterance.encoder->encode(samples_, audio.bytes);
  audio.rate_hz = utterance.encoder->rate_hz();
  if (!begins) return audio;
  utterance.queue->take_warnings(utterance.markup.warnings);
  SpeechEvent start{.kind = SpeechEvent::kStarted,
                    .context = context.name,
                    .rate_hz = audio.rate_hz,
                    .text = utterance.closed ? utterance.text : "",
                    .warnings = std::move(utterance.markup.warnings)};
  events_.push_back(std::move(audio));
  advance(context);  // submits the next utterance
  return start;
}

/// Removes the utterance. Queues its remaining audio and final events; returns the first event.
SpeechEvent SpeechContexts::end_of(SpeechContext& context, SpokenUtterance& utterance,
                                   const Outcome& outcome) {
  const std::string name = context.name;
  if (outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled) {
    const bool stopped = outcome.reason == FinishReason::kCancelled;
    fail(context, stopped ? unavailable("The server is stopping.") : inner_fault(outcome.error));
    SpeechEvent event = std::move(events_.back());
    events_.pop_back();
    return event;
  }
  SpeechEvent spoken{.kind = SpeechEvent::kSpoken,
                     .context = name,
                     .text = utterance.text,
                     .audio_s = utterance.audio_s / context.options.call.audio.speed,
                     .reason = outcome.reason,
                     .codes = utterance.queue->take_ids(),
                     .marks = context.marks_of(utterance, outcome)};
  auto last_words = context.words_of(utterance, true);
  auto phones = context.phones_of(outcome, spoken.audio_s);
  SpeechEvent rest{.kind = SpeechEvent::kAudio, .context = name};
  if (utterance.encoder) {
    utterance.encoder->flush(rest.bytes);
    rest.rate_hz = utterance.encoder->rate_hz();
  }
  context.drop(1);  // if the utterance reached its length bound, its request still runs
  if (context.drop_first()) {
    SpeechEvent flushed = end_of_text(context, SpeechEvent::kFlushed, events_);
    events_.push_front(std::move(flushed));
  }
  events_.push_front(std::move(spoken));
  if (phones) events_.push_front(std::move(*phones));
  if (!rest.bytes.empty()) events_.push_front(std::move(rest));
  if (last_words) events_.push_front(std::move(*last_words));
  SpeechEvent first = std::move(events_.front());
  events_.pop_front();
  return first;
}

void SpeechContexts::written() {
  for (const auto& [queue, samples] : taken_) queue->written(samples);
  taken_.clear();
}

}  // namespace syrinx
