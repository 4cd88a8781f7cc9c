#include "families/orpheus/state.h"

#include <algorithm>
#include <array>

#include "families/cut.h"

namespace syrinx::orpheus {
namespace {

// The authors' package (orpheus_tts/engine_class.py).
constexpr float kTemperature = 0.6f, kTopP = 0.8f, kRepetitionPenalty = 1.3f;

constexpr int64_t kSpareSteps = 840;   // ten seconds beyond what the text needs
constexpr int64_t kStepsPerId = 70;    // slow speech: 0.85 s for one id
constexpr size_t kSegmentBytes = 400;  // a longer text is cut at the end of a sentence
constexpr size_t kShortSentence = 60;  // shorter ones are spoken together with the next

/// Tokens of a frame after which its latent frames 0 to 3 are complete, and the places of their
/// codes: quantizer 0 has one code for the frame, 1 one for each half, 2 one each.
constexpr std::array<int, kFrameLatents> kComplete{3, 4, 6, 7};
constexpr std::array<std::array<int, kQuantizers>, kFrameLatents> kPlaces{
    {{0, 1, 2}, {0, 1, 3}, {0, 4, 5}, {0, 4, 6}}};

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

/// Tokens that `latents` latent frames need.
int64_t tokens_of(int64_t latents) {
  const int64_t rest = latents % kFrameLatents;
  return latents / kFrameLatents * kFrameTokens + (rest > 0 ? kComplete[rest - 1] : 0);
}

/// Spaces before marks and contractions taken away, in this order: what the authors' engine does
/// when it turns ids into text again for the server (clean_up_tokenization_spaces of their
/// tokenizer).
std::string clean(std::string text) {
  constexpr std::array<std::string_view, 10> kSpaced{" .",   " ?",  " !",  " ,",   " ' ",
                                                     " n't", " 'm", " 's", " 've", " 're"};
  for (const std::string_view spaced : kSpaced) {
    const std::string_view tight = spaced == " ' " ? "'" : spaced.substr(1);
    std::string out;
    size_t from = 0;
    for (size_t at; (at = text.find(spaced, from)) != text.npos; from = at + spaced.size()) {
      out.append(text, from, at - from).append(tight);
    }
    text = out.append(text, from);
  }
  return text;
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

State::State(const ModelConfig& config, const Tokenizer& tokenizer, const SpeechRequest& request)
    : config_(config),
      tokenizer_(tokenizer),
      seed_(request.seed),
      max_frames_(request.max_frames),
      ignore_stop_(request.ignore_stop),
      text_(kSegmentBytes, request.text_open, kShortSentence) {
  sampling_ = {request.temperature.value_or(kTemperature),
               request.top_k.value_or(0),
               request.top_p.value_or(kTopP),
               request.min_p.value_or(0.f),
               request.repetition_penalty.value_or(kRepetitionPenalty),
               0};
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Tokenizer& tokenizer,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, tokenizer, request));
  const std::string voice = request.voice.empty() ? voices().front() : request.voice;
  if (voice != "none") {
    if (std::find(voices().begin(), voices().end(), voice) == voices().end()) {
      return Error{ErrorCode::kNotFound,
                   "there is no voice \"" + voice + "\"; known are " + list(voices()) + ", none",
                   "voice"};
    }
    state->voice_ = voice;
  }
  if (!request.text_in_prompt.value_or(true)) {
    return Error{ErrorCode::kUnsupported, "this model reads its text before it speaks",
                 "text_in_prompt"};
  }
  if (!request.instructions.empty()) {
    return Error{ErrorCode::kUnsupported, "this model cannot follow instructions", "instructions"};
  }
  if (request.guidance) {
    return Error{ErrorCode::kUnsupported, "this model has no guidance scale", "guidance"};
  }
  if (is_blank(request.text) && !request.text_open) return nothing_to_say();
  state->text_.push(request.text, !request.text_open);
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

/// The next segment's prompt; false when no text waits.
bool State::begin_segment() {
  frames_before_ = frames_;
  spoken_.clear();
  const std::string text = text_.next();
  speaking_ = !text.empty();
  set_prompt(text);
  spoken_.reserve(static_cast<size_t>(max_steps()) + 1);  // steps then allocate nothing
  return speaking_;
}

/// Ids of a client's text. The tokens of Orpheus are no special ones in its tokenizer, so those
/// that are written out in the text are taken apart to stay text.
std::vector<int32_t> State::text_ids(std::string_view text) const {
  constexpr std::string_view kToken = "<custom_token_";
  std::vector<int32_t> ids;
  while (!text.empty()) {
    const size_t found = text.find(kToken);
    const size_t end = found == text.npos ? text.size() : found + 1;
    for (const int32_t id : tokenizer_.encode(text.substr(0, end), false)) ids.push_back(id);
    text.remove_prefix(end);
  }
  return ids;
}

/// Human turn around "voice: text", then the beginning of the answer
/// (Orpheus-TTS:orpheus_tts_pypi/orpheus_tts/engine_class.py, _format_prompt).
void State::set_prompt(std::string_view text) {
  const TokenIds& ids = config_.ids;
  const std::string said =
      clean(voice_.empty() ? std::string(text) : voice_ + ": " + std::string(text));
  prompt_ = {ids.start_of_human, ids.begin_of_text};
  for (const int32_t id : text_ids(said)) prompt_.push_back(id);
  for (const int32_t id : {ids.end_of_text, ids.end_of_human, ids.start_of_ai, ids.start_of_speech})
    prompt_.push_back(id);
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  text_.push(text, last);
  // A sentence is certain once a letter after it is there, so what comes last is never nothing.
  if (speaking_ || begin_segment() || !last) return ok_status();
  return nothing_to_say();
}

int State::max_steps() const {
  const int64_t room = config_.max_positions - prompt_rows();
  const int64_t bound = kSpareSteps + kStepsPerId * prompt_rows();
  const int64_t limit =
      max_frames_ > 0 ? tokens_of(std::max<int64_t>(1, max_frames_ - frames_before_)) : bound;
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)));
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (const int32_t id : prompt_) keys.push_back(static_cast<uint64_t>(id));
}

SampleRule State::rule(int) const {
  SampleRule rule;
  const int32_t begin = config_.block_begin(place());
  // The end comes between frames, and not before the first.
  if (place() == 0 && !spoken_.empty() && !ignore_stop_) rule.allowed[rule.ranges++] = {0, 1};
  rule.allowed[rule.ranges++] = {begin, begin + static_cast<int32_t>(config_.block)};
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] == 0) return end_segment();
  spoken_.push_back(codes[0]);
  tell_latent(out);
  return std::ssize(spoken_) < max_steps() ? Verdict{} : cut(end_segment());
}

/// The latent frame that the last token made complete, if it did.
void State::tell_latent(StepOutput& out) {
  const int made = place() == 0 ? kFrameTokens : place();
  const auto found = std::find(kComplete.begin(), kComplete.end(), made);
  if (found == kComplete.end()) return;
  const size_t frame = spoken_.size() - static_cast<size_t>(made);
  std::array<int32_t, kQuantizers> latent;
  for (int q = 0; q < kQuantizers; ++q) {
    const int at = kPlaces[found - kComplete.begin()][q];
    latent[q] = spoken_[frame + at] - config_.block_begin(at);
  }
  out.frame(latent);
  ++frames_;
}

Verdict State::end_segment() {
  if (!begin_segment() && !text_.open()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && frames_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  return {Verdict::kNextSegment, FinishReason::kStop};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) out.ids(i)[0] = row(first + i);
}

int32_t State::row(int pos) const {
  if (pos < prompt_rows()) return prompt_[pos];
  const auto step = static_cast<size_t>(pos - prompt_rows());
  SYRINX_CHECK(step < spoken_.size(), "row ", pos, " of ", prompt_rows(), " + ", spoken_.size());
  return config_.audio_begin() + spoken_[step];
}

}  // namespace syrinx::orpheus
