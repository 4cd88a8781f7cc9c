#include "families/voxcpm2/state.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "families/cut.h"
#include "families/loading/recorded_voice.h"
#include "families/spoken/text_plan.h"
#include "families/voxcpm2/voice.h"

namespace syrinx::voxcpm2 {
namespace {

constexpr size_t kShortSentence = 60;  // characters; shorter sentences are joined with the next one

/// Returns the length in bytes of a "(description)" at the beginning of a text.
size_t leading_description(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos || text[begin] != '(') return 0;
  const size_t end = text.find(')', begin);
  return end == text.npos ? 0 : end + 1;
}

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request)
    : config_(config),
      prompter_(prompter),
      seed_(request.sampling.seed),
      noise_scale_(request.sampling.temperature.value_or(1)),
      ignore_stop_(request.terms.ignore_stop),
      max_frames_(request.terms.max_frames),
      text_(static_cast<size_t>(std::min(kMostPartBytes, config.max_positions / 4)),
            request.say.open, kShortSentence) {
  greedy_.temperature = 0;
  guidance_ = request.sampling.guidance.value_or(kGuidance);
  // Adds the description of voice or manner in the authors' form.
  if (!request.say.instructions.empty())
    description_ = "(" + one_spaced(request.say.instructions) + ")";
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, prompter, request));
  if (Status fault = state->set_voice(request); !fault) return fault.error();
  if (trimmed(one_spaced(request.say.text)).empty() && !request.say.open) return nothing_to_say();
  if (Status fault = state->take_text(request.say.text, !request.say.open); !fault)
    return fault.error();
  state->begin_part();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::set_voice(const SpeechRequest& request) {
  if (!request.voice.data) return ok_status();
  Result<VoicePatches> voice = voice_patches(config_, *request.voice.data);
  if (!voice) return voice.error();
  like_ = std::move(voice.value().reference);
  before_.patches = std::move(voice.value().prompt);
  if (!before_.patches.empty()) before_.text = request.voice.data->text;
  const int64_t words = std::ssize(prompter_.text(before_.text));
  const int64_t rows = (std::ssize(like_) + std::ssize(before_.patches)) / config_.patch_width();
  if (rows + words > most_voice_rows(config_)) {
    return recording_too_long(*request.voice.data, rows, most_voice_rows(config_) - words);
  }
  return ok_status();
}

/// Returns the largest number of patches of earlier speech that may serve as the voice.
int64_t State::most_like_patches() const {
  return std::min(kMostLikePatches, config_.max_positions / 8);
}

/// Cuts the text so far into parts. Returns an Error if a part and the voice do not fit into the
/// positions. The prompt may have to omit the part before it (begin_part()).
Status State::take_text(std::string_view text, bool last) {
  text_.push(text, last);
  const int64_t like = std::max(most_like_patches(), std::ssize(like_) / config_.patch_width()) + 2;
  for (std::string part = text_.next(); !part.empty(); part = text_.next()) {
    part = one_spaced(part);
    if (!begun_ && description_.empty()) {
      const size_t size = leading_description(part);
      description_ = part.substr(0, size);
      part.erase(0, size);
    }
    int64_t rows = like +
                   std::ssize(prompter_.text(begun_ ? description_ + part
                                                    : before_.text + description_ + part)) +
                   1;
    if (!begun_) rows += std::ssize(before_.patches) / config_.patch_width();
    begun_ = true;
    if (rows + least_steps() > config_.max_positions) {
      return Error{
          ErrorCode::kInvalid,
          concat("a sentence and the voice take ", rows, " positions, but the model has only ",
                 config_.max_positions, " and needs ", least_steps(), " to speak"),
          "input"};
    }
    waiting_.push_back(std::move(part));
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) return text_is_complete();
  if (Status taken = take_text(text, last); !taken) return taken;
  // A sentence is complete only when a later letter has arrived, so only a blank text fails here.
  if (ready() || begin_part() || !last) return ok_status();
  return nothing_to_say();
}

/// Makes the prompt of the next part. Returns false if no complete part waits.
bool State::begin_part() {
  steps_before_ += part_steps();
  said_.clear();
  prompt_ = Prompt(1);
  if (waiting_.empty()) return false;
  now_ = std::move(waiting_.front());
  waiting_.pop_front();
  make_prompt();
  if (steps_before_ > 0 && config_.max_positions - prompt_rows() < config_.max_positions / 4) {
    before_ = {};
    make_prompt();
  }
  const auto ids = std::ssize(prompter_.text(description_ + now_));
  int64_t limit = std::min(kMostSteps, kStepsPerId * ids + kSpareSteps);
  if (max_frames_ > 0) limit = std::max<int64_t>(1, max_frames_ - steps_before_);
  max_steps_ = static_cast<int>(std::min(limit, config_.max_positions - prompt_rows()));
  // Memory is reserved here, so that the part's steps allocate nothing.
  said_.reserve(static_cast<size_t>(max_steps_ * config_.patch_width()));
  return true;
}

std::string State::words() const {
  return before_.here ? description_ + before_.text + now_ : before_.text + description_ + now_;
}

void State::make_prompt() {
  prompt_ = Prompt(1);
  if (!like_.empty()) {
    prompt_.add(Prompter::kReferenceStart);
    add_patches(like_);
    prompt_.add(Prompter::kReferenceEnd);
  }
  prompt_.add(prompter_.text(words()));
  prompt_.add(Prompter::kAudioStart);
  add_patches(before_.patches);
}

void State::add_patches(std::span<const float> patches) {
  const auto width = static_cast<size_t>(config_.patch_width());
  for (; !patches.empty(); patches = patches.subspan(width))
    prompt_.add_vector(patches.first(width), 0);
}

Verdict State::end_part() {
  if (waiting_.empty() && !text_.open()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && steps() >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  if (like_.empty()) {
    const std::vector<float>& first = before_.patches.empty() ? said_ : before_.patches;
    const auto most = static_cast<size_t>(most_like_patches() * config_.patch_width());
    like_.assign(first.begin(), first.begin() + std::min(first.size(), most));
  }
  before_ = {std::move(now_), said_, true};
  begin_part();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    if (pos >= prompt_.size()) {
      out.give(i, step_patch(pos - prompt_.size()));
    } else {
      out.ids(i)[0] = prompt_.row(pos)[0];
      out.give(i, prompt_.vector(pos));
    }
  }
}

std::span<const float> State::step_patch(int step) const {
  SYRINX_CHECK(step < part_steps(), "step ", step, " of ", part_steps());
  const auto width = static_cast<size_t>(config_.patch_width());
  return std::span(said_).subspan(static_cast<size_t>(step) * width, width);
}

std::span<const float> State::last_patch() const {
  return said_.empty() ? prompt_.vector(prompt_.size() - 1) : step_patch(part_steps() - 1);
}

std::span<const float> State::context() const {
  const auto most = static_cast<size_t>(kContext * config_.patch_width());
  const std::span<const float> all = before_.patches;
  return all.last(std::min(most, all.size()));
}

SampleRule State::rule(int) const {
  SampleRule rule;
  if (ignore_stop_ || part_steps() < kLeastSteps) rule.allowed[0] = {0, 1}, rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  out.row(out.values());
  said_.insert(said_.end(), out.values().begin(), out.values().end());
  if (codes[0] == 1) return end_part();
  return part_steps() < max_steps_ ? Verdict{} : cut(end_part());
}

}  // namespace syrinx::voxcpm2
