#include "ears/dictation_recogniser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ears/engine_recogniser.h"
#include "text/languages.h"

namespace syrinx {
namespace {

constexpr double kLongestStretchS =
    30;  // seconds, also for models that accept more: a listener must not wait for minutes
constexpr double kQuietS = 0.2;
constexpr int kAtOnce = 8;         // a step of a language model costs little more for eight
constexpr float kSilence = 1e-3f;  // loudest sample of a stretch without a voice: -60 dB

class DictationLoop final : public HearingLoop {
 public:
  DictationLoop(const Pipeline& model, const ListenOptions& options)
      : model_(model),
        options_(options),
        most_(static_cast<size_t>(std::min(model.info().hearing.dictates_s, kLongestStretchS) *
                                  kHearingRate)) {}

  void hear(std::span<const float> samples, bool last) override {
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    closed_ = closed_ || last;
    skip_silence();
  }
  bool through() const override { return closed_ && waiting_.empty() && stretch_ == 0; }
  Result<std::optional<SpeechRequest>> next() override;
  std::vector<TranscriptSegment> take(const Answer& answer) override;
  std::string language() const override { return options_.language; }
  double duration_s() const override { return seconds(done_ + waiting_.size()); }
  double done_s() const override { return seconds(done_); }
  int64_t prompt_tokens() const override { return prompt_tokens_; }
  int64_t completion_tokens() const override { return completion_tokens_; }

 private:
  static double seconds(size_t samples) { return static_cast<double>(samples) / kHearingRate; }
  /// Returns the number of samples of the next stretch; 0 if too few have come.
  size_t due() const {
    if (waiting_.size() > most_) return quietest_cut(waiting_, most_);
    return closed_ ? waiting_.size() : 0;
  }
  void skip_silence();
  void drop(size_t samples) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(samples));
    done_ += samples;
  }

  const Pipeline& model_;
  const ListenOptions options_;
  const size_t most_;
  std::vector<float> waiting_;
  bool closed_ = false;
  size_t done_ = 0, stretch_ = 0;  // samples: dropped; of the requested stretch
  bool told_ = false;              // a segment with text was returned
  int64_t prompt_tokens_ = 0, completion_tokens_ = 0;
};

void DictationLoop::skip_silence() {
  while (stretch_ == 0) {
    const size_t samples = due();
    const auto loud = [](float x) { return std::fabs(x) >= kSilence; };
    if (samples == 0 || std::any_of(waiting_.begin(), waiting_.begin() + int64_t(samples), loud)) {
      return;
    }
    drop(samples);
  }
}

Result<std::optional<SpeechRequest>> DictationLoop::next() {
  const size_t samples = stretch_ == 0 ? due() : 0;
  if (samples == 0) return std::optional<SpeechRequest>();
  auto recording = std::make_shared<Recording>();
  recording->samples.assign(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(samples));
  recording->sample_rate = kHearingRate;
  Dictation dictation{.recording = std::move(recording)};
  if (!options_.language.empty()) {
    dictation.language = language_name(options_.language);
    dictation.language[0] = static_cast<char>(std::toupper(dictation.language[0]));
  }
  Result<SpeechRequest> request = model_.dictation(dictation);
  if (!request) return request.error();
  if (!options_.temperatures.empty())
    request.value().sampling.temperature = options_.temperatures.front();
  request.value().sampling.seed = done_;
  stretch_ = samples;
  return std::optional<SpeechRequest>(request.take());
}

std::vector<TranscriptSegment> DictationLoop::take(const Answer& answer) {
  prompt_tokens_ += answer.outcome.prompt_tokens;
  completion_tokens_ += answer.outcome.completion_tokens;
  TranscriptSegment segment{.start_s = done_s(), .end_s = seconds(done_ + stretch_)};
  segment.temperature = options_.temperatures.empty() ? 0 : options_.temperatures.front();
  drop(std::exchange(stretch_, 0));
  skip_silence();
  const std::string said = model_.dictated(answer.text);
  const size_t begin = said.find_first_not_of(" \t\n"), end = said.find_last_not_of(" \t\n");
  if (begin == std::string::npos) return {};
  segment.text = (std::exchange(told_, true) ? " " : "") + said.substr(begin, end + 1 - begin);
  return {std::move(segment)};
}

}  // namespace

size_t quietest_cut(std::span<const float> samples, size_t most) {
  const auto quiet = static_cast<size_t>(kQuietS * kHearingRate);
  const size_t first = most - most / 3;
  if (samples.size() < most || most / 3 <= quiet) return std::min(samples.size(), most);
  double power = 0;
  for (size_t i = first; i < first + quiet; ++i) power += double{samples[i]} * samples[i];
  double least = power;
  size_t best = first;
  for (size_t at = first + 1; at + quiet <= most; ++at) {
    power += double{samples[at + quiet - 1]} * samples[at + quiet - 1] -
             double{samples[at - 1]} * samples[at - 1];
    if (power < least) least = power, best = at;
  }
  return best + quiet / 2;
}

std::shared_ptr<Recogniser> dictation_recogniser(std::shared_ptr<Engine> engine) {
  const Pipeline& model = engine->pipeline();
  if (model.info().hearing.dictates_s <= 0) return nullptr;
  const auto loops = [&model](const ListenOptions& options) {
    return std::make_unique<DictationLoop>(model, options);
  };
  return engine_recogniser(std::move(engine), info_of(model.info()), loops, kAtOnce);
}

}  // namespace syrinx
