#include "families/finch/state.h"

#include <algorithm>
#include <cmath>

#include "families/finch/vocoder.h"
#include "text/segment_queue.h"

namespace syrinx::finch {
namespace {

constexpr int kDrain = kBooks - 1;        // steps after the last frame, for the delayed codebooks
constexpr float kMaxStepsPerSymbol = 12;  // 0.48 s; the teacher's slowest symbols take 0.3 s
constexpr int kMaxStepsBase = 50;
constexpr float kAgedStay = 0.9f;  // limit of the probability to stay after config.ages steps
constexpr int kGrowBelow = 30;     // two seconds; text is added if fewer symbols follow the pointer

/// Returns a short silence: the last segment of an open text that ends without more words.
Segment silence() {
  Segment segment;
  PhoneSymbol pause;
  pause.phone = 3;
  pause.phrase = 5;
  pause.place = kPlaceClasses - 1;
  segment.symbols = {pause};
  return segment;
}

Error nothing_readable() {
  Error error = nothing_to_say();
  error.message += "; this voice reads Latin letters, digits and their signs";
  return error;
}

DelayPattern delays_of(const FinchConfig& config) {
  return {DelayPattern::staggered(kBooks), {config.codes, config.codes, config.codes}};
}

}  // namespace

FinchState::FinchState(const SpeechRequest& request, const FinchConfig& config,
                       std::shared_ptr<const Frontend> frontend,
                       std::shared_ptr<const Manner> manner)
    : config_(config),
      frontend_(std::move(frontend)),
      manner_(std::move(manner)),
      max_frames_(request.terms.max_frames),
      frames_per_pause_s_(static_cast<double>(kStepsASecond) / kStepsPerFrame /
                          request.voice.speed),
      steps_per_symbol_(static_cast<int>(std::lround(kMaxStepsPerSymbol / request.voice.speed))),
      books_(delays_of(config)) {
  for (int k = 0; k < kBooks; ++k) {
    SampleParams& params = sampling_[k];
    params.temperature = request.sampling.temperature.value_or(config.temperature[k]);
    params.top_k = request.sampling.top_k.value_or(0);
    params.top_p = request.sampling.top_p.value_or(1.f);
    params.min_p = request.sampling.min_p.value_or(0.f);
    params.repetition_penalty = request.sampling.repetition_penalty.value_or(1.f);
    params.penalty_window = 50;
  }
  phone_times_ = request.terms.phone_times;
  repeat_ = request.terms.ignore_stop && request.terms.max_frames > 0;
  open_ = request.say.open;
  by_word_ = config.by_word && !request.say.in_prompt.value_or(!open_);
  reader_ = SentenceReader(request.say.sayings, request.say.lexicon, by_word_);
}

Status FinchState::begin(const SpeechRequest& request) {
  add_text(request.say.text, !open_);
  next_segment();
  return open_ || !segment_.symbols.empty() ? ok_status() : nothing_readable();
}

Status FinchState::append_text(std::string_view text, bool last) {
  if (!open_) return text_is_complete();
  add_text(text, last);
  if (growing_) {
    grow();
  } else if (segment_.symbols.empty() && !next_segment() && last) {
    if (history_[0].empty()) return nothing_readable();
    segment_.pause_s = 0;
    begin_segment(silence());
  }
  return ok_status();
}

int FinchState::ahead() const {
  return static_cast<int>(segment_.symbols.size()) - rows_.back().pointer;
}

/// Returns whether a step may run. In a sentence whose end has not arrived, a word begins only when
/// all its symbols, and the symbols that the LM reads ahead, are known.
bool FinchState::ready() const {
  if (!growing_) return !segment_.symbols.empty();
  const std::vector<PhoneSymbol>& symbols = segment_.symbols;
  size_t end = static_cast<size_t>(rows_.back().pointer);
  if (end >= symbols.size()) return false;
  const int32_t word = symbols[end].word;
  while (end < symbols.size() && symbols[end].word == word) ++end;
  return end + kHeard - 1 <= symbols.size();
}

void FinchState::add_text(std::string_view text, bool last) {
  reader_.push(text, last);
  open_ = !last;
  new_text_ = true;
}

size_t FinchState::said(const Sentence& sentence) const {
  const auto before = [this](const Piece& piece) { return piece.begin < said_to_; };
  return static_cast<size_t>(
      std::find_if_not(sentence.pieces.begin(), sentence.pieces.end(), before) -
      sentence.pieces.begin());
}

/// Queues the parts of a sentence without the pieces that grow() has already turned into symbols.
void FinchState::keep_unsaid(std::deque<Sentence> parts) {
  for (Sentence& part : parts) {
    const auto spoken = static_cast<std::ptrdiff_t>(said(part));
    part.pieces.erase(part.pieces.begin(), part.pieces.begin() + spoken);
    if (!part.pieces.empty()) sentences_.push_back(std::move(part));
  }
}

bool FinchState::next_sentences() {
  std::deque<Sentence> parts;
  if (!reader_.next(parts)) return false;
  keep_unsaid(std::move(parts));
  return true;
}

bool FinchState::begin_sentence() {
  if (!by_word_ || !open_) return false;
  const SentenceReader::Begun begun = reader_.begun();
  if (begun.certain <= said(begun.sentence)) return false;
  begin_segment({});
  growing_ = true;
  grow();
  return true;
}

/// Adds pieces that have become certain since the last call, if the LM needs them soon.
void FinchState::grow() {
  if (!new_text_ || ahead() >= kGrowBelow) return;
  new_text_ = false;
  if (reader_.waits()) return close_sentence();
  const SentenceReader::Begun begun = reader_.begun();
  const size_t first = said(begun.sentence);
  if (begun.certain <= first || segment_.symbols.size() > kMaxSymbols / 2) return;
  append(frontend_->read_part(begun.sentence, first, begun.certain, false));
  said_to_ = begun.sentence.pieces[begun.certain - 1].end;
}

/// Ends the sentence: appends its last symbols. If a segment cannot hold them, makes another
/// segment from the rest.
void FinchState::close_sentence() {
  growing_ = false;
  std::deque<Sentence> parts;
  reader_.next(parts);
  Segment rest = silence();
  if (!parts.empty()) {
    const Sentence& part = parts.front();
    const size_t first = said(part);
    Segment more = frontend_->read_part(part, first, part.pieces.size(), true);
    if (segment_.symbols.size() + more.symbols.size() <= kMaxSymbols) {
      rest = std::move(more);
      if (parts.size() == 1) segment_.pause_s = part.pause_s;
      said_to_ = std::max(said_to_, part.pieces.back().end);
    }
    if (repeat_) spoken_.insert(spoken_.end(), parts.begin(), parts.end());
  }
  append(std::move(rest));
  keep_unsaid(std::move(parts));
}

void FinchState::append(Segment more) {
  const auto before = static_cast<int>(segment_.symbols.size());
  segment_.symbols.insert(segment_.symbols.end(), more.symbols.begin(), more.symbols.end());
  for (WordStart& word : more.words) {
    segment_.words.push_back({word.symbol + before, word.begin, word.end});
  }
}

bool FinchState::next_segment() {
  while (segments_.empty()) {
    if (sentences_.empty() && next_sentences()) continue;
    if (sentences_.empty() && repeat_ && !spoken_.empty()) {
      sentences_.assign(spoken_.begin(), spoken_.end());
      spoken_.clear();
    }
    if (sentences_.empty()) {
      // The next sentence may arrive late: the pause before it is kept.
      segment_ = {.symbols = {}, .words = {}, .pause_s = segment_.pause_s};
      return begin_sentence();
    }
    for (Segment& segment : frontend_->read(sentences_.front())) {
      if (by_word_) keep_near_phrases(segment.symbols, true);
      segments_.push_back(std::move(segment));
    }
    if (repeat_ && !segments_.empty()) spoken_.push_back(sentences_.front());
    sentences_.pop_front();
  }
  begin_segment(std::move(segments_.front()));
  segments_.pop_front();
  return true;
}

void FinchState::begin_segment(Segment segment) {
  // The pause after the previous segment is spoken only if another segment follows.
  frames_before_ += std::max(books_.end_frame(), 0);
  pause_frames_ = static_cast<int>(std::lround(segment_.pause_s * frames_per_pause_s_));
  if (max_frames_ > 0) {
    const int64_t room = std::max<int64_t>(0, max_frames_ - frames_before_ - 1);
    pause_frames_ = static_cast<int>(std::min<int64_t>(pause_frames_, room));
  }
  frames_before_ += pause_frames_;
  segment_ = std::move(segment);
  growing_ = false;
  rows_.clear();
  path_.clear();
  // Reserves memory for the segment, so that its steps allocate nothing.
  const bool whole = !segment_.symbols.empty();
  const auto steps = static_cast<size_t>(whole ? max_steps() : config_.max_positions) + 2;
  books_.restart(static_cast<int>(steps));
  rows_.reserve(steps);
  path_.reserve(steps);
  for (auto& history : history_) history.reserve(history.size() + steps);
  rows_.emplace_back();
  next_word_ = 0;
  next_symbol_ = 0;
  lift_ = 0;
  survival_ = 1;
}

int FinchState::max_steps() const {
  int64_t steps = kMaxStepsBase + steps_per_symbol_ * static_cast<int64_t>(segment_.symbols.size());
  if (max_frames_ > 0) {
    const int64_t before = frames_before_ + (rows_.empty() ? std::max(books_.end_frame(), 0) : 0);
    steps = std::min(steps, std::max<int64_t>(1, max_frames_ - before + kDrain));
  }
  return static_cast<int>(std::min<int64_t>(steps, config_.max_positions - 1));
}

int32_t FinchState::symbol_at(int index) const {
  const bool inside = index >= 0 && index < static_cast<int>(segment_.symbols.size());
  return inside ? segment_.symbols[index].phone : 0;
}

void FinchState::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    row_ids(first + i, out.ids(i));
    // Whether the symbol at the pointer belongs to a word with an accent.
    const bool strong = lift_at(rows_[first + i].pointer) > 0;
    out.give(i, strong ? manner_->strong : manner_->lm);
  }
}

void FinchState::row_ids(int position, std::span<int32_t> ids) const {
  const Row& row = rows_[position];
  for (int k = 0; k < kBooks; ++k) ids[k] = books_.at(position - 1, k);
  for (int i = 0; i < kHeard; ++i) ids[kBooks + i] = symbol_at(row.pointer + i);
  const bool inside = row.pointer < static_cast<int>(segment_.symbols.size());
  const PhoneSymbol symbol = inside ? segment_.symbols[row.pointer] : PhoneSymbol{};
  ids[kBooks + kHeard] = symbol.phrase;
  ids[kBooks + kHeard + 1] = symbol.place;
  ids[kBooks + kHeard + 2] = std::min(row.age, config_.ages - 1);
}

int32_t FinchState::lift_at(int index) const {
  const bool inside = index >= 0 && index < static_cast<int>(segment_.symbols.size());
  return inside ? segment_.symbols[index].lift : 0;
}

FinchState::Move FinchState::choose_move(std::span<const float> logits) const {
  const float top = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (const float l : logits) sum += std::exp(l - top);
  const float stay = std::exp(logits[0] - top) / sum;
  const bool aged = rows_.back().age >= config_.ages;
  const float survival = survival_ * (aged ? std::min(stay, kAgedStay) : stay);
  if (survival >= 0.5f) return {0, survival};
  const auto best = std::max_element(logits.begin() + 1, logits.end());
  return {static_cast<int>(best - logits.begin()), survival};
}

void FinchState::move_pointer(int count, float survival) {
  const Row& now = rows_.back();
  survival_ = count > 0 ? 1 : survival;
  Row next;
  next.pointer = now.pointer + count;
  next.age = count > 0 ? 0 : now.age + 1;
  rows_.push_back(next);
}

Verdict FinchState::advance(std::span<const int32_t> codes, StepOutput& out) {
  const int step = books_.steps();
  for (int k = 0; k < kBooks; ++k) history_[k].push_back(codes[k]);
  books_.push(codes);
  const Move chosen = choose_move(out.values());
  if (!books_.ending()) {
    path_.push_back(rows_.back().pointer);
    move_pointer(chosen.move, chosen.survival);
    if (growing_) grow();
    const bool past = rows_.back().pointer >= static_cast<int>(segment_.symbols.size());
    if (past) books_.end_at(step + 1);
  } else {
    move_pointer(0, chosen.survival);
  }
  std::array<int32_t, kBooks> whole;
  const int frame = step - kDrain;
  if (books_.frame(whole)) emit_frame(frame, whole, out);
  const bool full = max_frames_ > 0 && frames_before_ + frame + 1 >= max_frames_;
  if (books_.done() && !full) {
    if (next_segment()) return {Verdict::kNextSegment};
    if (open_) {
      rows_.clear();
      return {Verdict::kNextSegment};
    }
    // The decoder shortens the last frame, so the silence at the end gets one more.
    out.frame(last_frame_);
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  return {};
}

void FinchState::emit_frame(int frame, std::span<const int32_t> books, StepOutput& out) {
  const int pointer = path_[frame];
  // In each frame, the lift moves halfway to the next frame's, so its peak is within the syllable.
  const size_t next = std::min(static_cast<size_t>(frame) + 1, path_.size() - 1);
  lift_ = (lift_ + lift_at(path_[next])) / 2;
  const std::array<int32_t, kFrameWidth> codes = {books[0],
                                                  books[1],
                                                  books[2],
                                                  symbol_at(pointer),
                                                  symbol_at(pointer - 1),
                                                  symbol_at(pointer + 1),
                                                  lift_};
  for (; pause_frames_ > 0; --pause_frames_) out.frame(last_frame_);
  out.frame(codes);
  last_frame_ = codes;
  while (next_word_ < segment_.words.size() && segment_.words[next_word_].symbol <= pointer) {
    const WordStart& word = segment_.words[next_word_++];
    out.word({word.begin, word.end, frames_before_ + frame});
  }
  for (; phone_times_ && next_symbol_ <= pointer; ++next_symbol_) {
    out.phone({phone_names()[symbol_at(next_symbol_)], frames_before_ + frame});
  }
}

}  // namespace syrinx::finch
