#include <algorithm>
#include <array>

#include "base/check.h"
#include "families/orpheus/pipeline.h"

namespace syrinx::orpheus {
namespace {

// The authors' package (orpheus_tts/engine_class.py).
constexpr float kTemperature = 0.6f, kTopP = 0.8f, kRepetitionPenalty = 1.3f;

constexpr int64_t kSpareSteps = 1260;  // 15 s beyond what the text needs
constexpr int64_t kStepsPerId = 70;    // slow speech: 0.85 s for one id

/// Tokens of a frame after which its latent frames 0 to 3 are complete, and the places of their
/// codes: quantizer 0 has one code for the frame, 1 one for each half, 2 one each.
constexpr std::array<int, kFrameLatents> kComplete{3, 4, 6, 7};
constexpr std::array<std::array<int, kQuantizers>, kFrameLatents> kPlaces{
    {{0, 1, 2}, {0, 1, 3}, {0, 4, 5}, {0, 4, 6}}};

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

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Tokenizer& tokenizer, const std::string& voice,
         bool ignore_stop)
      : config_(config), tokenizer_(tokenizer), voice_(voice), ignore_stop_(ignore_stop) {}

  /// The tokens of Orpheus are no special ones in its tokenizer, so those that are written out in
  /// the text are taken apart to stay text.
  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    constexpr std::string_view kToken = "<custom_token_";
    const std::string said =
        clean(voice_ == "none" ? std::string(segment) : concat(voice_, ": ", segment));
    std::vector<int32_t> ids;
    for (std::string_view text = said; !text.empty();) {
      const size_t found = text.find(kToken);
      const size_t end = found == text.npos ? text.size() : found + 1;
      for (const int32_t id : tokenizer_.encode(text.substr(0, end), false)) ids.push_back(id);
      text.remove_prefix(end);
    }
    return ids;
  }

  /// Human turn, then the beginning of the answer (_format_prompt).
  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    const TokenIds& ids = config_.ids;
    for (const int32_t id : {ids.start_of_human, ids.begin_of_text}) out.add(id);
    out.add(now.ids);
    for (const int32_t id :
         {ids.end_of_text, ids.end_of_human, ids.start_of_ai, ids.start_of_speech}) {
      out.add(id);
    }
  }

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    ids[0] = config_.audio_begin() + codes[0];
  }

  /// The end comes between frames, and not before the first.
  SampleRule rule(const DelayedStreams& steps, int) const override {
    SampleRule rule;
    const int place = steps.steps() % kFrameTokens;
    const int32_t begin = config_.block_begin(place);
    if (place == 0 && steps.steps() > 0 && !ignore_stop_) rule.allowed[rule.ranges++] = {0, 1};
    rule.allowed[rule.ranges++] = {begin, begin + static_cast<int32_t>(config_.block)};
    return rule;
  }

  bool ends(DelayedStreams&, std::span<const int32_t> codes) const override {
    return codes[0] == 0;
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
  const std::string voice_;
  const bool ignore_stop_;
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  return {.pattern = {.delays = {0}, .marks = {}, .drain = DelayDrain::kFree},
          .max_positions = config.max_positions,
          .sampling = {.temperature = kTemperature,
                       .top_p = kTopP,
                       .repetition_penalty = kRepetitionPenalty},
          .spare_steps = kSpareSteps,
          .steps_per_id = kStepsPerId};
}

std::unique_ptr<SpokenScript> script_of(const ModelConfig& config, const Tokenizer& tokenizer,
                                        const std::string& voice, bool ignore_stop) {
  return std::make_unique<Script>(config, tokenizer, voice, ignore_stop);
}

}  // namespace syrinx::orpheus
