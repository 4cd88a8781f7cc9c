#include "ears/whisper_recogniser.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ears/hearing_threads.h"

namespace syrinx {
namespace {

constexpr int kMostRecordings = 512;  // that are heard or wait
constexpr int kMostRefusals = 3;      // of a window, while none of ours is at work
constexpr double kComeBack_s = 5;

/// A recording being heard.
struct WhisperHearing {
  WhisperHearing(const whisper::Whisper& model, const WhisperOptions& options, bool is_live,
                 uint64_t whose, std::shared_ptr<TranscriptSink> where)
      : sink(std::move(where)), live(is_live), client(whose), loop(model, options) {}

  const std::shared_ptr<TranscriptSink> sink;
  const bool live;
  const uint64_t client;
  // Under the recogniser's mutex.
  std::vector<float> waiting;
  bool ended = false, cancelled = false;
  bool posted = false;             // a piece of it waits or runs
  bool again = false;              // something came while a piece of it ran
  bool over = false;               // finished() was called, or is about to be
  std::optional<Outcome> outcome;  // of the window that was asked for
  RequestId request = 0;           // of that window; 0: none
  // Of the thread that runs its piece.
  WhisperLoop loop;
  std::shared_ptr<FamilyTask> task;  // to be asked for, or asked for
  bool asked = false, closed = false;
  int refusals = 0;
  double told_s = 0;
  Transcript transcript;
};

/// Must outlive its listeners.
class WhisperRecogniser final : public Recogniser {
 public:
  WhisperRecogniser(std::shared_ptr<Engine> engine, const whisper::Whisper& model,
                    WhisperOptions defaults);
  ~WhisperRecogniser() override;
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override;

  using Hearing = std::shared_ptr<WhisperHearing>;
  void hear(const Hearing& hearing, std::span<const float> samples);
  void end(const Hearing& hearing);
  void cancel(const Hearing& hearing);
  /// A window's request has ended; on the engine's thread.
  void heard(const Hearing& hearing, const Outcome& outcome);

 private:
  void post(const Hearing& hearing);  // under mutex_
  void wake_one();                    // under mutex_

  // On the hearing thread, one at a time for each hearing.
  void run_piece(const Hearing& hearing);
  void take_outcome(const Hearing& hearing, const Outcome& outcome);
  void ask(const Hearing& hearing);
  void refused(const Hearing& hearing, const Error& error);
  void tell_progress(WhisperHearing& hearing, double seconds);
  void finish(const Hearing& hearing, std::optional<Error> error);

  const std::shared_ptr<Engine> engine_;
  const whisper::Whisper& model_;
  const WhisperOptions defaults_;
  RecogniserInfo info_;
  std::mutex mutex_;
  std::list<Hearing> hearings_;            // unfinished
  std::deque<Hearing> refused_;            // the engine had no room; oldest first
  int at_work_ = 0;                        // windows in the engine
  std::condition_variable idle_;           // at_work_ has fallen
  std::optional<HearingThreads> threads_;  // destroyed first
};

class WhisperListener final : public Listener {
 public:
  WhisperListener(WhisperRecogniser& recogniser, std::shared_ptr<WhisperHearing> hearing)
      : recogniser_(recogniser), hearing_(std::move(hearing)) {}
  ~WhisperListener() override { cancel(); }
  void hear(std::span<const float> samples) override { recogniser_.hear(hearing_, samples); }
  void end() override { recogniser_.end(hearing_); }
  void cancel() override { recogniser_.cancel(hearing_); }

 private:
  WhisperRecogniser& recogniser_;
  const std::shared_ptr<WhisperHearing> hearing_;
};

/// The end of a window's request.
class WindowSink final : public Sink {
 public:
  WindowSink(WhisperRecogniser& recogniser, std::shared_ptr<WhisperHearing> hearing)
      : recogniser_(recogniser), hearing_(std::move(hearing)) {}
  void audio(std::span<const float>) override {}
  void finished(const Outcome& outcome) override { recogniser_.heard(hearing_, outcome); }

 private:
  WhisperRecogniser& recogniser_;  // waits for all windows before it goes
  const std::shared_ptr<WhisperHearing> hearing_;
};

WhisperRecogniser::WhisperRecogniser(std::shared_ptr<Engine> engine, const whisper::Whisper& model,
                                     WhisperOptions defaults)
    : engine_(std::move(engine)), model_(model), defaults_(std::move(defaults)) {
  const PipelineInfo& info = model.info();
  info_.name = info.model;
  info_.family = info.family;
  info_.languages = info.languages;
  info_.detects_language = model.generation().multilingual();
  info_.translates = model.generation().multilingual();
  info_.prompts = true;
  info_.word_times = true;
  for (const PartInfo& part : info.parts) info_.bytes += part.bytes;
  threads_.emplace(1);
}

WhisperRecogniser::~WhisperRecogniser() {
  {
    std::unique_lock lock(mutex_);
    for (const Hearing& hearing : hearings_) {
      hearing->cancelled = true;
      if (hearing->request != 0) engine_->cancel(hearing->request);
      post(hearing);
    }
    idle_.wait(lock, [&] { return at_work_ == 0; });
  }
  threads_.reset();
}

Result<std::unique_ptr<Listener>> WhisperRecogniser::open(const ListenOptions& options,
                                                          std::shared_ptr<TranscriptSink> sink) {
  WhisperOptions how = defaults_;
  how.language = options.language;
  how.translate = options.translate;
  how.prompt = options.prompt;
  how.word_times = options.word_times;
  if (!options.temperatures.empty()) how.temperatures = options.temperatures;
  auto hearing =
      std::make_shared<WhisperHearing>(model_, how, options.live, options.client, std::move(sink));
  const std::lock_guard lock(mutex_);
  if (std::ssize(hearings_) >= kMostRecordings) {
    return Error{ErrorCode::kOverloaded,
                 concat(hearings_.size(), " recordings are being heard, that is the limit."),
                 {},
                 kComeBack_s};
  }
  hearings_.push_back(hearing);
  return std::unique_ptr<Listener>(std::make_unique<WhisperListener>(*this, std::move(hearing)));
}

void WhisperRecogniser::hear(const Hearing& hearing, std::span<const float> samples) {
  const std::lock_guard lock(mutex_);
  if (hearing->over || hearing->ended) return;
  for (const float sample : samples) {
    hearing->waiting.push_back(std::isnan(sample) ? 0.f : std::clamp(sample, -1.f, 1.f));
  }
  post(hearing);
}

void WhisperRecogniser::end(const Hearing& hearing) {
  const std::lock_guard lock(mutex_);
  hearing->ended = true;
  post(hearing);
}

void WhisperRecogniser::cancel(const Hearing& hearing) {
  const std::lock_guard lock(mutex_);
  if (hearing->over || hearing->cancelled) return;
  hearing->cancelled = true;
  if (hearing->request != 0) engine_->cancel(hearing->request);
  post(hearing);
}

void WhisperRecogniser::heard(const Hearing& hearing, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  hearing->outcome = outcome;
  hearing->request = 0;
  --at_work_;
  post(hearing);
  wake_one();
  idle_.notify_all();
}

void WhisperRecogniser::post(const Hearing& hearing) {
  if (hearing->over) return;
  hearing->again = true;
  if (hearing->posted) return;
  hearing->posted = true;
  threads_->post([this, hearing] { run_piece(hearing); });
}

/// Whose window was refused for want of room may try again.
void WhisperRecogniser::wake_one() {
  if (refused_.empty()) return;
  const Hearing next = std::move(refused_.front());
  refused_.pop_front();
  post(next);
}

void WhisperRecogniser::run_piece(const Hearing& hearing) {
  WhisperHearing& h = *hearing;
  std::vector<float> samples;
  std::optional<Outcome> outcome;
  bool ended, cancelled;
  {
    const std::lock_guard lock(mutex_);
    samples.swap(h.waiting);
    outcome = std::move(h.outcome);
    h.outcome.reset();
    h.again = false;
    ended = h.ended, cancelled = h.cancelled;
  }
  try {
    if (outcome) h.asked = false;
    if (cancelled) {
      if (!h.asked) finish(hearing, Error{ErrorCode::kCancelled, "cancelled"});
    } else {
      const bool last = ended && !h.closed;
      if (!samples.empty() || last) h.loop.hear(samples, last);
      h.closed = h.closed || last;
      if (outcome) take_outcome(hearing, *outcome);
      if (!h.over && !h.asked) ask(hearing);
    }
  } catch (const std::exception& e) {
    finish(hearing, Error{ErrorCode::kInternal, e.what()});
  }
  const std::lock_guard lock(mutex_);
  h.posted = false;
  if (h.again) post(hearing);
}

void WhisperRecogniser::take_outcome(const Hearing& hearing, const Outcome& outcome) {
  WhisperHearing& h = *hearing;
  if (outcome.reason == FinishReason::kError) return refused(hearing, outcome.error);
  if (outcome.reason == FinishReason::kCancelled) {
    return finish(hearing, Error{ErrorCode::kCancelled, "the server is going down"});
  }
  h.refusals = 0;
  h.task.reset();
  for (TranscriptSegment& segment : h.loop.take()) {
    h.sink->segment(segment);
    h.transcript.segments.push_back(std::move(segment));
  }
}

/// Asks for the next window, or what else the loop wants of one.
void WhisperRecogniser::ask(const Hearing& hearing) {
  WhisperHearing& h = *hearing;
  if (!h.task) h.task = h.loop.next(!h.live);
  // Nothing is given up for what will only be looked at when all of it is there.
  tell_progress(h, h.closed ? h.loop.done_s() : h.live ? h.loop.done_s() : h.loop.duration_s());
  if (!h.task) {
    if (h.loop.through()) finish(hearing, {});
    return;
  }
  SpeechRequest request;
  request.task = h.task;
  request.seed = h.loop.seed();
  request.client = h.client;
  request.offline = !h.live;
  // Under the mutex, so that the request's end, or a cancel, finds its id.
  std::unique_lock lock(mutex_);
  if (h.cancelled) return;
  ++at_work_;
  auto submitted = engine_->submit(request, std::make_shared<WindowSink>(*this, hearing));
  if (submitted.ok()) {
    h.asked = true;
    h.request = submitted.value();
    return;
  }
  --at_work_;
  lock.unlock();
  refused(hearing, submitted.error());
}

/// Without room in the engine a window waits for the end of another one of ours.
void WhisperRecogniser::refused(const Hearing& hearing, const Error& error) {
  if (error.code == ErrorCode::kOverloaded) {
    const std::lock_guard lock(mutex_);
    const bool others = at_work_ > 0;
    if (others || ++hearing->refusals < kMostRefusals) {
      std::erase(refused_, hearing);
      refused_.push_back(hearing);
      if (!others) wake_one();
      return;
    }
  }
  finish(hearing, error);
}

void WhisperRecogniser::tell_progress(WhisperHearing& h, double seconds) {
  if (seconds <= h.told_s) return;
  h.told_s = seconds;
  h.sink->heard(seconds);
}

void WhisperRecogniser::finish(const Hearing& hearing, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    if (hearing->over) return;
    hearing->over = true;
    hearings_.remove(hearing);
    std::erase(refused_, hearing);
    wake_one();  // it may have been woken for room that it did not use
  }
  if (error) return hearing->sink->finished(*error);
  Transcript& transcript = hearing->transcript;
  transcript.language = hearing->loop.language();
  transcript.duration_s = hearing->loop.duration_s();
  transcript.prompt_tokens = hearing->loop.prompt_ids();
  transcript.completion_tokens = hearing->loop.drawn_ids();
  tell_progress(*hearing, transcript.duration_s);
  hearing->sink->finished(std::move(transcript));
}

}  // namespace

std::shared_ptr<Recogniser> whisper_recogniser(std::shared_ptr<Engine> engine,
                                               WhisperOptions defaults) {
  const auto* model = dynamic_cast<const whisper::Whisper*>(&engine->pipeline());
  if (model == nullptr) return nullptr;
  return std::make_shared<WhisperRecogniser>(std::move(engine), *model, std::move(defaults));
}

std::shared_ptr<Recogniser> open_whisper(const LoadOptions& model) {
  std::shared_ptr<Engine> engine = load_engine(model);
  const std::string family = engine->pipeline().info().family;
  if (auto recogniser = whisper_recogniser(std::move(engine))) return recogniser;
  throw LoadError(concat(model.model, " is a model of the family '", family,
                         "', which does not recognise speech; whisper does"));
}

}  // namespace syrinx
