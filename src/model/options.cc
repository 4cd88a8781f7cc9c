#include "model/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

using R = SpeechRequest;
using Offer = std::optional<Bounds>;

constexpr double kNoBound = std::numeric_limits<int>::max();
constexpr unsigned kSpoken = kSpeechBody;
constexpr unsigned kWritten = kChatBody | kCompletionBody;
constexpr unsigned kEvery = kSpoken | kWritten;

constexpr Offer offered(bool has) { return has ? Offer(Bounds{}) : std::nullopt; }
constexpr Offer has_flow(const PipelineInfo& info) { return offered(info.flow); }
constexpr Offer has_emotion(const PipelineInfo& info) { return offered(info.exaggeration); }
constexpr Offer has_spelling(const PipelineInfo& info) { return offered(info.spells_numbers); }
constexpr Offer has_inner(const PipelineInfo& info) { return offered(info.inner); }
constexpr Offer has_instructions(const PipelineInfo& info) { return offered(info.instructions); }
constexpr Offer speakers(const PipelineInfo& info) {
  if (info.speaker_numbers == 0) return {};
  return Bounds{0, info.speaker_numbers - 1.0};
}
constexpr Offer speeds(const PipelineInfo& info) { return Bounds{info.slowest, info.fastest}; }
constexpr Offer pitches(const PipelineInfo& info) { return Bounds{info.lowest, info.highest}; }

constexpr std::array<std::string_view, 3> kFlowNames = {"auto", "causal", "full"};

constexpr auto kOptions = std::to_array<RequestOption>({
    {.name = "voice",
     .argument = "-v,--voice",
     .field = &R::voice,
     .help = "one of the model's voices, one of 'syrinx voice list', or a mix: 'anna(2)+ben(1)'",
     .bodies = kSpoken,
     .own_reader = true},
    {.name = "language",
     .argument = "-l,--language",
     .field = &R::language,
     .help = "a code, a tag or an English name: en, en-US, English, auto",
     .bodies = kSpoken,
     .own_reader = true},
    {.name = "instructions",
     .argument = "--instructions",
     .field = &R::instructions,
     .help = "how to speak, where the model follows instructions",
     .bodies = kSpoken,
     .own_reader = true,
     .offer = has_instructions},
    {.name = "speed",
     .argument = "--speed",
     .field = &R::speed,
     .help = "faster or slower with the same pitch; 1: the model's own",
     .bounds = {0.25, 4},
     .bodies = kSpoken,
     .unit = "factor",
     .offer = speeds},
    {.name = "pitch",
     .field = &R::pitch,
     .help = "above the voice's own",
     .bounds = {-24, 24},
     .unit = "semitones",
     .offer = pitches},
    {.name = "seed",
     .argument = "--seed",
     .field = &R::seed,
     .help = "same seed, same output",
     .bodies = kEvery},
    {.name = "temperature",
     .argument = "--temperature",
     .field = &R::temperature,
     .help = "0: always the likeliest code",
     .bounds = {0, 2},
     .bodies = kEvery},
    {.name = "top_p",
     .argument = "--top-p",
     .field = &R::top_p,
     .help = "only the likeliest codes, as many as have this probability together",
     .bounds = {0, 1},
     .bodies = kEvery},
    {.name = "top_k",
     .argument = "--top-k",
     .field = &R::top_k,
     .help = "only this number of likeliest codes; 0: all",
     .bounds = {0, 1 << 24},
     .bodies = kEvery,
     .minus_one_is_off = true},
    {.name = "min_p",
     .argument = "--min-p",
     .field = &R::min_p,
     .help = "only codes that have at least this share of the likeliest one's probability",
     .bounds = {0, 1},
     .bodies = kEvery},
    {.name = "repetition_penalty",
     .argument = "--repetition-penalty",
     .field = &R::repetition_penalty,
     .help = "factor that makes codes less likely which were drawn before; 1: none",
     .bounds = {0.01, 100},
     .bodies = kEvery},
    {.name = "guidance",
     .argument = "--guidance",
     .field = &R::guidance,
     .help = "scale of guidance, where the model uses it",
     .bounds = {0, 20},
     .bodies = kSpoken | kChatBody},
    {.name = "inner_temperature",
     .argument = "--inner-temperature",
     .field = &R::inner_temperature,
     .help =
         "as 'temperature', for the codes after a frame's first, where the model draws them apart",
     .bounds = {0, 2},
     .bodies = kSpoken,
     .offer = has_inner},
    {.name = "inner_top_p",
     .argument = "--inner-top-p",
     .field = &R::inner_top_p,
     .help = "as 'top_p', for the codes after a frame's first",
     .bounds = {0, 1},
     .bodies = kSpoken,
     .offer = has_inner},
    {.name = "inner_top_k",
     .argument = "--inner-top-k",
     .field = &R::inner_top_k,
     .help = "as 'top_k', for the codes after a frame's first",
     .bounds = {0, 1 << 24},
     .bodies = kSpoken,
     .minus_one_is_off = true,
     .offer = has_inner},
    {.name = "flow",
     .argument = "--flow",
     .field = &R::flow,
     .help =
         "what the model's flow attends to: causal, chunks that can be streamed; full, all of a "
         "part of the text; auto, full where the model was trained with nothing else and nothing "
         "is streamed, otherwise causal",
     .bodies = kSpoken,
     .offer = has_flow},
    {.name = "exaggeration",
     .argument = "--exaggeration",
     .field = &R::exaggeration,
     .help = "degree of emotion, where the model has it",
     .bounds = {0, 2},
     .bodies = kSpoken,
     .offer = has_emotion},
    {.name = "spell_numbers",
     .argument = "--spell-numbers",
     .field = &R::spell_numbers,
     .help = "numbers in words as the model's authors write them, where they do; false: the model "
             "reads digits",
     .bodies = kSpoken,
     .offer = has_spelling},
    {.name = "speaker",
     .argument = "--speaker",
     .field = &R::speaker,
     .help = "number of the speaker of a conversation, where speakers have numbers; also with the "
             "voice of a recording",
     .bounds = {0, 1'000'000},
     .bodies = kSpoken,
     .offer = speakers},
    {.name = "text_in_prompt",
     .argument = "--text-in-prompt",
     .field = &R::text_in_prompt,
     .help = "all text in the prompt, or word by word beside the audio, where the model has both"},
    {.name = "max_new_tokens",
     .argument = "--max-frames",
     .field = &R::max_frames,
     .help = "most frames of audio; by default a bound that follows from the text",
     .bounds = {1, 1'000'000},
     .bodies = kSpoken,
     .unit = "frames"},
    {.name = "initial_codec_chunk_frames",
     .argument = "--initial-chunk-frames",
     .field = &R::initial_chunk_frames,
     .help = "frames of the first chunk; 0: as the load allows",
     .bounds = {0, 1000},
     .bodies = kSpoken,
     .unit = "frames"},
    {.name = "max_tokens",
     .argument = "--max-tokens",
     .field = &R::max_tokens,
     .help = "most tokens of an answer; by default as many as the model has positions for",
     .bounds = {1, kNoBound},
     .bodies = kWritten,
     .unit = "tokens"},
});

/// An integer with all its digits, never 2.14748e+09.
std::string number_text(double number) {
  const bool whole = std::trunc(number) == number && std::fabs(number) < 1e15;
  return whole ? concat(static_cast<int64_t>(number)) : concat(number);
}

Error lacks_option(const PipelineInfo& info, const RequestOption& option) {
  const std::string others = offered_options(info);
  return {ErrorCode::kUnsupported,
          concat("the model '", info.model, "' does not support '", option.name, "'; leave it out",
                 others.empty()
                     ? ""
                     : concat(" (of the options that few models have it supports ", others, ")")),
          std::string(option.name)};
}

/// The bounds as floats hold them: 0.01f is less than 0.01.
Bounds in_floats(const Bounds& bounds) {
  return {static_cast<float>(bounds.low), static_cast<float>(bounds.high)};
}

Status check_number(const PipelineInfo& info, const RequestOption& option, double value) {
  const Bounds bounds = option.offer == nullptr ? Bounds{} : *option.offer(info);
  const bool possible = in_floats(option.bounds).holds(value);
  if (possible && bounds.holds(value)) return ok_status();
  const Bounds both{std::max(bounds.low, option.bounds.low),
                    std::min(bounds.high, option.bounds.high)};
  return Error{possible ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
               concat("'", option.name, "' must be ", bounds_text(both),
                      possible ? concat(" with the model '", info.model, "'") : "", ", not ",
                      number_text(value)),
               std::string(option.name)};
}

}  // namespace

std::span<const RequestOption> request_options() { return kOptions; }

const RequestOption& request_option(std::string_view name) {
  const auto at = std::find_if(kOptions.begin(), kOptions.end(),
                               [name](const RequestOption& each) { return each.name == name; });
  SYRINX_CHECK(at != kOptions.end(), "unknown option ", name);
  return *at;
}

std::span<const std::string_view> flow_names() { return kFlowNames; }

std::string option_sentence(const RequestOption& option) {
  std::string out = concat(option.help, ".");
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string bounds_text(const Bounds& bounds) {
  if (bounds.low == bounds.high) return number_text(bounds.low);
  if (bounds.high >= kNoBound) return concat("at least ", number_text(bounds.low));
  return concat("between ", number_text(bounds.low), " and ", number_text(bounds.high));
}

std::string offered_options(const PipelineInfo& info) {
  std::string out;
  const PipelineInfo none;
  for (const RequestOption& option : kOptions) {
    // Speed is an option of every model: what the model cannot do is done to its audio.
    if (option.offer == nullptr || option.offer(none) || !option.offer(info)) continue;
    out += concat(out.empty() ? "'" : ", '", option.name, "'");
  }
  return out;
}

Status check_options(const PipelineInfo& info, const SpeechRequest& request) {
  Status status = ok_status();
  for_set_options(request, [&](const RequestOption& option, const auto& value) {
    if (!status) return;
    if (option.offer != nullptr && !option.offer(info)) {
      status = lacks_option(info, option);
    } else if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      if (!std::same_as<std::remove_cvref_t<decltype(value)>, bool>) {
        status = check_number(info, option, static_cast<double>(value));
      }
    }
  });
  return status;
}

}  // namespace syrinx
