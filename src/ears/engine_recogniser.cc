#include "ears/engine_recogniser.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "ears/backlog.h"
#include "ears/full_scale.h"
#include "ears/hearing_threads.h"

namespace syrinx {
namespace {

constexpr int kMostRecordings = 512;  // limit of recordings that run or wait
// A recording fails after this number of refusals of a request while no other request is at work.
constexpr int kMostRefusals = 3;
constexpr double kComeBack_s = 5;

/// The state of a recording that is being transcribed.
struct EngineHearing {
  EngineHearing(std::unique_ptr<HearingLoop> how, const ListenOptions& options,
                std::shared_ptr<TranscriptSink> where)
      : sink(std::move(where)),
        live(options.live),
        offline(!options.live && !options.follow),
        client(options.client),
        background(options.background),
        follows(options.follow && how->follows()),
        loop(std::move(how)) {}

  const std::shared_ptr<TranscriptSink> sink;
  const bool live;
  const bool offline;  // whether no client waits for its segments
  const uint64_t client;
  // The recogniser's mutex protects these members:
  bool background;
  std::vector<float> waiting;
  FullScale fit;
  bool ended = false, cancelled = false;
  bool posted = false;              // whether a piece of its work waits or runs
  bool again = false;               // whether input arrived while a piece of its work ran
  bool over = false;                // whether finished() was called, or is about to be called
  Backlog::Pass pass = 0;           // its pass in the backlog; 0 if no speaker waits for the result
  bool in_line = false;             // whether its request waits until the backlog lets it run
  std::string grown;                // the growing answer to the first running request, if `follows`
  std::vector<RequestId> requests;  // the submitted requests; 0 if the request has ended
  std::vector<Answer> answers;      // the answers to `requests`; all are valid if `running` is 0
  int running = 0;                  // number of requests that have not ended
  const bool follows;               // whether so_far() is reported to the sink
  // Only the thread that runs its piece of work uses these members:
  const std::unique_ptr<HearingLoop> loop;
  std::vector<SpeechRequest> questions;  // the next requests, or those that were submitted
  bool asked = false, closed = false;
  int refusals = 0;
  double told_s = 0;
  Transcript transcript;
};

/// A recogniser on an engine. It must outlive its listeners.
class EngineRecogniser final : public Recogniser {
 public:
  EngineRecogniser(std::shared_ptr<Engine> engine, RecogniserInfo info, LoopMaker loops,
                   int at_once)
      : engine_(std::move(engine)),
        info_(std::move(info)),
        loops_(std::move(loops)),
        backlog_(at_once) {
    threads_.emplace(1);
  }
  ~EngineRecogniser() override;
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override;

  using Hearing = std::shared_ptr<EngineHearing>;
  double wait_s(const Hearing& hearing) const {
    const std::lock_guard lock(mutex_);
    return backlog_.wait_s(now_s(), hearing->pass);
  }
  double delay_s(const Hearing& hearing) const {
    const std::lock_guard lock(mutex_);
    return hearing->over || hearing->running > 0 ? 0 : backlog_.delay_s(now_s(), hearing->pass);
  }
  void hear(const Hearing& hearing, std::span<const float> samples);
  void end(const Hearing& hearing);
  void raise(const Hearing& hearing);
  void cancel(const Hearing& hearing);
  /// Processes an answer that has grown to `text`. Called on the engine's thread.
  void grew(const Hearing& hearing, const std::string& text);
  /// Processes the answer of request `index` of the hearing, which has ended. Called on the
  /// engine's thread.
  void heard(const Hearing& hearing, size_t index, Answer answer);

 private:
  void post(const Hearing& hearing);  // requires mutex_
  void wake_one();                    // requires mutex_
  void wake_line();                   // requires mutex_
  /// Adds the pass of a live recording that has ended to the backlog, or removes the pass if the
  /// recording is finished or cancelled. `done`: the transcript is complete. Requires mutex_.
  void count(EngineHearing& hearing, bool done = false);

  // Both run on the hearing thread, one call at a time for each recording.
  void run_piece(const Hearing& hearing);
  void take_answers(const Hearing& hearing, std::span<const Answer> answers);
  void ask(const Hearing& hearing);
  Status submit(const Hearing& hearing, SpeechRequest& request);
  void cancel_requests(const EngineHearing& hearing);
  void refused(const Hearing& hearing, const Error& error);
  void report_progress(EngineHearing& hearing, double seconds);
  void finish(const Hearing& hearing, std::optional<Error> error);

  const std::shared_ptr<Engine> engine_;
  const RecogniserInfo info_;
  const LoopMaker loops_;
  mutable std::mutex mutex_;
  std::list<Hearing> hearings_;  // recordings that are not finished
  std::deque<Hearing> refused_;  // recordings whose request the engine refused, oldest first
  int at_work_ = 0;              // number of requests in the engine
  Backlog backlog_;
  std::condition_variable idle_;           // notified when at_work_ decreases
  std::optional<HearingThreads> threads_;  // destroyed first: its pieces use the other members
};

class EngineListener final : public Listener {
 public:
  EngineListener(EngineRecogniser& recogniser, std::shared_ptr<EngineHearing> hearing)
      : recogniser_(recogniser), hearing_(std::move(hearing)) {}
  ~EngineListener() override { cancel(); }
  void hear(std::span<const float> samples) override { recogniser_.hear(hearing_, samples); }
  void raise() override { recogniser_.raise(hearing_); }
  double wait_s() const override { return recogniser_.wait_s(hearing_); }
  double delay_s() const override { return recogniser_.delay_s(hearing_); }
  void end() override { recogniser_.end(hearing_); }
  void cancel() override { recogniser_.cancel(hearing_); }

 private:
  EngineRecogniser& recogniser_;
  const std::shared_ptr<EngineHearing> hearing_;
};

/// Collects the output of a request.
class AnswerSink final : public Sink {
 public:
  AnswerSink(EngineRecogniser& recogniser, std::shared_ptr<EngineHearing> hearing, size_t index)
      : recogniser_(recogniser), hearing_(std::move(hearing)), index_(index) {}
  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    text_ += piece;
    if (hearing_->follows && index_ == 0) recogniser_.grew(hearing_, text_);
  }
  void finished(const Outcome& outcome) override {
    recogniser_.heard(hearing_, index_, {outcome, std::move(text_)});
  }

 private:
  EngineRecogniser& recogniser_;  // outlives this sink: its destructor waits for all requests
  const std::shared_ptr<EngineHearing> hearing_;
  const size_t index_;  // index of the request in EngineHearing::requests
  std::string text_;
};

EngineRecogniser::~EngineRecogniser() {
  {
    std::unique_lock lock(mutex_);
    for (const Hearing& hearing : hearings_) {
      hearing->cancelled = true;
      cancel_requests(*hearing);
      post(hearing);
    }
    idle_.wait(lock, [&] { return at_work_ == 0; });
  }
  threads_.reset();
}

Result<std::unique_ptr<Listener>> EngineRecogniser::open(const ListenOptions& options,
                                                         std::shared_ptr<TranscriptSink> sink) {
  auto hearing = std::make_shared<EngineHearing>(loops_(options), options, std::move(sink));
  const std::lock_guard lock(mutex_);
  if (std::ssize(hearings_) >= kMostRecordings) {
    return Error{ErrorCode::kOverloaded,
                 concat(hearings_.size(), " recordings are being transcribed, which is the limit."),
                 {},
                 kComeBack_s};
  }
  hearings_.push_back(hearing);
  return std::unique_ptr<Listener>(std::make_unique<EngineListener>(*this, std::move(hearing)));
}

void EngineRecogniser::hear(const Hearing& hearing, std::span<const float> samples) {
  const std::lock_guard lock(mutex_);
  if (hearing->over || hearing->ended) return;
  for (const float sample : samples) hearing->waiting.push_back(hearing->fit(sample));
  post(hearing);
}

void EngineRecogniser::end(const Hearing& hearing) {
  const std::lock_guard lock(mutex_);
  hearing->ended = true;
  count(*hearing);
  post(hearing);
}

void EngineRecogniser::raise(const Hearing& hearing) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(hearing->background, false)) return;
  backlog_.raise(hearing->pass);
  for (const RequestId request : hearing->requests)
    if (request != 0) engine_->raise_priority(request);
}

void EngineRecogniser::cancel(const Hearing& hearing) {
  const std::lock_guard lock(mutex_);
  if (hearing->over || hearing->cancelled) return;
  hearing->cancelled = true;
  count(*hearing);
  cancel_requests(*hearing);
  post(hearing);
}

void EngineRecogniser::cancel_requests(const EngineHearing& hearing) {
  for (const RequestId request : hearing.requests)
    if (request != 0) engine_->cancel(request);
}

void EngineRecogniser::count(EngineHearing& hearing, bool done) {
  const bool due = hearing.live && hearing.ended && !hearing.cancelled && !hearing.over;
  if (due == (hearing.pass != 0)) return;
  if (due) {
    hearing.pass = backlog_.begin(now_s(), hearing.background);
  } else {
    backlog_.end(std::exchange(hearing.pass, 0), now_s(), done);
    wake_line();
  }
}

/// Continues recordings that the backlog now allows to run.
void EngineRecogniser::wake_line() {
  for (const Hearing& hearing : hearings_) {
    if (hearing->in_line && backlog_.may_run(hearing->pass)) post(hearing);
  }
}

void EngineRecogniser::grew(const Hearing& hearing, const std::string& text) {
  const std::lock_guard lock(mutex_);
  hearing->grown = text;
  post(hearing);
}

void EngineRecogniser::heard(const Hearing& hearing, size_t index, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (index == 0) hearing->grown.clear();
  hearing->answers[index] = std::move(answer);
  hearing->requests[index] = 0;
  --at_work_;
  if (--hearing->running == 0) post(hearing);
  wake_one();
  idle_.notify_all();
}

void EngineRecogniser::post(const Hearing& hearing) {
  if (hearing->over) return;
  hearing->again = true;
  if (hearing->posted) return;
  hearing->posted = true;
  threads_->run([this, hearing] { run_piece(hearing); });
}

/// Lets the oldest recording whose request was refused submit it again.
void EngineRecogniser::wake_one() {
  if (refused_.empty()) return;
  const Hearing next = std::move(refused_.front());
  refused_.pop_front();
  post(next);
}

void EngineRecogniser::run_piece(const Hearing& hearing) {
  EngineHearing& h = *hearing;
  std::vector<float> samples;
  std::vector<Answer> answers;
  std::string grown;
  bool ended, cancelled;
  {
    const std::lock_guard lock(mutex_);
    samples.swap(h.waiting);
    if (h.running == 0) answers.swap(h.answers);
    grown.swap(h.grown);
    h.again = false;
    ended = h.ended, cancelled = h.cancelled;
  }
  try {
    if (!answers.empty()) h.asked = false;
    if (cancelled) {
      if (!h.asked) finish(hearing, Error{ErrorCode::kCancelled, "cancelled"});
    } else {
      const bool last = ended && !h.closed;
      if (!samples.empty() || last) h.loop->hear(samples, last);
      h.closed = h.closed || last;
      if (!answers.empty()) take_answers(hearing, answers);
      if (!grown.empty()) {
        if (const std::string text = h.loop->so_far(grown); !text.empty()) h.sink->partial(text);
      }
      if (!h.over && !h.asked) ask(hearing);
    }
  } catch (const std::exception& e) {
    finish(hearing, Error{ErrorCode::kInternal, e.what()});
  }
  const std::lock_guard lock(mutex_);
  h.posted = false;
  if (h.again) post(hearing);
}

void EngineRecogniser::take_answers(const Hearing& hearing, std::span<const Answer> answers) {
  EngineHearing& h = *hearing;
  const auto failed = [](const Answer& answer) {
    return answer.outcome.reason == FinishReason::kError ||
           answer.outcome.reason == FinishReason::kCancelled;
  };
  const Outcome& first = answers.front().outcome;
  if (first.reason == FinishReason::kError) return refused(hearing, first.error);
  if (first.reason == FinishReason::kCancelled)
    return finish(hearing, Error{ErrorCode::kCancelled, "the server is shutting down"});
  const auto end = std::find_if(answers.begin(), answers.end(), failed);
  h.refusals = 0;
  h.questions.clear();
  for (TranscriptSegment& segment : h.loop->take({answers.begin(), end})) {
    h.sink->segment(segment);
    h.transcript.segments.push_back(std::move(segment));
  }
}

/// Submits the loop's next requests to the engine. Those behind the first one are left out if the
/// engine cannot accept them.
void EngineRecogniser::ask(const Hearing& hearing) {
  EngineHearing& h = *hearing;
  if (h.questions.empty()) {
    Result<std::vector<SpeechRequest>> next = h.loop->next();
    if (!next) return finish(hearing, next.error());
    h.questions = next.take();
  }
  report_progress(h, h.loop->done_s());
  if (h.questions.empty()) {
    if (h.loop->through()) finish(hearing, {});
    return;
  }
  // Holds the mutex, so that the end of a request, or a cancel, finds the request's id.
  std::unique_lock lock(mutex_);
  h.in_line = !backlog_.may_run(h.pass);
  if (h.cancelled || h.in_line) return;
  h.requests.clear();
  for (SpeechRequest& question : h.questions) {
    const Status submitted = submit(hearing, question);
    if (submitted) continue;
    if (!h.requests.empty()) break;
    lock.unlock();
    return refused(hearing, submitted.error());
  }
  h.asked = true;
}

/// Submits one request, the next of the hearing's requests. Requires mutex_.
Status EngineRecogniser::submit(const Hearing& hearing, SpeechRequest& request) {
  EngineHearing& h = *hearing;
  request.terms.client = h.client;
  request.terms.offline = h.offline;
  request.terms.background = h.background;
  const auto sink = std::make_shared<AnswerSink>(*this, hearing, h.requests.size());
  // Encoding the audio of a prompt needs time, so another thread does it.
  auto submitted = request.writing.recordings.empty() ? engine_->submit(request, sink)
                                                      : engine_->submit_soon(request, sink);
  if (!submitted.ok()) return submitted.error();
  h.requests.push_back(submitted.value());
  h.answers.resize(h.requests.size());
  ++h.running;
  ++at_work_;
  return ok_status();
}

/// If the engine is full, the request waits until another request of this recogniser ends.
void EngineRecogniser::refused(const Hearing& hearing, const Error& error) {
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

void EngineRecogniser::report_progress(EngineHearing& h, double seconds) {
  if (seconds <= h.told_s) return;
  h.told_s = seconds;
  h.sink->heard(seconds);
}

void EngineRecogniser::finish(const Hearing& hearing, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    if (hearing->over) return;
    hearing->over = true;
    count(*hearing, !error);
    hearings_.remove(hearing);
    std::erase(refused_, hearing);
    wake_one();  // because this recording may have been woken, but needs no more requests
  }
  if (error) return hearing->sink->finished(*error);
  Transcript& transcript = hearing->transcript;
  transcript.language = hearing->loop->language();
  transcript.whole = hearing->loop->whole();
  transcript.duration_s = hearing->loop->duration_s();
  transcript.prompt_tokens = hearing->loop->prompt_tokens();
  transcript.completion_tokens = hearing->loop->completion_tokens();
  report_progress(*hearing, transcript.duration_s);
  hearing->sink->finished(std::move(transcript));
}

}  // namespace

std::shared_ptr<Recogniser> engine_recogniser(std::shared_ptr<Engine> engine, RecogniserInfo info,
                                              LoopMaker loops, int at_once) {
  return std::make_shared<EngineRecogniser>(std::move(engine), std::move(info), std::move(loops),
                                            at_once);
}

RecogniserInfo info_of(const PipelineInfo& model) {
  RecogniserInfo info{.name = model.model, .family = model.family};
  info.first_channel = model.hearing.first_channel;
  for (const PartInfo& part : model.parts) info.bytes += part.bytes;
  return info;
}

}  // namespace syrinx
