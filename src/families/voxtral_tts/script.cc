// Voxtral's prompt for a segment: the rows of the voice between [BEGIN_AUDIO] and
// [NEXT_AUDIO_TEXT], the text, [REPEAT_AUDIO_TEXT] and [BEGIN_AUDIO]. Source:
// mistral_common:tokens/tokenizers/instruct.py (encode_speech_request).
#include <array>

#include "base/ascii.h"
#include "base/check.h"
#include "families/voxtral_tts/pipeline.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"
#include "text/tokens/tekken.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr int64_t kSpareFrames = 125;  // frames besides those of the ids: ten seconds
constexpr int64_t kFramesPerId = 12;   // frames of an id in slow speech: a second
constexpr int64_t kMostFrames =
    2048;  // max_tokens of the authors' server (deploy/voxtral_tts.yaml)
constexpr int64_t kLeastFrames = 125;  // frames for which a prompt must leave positions
constexpr const char *kBegin = "<s>", *kAudio = "[AUDIO]", *kBeginAudio = "[BEGIN_AUDIO]",
                     *kText = "[NEXT_AUDIO_TEXT]", *kSpeech = "[REPEAT_AUDIO_TEXT]";

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Tokenizer& tokenizer,
         std::shared_ptr<const VoiceRows> voice)
      : config_(config), tokenizer_(tokenizer), voice_(std::move(voice)) {}

  /// Control tokens in a client's text are read as plain text.
  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    return tokenizer_.encode(trimmed(segment), false);
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    const auto id = [&](const char* word) { return tokenizer_.need_id(word); };
    out.add(id(kBegin));
    out.add(id(kBeginAudio));
    const auto width = static_cast<size_t>(config_.lm.hidden);
    for (size_t at = 0; at < voice_->size(); at += width)
      out.add_vector(std::span(*voice_).subspan(at, width), id(kAudio));
    out.add(id(kText));
    out.add(now.ids);
    out.add(id(kSpeech));
    out.add(id(kBeginAudio));
  }

  SampleRule rule(const DelayedStreams&, int k) const override {
    const int64_t choices = k == 0 ? config_.semantic_choices() : config_.acoustic_choices();
    const int32_t first = k == 0 ? ModelConfig::kEnd : ModelConfig::kMarks;
    SampleRule rule;
    rule.allowed[rule.ranges++] = {first, static_cast<int32_t>(choices)};
    return rule;
  }

  int emit(const DelayedStreams&, std::span<int32_t> frame, StepOutput& out) override {
    for (int32_t& code : frame) code -= ModelConfig::kMarks;
    out.frame(frame);
    return 1;
  }

 private:
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<const VoiceRows> voice_;
};

}  // namespace

Tokenizer open_words(const LoadSpec& spec, const ModelConfig& config) {
  const std::array<std::string, 5> words{kBegin, kAudio, kBeginAudio, kText, kSpeech};
  const std::string path = join_path(spec.dir, "tekken.json");
  if (spec.dummy && !is_file(path)) return byte_tokenizer(words);
  Tokenizer tokenizer = read_tekken(path).tokenizer;
  if (tokenizer.size() > config.vocab) {
    throw LoadError(concat(path, ": config.default_vocab_size: the tokenizer has ",
                           tokenizer.size(), " ids, but the model has only ", config.vocab));
  }
  for (const std::string& word : words) tokenizer.need_id(word);
  return tokenizer;
}

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = static_cast<int>(config.codec.codebooks) + 1,
          .pattern = DelayPattern::none(config.codec.codebooks),
          .max_positions = config.max_positions,
          // The authors' code takes the likeliest code.
          .sampling = {.temperature = 0},
          .guidance = 1.2f,  // _DEFAULT_CFG_ALPHA
          .companions = false,
          .text = {.most_ids = config.max_positions / 4},
          .spare_steps = kSpareFrames,
          .steps_per_id = kFramesPerId,
          .most_steps = kMostFrames,
          .least_steps = kLeastFrames,
          .end = ModelConfig::kEnd};
}

std::unique_ptr<SpokenScript> make_script(const ModelConfig& config, const Tokenizer& tokenizer,
                                          std::shared_ptr<const VoiceRows> voice) {
  return std::make_unique<Script>(config, tokenizer, std::move(voice));
}

}  // namespace syrinx::voxtral_tts
