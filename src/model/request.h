// A client's request as plain values, and the table of the options that a client can set by name.
// The table defines HTTP bodies and their schema, arguments of the command line, refusals and the
// bytes of a request (model/options.h). A test compares docs/guide/http.md with it. A new option
// needs a field and a row here, and code in the families that use it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/option.h"
#include "model/voice.h"
#include "text/lexicon.h"
#include "text/saying.h"

namespace syrinx {

class KeptStream;

/// An earlier turn of a conversation, which a model may use as context for its speech.
struct ContextTurn {
  std::string voice = {};           ///< speaker of the turn, like RequestVoice::name
  std::string text = {};            ///< words of the turn
  std::vector<int32_t> codes = {};  ///< audio of the turn: frames [T, C] of the model's codec
  /// Audio of the turn, made by the model's VoiceEncoder from a recording; replaces `codes`.
  std::shared_ptr<const Voice> recording = nullptr;
};

/// The frames that a flow attends to when it makes mels from codes. kCausal: complete chunks, which
/// can be streamed. kFull: a whole part of the text, whose audio is sent when the part ends.
enum class FlowMode : uint8_t { kAuto, kCausal, kFull };

/// A conversation for a text model, as JSON of OpenAI's chat API, which chat templates expect.
struct Chat {
  std::string messages = {};  ///< an array of objects with `role` and `content`
  std::string tools = {};     ///< an array; empty: no tools
  /// Whether the model thinks before it answers (`enable_thinking` of chat templates). Unset: the
  /// template decides.
  std::optional<bool> thinks = {};
  /// Names of tools, one of which the answer must call. Empty: the model chooses. Refused if
  /// WritingFacts::calls_tools is false.
  std::vector<std::string> must_call = {};
  /// JSON schema of the answer, which is then one JSON object. Empty: any text. Refused if
  /// WritingFacts::writes_json is false.
  std::string schema = {};

  bool operator==(const Chat&) const = default;
};

/// An earlier answer of the same model in a conversation, as the ids that the model generated: ids
/// of text and of audio, in order.
struct EarlierAnswer {
  std::shared_ptr<const std::vector<int32_t>> ids;
  std::optional<double> heard_s = {};  ///< seconds of the answer that the client played; unset: all
};

/// A task with types of one family, made by code for that family only (e.g. ears/whisper_loop.h).
struct FamilyTask {
  explicit FamilyTask(std::string of_family) : family(std::move(of_family)) {}
  virtual ~FamilyTask() = default;
  std::string family;  ///< PipelineInfo::family; models of other families refuse the task
};

/// The text, and settings that control how it is read.
struct RequestText {
  std::string text = {};  ///< UTF-8; invalid bytes are replaced, never fatal
  bool open = false;      ///< more text follows (Engine::append_text)
  /// Pronunciations of parts of `text` (model/markup.h), in order, without overlap.
  std::vector<Saying> sayings = {};
  /// Rates and pitches, each valid from a byte of `text` on; in order. Invalid for an open text.
  std::vector<Delivery> deliveries = {};
  /// Pronunciations of words; they also apply to late text.
  std::shared_ptr<const Lexicon> lexicon = {};
  std::string language = {};  ///< see read_language() in model/language.h; empty: the model decides
  std::string instructions = {};
  /// Earlier turns of the conversation, oldest first. Refused if SpeechFacts::context is false.
  std::vector<ContextTurn> context = {};
  /// The codec's stream of the conversation's turns so far. A model that keeps it (Opened::kept)
  /// continues it, and sends the codes of the turn to Sink::answer_ids(). Null: none.
  std::shared_ptr<KeptStream> kept = {};
  /// Whether all text is in the prompt (finch: whole sentences), not word by word beside the audio.
  std::optional<bool> in_prompt = {};
  /// Whether numbers in the text become words. Unset: as the model's authors do.
  std::optional<bool> spell_numbers = {};
};

/// The voice of a request: a name, data, or a mix of several voices.
struct RequestVoice {
  std::string name = {};
  /// A voice as data, which replaces the name. The VoiceEncoder of the same family made it.
  std::shared_ptr<const Voice> data = {};
  /// A mix of voices, which replaces a single voice. Refused if SpeechFacts::mixes is false.
  std::vector<VoiceShare> mix = {};
  int speaker = -1;  ///< number of the speaker in a conversation; -1: the voice's own
  float speed = 1;   ///< factor of the model's own speed
  float pitch = 0;   ///< semitones above the voice's own
  std::optional<float> exaggeration = {};  ///< degree of emotion, 0 to 2
  /// Factor of durations, which replaces the voice's own factor; `speed` divides it.
  std::optional<float> length_scale = {};
};

/// The parameters of sampling. Unset options have the model's defaults.
struct RequestSampling {
  uint64_t seed = 0;
  std::optional<float> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<int> top_k = {};
  /// Scale of classifier-free guidance, for models that use it.
  std::optional<float> guidance = {};
  /// Options for the codes of a frame after its first code, which the fields above do not affect.
  std::optional<float> inner_temperature = {}, inner_top_p = {};
  std::optional<int> inner_top_k = {};
  /// Standard deviations of the noise of frames, and of durations. Only for models with such noise.
  std::optional<float> noise_scale = {}, noise_w = {};
};

/// The inputs and bounds of an answer, for a model that writes.
struct RequestWriting {
  std::shared_ptr<const Chat> chat = {};  ///< conversation to answer, instead of RequestText::text
  /// The likely answer, or parts of it. It saves time, and changes the answer only through
  /// expected_among and expected_settled.
  std::string expected = {};
  /// Another likely answer. It yields guesses while the answer begins like it, and not like
  /// `expected`.
  std::string expected_instead = {};
  /// While the answer so far equals the expected one, the next expected token is accepted if it is
  /// among this many likeliest tokens (top-k verification of a draft). 1: it is accepted only if
  /// the model drew it.
  int expected_among = 1;
  /// Number of leading bytes of the expected answer that are accepted in any case.
  size_t expected_settled = 0;
  /// Experimental: number of tokens that Jacobi iteration guesses at a time, instead of a look-up
  /// in earlier text. Each guess is the token that the row before it yielded in the last step. 0:
  /// no Jacobi iteration. Changes only the time.
  int jacobi = 0;
  std::vector<std::string> stop = {};  ///< the answer ends before the first stop string that occurs
  /// The client's recordings, one for each audio part of `chat`, in the same order.
  std::vector<std::shared_ptr<const Recording>> recordings = {};
  /// Earlier answers, one for each part of `chat` of the type "answer", in the same order. Refused
  /// if WritingFacts::recalls is false.
  std::vector<EarlierAnswer> answers = {};
  bool text_only = false;  ///< text without speech, for a model that also speaks
  int max_tokens = 0;      ///< most tokens of the answer; 0: as many as fit the model's positions
  int top_logprobs = -1;   ///< >= 0: log-probabilities of each token and this many alternatives
};

/// The terms on which a request is served: its bounds, its delivery and its priority.
struct RequestTerms {
  int max_frames = 0;            ///< largest number of frames; 0: a bound derived from the text
  bool ignore_stop = false;      ///< for measurements of a fixed length: continue to max_frames
  bool phone_times = false;      ///< collect PhoneMarks, if SpeechFacts::phone_times is true
  int initial_chunk_frames = 0;  ///< frames of the first chunk; 0: the engine decides
  /// Mode of the flow. kAuto means kFull if the model was trained only with kFull and the request
  /// is `offline`, otherwise kCausal.
  FlowMode flow = FlowMode::kAuto;
  bool offline = false;  ///< the client reads the audio only when it is complete
  /// Whether the request runs only while no other request has work, e.g. drafts or offline work. It
  /// has no seat, makes no other request miss a deadline, and loses its pages first.
  bool background = false;
  uint64_t client = 0;  ///< hash of the client's key or address, for fairness
};

/// A text to be spoken, or an answer to be written, for a client. Empty strings and unset options
/// mean the model's defaults.
struct SpeechRequest {
  RequestText say = {};
  RequestVoice voice = {};
  RequestSampling sampling = {};
  RequestWriting writing = {};
  RequestTerms terms = {};
  /// Task of the model's own family, which replaces all fields except seed, bounds and client.
  std::shared_ptr<FamilyTask> task = {};
};

/// Returns a reference to a field in one of the parts of a request.
template <auto Part, auto Field>
inline constexpr auto kMember =
    OptionMember<std::remove_cvref_t<decltype(SpeechRequest{}.*Part.*Field)>>{
        [](SpeechRequest & request) -> auto& {return request.*Part.*Field;
}  // namespace syrinx
}
;

inline constexpr double kNoOptionBound = std::numeric_limits<int>::max();

/// The table of options. Help texts, documents and request_bytes() have the same order.
inline constexpr auto kRequestOptions = std::to_array<RequestOption>({
    {.name = "voice",
     .argument = "-v,--voice",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::name>,
     .help = "one of the model's voices, one of 'syrinx voice list', or a mix: 'anna(2)+ben(1)'",
     .bodies = kSpeechBody,
     .own_reader = true},
    {.name = "language",
     .argument = "-l,--language",
     .field = kMember<&SpeechRequest::say, &RequestText::language>,
     .help = "a code, a tag, an English name, or auto: en, en-US, English",
     .bodies = kSpeechBody,
     .own_reader = true},
    {.name = "instructions",
     .argument = "--instructions",
     .field = kMember<&SpeechRequest::say, &RequestText::instructions>,
     .help = "how to speak, if the model follows instructions",
     .bodies = kSpeechBody,
     .own_reader = true,
     .models = OptionModels::kOffering},
    {.name = "speed",
     .argument = "--speed",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::speed>,
     .help = "speed of the speech, with the same pitch; 1: the model's own",
     .bounds = {0.25, 4},
     .bodies = kSpeechBody,
     .unit = "factor",
     .models = OptionModels::kOffering,
     .otherwise = Bounds{1, 1}},
    {.name = "pitch",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::pitch>,
     .help = "semitones above the voice's own pitch",
     .bounds = {-24, 24},
     .unit = "semitones",
     .models = OptionModels::kOffering,
     .otherwise = Bounds{0, 0}},
    {.name = "seed",
     .argument = "--seed",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::seed>,
     .help = "the same seed gives the same output",
     .bodies = kEveryBody},
    {.name = "temperature",
     .argument = "--temperature",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::temperature>,
     .help = "0 always selects the likeliest code",
     .bounds = {0, 2},
     .bodies = kEveryBody},
    {.name = "top_p",
     .argument = "--top-p",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::top_p>,
     .help = "only the likeliest codes that together have this probability",
     .bounds = {0, 1},
     .bodies = kEveryBody},
    {.name = "top_k",
     .argument = "--top-k",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::top_k>,
     .help = "only this number of likeliest codes; 0: all",
     .bounds = {0, 1 << 24},
     .bodies = kEveryBody,
     .minus_one_is_off = true},
    {.name = "min_p",
     .argument = "--min-p",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::min_p>,
     .help = "only codes that have at least this share of the likeliest one's probability",
     .bounds = {0, 1},
     .bodies = kEveryBody},
    {.name = "repetition_penalty",
     .argument = "--repetition-penalty",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::repetition_penalty>,
     .help = "factor that makes earlier codes less likely; 1: none",
     .bounds = {0.01, 100},
     .bodies = kEveryBody},
    {.name = "guidance",
     .argument = "--guidance",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::guidance>,
     .help = "scale of classifier-free guidance, if the model uses it; 1: off",
     .bounds = {0, 20},
     .bodies = kSpeechBody | kChatBody,
     .models = OptionModels::kOffering},
    {.name = "inner_temperature",
     .argument = "--inner-temperature",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::inner_temperature>,
     .help = "like 'temperature', for the codes of a frame after its first, if they are sampled "
             "separately",
     .bounds = {0, 2},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "inner_top_p",
     .argument = "--inner-top-p",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::inner_top_p>,
     .help = "like 'top_p', for the codes of a frame after its first",
     .bounds = {0, 1},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "inner_top_k",
     .argument = "--inner-top-k",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::inner_top_k>,
     .help = "like 'top_k', for the codes of a frame after its first",
     .bounds = {0, 1 << 24},
     .bodies = kSpeechBody,
     .minus_one_is_off = true,
     .models = OptionModels::kOffering},
    {.name = "flow",
     .argument = "--flow",
     .field = kMember<&SpeechRequest::terms, &RequestTerms::flow>,
     .help = "what the flow network attends to. 'causal': chunks, so that audio can be streamed; "
             "'full': a whole segment of the text; 'auto': 'full' if the model was trained only "
             "with it and nothing is streamed, otherwise 'causal'",
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "exaggeration",
     .argument = "--exaggeration",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::exaggeration>,
     .help = "degree of emotion, if the model supports it",
     .bounds = {0, 2},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "noise_scale",
     .argument = "--noise-scale",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::noise_scale>,
     .help = "deviation of the noise in the sound, if the model uses it; by default the voice's",
     .bounds = {0, 2},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "noise_w",
     .argument = "--noise-w",
     .field = kMember<&SpeechRequest::sampling, &RequestSampling::noise_w>,
     .help = "deviation of the noise in the lengths of sounds, if the model uses it; by default "
             "the voice's",
     .bounds = {0, 2},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "length_scale",
     .argument = "--length-scale",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::length_scale>,
     .help = "factor of the lengths of sounds, instead of the voice's own; 'speed' divides it",
     .bounds = {0.1, 10},
     .bodies = kSpeechBody,
     .unit = "factor",
     .models = OptionModels::kOffering},
    {.name = "spell_numbers",
     .argument = "--spell-numbers",
     .field = kMember<&SpeechRequest::say, &RequestText::spell_numbers>,
     .help = "whether numbers are spelled as words, as the model's authors do; false: the model "
             "reads digits",
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "speaker",
     .argument = "--speaker",
     .field = kMember<&SpeechRequest::voice, &RequestVoice::speaker>,
     .help = "number of the speaker of a conversation, if speakers have numbers; also with the "
             "voice of a recording",
     .bounds = {0, 1'000'000},
     .bodies = kSpeechBody,
     .models = OptionModels::kOffering},
    {.name = "text_in_prompt",
     .argument = "--text-in-prompt",
     .field = kMember<&SpeechRequest::say, &RequestText::in_prompt>,
     .help = "whether all text is in the prompt, or comes word by word beside the audio, if the "
             "model supports both",
     .models = OptionModels::kOffering},
    {.name = "max_new_tokens",
     .argument = "--max-frames",
     .field = kMember<&SpeechRequest::terms, &RequestTerms::max_frames>,
     .help = "most frames of audio; by default a limit computed from the text",
     .bounds = {1, 1'000'000},
     .bodies = kSpeechBody,
     .unit = "frames"},
    {.name = "initial_codec_chunk_frames",
     .argument = "--initial-chunk-frames",
     .field = kMember<&SpeechRequest::terms, &RequestTerms::initial_chunk_frames>,
     .help = "frames of the first chunk; 0: depends on the load",
     .bounds = {0, 1000},
     .bodies = kSpeechBody,
     .unit = "frames"},
    {.name = "max_tokens",
     .argument = "--max-tokens",
     .field = kMember<&SpeechRequest::writing, &RequestWriting::max_tokens>,
     .help = "most tokens of an answer; by default the model's limit",
     .bounds = {1, kNoOptionBound},
     .bodies = kWrittenBodies,
     .unit = "tokens"},
});

}  // namespace syrinx
