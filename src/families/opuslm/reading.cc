#include "families/opuslm/reading.h"

#include <algorithm>

#include "base/ascii.h"
#include "families/opuslm/voice.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kSpareFrames = 250;   // extra frames, besides those per id: 5 s
constexpr int64_t kFramesPerWord = 40;  // frames of an id in slow speech: 0.8 s

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Prompter& prompter, std::vector<int32_t> voice)
      : config_(config), prompter_(prompter), voice_(std::move(voice)) {}

  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    std::vector<int32_t> words = prompter_.words(trimmed(segment));
    const Status fits = prompter_.fits(prompter_.speech(words, voice_).count(), "input");
    if (!fits.ok()) return fits.error();
    return words;
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    out = prompter_.speech(now.ids, voice_).delayed();
  }

  /// Replaces all ids of the companion's prompt by pads.
  void make_companion(Prompt& prompt) const override {
    for (int at = 0; at < prompt.size(); ++at) std::ranges::fill(prompt.row(at), config_.ids.pad);
  }

  void step_row(int, std::span<const int32_t> choices, std::span<int32_t> ids) const override {
    for (size_t k = 0; k < ids.size(); ++k) {
      ids[k] = config_.id_of(static_cast<int64_t>(k), choices[k]);
    }
  }

  SampleRule rule(const DelayedStreams& steps, int k) const override {
    SampleRule rule;
    if (k > 0) return rule;
    const auto allow = [&](int32_t begin, int32_t count) {
      rule.allowed[static_cast<size_t>(rule.ranges++)] = {begin, begin + count};
    };
    if (steps.steps() >= config_.least_steps) allow(config_.ids.end, 1);
    allow(config_.ids.speech, 1);  // ESPnet's mask allows this id
    allow(config_.first_unit, config_.units);
    return rule;
  }

  bool ends(DelayedStreams& steps, std::span<const int32_t> choices) const override {
    if (!steps.ending() && choices[0] == config_.ids.end) steps.end_now();
    return false;
  }

  /// Sends the codes of a frame, without its unit. A pad in place of a code becomes the first code.
  int emit(const DelayedStreams&, std::span<int32_t> frame, StepOutput& out) override {
    for (int32_t& code : frame.subspan(1)) code = std::max(code - 1, 0);
    out.frame(frame.subspan(1));
    return 1;
  }

 private:
  const ModelConfig& config_;
  const Prompter& prompter_;
  const std::vector<int32_t> voice_;  // ids [T, S]; empty: no voice
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = static_cast<int>(config.streams),
          .pattern = config.delays(),
          .max_positions = config.max_positions,
          .sampling = {.temperature = config.temperature, .top_k = config.top_k},
          .guidance = 1,
          .spare_steps = config.least_steps + kSpareFrames,
          .steps_per_id = kFramesPerWord,
          .unspoken = {config.ids.end, config.ids.end + 1}};
}

Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request) {
  Result<std::vector<int32_t>> voice = voice_ids(config, prompter, request);
  if (!voice) return voice.error();
  return std::unique_ptr<SpokenScript>(std::make_unique<Script>(config, prompter, voice.take()));
}

}  // namespace syrinx::opuslm
