// Counters of the engine since its start. Each value has one writer: the engine's thread, or
// submit() under its lock. Any thread may read them at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace syrinx {

/// A number with a single writer, which only that writer changes.
class Counter {
 public:
  void add(double amount = 1) { value_.store(value() + amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A number that may rise and fall. Any thread.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts of values in buckets with upper bounds, like Prometheus' histograms.
class Histogram {
 public:
  /// `bounds`: upper bounds in rising order; one more bucket counts the values above the last
  /// bound.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}
  void observe(double value);
  std::span<const double> bounds() const { return bounds_; }
  /// Returns the count of bucket i alone, not cumulative. Bucket bounds().size() counts the values
  /// above the last bound.
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.value(); }

 private:
  std::vector<double> bounds_;
  std::deque<std::atomic<uint64_t>> counts_;
  Counter sum_;
};

/// Counters of one stage.
struct StageMetrics {
  explicit StageMetrics(std::string name);
  std::string stage;
  std::string device;      ///< device_name() of the stage's device, or "remote"
  Histogram batch;         ///< sequences or chunks in a batch
  Histogram step_seconds;  ///< time of a batch
  Counter units;           ///< rows or frames
  Counter replayed;        ///< batches that a GPU replayed from a recording (Stream::repeat)
  Counter recalled;        ///< those of them that ran no code of the stage (Stream::repeat_as)
};

/// All numbers of one model's engine. Any thread may read them.
struct EngineMetrics {
  /// `stages`: the names of the graph's nodes, in order.
  explicit EngineMetrics(std::span<const std::string> stages);

  Counter accepted;
  std::array<Counter, 5> finished;                          ///< ended requests, by FinishReason
  Counter rejected_queue, rejected_seats, rejected_client;  ///< refused requests, by reason
  Gauge running, waiting, streams_capacity, predicted_wait_s;
  Gauge seats_limit;  ///< limit that SeatLimit set after streams ran dry; 0: no limit
  /// slowdown: time to the first output as a multiple of the time of a request alone (Slowdown).
  /// slowdown_at_s: time of that measurement; an idle engine does not update it.
  Gauge slowdown, slowdown_at_s;
  Histogram wait_s;         ///< from submit() to the first step in a batch
  Histogram first_audio_s;  ///< from submit() to the first delivered samples
  Histogram first_text_s;   ///< from submit() to the first delivered text
  Histogram slack_s;        ///< slack of a listener when a chunk arrives; negative: an underrun
  Histogram underrun_s;     ///< the longest underrun of each request that had one
  Counter underruns;
  Gauge pages, pages_free, prefix_pages;
  Counter prompt_rows, prefix_rows;  ///< rows of prompts; rows of prompts that were in the cache
  Counter preemptions;
  Counter audio_s;
  Counter text_tokens;          ///< tokens of answers
  Counter drafted, draft_hits;  ///< guesses that ran; guesses that were right
  Counter busy_s;               ///< time in which executors ran batches
  Counter background_s;         ///< the part of busy_s that served requests in the background
  Counter overhead_s;           ///< time in which the engine thread planned, built and committed
  Counter voices_encoded, voices_failed, voices_rejected;  ///< recordings to be encoded, by result
  Gauge voices_waiting;                                    ///< recordings being encoded or queued
  Counter voice_encode_s;                                  ///< time spent on encoding
  std::deque<StageMetrics> stages;
};

/// The metrics of a model, and its name.
struct NamedMetrics {
  std::string model;
  const EngineMetrics* metrics = nullptr;
};
/// Appends the samples of a histogram in Prometheus' text format, without its HELP and TYPE lines.
/// `name` lacks the prefix "syrinx_". `labels`: at least one label, as in a="value",b="value".
void write_histogram(const std::string& name, const Histogram& histogram, const std::string& labels,
                     std::string& out);
/// Appends the metrics of all engines in Prometheus' text format (version 0.0.4), every sample with
/// the label model="...".
void write_prometheus(std::span<const NamedMetrics> engines, std::string& out);

}  // namespace syrinx
