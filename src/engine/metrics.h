// The metrics of one model's engine since its start. The engine's thread writes each value, or
// submit() under its lock; any thread may read them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"

namespace syrinx {

/// Upper bounds of histograms: of durations and slack in seconds, of batches in sequences or
/// chunks.
inline constexpr double kSecondsBounds[] = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                            0.03,   0.05,  0.075, 0.1,   0.15, 0.2,
                                            0.3,    0.5,   1,     2,     5,    10};
inline constexpr double kSlackBounds[] = {-1,  -0.2, -0.1, -0.05, 0, 0.05, 0.1,
                                          0.2, 0.5,  1,    2,     5, 10,   30};
inline constexpr double kBatchBounds[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256};

/// The metrics of one stage. `device`: device_name() of its device, or "remote".
struct StageMetrics {
  StageMetrics(std::string its_stage, std::string its_device);

  const std::string stage, device;
  Metrics all;
  Gauge here{all, "stage_device", "The device that runs a stage; always 1.",
             metric_label("device", device)};
  Histogram batch{all, "batch_size", "Sequences or chunks in a batch.", kBatchBounds};
  Histogram step_seconds{all, "step_seconds", "Time of a batch.", kSecondsBounds};
  Counter units{all, "units_total", "Work: rows of AR stages, frames of chunk stages."};
  /// Batches of Stream::repeat(), and those of Stream::repeat_as() among them.
  Counter replayed{all, "gpu_batches_replayed_total", "Recorded batches that a GPU replayed."};
  Counter recalled{all, "gpu_batches_recalled_total",
                   "Replayed batches for which no stage code ran on the host."};
};

/// The metrics of one engine.
struct EngineMetrics {
  EngineMetrics();
  /// Appends the metrics of the engine and of its stages, labelled with the model's name.
  void append_to(std::vector<LabelledMetrics>& lists, std::string_view model) const;

  Metrics all;
  Counter accepted{all, "requests_accepted_total", "Accepted requests."};
  std::deque<Counter> finished;  ///< indexed by FinishReason
  Counter rejected_queue{all, "requests_rejected_total",
                         "Requests refused because of a limit, by reason.", R"(reason="wait")"};
  Counter rejected_seats{all, "requests_rejected_total", "", R"(reason="seats")"};
  Counter rejected_client{all, "requests_rejected_total", "", R"(reason="client")"};
  Gauge running{all, "requests_running", "Requests with a seat, not paused or in the background."};
  Gauge waiting{all, "requests_waiting", "Requests that wait for a seat."};
  Gauge streams_capacity{all, "streams_capacity",
                         "Real-time streams that the learned costs allow; 0 while unknown."};
  Gauge seats_limit{all, "seats_limit",
                    "Seats allowed after underruns, fewer than the costs allow; 0: no such limit."};
  /// The measured Slowdown and the time of its measurement, which an idle engine does not update.
  Gauge slowdown, slowdown_at_s;
  ComputedGauge slowdown_now;  ///< the slowdown, faded since its measurement
  Gauge predicted_wait_s{all, "predicted_wait_seconds",
                         "Predicted time until a new request may run."};
  Histogram wait_s{all, "queue_wait_seconds", "Time from submission to the first step.",
                   kSecondsBounds};
  Histogram first_audio_s{all, "first_audio_seconds", "Time from submission to first samples.",
                          kSecondsBounds};
  Histogram first_text_s{all, "first_text_seconds", "Time from submission to first token.",
                         kSecondsBounds};
  Histogram slack_s{all, "slack_seconds", "Audio that a listener had left when a chunk came.",
                    kSlackBounds};  ///< negative: an underrun
  Histogram underrun_s{all, "underrun_seconds", "Longest gap of each request that had gaps.",
                       kSecondsBounds};
  Counter underruns{all, "underruns_total",
                    "Chunks that arrived after the listener had no audio left."};
  Gauge pages{all, "kv_pages", "Pages of the KV cache."};
  Gauge pages_free{all, "kv_pages_free", "Available pages."};
  Gauge prefix_pages{all, "kv_prefix_pages", "Pages that hold reusable prefixes."};
  Counter prompt_rows{all, "prompt_rows_total", "Prompt rows of all requests."};
  Counter prefix_rows{all, "prefix_hit_rows_total", "Prompt rows found in the cache."};
  Counter preemptions{all, "preemptions_total", "Sequences whose pages were taken."};
  Counter audio_s{all, "audio_seconds_total", "Audio delivered."};
  Counter text_tokens{all, "text_tokens_total", "Tokens written."};
  Counter drafted{all, "drafted_tokens_total", "Guessed tokens that steps have checked."};
  Counter draft_hits{all, "draft_hits_total", "Guessed tokens that were right; each saved a step."};
  Counter busy_s{all, "executor_busy_seconds_total", "Time in which executors ran batches."};
  Counter background_s{all, "background_seconds_total",
                       "Time in which executors ran background batches."};
  Counter overhead_s{all, "engine_overhead_seconds_total",
                     "Time in which the engine planned, built and committed batches."};
  std::deque<StageMetrics> stages;  ///< in the order of the graph's nodes
};

}  // namespace syrinx
