#include "ears/dictation_recogniser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "ears/engine_recogniser.h"
#include "text/languages.h"

namespace syrinx {
namespace {

/// Longest stretch, in seconds, if the recording is live or the client uses times of segments.
constexpr double kLongestStretchS = 30;
constexpr double kSoonS = 60;  // a caller provides this much audio before it waits for heard()
constexpr double kQuietS = 0.2;
constexpr int kAtOnce = 8;         // a step costs little more for eight sequences than for one
constexpr float kSilence = 1e-3f;  // largest sample of a stretch without a voice: -60 dB

/// Returns whether words of a language are written without blanks between them.
bool joins_words(std::string_view language) {
  return language == "zh" || language == "yue" || language == "ja" || language == "th";
}

size_t samples_in(double seconds) { return static_cast<size_t>(seconds * kHearingRate); }

class DictationLoop final : public HearingLoop {
 public:
  DictationLoop(const Pipeline& model, const ListenOptions& options)
      : model_(model),
        options_(options),
        most_(samples_in(std::min(facts().dictates_s, options.live || options.segment_times
                                                          ? kLongestStretchS
                                                          : facts().dictates_s))) {}

  void hear(std::span<const float> samples, bool last) override {
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    closed_ = closed_ || last;
    skip_silence();
  }
  bool through() const override { return closed_ && waiting_.empty() && stretch_ == 0; }
  Result<std::vector<SpeechRequest>> next() override;
  std::vector<TranscriptSegment> take(std::span<const Answer> answers) override;
  bool follows() const override { return true; }
  std::string so_far(std::string_view answer) const override {
    return joined(model_.dictated(asked_, answer, false));
  }
  std::string language() const override { return found_.empty() ? options_.language : found_; }
  double duration_s() const override { return seconds(done_ + waiting_.size()); }
  /// While a long stretch is incomplete, reports all samples as processed, so that callers do not
  /// wait.
  double done_s() const override {
    return closed_ || most_ <= samples_in(kSoonS) ? seconds(done_) : duration_s();
  }
  int64_t prompt_tokens() const override { return prompt_tokens_; }
  int64_t completion_tokens() const override { return completion_tokens_; }

 private:
  static double seconds(size_t samples) { return static_cast<double>(samples) / kHearingRate; }
  const HearingFacts& facts() const { return model_.info().hearing; }
  /// Returns the number of samples in the next stretch; 0 while too few have arrived.
  size_t due() const {
    const size_t search = samples_in(facts().cut_search_s);
    if (waiting_.size() > most_ && (closed_ || waiting_.size() >= most_ + search)) {
      return search > 0 ? quietest_near(waiting_, most_, search) : quietest_cut(waiting_, most_);
    }
    return closed_ ? waiting_.size() : 0;
  }
  void skip_silence();
  /// Returns the text of a stretch in the form in which it is appended to the earlier text.
  std::string joined(const Dictated& heard) const;
  void drop(size_t samples) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(samples));
    done_ += samples;
  }

  const Pipeline& model_;
  const ListenOptions options_;
  const size_t most_;
  std::vector<float> waiting_;
  bool closed_ = false;
  size_t done_ = 0, stretch_ = 0;  // number of dropped samples; samples of the requested stretch
  Dictation asked_;                // the request for the present stretch
  bool told_ = false;              // whether a segment with text was returned
  std::string found_;              // the first detected language
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

Result<std::vector<SpeechRequest>> DictationLoop::next() {
  const size_t samples = stretch_ == 0 ? due() : 0;
  if (samples == 0) return std::vector<SpeechRequest>();
  auto recording = std::make_shared<Recording>();
  recording->samples.assign(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(samples));
  recording->sample_rate = kHearingRate;
  asked_ = {.recording = std::move(recording), .prompt = options_.prompt};
  if (!options_.language.empty()) {
    asked_.language = language_name(options_.language);
    asked_.language[0] = static_cast<char>(std::toupper(asked_.language[0]));
  }
  Result<SpeechRequest> request = model_.dictation(asked_);
  if (!request) return request.error();
  asked_.recording.reset();
  if (!options_.temperatures.empty())
    request.value().sampling.temperature = options_.temperatures.front();
  request.value().sampling.seed = done_;
  stretch_ = samples;
  std::vector<SpeechRequest> out;
  out.push_back(request.take());
  return out;
}

std::string DictationLoop::joined(const Dictated& heard) const {
  const std::string_view said = trimmed(heard.text, " \t\n");
  if (said.empty()) return {};
  const std::string& language = heard.language.empty() ? options_.language : heard.language;
  return std::string(told_ && !joins_words(language) ? " " : "").append(said);
}

std::vector<TranscriptSegment> DictationLoop::take(std::span<const Answer> answers) {
  const Answer& answer = answers.front();
  prompt_tokens_ += answer.outcome.prompt_tokens;
  completion_tokens_ += answer.outcome.completion_tokens;
  TranscriptSegment segment{.start_s = seconds(done_), .end_s = seconds(done_ + stretch_)};
  segment.temperature = options_.temperatures.empty() ? 0 : options_.temperatures.front();
  drop(std::exchange(stretch_, 0));
  skip_silence();
  const Dictated heard = model_.dictated(asked_, answer.text, true);
  if (found_.empty()) found_ = heard.language;
  segment.text = joined(heard);
  if (segment.text.empty()) return {};
  told_ = true;
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

size_t quietest_near(std::span<const float> samples, size_t at, size_t reach) {
  constexpr size_t kWindow = kHearingRate / 10;
  const size_t begin = at - std::min(at, reach), end = std::min(samples.size(), at + reach);
  if (end - begin <= kWindow) return at;
  // Uses integers, so that sums do not depend on the order of addition.
  const auto level = [&](size_t i) { return std::llround(std::fabs(samples[i]) * 0x1p40); };
  int64_t sum = 0;
  for (size_t i = begin; i < begin + kWindow; ++i) sum += level(i);
  int64_t least = sum;
  size_t best = begin;
  for (size_t i = begin + 1; i + kWindow <= end; ++i) {
    sum += level(i + kWindow - 1) - level(i - 1);
    if (sum < least) least = sum, best = i;
  }
  size_t lowest = best;
  for (size_t i = best; i < best + kWindow; ++i)
    if (std::fabs(samples[i]) < std::fabs(samples[lowest])) lowest = i;
  return std::max<size_t>(lowest, 1);
}

std::shared_ptr<Recogniser> dictation_recogniser(std::shared_ptr<Engine> engine) {
  const Pipeline& model = engine->pipeline();
  const HearingFacts& facts = model.info().hearing;
  if (facts.dictates_s <= 0) return nullptr;
  RecogniserInfo info = info_of(model.info());
  info.languages = facts.languages;
  info.detects_language = facts.finds_language;
  info.prompts = facts.prompts;
  const auto loops = [&model](const ListenOptions& options) {
    return std::make_unique<DictationLoop>(model, options);
  };
  return engine_recogniser(std::move(engine), std::move(info), loops, kAtOnce);
}

}  // namespace syrinx
