#include "families/fish_speech/state.h"

#include <charconv>
#include <memory>

#include "base/ascii.h"
#include "families/cut.h"
#include "families/past.h"
#include "families/recorded_voice.h"

namespace syrinx::fish_speech {
namespace {

constexpr int64_t kSpareFrames = 215;  // ten seconds beyond what the text needs
constexpr int64_t kFramesPerId = 26;   // slow speech: 1.2 s for one id

bool is_blank(std::string_view text) { return trimmed(text).empty(); }

Error nothing_to_speak() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

/// A speaker's number; "" is `absent`.
Result<int> speaker_number(const std::string& name, int absent) {
  int number = absent;
  const char* end = name.data() + name.size();
  if (name.empty()) return number;
  const auto [stop, fault] = std::from_chars(name.data(), end, number);
  if (fault != std::errc() || stop != end || number < 0 || number > Prompter::kMaxSpeaker) {
    return Error{ErrorCode::kNotFound,
                 concat("the model has no voice \"", name,
                        "\"; its speakers are numbers from 0 to ", Prompter::kMaxSpeaker),
                 "voice"};
  }
  return number;
}

}  // namespace

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, prompter));
  if (request.speaker >= 0) {
    state->tag_ = speaker_tag(request.speaker);
  } else if (!request.voice_data) {  // a voice given as data may have any name
    const Result<int> speaker = speaker_number(request.voice, 0);
    if (!speaker) return speaker.error();
    if (speaker.value() > 0) state->tag_ = speaker_tag(speaker.value());
  }
  if (!request.language.empty() && request.language != "auto") {
    return Error{ErrorCode::kUnsupported, "the model takes the language from the text", "language"};
  }
  if (!request.instructions.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "the model takes no instructions; write them into the text, as in [whisper]",
                 "instructions"};
  }
  if (request.text_in_prompt == false) {
    return Error{ErrorCode::kUnsupported, "the model has all text in its prompt", "text_in_prompt"};
  }
  if (request.guidance) {
    return Error{ErrorCode::kUnsupported, "this model has no guidance scale", "guidance"};
  }
  state->set_sampling(request);
  state->max_frames_ = request.max_frames;
  state->ignore_stop_ = request.ignore_stop;
  const Status references = state->take_references(request);
  if (!references.ok()) return references.error();
  if (!request.text_open && is_blank(request.text)) return nothing_to_speak();
  state->set_text(request);
  state->next_segment();
  const int64_t least = state->least_steps();
  if (state->prompt_rows() + least > config.max_positions) {
    return Error{
        ErrorCode::kInvalid,
        concat("text and references take ", state->prompt_rows(), " positions; the model has ",
               config.max_positions, " and needs ", least, " to speak"),
        state->reference_frames_.empty() ? "input" : "context"};
  }
  return std::unique_ptr<Sequence>(std::move(state));
}

/// The voice's recording, then the turns of the context, are the references, numbered in order
/// unless they say otherwise.
Status State::take_references(const SpeechRequest& request) {
  const int64_t most = config_.max_positions - least_steps();
  int next = 0;
  if (request.voice_data) {
    const Result<std::vector<int32_t>> codes =
        voice_codes(*request.voice_data, config_.codebooks, most);
    if (!codes) return codes.error();
    const int speaker = request.speaker >= 0 ? request.speaker : 0;
    const Status added =
        add_reference(request.voice_data->text, speaker, codes.value(), "the voice", "voice");
    if (!added.ok()) return added;
    ++next;
  }
  for (size_t i = 0; i < request.context.size(); ++i, ++next) {
    const ContextTurn& turn = request.context[i];
    const std::string what = concat("context turn ", i);
    const Result<int> speaker = speaker_number(turn.voice, next);
    if (!speaker)
      return Error{ErrorCode::kInvalid, what + ": " + speaker.error().message, "context"};
    std::vector<int32_t> codes = turn.codes;
    if (turn.recording) {
      Result<std::vector<int32_t>> recorded = voice_codes(*turn.recording, config_.codebooks, most);
      if (!recorded)
        return Error{ErrorCode::kInvalid, what + ": " + recorded.error().message, "context"};
      codes = recorded.take();
    }
    const Status added = add_reference(turn.text, speaker.value(), codes, what, "context");
    if (!added.ok()) return added;
  }
  return ok_status();
}

Status State::add_reference(const std::string& text, int speaker, std::span<const int32_t> codes,
                            const std::string& what, const char* param) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kInvalid, what + ": " + why, param};
  };
  if (is_blank(text)) return refuse("has no text; the model must know what is said in it");
  const auto c = static_cast<size_t>(config_.codebooks);
  if (codes.empty() || codes.size() % c != 0) {
    return refuse(concat(codes.size(), " codes are no frames of ", c));
  }
  for (const int32_t code : codes) {
    if (code < 0 || code >= config_.codes)
      return refuse(concat("code ", code, " of ", config_.codes));
  }
  if (static_cast<int64_t>((reference_frames_.size() + codes.size()) / c) > config_.max_positions) {
    return refuse(concat("the references have more frames than the model positions, ",
                         config_.max_positions));
  }
  if (!reference_text_.empty()) reference_text_ += "\n";
  const std::vector<SpokenTurn> turns = spoken_turns(text);
  const bool tagged = std::any_of(turns.begin(), turns.end(),
                                  [](const SpokenTurn& turn) { return !turn.tag.empty(); });
  reference_text_ += (tagged ? "" : speaker_tag(speaker)) + text;
  reference_frames_.insert(reference_frames_.end(), codes.begin(), codes.end());
  return ok_status();
}

void State::set_sampling(const SpeechRequest& request) {
  // The authors' (fish-speech:fish_speech/models/text2semantic/inference.py).
  SampleParams& slow = sampling_[0];
  slow = {.temperature = 1, .top_k = 30, .top_p = 0.9f};
  slow.filter_first = true;
  SampleParams& fast = sampling_[1] = slow;
  slow.ras_window = 10;
  slow.ras_temperature = 1, slow.ras_top_p = 0.9f;
  for (SampleParams& params : sampling_) {
    params.temperature = request.temperature.value_or(params.temperature);
    params.top_k = request.top_k.value_or(params.top_k);
    params.top_p = request.top_p.value_or(params.top_p);
    if (request.min_p.value_or(0) > 0) {  // another way of sampling than the authors'
      params.min_p = *request.min_p;
      params.filter_first = false;
      params.ras_window = 0;
    }
  }
  fast.temperature = request.inner_temperature.value_or(fast.temperature);
  fast.top_k = request.inner_top_k.value_or(fast.top_k);
  fast.top_p = request.inner_top_p.value_or(fast.top_p);
  slow.repetition_penalty = request.repetition_penalty.value_or(1);
}

void State::set_text(const SpeechRequest& request) {
  open_ = request.text_open;
  sayings_ = request.sayings, lexicon_ = request.lexicon;
  if (open_) {
    std::vector<SentenceStream::Item> sentences;
    sentences_.push(request.text, sentences);
    add_sentences(sentences);
    return;
  }
  const std::string text = as_said(request.text, 0);
  const bool tagged = spoken_turns(text).front().tag.empty() && !tag_.empty();
  for (std::string& message : messages_of(spoken_turns((tagged ? tag_ : "") + text)))
    later_.push_back(std::move(message));
}

std::string State::as_said(std::string_view part, size_t begin) const {
  if (!prompter_.says_phones()) return std::string(part);
  std::vector<Saying> known;
  if (lexicon_) lexicon_->find(part, known);
  const auto size = static_cast<int64_t>(part.size());
  return with_phones(part,
                     joined(within(sayings_, static_cast<int64_t>(begin), size), std::move(known)));
}

/// Text that comes in pieces is a message for each sentence, however the pieces are cut; a tag
/// holds until the next.
void State::add_sentences(std::span<const SentenceStream::Item> sentences) {
  for (const SentenceStream::Item& sentence : sentences) {
    if (is_blank(sentence.text)) continue;
    const std::string text = as_said(sentence.text, sentence.place.begin);
    std::vector<SpokenTurn> turns = spoken_turns(trimmed(text));
    for (SpokenTurn& turn : turns) {
      if (turn.tag.empty()) {
        turn.text = tag_ + turn.text;
      } else {
        tag_ = turn.tag;
      }
    }
    for (std::string& message : messages_of(turns)) later_.push_back(std::move(message));
  }
}

Status State::append_text(std::string_view text, bool last) {
  if (!open_) return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  open_ = !last;
  std::vector<SentenceStream::Item> sentences;
  sentences_.push(text, sentences);
  if (last) sentences_.finish(sentences);
  add_sentences(sentences);
  if (!prompt_.empty()) return ok_status();
  if (last && later_.empty() && !spoke_) return nothing_to_speak();
  next_segment();
  return ok_status();
}

/// Begins the next waiting message; without one, waits for text or ends the request. How many of
/// its first rows are those of the segment before and of its steps.
int State::next_segment() {
  const int64_t before = std::ssize(prompt_) + steps();
  prompt_.clear(), ids_.clear(), frames_.clear(), firsts_.clear();
  first_frame_ = 0;
  if (!later_.empty()) {
    const bool goes_on = begin_segment(later_.front());
    later_.pop_front();
    return static_cast<int>(goes_on ? before : heard_rows_);
  }
  if (!open_) {
    closing_ = true;  // one row, one step, and the end
    prompt_.push_back({config_.end_token, -1});
  }
  return 0;
}

/// Rows that every prompt with this message has.
int64_t State::fixed_rows() const {
  const Prompter& p = prompter_;
  return static_cast<int64_t>(prompt_.size() + p.user().size() + text_.size() + p.end().size() +
                              p.answer().size());
}

/// Whether it goes on from all that was said.
bool State::begin_segment(const std::string& text) {
  spoke_ = true;
  const Prompter& p = prompter_;
  text_ = p.text(text);
  if (reference_frames_.empty()) {
    add_ids(p.system());
  } else {
    add_ids(p.references());
    add_ids(p.text(reference_text_));
    add_ids(p.speech());
    add_frames(reference_frames_);
    add_ids(p.end());
  }
  const auto around =
      static_cast<int64_t>(p.user().size() + p.answer().size() + 2 * p.end().size());
  const int64_t room = std::min(kMostPast, config_.max_positions - least_steps() - fixed_rows());
  const bool dropped = back_to_the_beginning(past_, room, [&](const Message& message) {
    return message.rows(config_.codebooks) + around;
  });
  for (const Message& message : past_) {
    add_ids(p.user()), add_ids(message.text), add_ids(p.end());
    add_ids(p.answer()), add_frames(message.frames), add_ids(p.end());
  }
  heard_rows_ = std::ssize(prompt_);
  add_ids(p.user()), add_ids(text_), add_ids(p.end());
  add_ids(p.answer());
  first_frame_ = static_cast<int64_t>(frames_.size()) / config_.codebooks;
  firsts_.reserve(static_cast<size_t>(max_steps()));  // steps then allocate nothing
  frames_.reserve(frames_.size() + static_cast<size_t>(max_steps() * config_.codebooks));
  return !dropped;
}

void State::add_ids(std::span<const int32_t> ids) {
  for (const int32_t id : ids) prompt_.push_back({id, -1});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void State::add_frames(std::span<const int32_t> frames) {
  int64_t frame = static_cast<int64_t>(frames_.size()) / config_.codebooks;
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  for (size_t i = 0; i < frames.size(); i += static_cast<size_t>(config_.codebooks), ++frame) {
    prompt_.push_back({-1, frame});
    ids_.push_back(config_.semantic_begin + frames[i]);
  }
}

int State::max_steps() const {
  const int64_t room = config_.max_positions - prompt_rows();
  if (prompt_.empty()) return static_cast<int>(room);  // a segment to come may need all
  int64_t limit = kSpareFrames + kFramesPerId * static_cast<int64_t>(text_.size());
  if (max_frames_ > 0) limit = max_frames_ - frames_before_;
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)));
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  append_keys(prompt_, frames_, config_.codebooks, keys);
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  if (closing_ && k == 0) rule.forced = config_.end_code();
  if (ignore_stop_ && k == 0) rule.allowed[0] = {0, config_.end_code()}, rule.ranges = 1;
  return rule;
}

/// Of the slow network; the authors look at no message's first frame again.
std::span<const int32_t> State::history(int k) const {
  if (k > 0 || firsts_.empty()) return {};
  return std::span(firsts_).subspan(1);
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (closing_) return {Verdict::kFinished, FinishReason::kStop};
  if (codes[0] == config_.end_code()) return end_segment();
  out.frame(codes);
  frames_.insert(frames_.end(), codes.begin(), codes.end());
  firsts_.push_back(codes[0]);
  return steps() < max_steps() ? Verdict{} : cut(end_segment());
}

Verdict State::end_segment() {
  past_.push_back(
      {std::move(text_), {frames_.begin() + first_frame_ * config_.codebooks, frames_.end()}});
  frames_before_ += steps();
  const bool full = max_frames_ > 0 && frames_before_ >= max_frames_;
  if (later_.empty() && !open_) return {Verdict::kFinished, FinishReason::kStop};
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  return {Verdict::kNextSegment, FinishReason::kStop, next_segment()};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) row(first + i, out.ids(i));
}

void State::row(int pos, std::span<int32_t> slots) const {
  int64_t frame = first_frame_ + pos - prompt_rows();
  if (pos < prompt_rows()) {
    frame = prompt_[pos].frame;
    slots[0] = prompt_[pos].id;
    if (frame < 0) return;
  }
  SYRINX_CHECK(frame < first_frame_ + steps(), "row ", pos, " of ", prompt_rows(), " + ", steps());
  std::copy_n(frames_.begin() + frame * config_.codebooks, config_.codebooks, slots.begin() + 1);
  slots[0] = config_.semantic_begin + slots[1];
}

}  // namespace syrinx::fish_speech
