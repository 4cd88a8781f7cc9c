#include "engine/parts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace syrinx {

Result<std::unique_ptr<SpokenParts>> SpokenParts::of(const SpeechRequest& request) {
  std::unique_ptr<SpokenParts> none;
  if (request.chat || request.task || request.text_only) return none;
  if (!request.text_open && request.text.find_first_of("<[") == std::string::npos) return none;
  SpeechRequest base = request;
  base.text.clear();
  std::unique_ptr<SpokenParts> out(new SpokenParts(std::move(base)));
  LiveText nothing;
  if (const Status fault = out->push(request.text, !request.text_open, nothing); !fault) {
    return fault.error();
  }
  return out;
}

Status SpokenParts::push(std::string_view text, bool last, LiveText& live) {
  std::vector<PausePiece> pieces;
  if (const Status fault = reader_.push(text, last, pieces); !fault) return fault;
  if (parts_.empty()) return ok_status();  // the model ended before its text
  for (const PausePiece& piece : pieces) {
    const bool now = live_ && parts_.size() == 1;
    Part& part = parts_.back();
    at_ += static_cast<int64_t>(piece.text.size());
    if (!piece.pause) {
      (now ? live.text : part.text) += piece.text;
      part.speakable = part.speakable || is_speakable(piece.text);
    } else if (part.speakable) {
      part.closed = true;
      if (now) live.last = true;
      parts_.push_back({.begin = at_, .pause_s = piece.pause_s});
    } else {
      // Nothing was said since the pause before: they are one.
      part.pause_s += piece.pause_s;
      part.begin = now ? part.begin + static_cast<int64_t>(piece.text.size()) : at_;
      part.text.clear();
    }
  }
  if (last) {
    parts_.back().closed = true;
    if (live_ && parts_.size() == 1) live.last = true;
  }
  return ok_status();
}

SpokenParts::Next SpokenParts::next() const {
  if (parts_.empty()) return Next::kDone;
  if (parts_.front().speakable) return Next::kBegin;
  return parts_.front().closed ? Next::kDone : Next::kWait;
}

std::unique_ptr<const SpeechRequest> SpokenParts::begin(int64_t frames) {
  live_ = true;
  auto request = std::make_unique<SpeechRequest>(base_);
  request->text = std::exchange(parts_.front().text, {});
  request->text_open = !parts_.front().closed;
  if (base_.max_frames > 0) {
    request->max_frames = static_cast<int>(std::max<int64_t>(1, base_.max_frames - frames));
  }
  return request;
}

void SpokenParts::end() {
  live_ = false;
  if (!parts_.empty()) parts_.pop_front();
}

double SpokenParts::take_pause() {
  return parts_.empty() ? 0 : std::exchange(parts_.front().pause_s, 0);
}

}  // namespace syrinx
