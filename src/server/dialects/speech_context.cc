#include "server/dialects/speech_context.h"

#include <algorithm>

#include "text/silent_text.h"

namespace syrinx {

bool speakable(std::string_view text) { return content_of(text) == TextContent::kWords; }

std::vector<SsmlStream::Piece> SpeechContext::pieces_of(std::string_view text) {
  text_bytes += text.size();
  std::vector<SsmlStream::Piece> pieces;
  ssml.push(text, pieces);
  return pieces;
}

SpokenUtterance& SpeechContext::growing() {
  if (utterances.empty() || utterances.back().closed) utterances.emplace_back();
  return utterances.back();
}

void SpeechContext::append(const std::vector<SentenceStream::Item>& items) {
  for (const SentenceStream::Item& item : items) {
    utterances.push_back(
        {.text = item.text, .closed = true, .speakable = syrinx::speakable(item.text)});
  }
}

void SpeechContext::drop(size_t most) {
  for (size_t i = 0; i < std::min(most, utterances.size()); ++i) {
    SpokenUtterance& utterance = utterances[i];
    if (utterance.queue) utterance.queue->detach();
    if (utterance.id) options.backend->cancel(*utterance.id);
  }
}

bool SpeechContext::drop_first() {
  const SpokenUtterance& first = utterances.front();
  const bool flushes = first.flushes;
  text_bytes -= std::min(text_bytes, first.bytes());
  utterances.pop_front();
  return flushes;
}

std::optional<ApiError> SpeechContext::end_text() {
  std::optional<ApiError> error = std::exchange(unspoken, {});
  if (std::exchange(heard, false)) error.reset();
  return error;
}

bool SpeechContext::silent() const {
  return utterances.empty() ||
         (utterances.size() == 1 && !utterances.front().queue && !utterances.front().closed);
}

std::optional<SpeechEvent> SpeechContext::words_of(SpokenUtterance& utterance, bool all) const {
  if (!options.words) return {};
  utterance.queue->take_words(utterance.marks);
  const double speed = options.call.audio.speed;
  SpeechEvent event{.kind = SpeechEvent::kWords, .context = name};
  event.words =
      take_finished_words(utterance.text, utterance.marks, info().speech.frame_rate * speed,
                          utterance.audio_s / speed, all);
  if (event.words.empty()) return {};
  return event;
}

std::optional<SpeechEvent> SpeechContext::phones_of(const Outcome& outcome, double audio_s) const {
  const SpeechCall& call = options.call;
  if (!call.request.terms.phone_times || outcome.phones.empty()) return {};
  SpeechEvent event{.kind = SpeechEvent::kPhones, .context = name};
  for (const PhoneMark& mark : outcome.phones) {
    const double begin_s =
        static_cast<double>(mark.frame) / info().speech.frame_rate / call.audio.speed;
    if (!event.words.empty()) event.words.back().end_s = begin_s;
    event.words.push_back(
        {.text = std::string(mark.phone), .begin_s = begin_s, .end_s = std::max(begin_s, audio_s)});
  }
  return event;
}

std::vector<TimedWord> SpeechContext::marks_of(const SpokenUtterance& utterance,
                                               const Outcome& outcome) const {
  const std::vector<TextMark>& marks = utterance.markup.marks;
  const std::vector<int64_t> frames = mark_frames(marks, outcome.words, outcome.frames);
  std::vector<TimedWord> out;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double at_s =
        static_cast<double>(frames[i]) / info().speech.frame_rate / options.call.audio.speed;
    out.push_back({.text = marks[i].name, .begin_s = at_s, .end_s = at_s});
  }
  return out;
}

}  // namespace syrinx
