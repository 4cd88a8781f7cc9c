#include <algorithm>
#include <array>

#include "base/check.h"
#include "families/orpheus/pipeline.h"
#include "text/tokens/normalizer.h"

namespace syrinx::orpheus {
namespace {

constexpr int64_t kSpareSteps = 1260;  // extra steps, besides those per id: 15 s
constexpr int64_t kStepsPerId = 70;    // steps of one id in slow speech: 0.85 s
constexpr int32_t kEnd = 0;            // end of speech, counted from ModelConfig::end_of_speech

/// Beginnings of tokens that a text must not contain.
constexpr std::array<std::string_view, 2> kTokens{"<custom_token_", "<spk_"};

/// Numbers of tokens of a frame after which its latent frames 0 to 3 are complete, and the places
/// of their codes. Quantizer 0 has one code for the frame, quantizer 1 one for each half, and
/// quantizer 2 one for each latent frame.
constexpr std::array<int, kFrameLatents> kComplete{3, 4, 6, 7};
constexpr std::array<std::array<int, kQuantizers>, kFrameLatents> kPlaces{
    {{0, 1, 2}, {0, 1, 3}, {0, 4, 5}, {0, 4, 6}}};

/// Removes spaces before marks and contractions, in this order. The authors' engine does this when
/// it turns ids into text for the server (clean_up_tokenization_spaces of their tokenizer).
std::string clean(std::string text) {
  constexpr std::array<std::string_view, 10> kSpaced{" .",   " ?",  " !",  " ,",   " ' ",
                                                     " n't", " 'm", " 's", " 've", " 're"};
  for (const std::string_view spaced : kSpaced) {
    const std::string_view tight = spaced == " ' " ? "'" : spaced.substr(1);
    text = replaced(text, spaced, tight);
  }
  return text;
}

/// Returns the text before the request's text, which names or describes the voice.
std::string lead_of(const Edition& edition, const std::string& voice,
                    const std::string& instructions) {
  if (voice == kNoVoice) return "";
  std::string like = voice;
  if (edition.description) like = instructions.empty() ? edition.description : instructions;
  return concat(edition.voice_begin, like, edition.voice_end);
}

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Tokenizer& tokenizer, const Edition& edition,
         std::string lead)
      : config_(config), tokenizer_(tokenizer), edition_(edition), lead_(std::move(lead)) {}

  /// Orpheus' tokens are not special in its tokenizer. So their names in a text are split to be
  /// read as plain text, except the tags of the edition.
  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    std::string said = concat(lead_, segment);
    if (edition_.cleaned) said = clean(std::move(said));
    std::vector<Section> own;
    for (size_t at = 0; (at = said.find('<', at)) != said.npos; ++at) {
      const std::string_view rest = std::string_view(said).substr(at);
      const std::string_view word = rest.substr(0, rest.find('>') + 1);
      const bool tag = at == 0 ? edition_.voice_is_token && !lead_.empty()
                               : std::ranges::find(edition_.tags, word) != edition_.tags.end();
      const std::optional<int32_t> id = tag ? tokenizer_.id(word) : std::nullopt;
      if (id) {
        own.push_back({*id, at, at + word.size()});
      } else if (std::ranges::any_of(kTokens,
                                     [&](auto token) { return rest.starts_with(token); })) {
        own.push_back({-1, at + 1, at + 1});  // splits the name
      }
    }
    return tokenizer_.encode_around(said, own);
  }

  /// Writes the human's turn, then the beginning of the answer.
  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    out.add(config_.before);
    out.add(now.ids);
    out.add(config_.behind);
  }

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    ids[0] = config_.end_of_speech + codes[0];
  }

  /// Allows the end only between frames, and not before the first frame.
  SampleRule rule(const DelayedStreams& steps, int) const override {
    SampleRule rule;
    const int place = steps.steps() % kFrameTokens;
    const int32_t begin = config_.block_begin(place);
    if (place == 0 && steps.steps() > 0) rule.allowed[rule.ranges++] = {kEnd, kEnd + 1};
    rule.allowed[rule.ranges++] = {begin, begin + static_cast<int32_t>(config_.block)};
    return rule;
  }

  int emit(const DelayedStreams& steps, std::span<int32_t>, StepOutput& out) override {
    const int made = (steps.steps() - 1) % kFrameTokens + 1, first = steps.steps() - made;
    const auto found = std::find(kComplete.begin(), kComplete.end(), made);
    if (found == kComplete.end()) return 0;
    std::array<int32_t, kQuantizers> latent;
    for (int q = 0; q < kQuantizers; ++q) {
      const int at = kPlaces[found - kComplete.begin()][q];
      latent[q] = steps.at(first + at, 0) - config_.block_begin(at);
    }
    out.frame(latent);
    return 1;
  }

  int64_t steps_of(int64_t latents) const override {
    const int64_t rest = latents % kFrameLatents;
    return latents / kFrameLatents * kFrameTokens + (rest > 0 ? kComplete[rest - 1] : 0);
  }

 private:
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  const Edition& edition_;
  const std::string lead_;
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config, const Edition& edition) {
  return {.pattern = DelayPattern::none(1),
          .max_positions = config.max_positions,
          .sampling = edition.sampling,
          .spare_steps = kSpareSteps,
          .steps_per_id = kStepsPerId,
          .end = kEnd};
}

Result<std::unique_ptr<SpokenScript>> Orpheus::script(const SpeechRequest& request) const {
  const Result<std::string> voice = voice_name(info_, request.voice);
  if (!voice) return voice.error();
  return std::unique_ptr<SpokenScript>(
      std::make_unique<Script>(config_, *tokenizer_, *edition_,
                               lead_of(*edition_, voice.value(), request.say.instructions)));
}

}  // namespace syrinx::orpheus
