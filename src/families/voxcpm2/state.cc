#include "families/voxcpm2/state.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "families/voxcpm2/voice.h"
#include "model/digest.h"

namespace syrinx::voxcpm2 {
namespace {

constexpr uint64_t kPatchKey = 1ull << 63;  // no id of text

Error refused(ErrorCode code, std::string why, const char* param) {
  return {code, std::move(why), param};
}

/// What other models have.
Status check_absent(const SpeechRequest& r) {
  if (!r.voice_data && !r.voice.empty() && r.voice != "default") {
    return refused(ErrorCode::kNotFound,
                   concat("the model has no voice \"", r.voice,
                          "\"; it makes one up (\"default\") or takes that of a recording"),
                   "voice");
  }
  if (!r.language.empty() && r.language != "auto") {
    return refused(ErrorCode::kUnsupported, "the model takes the language from the text",
                   "language");
  }
  if (r.text_open) {
    return refused(ErrorCode::kUnsupported, "the model needs all of its text at once", "input");
  }
  if (r.text_in_prompt == false) {
    return refused(ErrorCode::kUnsupported, "the model has all text in its prompt",
                   "text_in_prompt");
  }
  const std::pair<bool, const char*> draws[] = {
      {r.top_k.has_value(), "top_k"},
      {r.top_p.has_value(), "top_p"},
      {r.min_p.has_value(), "min_p"},
      {r.repetition_penalty.has_value(), "repetition_penalty"}};
  for (const auto& [given, name] : draws) {
    if (given) {
      return refused(ErrorCode::kUnsupported,
                     "the model draws no codes; temperature scales its noise", name);
    }
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, prompter));
  if (Status fault = check_absent(request); !fault) return fault.error();
  if (Status fault = state->set_options(request); !fault) return fault.error();
  if (Status fault = state->make_prompt(request); !fault) return fault.error();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::set_options(const SpeechRequest& request) {
  guidance_ = request.guidance.value_or(kGuidance);
  if (!(guidance_ >= 0 && guidance_ <= 100)) {
    return refused(ErrorCode::kInvalid, "guidance must lie in 0 to 100", "guidance");
  }
  noise_scale_ = request.temperature.value_or(1);
  if (!(noise_scale_ >= 0 && noise_scale_ <= 10)) {
    return refused(ErrorCode::kInvalid, "temperature must lie in 0 to 10", "temperature");
  }
  greedy_.temperature = 0;
  seed_ = request.seed;
  ignore_stop_ = request.ignore_stop;
  return ok_status();
}

Status State::make_prompt(const SpeechRequest& request) {
  std::string text = one_spaced(request.text);
  if (trimmed(text).empty()) {
    return refused(ErrorCode::kInvalid, "there is nothing to say", "input");
  }
  // A description of voice or manner stands in front, as the authors write it.
  if (!request.instructions.empty()) text = "(" + one_spaced(request.instructions) + ")" + text;
  std::vector<float> reference, prompt;
  std::string spoken;
  if (request.voice_data) {
    const Result<VoicePatches> voice = voice_patches(config_, *request.voice_data);
    if (!voice) return voice.error();
    reference = voice.value().reference;
    prompt = voice.value().prompt;
    if (!prompt.empty()) spoken = request.voice_data->text;
  }
  if (!reference.empty()) {
    add_id(Prompter::kReferenceStart);
    add_patches(reference);
    add_id(Prompter::kReferenceEnd);
  }
  for (const int32_t id : prompter_.text(spoken + text)) add_id(id);
  add_id(Prompter::kAudioStart);
  add_patches(prompt);
  prompt_patches_ = std::ssize(patches_) / config_.patch_width();

  const int64_t room = config_.max_positions - prompt_rows();
  if (room < config_.max_positions / 16) {
    return refused(ErrorCode::kInvalid,
                   concat("text and voice take ", prompt_rows(), " positions; the model has ",
                          config_.max_positions, " and needs some to speak"),
                   "input");
  }
  const auto ids = std::ssize(prompter_.text(text));
  int64_t limit = std::min(kMostSteps, kStepsPerId * ids + kSpareSteps);
  if (request.max_frames > 0) limit = request.max_frames;
  max_steps_ = static_cast<int>(std::min(limit, room));
  // Steps then allocate nothing.
  patches_.reserve(patches_.size() + static_cast<size_t>(max_steps_ * config_.patch_width()));
  return ok_status();
}

void State::add_id(int32_t id) {
  prompt_.push_back(id);
  ids_.push_back(id);
}

void State::add_patches(std::span<const float> patches) {
  const int64_t size = config_.patch_width();
  auto number = static_cast<int32_t>(std::ssize(patches_) / size);
  for (int64_t i = 0; i < std::ssize(patches); i += size) {
    prompt_.push_back(-1 - number++);
    ids_.push_back(0);
  }
  patches_.insert(patches_.end(), patches.begin(), patches.end());
}

std::span<const float> State::patch(int64_t number) const {
  const int64_t size = config_.patch_width();
  return std::span(patches_).subspan(static_cast<size_t>(number * size), static_cast<size_t>(size));
}

State::Input State::input(int pos) const {
  SYRINX_CHECK(pos < prompt_rows() + steps_, "row ", pos, " of ", prompt_rows(), " + ", steps_);
  if (pos >= prompt_rows()) return {-1, patch(prompt_patches_ + pos - prompt_rows())};
  if (prompt_[pos] >= 0) return {prompt_[pos], {}};
  return {-1, patch(-1 - prompt_[pos])};
}

std::span<const float> State::last_patch() const {
  if (steps_ == 0 && prompt_.back() >= 0) return {};
  return patch(prompt_patches_ + steps_ - 1);
}

std::span<const float> State::context() const {
  if (prompt_.back() >= 0) return {};
  const int64_t count = std::min(kContext, prompt_patches_), size = config_.patch_width();
  return std::span(patches_).subspan(static_cast<size_t>((prompt_patches_ - count) * size),
                                     static_cast<size_t>(count * size));
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (const int32_t row : prompt_) {
    if (row >= 0) {
      keys.push_back(static_cast<uint64_t>(row));
      continue;
    }
    Digest digest;
    digest.values(patch(-1 - row));
    keys.push_back(digest.key() | kPatchKey);
  }
}

SampleRule State::rule(int) const {
  SampleRule rule;
  if (ignore_stop_ || steps_ < kLeastSteps) rule.allowed[0] = {0, 1}, rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  out.row(out.values());
  patches_.insert(patches_.end(), out.values().begin(), out.values().end());
  ++steps_;
  if (codes[0] == 1) return {Verdict::kFinished, FinishReason::kStop};
  return {};
}

}  // namespace syrinx::voxcpm2
