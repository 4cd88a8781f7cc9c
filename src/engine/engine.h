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
  kSplit,   ///< two executors with half of the threads each: one runs the steps of an AR node, both
            ///< run chunks
  kEach,    ///< one executor for each thread; each runs any node
};
/// Returns the executors named "shared", "split" or "each"; unset for another name.
std::optional<Executors> find_executors(std::string_view name);

/// Options of an engine. Those up to trace_file belong to the machine and are the same for all of
/// its models.
struct EngineOptions {
  int threads = 0;  ///< threads of the kernels, including the engine's own; 0: all cores
  /// Unset: split with two threads or more, else shared. A program that loads a model may replace
  /// this default (runtime.h).
  std::optional<Executors> executors = {};
  int remote_slots = 0;              ///< batches that may run at once in stages of other processes
  std::string policy = "streaming";  ///< streaming, throughput or fcfs
  int max_batch = 32;                ///< sequences in one AR step, chunks in one chunk step
  int max_prefill_rows = 128;        ///< prompt rows that one AR step may add
  bool drafts = true;                ///< add guesses of the next steps to a batch (Sequence::draft)
  double background_share = 1;  ///< share of executor time for requests in the background; (0, 1]
  std::string trace_file = {};  ///< path of a Chrome trace of the machine's work; empty: none
  int max_requests = 256;       ///< accepted, unfinished requests; submit() refuses more
  int max_per_client = 0;       ///< accepted, unfinished requests of one client; 0: no limit
  double max_wait_s = 2;  ///< longest predicted wait for a seat; submit() refuses a longer one
  /// max_wait_s for requests that are only read, never heard; max_wait_s counts if it is longer.
  double max_read_wait_s = 30;
  size_t kv_bytes = 0;         ///< memory of the KV cache; 0: enough for max_batch long requests,
                               ///< at most 1 GiB, on a GPU 16 GiB
  bool share_prefixes = true;  ///< reuse the cache of equal prompt prefixes
  double background_pages =
      1;  ///< share of a KV cache that requests in the background may hold; (0, 1]
  double max_encode_wait_s = 30;  ///< longest predicted wait of encode_voice(); refused beyond it
  double max_unread_s = 30;       ///< unread audio of a request before it is paused
  double max_audio_s = 0;         ///< longest audio of a request, which ends there with kLength; 0:
                                  ///< no bound
  std::shared_ptr<const Lexicon> lexicon = {};  ///< applies to all requests, after their own
  double repetition_s = 6;  ///< a stream ends when it repeats itself for this long; 0: never
};

/// The reading speed that deadlines of text assume, in tokens per second. A fast reader needs 9
/// (400 words per minute).
inline constexpr double kTokensReadASecond = 20;

/// How a request ended, with its times and counts.
struct Outcome {
  FinishReason reason = FinishReason::kStop;
  Error error;  ///< when reason is kError
  int64_t frames = 0;
  double audio_s = 0;
  double waited_s = 0;       ///< from submit() to the first step
  double first_audio_s = 0;  ///< from submit() to the first samples delivered
  double first_text_s = 0;   ///< from submit() to the first text delivered
  double total_s = 0;        ///< from submit() to the end
  // For models that write.
  int prompt_tokens = 0, completion_tokens = 0;
  int guessed_tokens = 0, right_guesses = 0;  ///< guesses that ran, and how many were right
  int cached_tokens = 0;                      ///< prompt tokens whose rows were in the cache before
  int heard_tokens = 0, cached_heard_tokens = 0;  ///< prompt tokens of recordings, and how many of
                                                  ///< them were in the cache before
  int underruns = 0;          ///< chunks that came after the listener had run dry
  double max_underrun_s = 0;  ///< the longest wait of the listener
  std::vector<WordMark> words = {};
  std::vector<PhoneMark> phones = {};      ///< only if the request asked for them
  std::vector<std::string> warnings = {};  ///< the texts sent to Sink::warning()
};

/// Receives a request's samples and text. Called on the engine's thread, in order; must not block,
/// so copy the data and return. The engine keeps it alive until finished() has returned.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Receives mono samples in [-1, 1] at the pipeline's rate; valid during the call.
  virtual void audio(std::span<const float> samples) = 0;
  /// Receives words whose frames were just made; their audio comes with a later call.
  virtual void words(std::span<const WordMark>) {}
  /// Receives a warning about the text, for people, without a full stop, before the audio of that
  /// text.
  virtual void warning(std::string_view /*text*/) {}
  /// Receives text of an answer, in whole characters, and its tokens if the request asked for their
  /// log-probabilities; valid during the call.
  virtual void text(std::string_view /*piece*/, std::span<const ScoredToken> /*tokens*/) {}
  /// Receives the next ids of an answer, for models that accept earlier answers as ids
  /// (WritingFacts::recalls); valid during the call.
  virtual void answer_ids(std::span<const int32_t> /*ids*/) {}
  /// Receives the end. The last call, exactly once for every accepted request.
  virtual void finished(const Outcome& outcome) = 0;
  /// Returns the seconds of delivered audio that the client has not read yet; any thread.
  virtual double unread_s() const { return 0; }
};

/// Numbers of one moment, for logs, health and tests. EngineMetrics has more.
struct EngineStats {
  int requests = 0;             ///< accepted and unfinished
  int running = 0;              ///< requests that have a seat
  double capacity_streams = 0;  ///< real-time streams that the learned costs allow; 0: not known
  double seats_limit = 0;       ///< a lower limit on streams, after some ran dry; 0: none
  double slowdown = 1;          ///< time to first output, as a multiple of the time when alone
  int pages_free = 0, pages = 0;
  int64_t ar_steps = 0, chunk_steps = 0, preemptions = 0;
  int64_t accepted = 0, finished = 0;
  double audio_s = 0;
};

/// Runs one model on a machine of its own or on a shared one.
class Engine final : public Service {
 public:
  /// Makes its own machine, or uses `machine`: then the machine's options replace those in
  /// `options`. Throws LoadError when an option is invalid or the trace file cannot be written.
  explicit Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options = {},
                  std::shared_ptr<Machine> machine = nullptr);
  /// Ends all unfinished requests with kCancelled.
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
  /// Adds samples to a request that was opened with Opened::samples_open: whole frames of the chunk
  /// node that the client feeds. `last`: no more follow. Ignores unknown ids; samples that the
  /// request does not take end it with an error.
  void append_samples(RequestId id, std::vector<float> samples, bool last);

  /// Encodes a recording into a voice of this model. Calls `done` once, on a thread of the engine;
  /// it must not block. If this returns an Error, `done` is never called. Refused if the pipeline
  /// has no encoder.
  Result<uint64_t> encode_voice(Recording recording, uint64_t client, VoiceDone done);
  void cancel_voice(uint64_t id);

  /// Refuses new requests and waits for the running ones; true if all ended in time.
  bool drain(double timeout_s);
  EngineStats stats() const;
  /// Counters and histograms since the start; read at any time.
  const EngineMetrics& metrics() const;
  /// Returns the learned cost of the batches of each node.
  std::vector<StageCost> costs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
