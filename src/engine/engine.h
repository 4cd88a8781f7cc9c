// The engine: runs one model for many requests at once. It may share its machine with the engines
// of other models. CONTRACT.md beside this file states the invariants. Public methods are safe from
// any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/metrics.h"
#include "engine/service.h"
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
/// Returns the executors with the name "shared", "split" or "each"; nullopt for another name.
std::optional<Executors> find_executors(std::string_view name);

/// Options of an engine. The fields up to trace_file are options of the machine, equal for all of
/// its models.
struct EngineOptions {
  int threads = 0;  ///< threads of the kernels, including the engine's own; 0: all cores
  /// nullopt: kSplit with two threads or more, else kShared. A program that loads a model may
  /// choose other executors (runtime.h).
  std::optional<Executors> executors = {};
  int remote_slots = 0;              ///< number of batches that may run at once in other processes
  std::string policy = "streaming";  ///< policy: "streaming", "throughput" or "fcfs"
  int max_batch = 32;                ///< sequences in one AR step, chunks in one chunk step
  int max_prefill_rows = 0;          ///< prompt rows that one AR step may add; 0: by the device
                                     ///< (prefill_rows_for)
  bool drafts = true;                ///< whether batches also run guesses (Sequence::draft)
  double background_share = 1;  ///< part of executor time for requests in the background, in (0, 1]
  std::string trace_file = {};  ///< path of a Chrome trace of the machine's work; empty: no trace
  int max_requests = 256;       ///< accepted, unfinished requests; submit() refuses more
  int max_per_client = 0;       ///< accepted, unfinished requests of one client; 0: no limit
  double max_wait_s = 2;  ///< longest predicted wait for a seat; submit() refuses a longer one
  /// max_wait_s for requests that are only read, not heard. The larger of the two values counts.
  double max_read_wait_s = 30;
  size_t kv_bytes = 0;         ///< bytes of the KV cache; 0: 1024 positions for each of max_batch
                               ///< requests, at least one longest request; at most 1 GiB (GPU: 16)
  bool share_prefixes = true;  ///< whether requests share the cache of equal prompt prefixes
  double background_pages =
      1;  ///< share of a KV cache that requests in the background may hold, in (0, 1]
  double max_unread_s = 30;  ///< seconds of unread audio at which a request is paused
  double max_audio_s = 0;    ///< seconds of audio at which a request ends with kLength; 0: no limit
  std::shared_ptr<const Lexicon> lexicon = {};  ///< applied to all requests after their own lexicon
  double repetition_s = 6;  ///< seconds that a stream may repeat itself before it ends; 0: no limit
};

/// The reading speed that deadlines of text assume, in tokens per second. A fast reader (400 words
/// per minute) needs only 9 tokens per second.
inline constexpr double kTokensReadASecond = 20;

/// The end of a request: its reason, with times in seconds and counts.
struct Outcome {
  FinishReason reason = FinishReason::kStop;
  Error error;  ///< error of the request, set when reason is kError
  int64_t frames = 0;
  double audio_s = 0;
  double waited_s = 0;       ///< from submit() to the first step
  double first_audio_s = 0;  ///< from submit() to the first samples delivered
  double first_text_s = 0;   ///< from submit() to the first text delivered
  double total_s = 0;        ///< from submit() to the end
  // Numbers of tokens of the prompt and of the answer, for models that write text.
  int prompt_tokens = 0, completion_tokens = 0;
  int guessed_tokens = 0, right_guesses = 0;      ///< guesses that ran; guesses that were right
  int cached_tokens = 0;                          ///< prompt tokens that were in the cache before
  int heard_tokens = 0, cached_heard_tokens = 0;  ///< prompt tokens of recordings; the part of them
                                                  ///< that was in the cache already
  int underruns = 0;          ///< chunks that came after the listener had run dry
  double max_underrun_s = 0;  ///< longest time for which the listener waited
  std::vector<WordMark> words = {};
  std::vector<PhoneMark> phones = {};      ///< marks of phones, if the request asked for them
  std::vector<std::string> warnings = {};  ///< the texts sent to Sink::warning()
};

/// Receives a request's samples and text, in order on the engine's thread. Must not block: copy the
/// data and return. The engine keeps the sink alive until finished() has returned.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Receives mono samples in [-1, 1] at the pipeline's rate; valid during the call.
  virtual void audio(std::span<const float> samples) = 0;
  /// Receives words whose frames were just made. A later call of audio() has their samples.
  virtual void words(std::span<const WordMark>) {}
  /// Receives a warning about the text: a phrase for people to read, without a full stop. It comes
  /// before the audio of that text.
  virtual void warning(std::string_view /*text*/) {}
  /// Receives whole characters of an answer's text, and their tokens if the request asked for
  /// log-probabilities. Both are valid during the call.
  virtual void text(std::string_view /*piece*/, std::span<const ScoredToken> /*tokens*/) {}
  /// Receives the next token ids of an answer, for models that accept earlier answers as ids
  /// (WritingFacts::recalls), or codes of a turn (RequestText::kept). Valid during the call.
  virtual void answer_ids(std::span<const int32_t> /*ids*/) {}
  /// Receives the outcome. This is the last call, made exactly once for every accepted request.
  virtual void finished(const Outcome& outcome) = 0;
  /// Returns the seconds of delivered audio that the client has not read yet; any thread.
  virtual double unread_s() const { return 0; }
};

/// Numbers of an engine at one moment, for logs, health checks and tests. EngineMetrics has more.
struct EngineStats {
  int requests = 0;             ///< accepted and unfinished requests
  int running = 0;              ///< requests that have a seat
  double capacity_streams = 0;  ///< real-time streams that the learned costs allow; 0: unknown
  double seats_limit = 0;       ///< limit of seats, set after listeners ran dry; 0: no limit
  double slowdown = 1;          ///< time to first output as a multiple of that of a lone request
  int pages_free = 0, pages = 0;
  int64_t ar_steps = 0, chunk_steps = 0, preemptions = 0;
  int64_t accepted = 0, finished = 0;
  double audio_s = 0;
};

/// Runs one model on a machine of its own or on a shared one.
class Engine final : public Service {
 public:
  /// Uses `machine`, whose options then replace the machine's options in `options`. Makes its own
  /// machine if `machine` is null. Throws LoadError for an invalid option or trace file.
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
  /// Adds samples to a request that was opened with Opened::samples_open. They must be whole frames
  /// of the chunk node that the client feeds. `last`: no more samples follow. Ignores unknown ids.
  /// Samples that the request cannot accept end it with an error.
  void append_samples(RequestId id, std::vector<float> samples, bool last);

  EngineStats stats() const;
  /// Returns counters and histograms since the start, which may be read at any time.
  const EngineMetrics& metrics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
