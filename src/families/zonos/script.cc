// Zonos' prompt and steps for a request: a prefix of symbols and conditions, then columns of codes
// in the delay pattern. Codebook k of frame f is in column f + k + 1. Column 0 is all masks and
// ends the prompt; each step makes the next column (model/delay.h).
#include <algorithm>

#include "families/zonos/conditions.h"
#include "families/zonos/numbers.h"
#include "families/zonos/pipeline.h"

namespace syrinx::zonos {
namespace {

// Defaults of the authors' code (Zonos:zonos/{model,sampling}.py).
constexpr float kMinP = 0.1f, kRepetitionPenalty = 3.f, kGuidance = 2.f;
constexpr int kPenaltyWindow = 2;
constexpr int64_t kMostFrames = 86 * 30;  // frames of the longest segment; the model allows 30 s

constexpr int64_t kSpareFrames = 430;     // extra frames, besides those per symbol: five seconds
constexpr int64_t kFramesPerSymbol = 20;  // frames of a symbol in slow speech, 0.23 s
constexpr size_t kSegmentBytes = 250;     // bytes of a segment: about 17 s
constexpr int64_t kMostSymbols = 2000;    // most symbols of a segment

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const PrefixConditioner& conditioner, Phonemize phonemize,
         const SpeechRequest& request, std::string language, const Conditions& conditions)
      : config_(config),
        phonemize_(std::move(phonemize)),
        language_(std::move(language)),
        sayings_(request.say.sayings),
        lexicon_(request.say.lexicon),
        rows_(conditioner.rows(conditions)),
        companion_rows_(conditioner.rows(needed(config_, conditions))) {}

  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t begin) override {
    const std::vector<Saying> sayings = sayings_in(segment, begin, sayings_, lexicon_.get());
    const Result<std::string> said = say_phonemes(phonemize_, segment, language_, sayings);
    if (!said) return said.error();
    return symbol_ids(said.value());
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    int64_t row = 0;
    for (const ConditionerConfig& part : config_.conditioners) {
      if (part.kind == ConditionerConfig::kPhonemes) {
        out.add(now.ids);
      } else {
        out.add_vector(row_of(rows_, row++));
      }
    }
    std::ranges::fill(out.add_row().subspan(1), config_.mask);
  }

  void make_companion(Prompt& prompt) const override {
    int64_t row = 0;
    for (int at = 0; at < prompt.size(); ++at) {
      if (!prompt.vector(at).empty()) prompt.vector(at) = row_of(companion_rows_, row++);
    }
  }

  /// Only codebook 0 may sample the end, and not before the first frame.
  SampleRule rule(const DelayedStreams& steps, int k) const override {
    SampleRule rule;
    const bool may_end = k == 0 && steps.steps() > 0;
    rule.allowed[rule.ranges++] = {0, static_cast<int32_t>(config_.codes()) + (may_end ? 1 : 0)};
    return rule;
  }

 private:
  static GivenRow row_of(const Tensor& rows, int64_t at) {
    const int64_t width = rows.shape()[1];
    return {rows.f32() + at * width, static_cast<size_t>(width)};
  }

  const ModelConfig& config_;
  const Phonemize phonemize_;
  const std::string language_;
  const std::vector<Saying> sayings_;
  const std::shared_ptr<const Lexicon> lexicon_;
  const Tensor rows_, companion_rows_;  // rows [C, H] of the conditions
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = static_cast<int>(config.codebooks) + 1,
          .pattern = {DelayPattern::staggered(static_cast<int>(config.codebooks)),
                      {config.mask, config.eos, config.mask}},
          .max_positions = config.max_positions,
          .sampling = {.temperature = 1,
                       .min_p = kMinP,
                       .repetition_penalty = kRepetitionPenalty,
                       .penalty_window = kPenaltyWindow,
                       .penalty_each = true},
          .guidance = kGuidance,
          .text = {.segment_bytes = kSegmentBytes, .most_ids = kMostSymbols},
          .spare_steps = kSpareFrames,
          .steps_per_id = kFramesPerSymbol,
          .most_steps = kMostFrames,
          .end = config.eos};
}

Result<std::unique_ptr<SpokenScript>> Zonos::script(const SpeechRequest& request) const {
  Result<std::vector<double>> speaker = speaker_vector(speakers_, speaker_width_, request);
  if (!speaker) return speaker.error();
  Result<std::string> language = language_of(request.say.language);
  if (!language) return language.error();
  Result<Conditions> conditions = conditions_of(config_, request.say.instructions);
  if (!conditions) return conditions.error();
  conditions.value()["language_id"] = {language_number(language.value())};
  if (!speaker.value().empty()) conditions.value()["speaker"] = speaker.take();
  Phonemize phonemize = phonemize_;
  if (request.say.spell_numbers.value_or(true)) {  // numbers as words
    phonemize = [this](std::string_view text, std::string_view spoken) {
      return phonemize_(normalize_numbers(text), spoken);
    };
  }
  return std::unique_ptr<SpokenScript>(std::make_unique<Script>(
      config_, *conditioner_, std::move(phonemize), request, language.take(), conditions.value()));
}

}  // namespace syrinx::zonos
