#include "model/markup.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Returns true for English, and if neither the request nor the model names one language.
bool is_english(const PipelineInfo& info, const std::string& asked) {
  const bool only = info.speech.languages.size() == 1;
  const std::string language =
      lower_ascii(asked.empty() && only ? info.speech.languages.front() : asked);
  return language.empty() || language == "auto" || language.starts_with("en");
}

}  // namespace

Result<Markup> take_ssml(const PipelineInfo& info, SpeechRequest& request) {
  Result<Ssml> read = read_ssml(request.say.text, is_english(info, request.say.language));
  if (!read) return read.error();
  return take_ssml(info, read.take(), request);
}

Markup take_ssml(const PipelineInfo& info, Ssml ssml, SpeechRequest& request) {
  Markup out{std::move(ssml.marks), {}};
  const auto warn = [&](std::string what) { out.warnings.push_back(std::move(what)); };
  for (const std::string& what : ssml.ignored) warn(concat("SSML: ", what, " is ignored"));
  const Bounds speeds = *info.offers.of("speed"), pitch_bounds = *info.offers.of("pitch");
  bool rates = false, pitches = false;
  for (Delivery& delivery : ssml.deliveries) {
    const float speed = speeds.nearest(request.voice.speed * delivery.rate);
    const float pitch = pitch_bounds.nearest(delivery.pitch);
    rates = rates || std::abs(speed - request.voice.speed * delivery.rate) > 0.01f;
    pitches = pitches || pitch != delivery.pitch;
    delivery.rate = speed / request.voice.speed;
    delivery.pitch = pitch;
  }
  const auto bound = [&](const char* what, const Bounds& bounds) {
    warn(bounds.low == bounds.high
             ? concat("SSML: the model '", info.model, "' cannot change its ", what)
             : concat("SSML: the ", what, " of the model '", info.model, "' must be between ",
                      bounds.low, " and ", bounds.high));
  };
  if (rates) bound("rate", speeds);
  if (pitches) bound("pitch", pitch_bounds);
  const auto any_of = [&](auto test) {
    return std::any_of(ssml.sayings.begin(), ssml.sayings.end(), test);
  };
  if (!info.speech.phones && any_of([](const Saying& s) { return !s.phones.empty(); })) {
    warn(concat("SSML: the model '", info.model,
                "' does not support phonemes; it speaks the words"));
  }
  if (!info.speech.accents && any_of([](const Saying& s) { return s.strong; })) {
    warn(concat("SSML: the model '", info.model, "' has no emphasis"));
  }
  if (!out.marks.empty() && !info.speech.word_times) {
    warn(concat("SSML: the model '", info.model, "' does not report the times of marks"));
    out.marks.clear();
  }
  // Compares deliveries: one with the same rate and pitch must not split the text into parts.
  const auto same = [](const Delivery& a, const Delivery& b) {
    return a.rate == b.rate && a.pitch == b.pitch;
  };
  std::vector<Delivery> kept;
  for (const Delivery& delivery : ssml.deliveries) {
    if (delivery.begin >= std::ssize(ssml.text)) break;
    if (!same(delivery, kept.empty() ? Delivery() : kept.back())) kept.push_back(delivery);
  }
  request.say.text = std::move(ssml.text);
  request.say.sayings = std::move(ssml.sayings);
  request.say.deliveries = std::move(kept);
  return out;
}

void take_part(const SpeechRequest& whole, int64_t begin, int64_t size, SpeechRequest& part) {
  part.say.text = whole.say.text.substr(static_cast<size_t>(begin), static_cast<size_t>(size));
  part.say.sayings = within(whole.say.sayings, begin, size);
  part.say.deliveries.clear();
  Delivery now;  // the delivery that applies at the beginning of the part
  for (Delivery delivery : whole.say.deliveries) {
    if (delivery.begin >= begin + size) break;
    delivery.begin = std::max<int64_t>(0, delivery.begin - begin);
    if (delivery.begin > 0) {
      part.say.deliveries.push_back(delivery);
    } else {
      now = delivery;
    }
  }
  if (now.rate != 1 || now.pitch != 0) part.say.deliveries.insert(part.say.deliveries.begin(), now);
}

std::vector<int64_t> mark_frames(const std::vector<TextMark>& marks,
                                 const std::vector<WordMark>& words, int64_t end) {
  std::vector<int64_t> out;
  for (const TextMark& mark : marks) {
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const WordMark& one) { return one.begin >= mark.at; });
    out.push_back(word == words.end() ? end : word->frame);
  }
  return out;
}

}  // namespace syrinx
