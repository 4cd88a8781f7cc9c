#include "families/piper/state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "text/segment_queue.h"

namespace syrinx::piper {

State::State(const SpeechRequest& request, const PiperConfig& config, SayClauses say, Manner manner)
    : config_(config),
      say_(std::move(say)),
      manner_(std::move(manner)),
      sayings_(request.say.sayings),
      lexicon_(request.say.lexicon),
      seed_(request.sampling.seed),
      open_(request.say.open),
      repeat_(request.terms.ignore_stop && request.terms.max_frames > 0),
      max_frames_(request.terms.max_frames) {
  sampling_.temperature = 0;
}

Status State::begin(const SpeechRequest& request) {
  if (Status taken = take_text(request.say.text, !request.say.open); !taken.ok()) return taken;
  if (!next_sentence() && !open_) {
    return nothing_to_say();
  }
  return ok_status();
}

Status State::take_text(std::string_view text, bool last) {
  std::vector<SentenceStream::Item> items;
  sentences_.push(text, items);
  if (last) sentences_.finish(items);
  open_ = !last;
  std::vector<WrittenText> written;
  for (SentenceStream::Item& item : items) {
    const auto begin = static_cast<int64_t>(item.place.begin);
    std::vector<Saying> sayings = sayings_in(item.text, begin, sayings_, lexicon_.get());
    written.push_back({std::move(item.text), begin, std::move(sayings)});
  }
  Result<std::vector<SpokenText>> spoken = read_aloud(config_, say_, written);
  if (!spoken.ok()) return spoken.error();
  for (SpokenText& each : spoken.value()) {
    unsaid_.add_all(each.unsaid);
    if (!each.ids.empty()) waiting_.push_back(std::move(each));
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!open_) return text_is_complete();
  if (Status taken = take_text(text, last); !taken.ok()) return taken;
  if (!text_.ids.empty() || next_sentence() || !last) return ok_status();
  if (frames_before_ == 0) return nothing_to_say();
  text_.ids = config_.begin;  // ids of the last step, if no sentence is left
  text_.ids.insert(text_.ids.end(), config_.pad.begin(), config_.pad.end());
  text_.ids.insert(text_.ids.end(), config_.end.begin(), config_.end.end());
  return ok_status();
}

/// Moves to the next sentence. Returns false if no sentence waits.
bool State::next_sentence() {
  if (waiting_.empty() && repeat_ && !open_) {
    waiting_.assign(spoken_.begin(), spoken_.end());
    spoken_.clear();
  }
  text_ = {};
  durations.clear(), prior.clear(), frames.clear();
  if (waiting_.empty()) return false;
  text_ = std::move(waiting_.front());
  waiting_.pop_front();
  if (repeat_) spoken_.push_back(text_);
  return true;
}

Verdict State::advance(std::span<const int32_t> /*codes*/, StepOutput& out) {
  SYRINX_CHECK(durations.size() == text_.ids.size(), "[piper] durations do not match ids");
  unsaid_.report(out);
  int64_t count = 0;
  for (const int32_t frames_of_id : durations) count += frames_of_id;
  const int64_t width = count == 0 ? 0 : std::ssize(frames) / count;
  const int64_t room = max_frames_ > 0 ? max_frames_ - frames_before_ : count;
  const int64_t given = std::min(count, room);
  out.row(std::span(frames).first(static_cast<size_t>(given * width)));
  int64_t frame = 0;
  size_t id = 0;
  for (const WordStart& word : text_.words) {
    for (; id < static_cast<size_t>(word.id); ++id) frame += durations[id];
    if (frame < given) out.word({word.begin, word.end, frames_before_ + frame});
  }
  frames_before_ += given;
  ++sentence_;
  if (max_frames_ > 0 && frames_before_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  if (next_sentence() || open_) {
    Verdict verdict{Verdict::kNextSegment};
    verdict.new_streams = true;  // each sentence is a separate utterance
    return verdict;
  }
  return {Verdict::kFinished, FinishReason::kStop};
}

}  // namespace syrinx::piper
