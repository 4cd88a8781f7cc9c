#include "ears/stream_recogniser.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "audio/resampler.h"
#include "ears/engine_recogniser.h"
#include "ears/full_scale.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

// A segment ends after a word that precedes a silence, ends a sentence or passes kLongSegment_s.
constexpr double kSilence_s = 1;
constexpr double kLeastSentence_s = 2;
constexpr double kLongSegment_s = 30;
constexpr double kLongestSegment_s = 60;  // a segment ends after this time, even within a word
// The speaker has finished while the probability that the speaker goes on is below this one. As in
// the program of Kyutai STT's authors, text must precede
// (delayed-streams-modeling:scripts/stt_from_mic_rust_server.py).
constexpr float kGoesOn = 0.5f;

bool ends_sentence(std::string_view text) {
  return text.ends_with('.') || text.ends_with('?') || text.ends_with('!');
}

/// Makes segments from the tokens of one request.
class StreamedTranscript final : public Sink {
 public:
  StreamedTranscript(const ListenOptions& options, std::shared_ptr<TranscriptSink> sink)
      : options_(options), sink_(std::move(sink)) {}

  void audio(std::span<const float>) override {}
  void text(std::string_view, std::span<const ScoredToken> tokens) override {
    const size_t before = segment_.text.size();
    const ScoredToken* report = nullptr;  // the newest one
    for (const ScoredToken& token : tokens) {
      if (!token.drawn.bytes.empty()) {
        add(token);
      } else if (token.end_s > token.start_s) {
        lengthen(token.end_s);
      } else {
        report = &token;
      }
    }
    const std::string_view whole = whole_characters();
    if (segment_.text.size() != before && !whole.empty())
      sink_->partial(options_.follow ? whole : without_blank(whole));
    if (report) advance(*report);
  }
  void finished(const Outcome& outcome) override;

  std::atomic<int64_t> samples = 0;  ///< number of samples received so far, without padding

 private:
  static std::string_view without_blank(std::string_view text) {
    return text.starts_with(' ') ? text.substr(1) : text;
  }
  std::string_view whole_characters() const {
    const std::string_view text = segment_.text;
    return text.substr(0, text.size() - utf8_unfinished(text));
  }
  void advance(const ScoredToken& report);
  void add(const ScoredToken& token);
  void lengthen(double end_s);
  void close();

  const ListenOptions options_;
  const std::shared_ptr<TranscriptSink> sink_;
  TranscriptSegment segment_;  // the present segment; it has not begun while its text is empty
  int tokens_ = 0;             // number of tokens in the present segment
  double logprobs_ = 0;        // sum of the tokens' log-probabilities
  double told_s_ = 0;          // seconds last reported by heard()
  std::optional<bool> done_;   // whether the speaker has finished; unset: unknown
  Transcript transcript_;
};

/// Records that the recording is processed up to the report's end, and reports this every second.
/// Reports whether the speaker has finished when this changes.
void StreamedTranscript::advance(const ScoredToken& report) {
  const bool begun = !segment_.text.empty() || !transcript_.segments.empty();
  if (options_.live && begun && report.drawn.logprob < 0) {
    const bool done = std::exp(report.drawn.logprob) < kGoesOn;
    if (done_ != done) sink_->done(done);
    done_ = done;
  }
  // The last row extends beyond the samples.
  const double heard_s = std::min(report.end_s, static_cast<double>(samples) / kHearingRate);
  if (heard_s - told_s_ < 1) return;
  told_s_ = heard_s;
  sink_->heard(heard_s);
}

void StreamedTranscript::add(const ScoredToken& token) {
  const bool new_word = token.drawn.bytes.starts_with(' ');
  if (!segment_.text.empty()) {
    const double length_s = segment_.end_s - segment_.start_s;
    const bool sentence = length_s >= kLeastSentence_s && ends_sentence(segment_.text);
    const bool silence = token.start_s - segment_.end_s >= kSilence_s;
    const bool ended = new_word && (sentence || silence || length_s >= kLongSegment_s);
    if (ended || length_s >= kLongestSegment_s) close();
  }
  if (segment_.text.empty()) segment_.start_s = token.start_s;
  segment_.text += token.drawn.bytes;
  segment_.end_s = token.end_s;
  ++tokens_;
  logprobs_ += token.drawn.logprob;
  if (options_.scores) segment_.pieces.push_back({token.drawn.bytes, token.drawn.logprob});
  if (!options_.word_times) return;
  const std::string word(without_blank(token.drawn.bytes));
  const float probability = std::exp(token.drawn.logprob);
  if (new_word || segment_.words.empty()) {
    if (!word.empty()) segment_.words.push_back({token.start_s, token.end_s, word, probability});
    return;
  }
  TranscriptWord& last = segment_.words.back();
  last.word += word;
  last.end_s = token.end_s;
  last.probability = std::min(last.probability, probability);
}

/// Records that the last word lasts until `end_s`.
void StreamedTranscript::lengthen(double end_s) {
  if (segment_.text.empty()) return;
  segment_.end_s = end_s;
  if (!segment_.words.empty()) segment_.words.back().end_s = end_s;
}

/// Ends the present segment, and reports it.
void StreamedTranscript::close() {
  if (segment_.text.empty()) return;
  segment_.text = utf8_repair(segment_.text);
  if (options_.scores || options_.word_times) {
    segment_.avg_logprob = static_cast<float>(logprobs_ / tokens_);
  }
  sink_->segment(segment_);
  transcript_.segments.push_back(std::exchange(segment_, {}));
  tokens_ = 0;
  logprobs_ = 0;
}

void StreamedTranscript::finished(const Outcome& outcome) {
  if (outcome.reason == FinishReason::kError) return sink_->finished(outcome.error);
  if (outcome.reason == FinishReason::kCancelled) {
    return sink_->finished(Error{ErrorCode::kCancelled, "cancelled"});
  }
  close();
  transcript_.language = options_.language;
  transcript_.duration_s = static_cast<double>(samples) / kHearingRate;
  if (transcript_.duration_s > told_s_) sink_->heard(transcript_.duration_s);
  sink_->finished(std::move(transcript_));
}

class StreamListener final : public Listener {
 public:
  StreamListener(std::shared_ptr<Engine> engine, RequestId id,
                 std::shared_ptr<StreamedTranscript> sink)
      : engine_(std::move(engine)),
        sink_(std::move(sink)),
        frame_(static_cast<size_t>(engine_->info().hearing.frame)),
        tail_(static_cast<size_t>(engine_->info().hearing.tail)),
        id_(id) {
    const int rate = engine_->info().hearing.rate;
    if (rate != kHearingRate) resampler_.emplace(kHearingRate, rate);
  }
  ~StreamListener() override { cancel(); }

  void hear(std::span<const float> samples) override {
    std::vector<float> fit;
    std::ranges::transform(samples, std::back_inserter(fit), [&](float s) { return fit_(s); });
    sink_->samples += std::ssize(samples);
    if (resampler_) {
      resampler_->push(fit, waiting_);
    } else {
      waiting_.insert(waiting_.end(), fit.begin(), fit.end());
    }
    const auto whole = static_cast<std::ptrdiff_t>(waiting_.size() / frame_ * frame_);
    if (whole == 0) return;
    std::vector<float> frames(waiting_.begin(), waiting_.begin() + whole);
    waiting_.erase(waiting_.begin(), waiting_.begin() + whole);
    engine_->append_samples(id_, std::move(frames), false);
  }
  void raise() override { engine_->raise_priority(id_); }
  /// Adds zeros: to complete the last frame, and so that the model writes the last words.
  void end() override {
    if (resampler_) resampler_->flush(waiting_);
    waiting_.resize((waiting_.size() + frame_ - 1) / frame_ * frame_ + tail_);
    engine_->append_samples(id_, std::move(waiting_), true);
  }
  void cancel() override { engine_->cancel(id_); }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<StreamedTranscript> sink_;
  const size_t frame_, tail_;
  const RequestId id_;
  FullScale fit_;
  std::optional<Resampler> resampler_;  // unset if the model's rate is kHearingRate
  std::vector<float> waiting_;          // samples of an incomplete frame, at the model's rate
};

class StreamRecogniser final : public Recogniser {
 public:
  explicit StreamRecogniser(std::shared_ptr<Engine> engine)
      : engine_(std::move(engine)), info_(info_of(engine_->info())) {
    info_.languages = engine_->info().speech.languages;
    info_.streams = info_.grows = info_.word_times = info_.scores = true;
  }
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override {
    Result<SpeechRequest> request = engine_->pipeline().listening(
        {.live = options.live, .scores = options.scores || options.word_times});
    if (!request.ok()) return request.error();
    RequestTerms& terms = request.value().terms;
    terms.client = options.client;
    terms.offline = !options.live && !options.follow;
    terms.background = options.background;
    auto transcript = std::make_shared<StreamedTranscript>(options, std::move(sink));
    const Result<RequestId> id = engine_->submit(request.value(), transcript);
    if (!id.ok()) return id.error();
    return std::unique_ptr<Listener>(
        std::make_unique<StreamListener>(engine_, id.value(), std::move(transcript)));
  }

 private:
  const std::shared_ptr<Engine> engine_;
  RecogniserInfo info_;
};

}  // namespace

std::shared_ptr<Recogniser> stream_recogniser(std::shared_ptr<Engine> engine) {
  if (engine->info().hearing.frame <= 0) return nullptr;
  return std::make_shared<StreamRecogniser>(std::move(engine));
}

}  // namespace syrinx
