// Chatterbox's options and its prompt for a request: the rows of the voice, a part of the text
// between its marks, the start of speech. A part is a segment. The companion gets the same rows
// without the text.
#include "families/s3/script.h"

#include <algorithm>

#include "families/chatterbox/pipeline.h"
#include "model/language.h"

namespace syrinx::chatterbox {
namespace {

constexpr size_t kPartBytes = 300;  // bytes of about 20 s; the authors allow 40 s per call
constexpr int kStarts = 2;          // rows for the start of speech; the authors' code has two, too
enum Table { kText, kTextPositions, kSpeech, kSpeechPositions, kTables };

/// Returns whether the flow attends to whole segments. The authors' package does so in training and
/// in use.
bool attends_to_all(const SpeechRequest& request) {
  return request.terms.flow == FlowMode::kFull ||
         (request.terms.flow == FlowMode::kAuto && request.terms.offline);
}

/// Tokenizers and tables that read a request's text; all outlive the request.
struct Reading {
  const TextTokenizer& tokenizer;
  const MultilingualText* multilingual = nullptr;  // null: the English edition
  std::string language = {};                       // one of the languages of `multilingual`
};

class Script : public S3Script {
 public:
  Script(const ModelConfig& config, Reading reading, std::shared_ptr<const Voice> voice,
         const SpeechRequest& request)
      : S3Script(voice->flow, request.sampling.seed, attends_to_all(request), kSpeechCodes),
        config_(config),
        reading_(std::move(reading)),
        voice_(std::move(voice)) {}

  Result<std::vector<int32_t>> encode(std::string_view part, int64_t) override {
    Result<std::vector<int32_t>> read = this->read(part);
    if (!read) return read.error();
    std::vector<int32_t> ids = read.take();
    if (std::ssize(ids) + 2 > config_.text_positions) {
      return Error{ErrorCode::kInvalid,
                   concat("a part of the text has ", ids.size(),
                          " ids, but the model accepts at most ", config_.text_positions - 2),
                   "input"};
    }
    ids.insert(ids.begin(), kStartText);
    ids.push_back(kStopText);
    return ids;
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    const View voice = voice_->rows.view();
    const auto width = static_cast<size_t>(voice.shape[1]);
    for (int64_t row = 0; row < voice.shape[0]; ++row) {
      out.add_vector(std::span<const float>(voice.slice(row, row + 1).f32(), width));
    }
    for (int32_t at = 0; at < std::ssize(now.ids); ++at) {
      const std::span<int32_t> row = out.add_row(now.ids[static_cast<size_t>(at)]);
      row[kText] = now.ids[static_cast<size_t>(at)];
      row[kTextPositions] = at;
    }
    for (int i = 0; i < kStarts; ++i) put_speech(kStartSpeech, 0, out.add_row());
  }

  void make_companion(Prompt& prompt) const override {
    for (int at = 0; at < prompt.size(); ++at) prompt.row(at)[kText] = -1;
  }

  int64_t step_limit() const override {
    return std::min({S3Script::step_limit(), kMostSteps, config_.speech_positions - 1});
  }

  void step_row(int step, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    put_speech(codes[0], step + 1, ids);
  }

  /// The repetition penalty also counts the start of speech.
  std::span<const int32_t> history(const DelayedStreams& steps, int) const override {
    return steps.column(0);
  }

 private:
  Result<std::vector<int32_t>> read(std::string_view part) const {
    if (!reading_.multilingual) return reading_.tokenizer.encode(clean(part));
    const std::string text = clean(part, Punctuation::kMultilingual);
    return reading_.multilingual->encode(text, reading_.language);
  }
  static void put_speech(int32_t code, int32_t position, std::span<int32_t> ids) {
    ids[kSpeech] = code;
    ids[kSpeechPositions] = position;
  }

  const ModelConfig& config_;
  const Reading reading_;
  const std::shared_ptr<const Voice> voice_;
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  SampleParams sampling{.temperature = 0.8f,
                        .top_p = 1,
                        .min_p = 0.05f,
                        .repetition_penalty = config.edition.repetition_penalty};
  sampling.min_p_first = true;
  return {.tables = kTables,
          .pattern = {.delays = {0}, .marks = {.before = kStartSpeech}, .drain = DelayDrain::kFree},
          .max_positions = config.max_positions(),
          .sampling = sampling,
          .guidance = 1.5f,
          .text = {.segment_bytes = kPartBytes},
          .spare_steps = kMostSteps,
          .end = kStopSpeech,
          .unspoken = {kSpeechCodes, static_cast<int32_t>(config.speech_vocab)}};
}

void Chatterbox::describe(const LoadSpec& spec) {
  name(config_.edition.family, spec, "MIT");
  add_voices(info_, stored_);
  info_.speech.languages =
      multilingual_ ? multilingual_->languages() : std::vector<std::string>{"english"};
  info_.offers.add({{"exaggeration"}, {"top_k", {0, 0}}});
}

Result<std::unique_ptr<SpokenScript>> Chatterbox::script(const SpeechRequest& request) const {
  Result<std::shared_ptr<const Voice>> speaker = voice(request);
  if (!speaker) return speaker.error();
  // As in the authors' generate(), the degree that a voice was saved with is ignored.
  const float degree = request.voice.exaggeration.value_or(kDefaultEmotion);
  if (degree != speaker.value()->emotion) {
    Voice mood = nets_.voice_rows->with_emotion(*speaker.value(), degree);
    const uint64_t key = mood.key;
    speaker = moods_.keep(key, std::make_shared<const Voice>(std::move(mood)));
  }
  Reading reading{*tokenizer_, multilingual_.get()};
  if (multilingual_) {
    Result<std::string> language = read_language(info_, request.say.language);
    if (!language) return language.error();
    reading.language = language.value().empty() ? info_.speech.languages.front() : language.take();
  }
  return std::unique_ptr<SpokenScript>(
      std::make_unique<Script>(config_, std::move(reading), speaker.take(), request));
}

}  // namespace syrinx::chatterbox
