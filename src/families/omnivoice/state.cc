#include "families/omnivoice/state.h"

#include <algorithm>

#include "base/ascii.h"
#include "families/cut.h"
#include "text/utf8.h"

namespace syrinx::omnivoice {
namespace {

// As in the authors' program, text that lasts over kLongest_s is cut into pieces of about kPiece_s.
constexpr double kLongest_s = 30, kPiece_s = 15;
constexpr double kMost_s = 120;             // longest canvas
constexpr int64_t kMostIds = 4096;          // most ids of a segment: style and text
constexpr int64_t kMostIdsOfAll = 1 << 22;  // most ids of all waiting segments
constexpr int64_t kLeastOfPace = 50;        // frames below which estimates are raised
constexpr TextPlanOptions kSentences{.most_ids = kMostIds};

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, double frame_rate, Style style,
             Heard heard, const SpeechRequest& request)
    : config_(config),
      prompter_(prompter),
      frame_rate_(frame_rate),
      style_(std::move(style)),
      heard_(std::move(heard)),
      speed_(request.voice.speed),
      guidance_(request.sampling.guidance.value_or(CanvasPass{}.guidance)),
      temperature_(request.sampling.temperature.value_or(0)),
      seed_(request.sampling.seed),
      max_frames_(request.terms.max_frames),
      repeats_(request.terms.ignore_stop && request.terms.max_frames > 0),
      text_(
          kSentences, request.say.open,
          [this](std::string_view segment, int64_t) { return encode(segment); },
          [this](std::string_view text, int64_t, bool whole) { return split(text, whole); }) {
  greedy_.temperature = 0;  // the only code is 0, which has no meaning
  heard_frames_ = std::ssize(heard_.frames) / config_.codebooks;
  if (heard_frames_ > 0 && !heard_.text.empty()) pace_ = {heard_.text, heard_frames_};
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              double frame_rate, Style style, Heard heard,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(
      new State(config, prompter, frame_rate, std::move(style), std::move(heard), request));
  if (Status fault = state->text_.begin(request.say.text); !fault) return fault.error();
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

int64_t State::frames_of(std::string_view text) const {
  return estimated_frames(text, pace_, speed_);
}

/// Cuts a whole text into sentences, like late text, and a long sentence into pieces.
std::vector<std::string> State::split(std::string_view text, bool whole) const {
  std::vector<std::string> out;
  const auto add = [&](std::string_view sentence) {
    sentence = trimmed(sentence);
    const int64_t frames = frames_of(sentence);
    if (static_cast<double>(frames) <= kLongest_s * frame_rate_) {
      out.emplace_back(sentence);
      return;
    }
    const double a_character =
        static_cast<double>(frames) / static_cast<double>(utf8_count(sentence));
    std::vector<std::string> pieces =
        pieces_of(sentence, static_cast<int64_t>(kPiece_s * frame_rate_ / a_character));
    std::ranges::move(pieces, std::back_inserter(out));
  };
  if (!whole) {
    add(text);
    return out;
  }
  SegmentQueue sentences(kSentences.segment_bytes, true, kSentences.short_chars);
  sentences.push(text, true);
  for (std::string next = sentences.next(); !next.empty(); next = sentences.next()) add(next);
  return out;
}

Result<std::vector<int32_t>> State::encode(std::string_view segment) {
  const int64_t frames = frames_of(segment);
  const bool recorded = !first_ || !heard_.frames.empty();
  std::vector<int32_t> ids = prompter_.ids(style_, heard_.text, segment, recorded);
  const int64_t heard = recorded ? heard_frames_ : 0;
  const int64_t most = std::min(static_cast<int64_t>(kMost_s * frame_rate_),
                                config_.positions - std::ssize(ids) - heard);
  if (frames > most) {
    return Error{ErrorCode::kInvalid,
                 concat("a sentence would last ", static_cast<double>(frames) / frame_rate_,
                        " s, but the limit is ",
                        static_cast<double>(std::max<int64_t>(most, 0)) / frame_rate_,
                        " s; shorten it or request a higher speed"),
                 "input"};
  }
  // Each segment repeats the style and the words of the recording.
  if (waiting_ids_ += std::ssize(ids); waiting_ids_ > kMostIdsOfAll)
    return Error{ErrorCode::kInvalid, "the text has too many sentences; send it in parts", "input"};
  if (!recorded) {  // from now on, this segment stands for a recording
    heard_.text = segment;
    heard_frames_ = frames;
    // Later segments take their pace from this one, unless it is short or has another speed.
    if (speed_ == 1 && frames >= kLeastOfPace) pace_ = {heard_.text, frames};
  }
  first_ = false;
  waiting_.push_back({.frames = frames, .recorded = recorded});
  return ids;
}

Status State::append_text(std::string_view text, bool last) {
  if (Status taken = text_.append(text, last); !taken) return taken;
  if (ready() || begin_segment() || !last) return ok_status();
  return nothing_to_say();
}

/// Begins the next segment with an empty canvas. Returns false if no text waits.
bool State::begin_segment() {
  pass_ = 0, parts_ = 1;
  ids_.clear(), frames_.clear();
  kept_.clear();
  Segment next;
  if (!text_.empty()) {
    next = std::move(waiting_.front());
    waiting_.pop_front();
    next.ids = text_.next();
    waiting_ids_ -= std::ssize(next.ids);
    if (repeats_) again_.push_back(next);
  } else if (repeats_ && !text_.open() && !again_.empty()) {
    next = again_[repeated_++ % again_.size()];
  } else {
    return false;
  }
  ids_ = std::move(next.ids);
  recorded_ = next.recorded;
  frames_.assign(static_cast<size_t>(next.frames * config_.codebooks), config_.mask);
  const int64_t rows = rows_of_pass(config_, next_pass());
  parts_ = steps_of_pass(config_, rows);
  if (parts_ > 1) kept_.resize(static_cast<size_t>(rows * config_.lm.hidden));
  return true;
}

CanvasPass State::next_pass() {
  return {
      .ids = ids_,
      .recorded = recorded_ ? std::span<const int32_t>(heard_.frames) : std::span<const int32_t>(),
      .frames = frames_,
      .pass = pass_,
      .step = steps_,
      .part = part_,
      .parts = parts_,
      .kept = kept_,
      .seed = seed_,
      .guidance = guidance_,
      .temperature = temperature_};
}

float State::gain() const { return std::min(1.f, heard_.level / kLevel); }

Verdict State::advance(std::span<const int32_t>, StepOutput& out) {
  if (++part_ < parts_) return {};
  part_ = 0;
  ++pass_, ++steps_;
  if (pass_ < kPasses) return {};
  const int64_t all = std::ssize(frames_) / config_.codebooks;
  const int64_t left = max_frames_ > 0 ? max_frames_ - frames_before_ : all;
  out.frame(std::span(frames_).first(static_cast<size_t>(std::min(all, left) * config_.codebooks)));
  frames_before_ += std::min(all, left);
  if (heard_.frames.empty()) heard_.frames = frames_;
  if (max_frames_ > 0 && all >= left) return {Verdict::kFinished, FinishReason::kLength};
  if (begin_segment() || text_.open()) return {.next = Verdict::kNextSegment, .new_streams = true};
  return {Verdict::kFinished, FinishReason::kStop};
}

}  // namespace syrinx::omnivoice
