#include "model/spoken_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "text/layout.h"
#include "text/sentences.h"

namespace syrinx {
namespace {

/// Returns the seconds of silence between two parts, whose texts the model sees separately.
/// `before`: end of the first text. `words`: beginning of the second text.
double pause_between(std::string_view before, std::string_view words) {
  const size_t space = words.find_first_not_of(" \t\r\n");
  const std::string text = concat(before, words);
  for (const Sentence& sentence : split_sentences(text)) {
    if (sentence.end != before.size() + space) continue;
    return layout_pause_s(
        std::string_view(text).substr(sentence.begin, sentence.end - sentence.begin),
        sentence.ends_paragraph);
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<SpokenParts>> SpokenParts::of(const SpeechRequest& request, bool phones) {
  std::unique_ptr<SpokenParts> none;
  if (request.writing.chat || request.task || request.writing.text_only) return none;
  const bool respells = request.say.lexicon && !phones;
  const bool tagged = request.say.text.find_first_of("<[") != std::string::npos;
  if (!request.say.open && !tagged && request.say.deliveries.empty() && !respells) return none;
  SpeechRequest base = request;
  base.say.text.clear();
  std::unique_ptr<SpokenParts> out(new SpokenParts(std::move(base)));
  out->sayings_ = std::exchange(out->base_.say.sayings, {});
  if (respells) out->respeller_.emplace(request.say.lexicon);
  const Result<LiveText> read = out->push(request.say.text, !request.say.open);
  if (!read.ok()) return read.error();
  return out;
}

std::unique_ptr<SpokenParts> SpokenParts::silence(double seconds) {
  std::unique_ptr<SpokenParts> out(new SpokenParts({}));
  out->parts_.front() = {.pause_s = seconds, .closed = true};
  return out;
}

/// Adds text to the last part.
void SpokenParts::add_words(std::string_view words) {
  Part& part = parts_.back();
  if (respeller_) {
    part.text += respeller_->push(words, false);
  } else {
    part.text += words;
  }
  at_ += static_cast<int64_t>(words.size());
  part.content = std::max(part.content, content_of(words));
  if (!part.speakable && is_speakable(words)) {
    part.speakable = true;
    const bool follows = part.delivery != delivery_before_ && part.pause_s == 0;
    if (follows && !continues()) part.pause_s = pause_between(said_, words);
    delivery_before_ = part.delivery;
  }
  constexpr size_t kRemembered = 600;  // bytes; longer than a sentence
  said_ += words;
  if (said_.size() > 2 * kRemembered) said_.erase(0, said_.size() - kRemembered);
}

/// Begins a new part, unless the current one has no text yet.
void SpokenParts::begin_part(double pause_s) {
  Part& part = parts_.back();
  if (respeller_) part.text += respeller_->push("", true);
  if (part.speakable) {
    part.closed = true;
    parts_.push_back({.begin = at_, .pause_s = pause_s, .delivery = delivery_});
    return;
  }
  // No speakable words came since the previous pause: the silences add up.
  part.pause_s += pause_s;
  part.delivery = delivery_;
  if (continues()) return;
  part.begin = at_;
  part.content = TextContent::kBlank;
  part.text.clear();
}

Result<SpokenParts::LiveText> SpokenParts::push(std::string_view text, bool last) {
  std::vector<PausePiece> pieces;
  if (const Status fault = reader_.push(text, last, pieces); !fault) return fault.error();
  if (parts_.empty()) return LiveText{};  // the model has ended the last part before its text ended
  for (const PausePiece& piece : pieces) {
    if (piece.pause) {
      const bool now = continues() && !parts_.back().speakable;
      at_ += static_cast<int64_t>(piece.text.size());
      begin_part(piece.pause_s);
      // The part that is being spoken keeps its text, so its beginning moves past the tag.
      if (now) parts_.back().begin += static_cast<int64_t>(piece.text.size());
      continue;
    }
    for (std::string_view words = piece.text; !words.empty();) {
      size_t count = words.size();
      if (delivery_ < base_.say.deliveries.size()) {
        const int64_t left = base_.say.deliveries[delivery_].begin - at_;
        if (left <= 0) {
          ++delivery_;
          begin_part(0);
          continue;
        }
        count = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(count)));
      }
      add_words(words.substr(0, count));
      words.remove_prefix(count);
    }
  }
  if (last) {
    if (respeller_) parts_.back().text += respeller_->push("", true);
    parts_.back().closed = true;
  }
  if (!live_) return LiveText{};
  Part& live = parts_.front();
  const bool ends = open_ && live.closed;
  open_ = open_ && !live.closed;
  return LiveText{std::exchange(live.text, {}), ends};
}

SpokenParts::Next SpokenParts::next() const {
  if (parts_.empty()) return Next::kDone;
  if (parts_.front().speakable) return Next::kBegin;
  return parts_.front().closed ? Next::kDone : Next::kWait;
}

std::unique_ptr<const SpeechRequest> SpokenParts::begin(int64_t frames) {
  live_ = true;
  const Part& part = parts_.front();
  auto request = std::make_unique<SpeechRequest>(base_);
  request->say.sayings = within(sayings_, part.begin, static_cast<int64_t>(part.text.size()));
  if (part.delivery > 0) {
    const Delivery& delivery = base_.say.deliveries[part.delivery - 1];
    request->voice.speed *= delivery.rate;
    request->voice.pitch = delivery.pitch;
  }
  request->say.deliveries.clear();
  request->say.text = std::exchange(parts_.front().text, {});
  request->say.open = open_ = !parts_.front().closed;
  if (base_.terms.max_frames > 0) {
    request->terms.max_frames =
        static_cast<int>(std::max<int64_t>(1, base_.terms.max_frames - frames));
  }
  return request;
}

void SpokenParts::end() {
  live_ = false;
  if (!parts_.empty()) parts_.pop_front();
}

void SpokenParts::skip(double silence_s) {
  const double pause_s = take_pause() + silence_s;
  end();
  if (parts_.empty()) parts_.push_back({.begin = at_, .closed = true});
  parts_.front().pause_s += pause_s;
}

double SpokenParts::take_pause() {
  return parts_.empty() ? 0 : std::exchange(parts_.front().pause_s, 0);
}

}  // namespace syrinx
