// The output of the contexts: audio, words, marks and ends, in the order of the text.
#include <algorithm>
#include <utility>

#include "server/dialects/contexts.h"

namespace syrinx {
namespace {

constexpr double kPieceS = 0.4;

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

std::optional<SpeechEvent> SpeechContexts::next_of(Context& context) {
  if (context.ahead_s) {
    look_ahead(context);
    return {};
  }
  while (!context.utterances.empty()) {
    Utterance& first = context.utterances.front();
    if (!first.queue && first.speakable) {
      const std::string name = context.name;
      advance(context);
      if (find(name) == nullptr) return {};  // it failed; its event is queued
      if (!first.queue) return {};           // its voice is still being fetched
    }
    if (first.queue) return audio_of(context, first);
    if (!first.closed) return {};
    const bool flushes = first.flushes;
    context.text_bytes -= std::min(context.text_bytes, first.bytes());
    context.utterances.pop_front();
    if (flushes) return SpeechEvent{.kind = SpeechEvent::kFlushed, .context = context.name};
  }
  if (!context.finishing) return {};
  SpeechEvent event{.kind = SpeechEvent::kFinished, .context = context.name};
  forget(event.context);
  return event;
}

std::optional<SpeechEvent> SpeechContexts::audio_of(Context& context, Utterance& utterance) {
  const int rate_hz = context.info().speech.sample_rate;
  if (auto event = words_of(context, utterance, false)) return event;
  samples_.clear();
  const size_t count = utterance.queue->take(samples_, static_cast<size_t>(kPieceS * rate_hz));
  if (count == 0) {
    if (const auto outcome = utterance.queue->end()) return end_of(context, utterance, *outcome);
    return {};
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

/// Returns the words whose end is known; the last word ends with the audio.
std::optional<SpeechEvent> SpeechContexts::words_of(Context& context, Utterance& utterance,
                                                    bool all) {
  if (!context.options.words) return {};
  utterance.queue->take_words(utterance.marks);
  const double speed = context.options.call.audio.speed;
  SpeechEvent event{.kind = SpeechEvent::kWords, .context = context.name};
  event.words =
      take_finished_words(utterance.text, utterance.marks, context.info().speech.frame_rate * speed,
                          utterance.audio_s / speed, all);
  if (event.words.empty()) return {};
  return event;
}

/// Returns the phones. Each lasts until the next one begins, the last one until the audio ends.
std::optional<SpeechEvent> SpeechContexts::phones_of(const Context& context, const Outcome& outcome,
                                                     double audio_s) const {
  const SpeechCall& call = context.options.call;
  if (!call.request.terms.phone_times || outcome.phones.empty()) return {};
  SpeechEvent event{.kind = SpeechEvent::kPhones, .context = context.name};
  for (const PhoneMark& mark : outcome.phones) {
    const double begin_s =
        static_cast<double>(mark.frame) / context.info().speech.frame_rate / call.audio.speed;
    if (!event.words.empty()) event.words.back().end_s = begin_s;
    event.words.push_back(
        {.text = std::string(mark.phone), .begin_s = begin_s, .end_s = std::max(begin_s, audio_s)});
  }
  return event;
}

std::vector<TimedWord> SpeechContexts::marks_of(const Context& context, const Utterance& utterance,
                                                const Outcome& outcome) const {
  const std::vector<TextMark>& marks = utterance.markup.marks;
  const std::vector<int64_t> frames = mark_frames(marks, outcome.words, outcome.frames);
  std::vector<TimedWord> out;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double at_s = static_cast<double>(frames[i]) / context.info().speech.frame_rate /
                        context.options.call.audio.speed;
    out.push_back({.text = marks[i].name, .begin_s = at_s, .end_s = at_s});
  }
  return out;
}

/// Removes the utterance. Queues the rest of its audio and the events after it; returns the first.
SpeechEvent SpeechContexts::end_of(Context& context, Utterance& utterance, const Outcome& outcome) {
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
                     .audio_s = utterance.audio_s / context.options.call.audio.speed,
                     .marks = marks_of(context, utterance, outcome)};
  auto last_words = words_of(context, utterance, true);
  auto phones = phones_of(context, outcome, spoken.audio_s);
  SpeechEvent rest{.kind = SpeechEvent::kAudio, .context = name};
  if (utterance.encoder) {
    utterance.encoder->flush(rest.bytes);
    rest.rate_hz = utterance.encoder->rate_hz();
  }
  const bool flushes = utterance.flushes;
  drop(context, 1);  // at a length bound the engine may still run the request
  context.text_bytes -= std::min(context.text_bytes, utterance.bytes());
  context.utterances.pop_front();
  if (flushes) events_.push_front({.kind = SpeechEvent::kFlushed, .context = name});
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
