#include "families/qwen3_asr/pipeline.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "families/llm/language_model.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/qwen3_asr/transcript.h"
#include "families/voice_chat/hearing_answer.h"
#include "families/voice_chat/prompt_writer.h"
#include "io/file.h"
#include "model/past_context.h"
#include "text/languages.h"

namespace syrinx::qwen3_asr {
namespace {

// Lengths in the authors' code (qwen_asr/inference/utils.py), which cuts at 180 s if words get
// times, otherwise at 1,200 s. Here it is always 180 s, because 1,200 s need 1.8 GB of cache and
// delay the first words by minutes.
constexpr double kStretchSeconds = 180, kSearchSeconds = 5;
constexpr int64_t kLeastSamples = Qwen3AudioTower::kSampleRate / 2;
constexpr int64_t kMostSamples =
    static_cast<int64_t>((kStretchSeconds + kSearchSeconds) * Qwen3AudioTower::kSampleRate);
// Bound of the ids of a transcript that does not end by itself: twice its rows (13 per second) and
// kSpareIds.
constexpr int64_t kIdsPerRow = 2, kSpareIds = 64;

/// The languages (ISO 639) that clients of the authors' code may choose.
constexpr std::array kLanguages = {"zh", "en", "yue", "ar", "de", "fr", "es", "pt", "id", "it",
                                   "ko", "ru", "th",  "vi", "ja", "tr", "hi", "ms", "nl", "sv",
                                   "da", "fi", "pl",  "cs", "tl", "fa", "el", "ro", "hu", "mk"};

constexpr const char* kTurn = "<|im_start|>";
constexpr const char* kTurnEnd = "<|im_end|>";
constexpr const char* kTextEnd = "<|endoftext|>";
constexpr const char* kAudioBegin = "<|audio_start|>";
constexpr const char* kAudioEnd = "<|audio_end|>";

std::string authors_name(const std::string& name) { return name == "Tagalog" ? "Filipino" : name; }

/// The sequence of one transcript.
class Writing : public HearingAnswer {
 public:
  Writing(const ModelConfig& config, const llm::Generation& generation, const Tokenizer& tokenizer,
          const SpeechRequest& request, ChatPrompt prompt)
      : HearingAnswer(config.text, generation, tokenizer, request, std::move(prompt),
                      config.text.lm.hidden) {}
};

}  // namespace

struct Qwen3Asr::Stretch : FamilyTask {
  Stretch() : FamilyTask("qwen3_asr") {}
  std::string language;  ///< the authors' name of the language; empty: the model finds the language
  std::string prompt;
};

Qwen3Asr::Qwen3Asr(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  load_tokens(spec);
  weights_.emplace(weights_at(spec, spec.dir));
  weights_->build([&] { load_networks(*weights_, spec); });
  move_networks(spec, "tower", *tower_, "decoder", *lm_);
  hearing_ = std::make_unique<TowerStage>(*tower_);
  const FrameType text{Flow::kText};
  graph_ = {{{.name = "tower", .chunk = hearing_.get(), .in = {}, .out = {}},
             {.name = "decoder", .ar = lm_.get(), .in = {text, hearing_->out()}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = TowerStage::kPolicy},
             {.from = {kClient}, .to = {1, 0}},
             {.from = {0}, .to = {1, HearingAnswer::kHearing}},
             {.from = {1}, .to = {kClient}}}};
  describe(spec);
}

void Qwen3Asr::load_tokens(const LoadSpec& spec) {
  const std::string words[] = {kTurn, kTurnEnd, kTextEnd, kAudioBegin, kAudioEnd, kTextTag};
  tokenizer_ = open_tokenizer(spec, words, config_.text.vocab);
  const auto id = [&](const char* word) { return tokenizer_->need_id(word); };
  ids_ = {id(kTurn), id(kTurnEnd), id(kAudioBegin), id(kAudioEnd), id(kTextTag)};
  generation_.sampling.temperature = 0;
  generation_.ends = {ids_.turn_end, id(kTextEnd)};
  std::sort(generation_.ends.begin(), generation_.ends.end());
}

void Qwen3Asr::load_networks(const Weights& weights, const LoadSpec& spec) {
  const bool converted = config_.converted;
  tower_ = spec.part("tower", [&] {
    const Weights audio = weights.scope(converted ? "model.audio_tower" : "thinker.audio_tower");
    const Qwen3AudioTower::Projection projection =
        converted ? Qwen3AudioTower::Projection{weights.scope("model.multi_modal_projector"),
                                                "linear_1", "linear_2"}
                  : Qwen3AudioTower::Projection{audio, "proj1", "proj2"};
    return std::make_unique<Qwen3AudioTower>(config_.audio, audio, projection,
                                             at_least_8_bits(spec.weights));
  });
  lm_ = spec.part("decoder", [&] {
    return llm::load_language_model(config_.text, converted ? weights : weights.scope("thinker"),
                                    spec.weights);
  });
}

void Qwen3Asr::describe(const LoadSpec& spec) {
  name("qwen3_asr", spec, "Apache-2.0");
  info_.speaks = false;
  info_.writes = true;
  info_.speech.sample_rate = Qwen3AudioTower::kSampleRate;
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  info_.writing.positions = config_.text.max_positions;
  info_.hearing.dictates_s = kStretchSeconds;
  info_.hearing.cut_search_s = kSearchSeconds;
  info_.hearing.languages.assign(kLanguages.begin(), kLanguages.end());
  info_.hearing.finds_language = info_.hearing.prompts = true;
  const Qwen3AudioConfig& a = config_.audio;
  info_.parts = {
      {"audio tower",
       concat(a.layers, " layers, width ", a.width, ", windows of ", a.window / 100, " s"),
       tower_->bytes()},
      {"decoder", describe_decoder(config_.text.lm), lm_->bytes()},
      {"table", concat(config_.text.vocab, " ids x ", config_.text.lm.hidden), lm_->table_bytes()}};
}

Result<SpeechRequest> Qwen3Asr::dictation(const Dictation& dictation) const {
  auto stretch = std::make_shared<Stretch>();
  stretch->language = authors_name(dictation.language);
  stretch->prompt = dictation.prompt;
  SpeechRequest request;
  request.task = std::move(stretch);
  request.writing.recordings = {dictation.recording};
  request.writing.text_only = true;
  request.writing.expected = dictation.expected;
  request.sampling.temperature = 0.f;
  return request;
}

Dictated Qwen3Asr::dictated(const Dictation& asked, std::string_view answer, bool whole) const {
  Dictated out = read_answer(answer, !asked.language.empty(), whole);
  if (!asked.language.empty()) out.language = language_code(asked.language);
  return out;
}

/// Writes the authors' chat template: the client's prompt as the system's turn, the recording as
/// the user's turn, and the language, if known, as the beginning of the answer.
Result<ChatPrompt> Qwen3Asr::prompt_of(const Stretch& stretch,
                                       std::span<const float> samples) const {
  ChatPrompt prompt;
  const MelExtremes extremes = tower_->extremes(samples);
  std::vector<uint64_t> keys = tower_->keys(samples, extremes);
  const int64_t length = std::ssize(samples), rows = tower_->count(length);
  for (size_t window = 0; window < keys.size(); ++window) {
    append_row_keys(keys[window], tower_->window_rows(static_cast<int64_t>(window), length),
                    prompt.keys);
  }
  prompt.heard.push_back({length, rows, extremes.loudest, std::move(keys)});
  PromptWriter writer(*tokenizer_, prompt);
  writer.id(ids_.turn), writer.text("system\n"), writer.text(stretch.prompt);
  writer.id(ids_.turn_end), writer.text("\n");
  writer.id(ids_.turn), writer.text("user\n"), writer.id(ids_.audio_begin);
  writer.places(config_.audio_id, rows);
  writer.id(ids_.audio_end), writer.id(ids_.turn_end), writer.text("\n");
  writer.id(ids_.turn), writer.text("assistant\n");
  if (!stretch.language.empty()) {
    writer.text("language "), writer.text(stretch.language), writer.id(ids_.text);
  }
  writer.flush();
  return checked(std::move(prompt), config_.text.max_positions - 1, "prompt");
}

Result<Opened> Qwen3Asr::open(const SpeechRequest& request) const {
  const auto stretch = std::dynamic_pointer_cast<Stretch>(request.task);
  if (!stretch) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  if (request.writing.recordings.size() != 1) {
    return Error{ErrorCode::kInvalid, "a recording is needed", "file"};
  }
  auto resampled = recordings_at(request, Qwen3AudioTower::kSampleRate, Resampling::kSoxr);
  if (!resampled.ok()) return resampled.error();
  std::vector<float>& samples = resampled.value().at(0);
  if (std::ssize(samples) > kMostSamples) {
    return Error{ErrorCode::kInvalid,
                 concat("the recording has ", samples.size() / Qwen3AudioTower::kSampleRate,
                        " s; this model takes at most ", kStretchSeconds, " s at once"),
                 "file"};
  }
  samples.resize(std::max<size_t>(samples.size(), kLeastSamples), 0.f);
  auto prompt = prompt_of(*stretch, samples);
  if (!prompt.ok()) return prompt.error();
  Opened opened;
  append_frames(samples, hearing_->in_width(), opened.samples);
  SpeechRequest answer = request;
  if (answer.writing.max_tokens == 0) {
    answer.writing.max_tokens =
        static_cast<int>(kSpareIds + kIdsPerRow * prompt.value().heard[0].rows);
  }
  opened.sequences.push_back(
      std::make_unique<Writing>(config_, generation_, *tokenizer_, answer, prompt.take()));
  return opened;
}

}  // namespace syrinx::qwen3_asr
