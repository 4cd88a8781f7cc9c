#include "model/markup.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Of a request, or of the model where it speaks nothing else.
bool is_english(const PipelineInfo& info, const std::string& asked) {
  const bool only = info.languages.size() == 1;
  const std::string language = lower_ascii(asked.empty() && only ? info.languages.front() : asked);
  return language.empty() || language == "auto" || language.starts_with("en");
}

}  // namespace

Result<Markup> take_ssml(const PipelineInfo& info, SpeechRequest& request) {
  Result<Ssml> read = read_ssml(request.text, is_english(info, request.language));
  if (!read) return read.error();
  return take_ssml(info, read.take(), request);
}

Markup take_ssml(const PipelineInfo& info, Ssml ssml, SpeechRequest& request) {
  Markup out{std::move(ssml.marks), {}};
  const auto warn = [&](std::string what) { out.warnings.push_back(std::move(what)); };
  for (const std::string& what : ssml.ignored) warn(concat("SSML: ", what, " is not heeded"));
  bool rates = false, pitches = false;
  for (Delivery& delivery : ssml.deliveries) {
    const float speed = std::clamp(request.speed * delivery.rate, info.slowest, info.fastest);
    const float pitch = std::clamp(delivery.pitch, info.lowest, info.highest);
    rates = rates || std::abs(speed - request.speed * delivery.rate) > 0.01f;
    pitches = pitches || pitch != delivery.pitch;
    delivery.rate = speed / request.speed;
    delivery.pitch = pitch;
  }
  const auto bound = [&](const char* what, float least, float most) {
    warn(least == most ? concat("SSML: the model '", info.model, "' has no ", what)
                       : concat("SSML: the ", what, " of the model '", info.model, "' lies in ",
                                least, " to ", most));
  };
  if (rates) bound("rate of its own", info.slowest, info.fastest);
  if (pitches) bound("pitch to be changed", info.lowest, info.highest);
  const auto any_of = [&](auto test) {
    return std::any_of(ssml.sayings.begin(), ssml.sayings.end(), test);
  };
  if (!info.phones && any_of([](const Saying& s) { return !s.phones.empty(); })) {
    warn(concat("SSML: the model '", info.model, "' takes no phonemes; it says the words"));
  }
  if (!info.accents && any_of([](const Saying& s) { return s.strong; })) {
    warn(concat("SSML: the model '", info.model, "' has no emphasis"));
  }
  if (!out.marks.empty() && !info.word_times) {
    warn(concat("SSML: the model '", info.model, "' does not tell the times of marks"));
    out.marks.clear();
  }
  // What comes to nothing is no reason to speak in parts.
  const auto same = [](const Delivery& a, const Delivery& b) {
    return a.rate == b.rate && a.pitch == b.pitch;
  };
  std::vector<Delivery> kept;
  for (const Delivery& delivery : ssml.deliveries) {
    if (delivery.begin >= std::ssize(ssml.text)) break;
    if (!same(delivery, kept.empty() ? Delivery() : kept.back())) kept.push_back(delivery);
  }
  request.text = std::move(ssml.text);
  request.sayings = std::move(ssml.sayings);
  request.deliveries = std::move(kept);
  return out;
}

void take_part(const SpeechRequest& whole, int64_t begin, int64_t size, SpeechRequest& part) {
  part.text = whole.text.substr(static_cast<size_t>(begin), static_cast<size_t>(size));
  part.sayings = within(whole.sayings, begin, size);
  part.deliveries.clear();
  Delivery now;  // what the part begins with
  for (Delivery delivery : whole.deliveries) {
    if (delivery.begin >= begin + size) break;
    delivery.begin = std::max<int64_t>(0, delivery.begin - begin);
    if (delivery.begin > 0) {
      part.deliveries.push_back(delivery);
    } else {
      now = delivery;
    }
  }
  if (now.rate != 1 || now.pitch != 0) part.deliveries.insert(part.deliveries.begin(), now);
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
