#include "ears/whisper_recogniser.h"

#include <utility>

#include "base/check.h"
#include "ears/engine_recogniser.h"

namespace syrinx {
namespace {

/// One recording at a time, because a short turn mostly needs the encoder, which has no batches.
constexpr int kAtOnce = 1;

class WhisperHearing final : public HearingLoop {
 public:
  WhisperHearing(const whisper::Whisper& model, const WhisperOptions& options, bool at_once)
      : loop_(model, options), at_once_(at_once) {}

  void hear(std::span<const float> samples, bool last) override {
    loop_.hear(samples, last);
    closed_ = closed_ || last;
  }
  bool through() const override { return loop_.through(); }
  Result<std::vector<SpeechRequest>> next() override {
    std::vector<SpeechRequest> requests;
    const auto add = [&](std::shared_ptr<FamilyTask> task) {
      const int ahead = static_cast<int>(requests.size());
      requests.emplace_back().task = std::move(task);
      requests.back().sampling.seed = loop_.seed(ahead);
    };
    if (auto task = loop_.next(!at_once_)) {
      add(std::move(task));
      for (const auto& window : loop_.ahead()) add(window);
    }
    return requests;
  }
  std::vector<TranscriptSegment> take(std::span<const Answer> answers) override {
    return loop_.take(static_cast<int>(answers.size()) - 1);
  }
  std::string language() const override { return loop_.language(); }
  std::string whole() const override { return loop_.whole(); }
  double duration_s() const override { return loop_.duration_s(); }
  /// A recording that is not live is processed after its end. Until then, reports all samples as
  /// processed, so that callers do not wait.
  double done_s() const override {
    return closed_ || at_once_ ? loop_.done_s() : loop_.duration_s();
  }

 private:
  WhisperLoop loop_;
  const bool at_once_;  // whether samples are processed as they arrive
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<Recogniser> whisper_recogniser(std::shared_ptr<Engine> engine,
                                               WhisperOptions defaults) {
  const auto* model = dynamic_cast<const whisper::Whisper*>(&engine->pipeline());
  if (model == nullptr) return nullptr;
  RecogniserInfo info = info_of(model->info());
  info.languages = model->info().speech.languages;
  info.detects_language = model->generation().multilingual();
  info.translates = model->generation().multilingual();
  info.prompts = true;
  info.word_times = true;
  info.scores = true;
  const auto loops = [model, defaults](const ListenOptions& options) {
    WhisperOptions how = defaults;
    how.language = options.language;
    how.translate = options.translate;
    how.prompt = options.prompt;
    how.word_times = options.word_times;
    how.scores = options.scores;
    how.trims = options.live || options.background;
    how.condition_on_text = defaults.condition_on_text && options.condition_on_text;
    if (!options.temperatures.empty()) how.temperatures = options.temperatures;
    return std::make_unique<WhisperHearing>(*model, how, options.live || options.follow);
  };
  return engine_recogniser(std::move(engine), std::move(info), loops, kAtOnce);
}

}  // namespace syrinx
