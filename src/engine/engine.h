// The engine: runs one model for many requests at once, on a machine that it may share with the
// engines of other models (CONTRACT.md beside this file states the invariants). Public methods are
// safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/cost.h"
#include "engine/metrics.h"
#include "engine/service.h"
#include "engine/voice_queue.h"
#include "model/pipeline.h"

namespace syrinx {

class Machine;

/// Where batches run.
enum class Executors {
  kShared,  ///< one executor with all threads, on the scheduler's own thread
  kSplit,   ///< two with half the threads each: an AR node steps on one of them, chunks run on both
  kEach,    ///< one executor a thread, each running any node
};
/// "shared", "split" or "each"; unset for another name.
std::optional<Executors> find_executors(std::string_view name);

/// The first nine are options of the machine: the same for all of its models.
struct EngineOptions {
  int threads = 0;  ///< of the kernels, the engine's own included; 0: all cores
  /// Unset: split with two threads or more, else shared. What loads a model may know better
  /// (runtime.h).
  std::optional<Executors> executors = {};
  int remote_slots = 0;              ///< batches of stages in other processes under way at a time
  std::string policy = "streaming";  ///< streaming, throughput or fcfs
  int max_batch = 32;                ///< sequences in one AR step, chunks in one chunk step
  int max_prefill_rows = 128;        ///< prompt rows that may ride along in one AR step
  bool drafts = true;  ///< run guesses of next steps along where a model has them (Sequence::draft)
  double background_share = 1;  ///< of the executors' time, for requests in the background; (0, 1]
  std::string trace_file = {};  ///< a Chrome trace of everything the machine does; empty: none
  int max_requests = 256;       ///< accepted and unfinished; past it submit() says kOverloaded
  int max_per_client = 0;       ///< the same for each client; 0: no limit
  double max_wait_s = 2;        ///< predicted wait for a seat past which submit() says kOverloaded
  /// The same for requests that are only read, never heard; max_wait_s where that is longer.
  double max_read_wait_s = 30;
  size_t kv_bytes = 0;         ///< memory of the KV cache; 0: enough for max_batch long requests,
                               ///< at most 1 GiB, on a GPU 16
  bool share_prefixes = true;  ///< reuse the cache of equal prompt prefixes
  double background_pages =
      1;  ///< share of a KV cache that requests in the background hold; (0, 1]
  double max_encode_wait_s = 30;  ///< predicted wait past which encode_voice() says kOverloaded
  double max_unread_s = 30;       ///< audio made ahead of a client that does not read
  double max_audio_s = 0;         ///< the longest audio of a request, which ends there with
                                  ///< kLength; 0: no bound
  std::shared_ptr<const Lexicon> lexicon = {};  ///< of every request, behind its own
  double repetition_s = 6;  ///< a stream that repeats itself this long is ended; 0: never
};

/// Tokens of an answer that a reader takes in a second, for deadlines of text. A fast reader's 400
/// words a minute are 9.
inline constexpr double kTokensReadASecond = 20;

/// How a request ended and what it cost.
struct Outcome {
  FinishReason reason = FinishReason::kStop;
  Error error;  ///< when reason is kError
  int64_t frames = 0;
  double audio_s = 0;
  double waited_s = 0;       ///< from submit() to the first step
  double first_audio_s = 0;  ///< from submit() to the first samples delivered
  double first_text_s = 0;   ///< the same of text
  double total_s = 0;        ///< from submit() to the end
  // For models that write.
  int prompt_tokens = 0, completion_tokens = 0;
  int guessed_tokens = 0, right_guesses = 0;  ///< steps run as guesses, and those that came true
  int cached_tokens = 0;  ///< tokens of the prompt whose cache was there already
  int heard_tokens = 0, cached_heard_tokens = 0;  ///< prompt tokens of recordings, and those of
                                                  ///< them whose cache was there
  int underruns = 0;          ///< chunks that came after the listener had run dry
  double max_underrun_s = 0;  ///< the longest wait of the listener
  std::vector<WordMark> words = {};
  std::vector<PhoneMark> phones = {};      ///< where the request asked for them
  std::vector<std::string> warnings = {};  ///< as Sink::warning()
};

/// Where a request's audio goes. Called on the engine's thread, in order, and must not block:
/// copy and return. Kept alive by the engine until finished() has returned.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Mono samples in [-1, 1] at the pipeline's rate; borrowed for the call.
  virtual void audio(std::span<const float> samples) = 0;
  /// Words whose frames were just made; their audio comes with a later call.
  virtual void words(std::span<const WordMark>) {}
  /// A warning about the text, for people, without a full stop; comes before the
  /// audio of that text.
  virtual void warning(std::string_view /*text*/) {}
  /// Text of an answer, in whole characters, and its tokens where the request asked for their
  /// log-probabilities; borrowed for the call.
  virtual void text(std::string_view /*piece*/, std::span<const ScoredToken> /*tokens*/) {}
  /// The next ids of an answer, of models that take them back (WritingFacts::recalls); borrowed for
  /// the call.
  virtual void answer_ids(std::span<const int32_t> /*ids*/) {}
  /// The last call. Comes exactly once for every accepted request.
  virtual void finished(const Outcome& outcome) = 0;
  /// Seconds of audio delivered but not yet taken by the client; any thread.
  virtual double unread_s() const { return 0; }
};

/// A momentary picture, for logs, health and tests. More is in EngineMetrics.
struct EngineStats {
  int requests = 0;             ///< accepted and unfinished
  int running = 0;              ///< requests that have a seat
  double capacity_streams = 0;  ///< real-time streams that the learned costs allow; 0: not known
  double seats_limit = 0;       ///< fewer than that, because streams ran dry; 0: no such limit
  double slowdown = 1;          ///< time to first outputs, as a multiple of that of a request alone
  int pages_free = 0, pages = 0;
  int64_t ar_steps = 0, chunk_steps = 0, preemptions = 0;
  int64_t accepted = 0, finished = 0;
  double audio_s = 0;
};

/// One model on a machine, its own or a shared one.
class Engine final : public Service {
 public:
  /// On a machine of its own, or on `machine`, whose options then count where they are the
  /// machine's. Throws LoadError when an option makes no sense or the trace file cannot be written.
  explicit Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options = {},
                  std::shared_ptr<Machine> machine = nullptr);
  /// Ends what is running with kCancelled.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Pipeline& pipeline() const;
  const std::shared_ptr<Machine>& machine() const;

  const PipelineInfo& info() const override { return pipeline().info(); }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override;
  Result<RequestId> submit_soon(const SpeechRequest& request, std::shared_ptr<Sink> sink) override;
  void cancel(RequestId id) override;
  void append_text(RequestId id, std::string text, bool last) override;
  void raise_priority(RequestId id) override;

  /// Encodes a recording into a voice of this model; `done` is called once, on a thread of the
  /// engine, and must not block. An Error means that it is never called. Refused where the pipeline
  /// has no encoder.
  Result<uint64_t> encode_voice(Recording recording, uint64_t client, VoiceDone done);
  void cancel_voice(uint64_t id);

  /// Refuses new requests and waits for the running ones; true if all ended in time.
  bool drain(double timeout_s);
  EngineStats stats() const;
  /// Counters and histograms since the start; read at any time.
  const EngineMetrics& metrics() const;
  /// The learned costs of the batches of each node.
  std::vector<StageCost> costs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
