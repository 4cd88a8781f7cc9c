#include "engine/metrics.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/clock.h"
#include "engine/admission.h"
#include "model/sequence.h"

namespace syrinx {
namespace {

constexpr double kSeconds[] = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075,
                               0.1,    0.15,  0.2,   0.3,   0.5,  1,    2,    5,    10};
constexpr double kSlack[] = {-1, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
constexpr double kBatch[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

/// Escapes backslash, quote and line feed for the value of a label.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string label(const char* name, const std::string& value) {
  return std::string(name) + "=\"" + escaped(value) + '"';
}

void write_sample(const std::string& name, const std::string& labels, double value,
                  std::string& out) {
  out += "syrinx_" + name + '{' + labels + "} " + number(value) + '\n';
}

/// Writes one metric after the other, each for all engines.
class Writer {
 public:
  Writer(std::span<const NamedMetrics> engines, std::string& out) : engines_(engines), out_(out) {}

  void counter(const char* name, const char* help, Counter EngineMetrics::*counter) {
    one(name, "counter", help, [&](const EngineMetrics& m) { return (m.*counter).value(); });
  }
  void gauge(const char* name, const char* help, Gauge EngineMetrics::*gauge) {
    one(name, "gauge", help, [&](const EngineMetrics& m) { return (m.*gauge).value(); });
  }
  void histogram(const char* name, const char* help, Histogram EngineMetrics::*histogram) {
    several(name, "histogram", help, [&](const EngineMetrics& m, const std::string& model) {
      write_histogram(name, m.*histogram, model, out_);
    });
  }
  /// Writes a metric of several samples: calls `write` with each engine's metrics and label.
  template <typename Write>
  void several(const char* name, const char* type, const char* help, Write&& write) {
    head(name, type, help);
    for (const NamedMetrics& engine : engines_) {
      write(*engine.metrics, label("model", engine.model));
    }
  }

  /// Writes a metric of several counters. `key`: name of the label whose values distinguish them.
  void counters(const char* name, const char* help, const char* key,
                std::initializer_list<std::pair<const char*, Counter EngineMetrics::*>> counters) {
    several(name, "counter", help, [&](const EngineMetrics& m, const std::string& model) {
      for (const auto& [value, counter] : counters)
        sample(name, model + ',' + label(key, value), (m.*counter).value());
    });
  }
  /// Writes a metric of one sample: `of` returns its value.
  template <typename Of>
  void one(const char* name, const char* type, const char* help, Of&& of) {
    several(name, type, help,
            [&](const EngineMetrics& m, const std::string& model) { sample(name, model, of(m)); });
  }

  void sample(const std::string& name, const std::string& labels, double value) {
    write_sample(name, labels, value, out_);
  }
  void sample(const std::string& name, const std::string& labels, const Histogram& h) {
    write_histogram(name, h, labels, out_);
  }

 private:
  void head(const char* name, const char* type, const char* help) {
    out_ += std::string("# HELP syrinx_") + name + ' ' + help + "\n# TYPE syrinx_" + name + ' ' +
            type + '\n';
  }

  std::span<const NamedMetrics> engines_;
  std::string& out_;
};

}  // namespace

void write_histogram(const std::string& name, const Histogram& h, const std::string& labels,
                     std::string& out) {
  uint64_t total = 0;
  for (size_t i = 0; i <= h.bounds().size(); ++i) {
    total += h.count(i);
    const std::string le = i < h.bounds().size() ? number(h.bounds()[i]) : "+Inf";
    write_sample(name + "_bucket", labels + ',' + label("le", le), static_cast<double>(total), out);
  }
  write_sample(name + "_sum", labels, h.sum(), out);
  write_sample(name + "_count", labels, static_cast<double>(total), out);
}

void Histogram::observe(double value) {
  const size_t at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[at].fetch_add(1, std::memory_order_relaxed);
  sum_.add(value);
}

StageMetrics::StageMetrics(std::string name)
    : stage(std::move(name)), batch(kBatch), step_seconds(kSeconds) {}

EngineMetrics::EngineMetrics(std::span<const std::string> names)
    : wait_s(kSeconds),
      first_audio_s(kSeconds),
      first_text_s(kSeconds),
      slack_s(kSlack),
      underrun_s(kSeconds) {
  for (const std::string& name : names) stages.emplace_back(name);
}

void write_prometheus(std::span<const NamedMetrics> engines, std::string& out) {
  using M = EngineMetrics;
  Writer w(engines, out);
  w.counter("requests_accepted_total", "Accepted requests.", &M::accepted);
  w.several("requests_finished_total", "counter", "Requests that ended, by reason.",
            [&](const M& m, const std::string& model) {
              for (size_t i = 0; i < m.finished.size(); ++i) {
                const char* reason = finish_reason_name(static_cast<FinishReason>(i));
                w.sample("requests_finished_total", model + ',' + label("reason", reason),
                         m.finished[i].value());
              }
            });
  w.counters("requests_rejected_total", "Requests refused because of a limit, by reason.", "reason",
             {{"wait", &M::rejected_queue},
              {"seats", &M::rejected_seats},
              {"client", &M::rejected_client}});
  w.gauge("requests_running", "Requests that run (have a seat).", &M::running);
  w.gauge("requests_waiting", "Requests that wait to run (for a seat).", &M::waiting);
  w.gauge("streams_capacity", "Real-time streams that the learned costs allow; 0 while unknown.",
          &M::streams_capacity);
  w.gauge("seats_limit",
          "Seats allowed after underruns, fewer than the costs allow; 0: no such limit.",
          &M::seats_limit);
  w.one("slowdown", "gauge", "Time to the first output, divided by that time of a request alone.",
        [](const M& m) {
          return Slowdown::faded(std::max(1.0, m.slowdown.value()),
                                 now_s() - m.slowdown_at_s.value());
        });
  w.gauge("predicted_wait_seconds", "Predicted time until a new request may run.",
          &M::predicted_wait_s);
  w.histogram("queue_wait_seconds", "Time from submission to the first step.", &M::wait_s);
  w.histogram("first_audio_seconds", "Time from submission to first samples.", &M::first_audio_s);
  w.histogram("first_text_seconds", "Time from submission to first token.", &M::first_text_s);
  w.histogram("slack_seconds", "Audio that a listener had left when a chunk came.", &M::slack_s);
  w.histogram("underrun_seconds", "Longest gap of each request that had gaps.", &M::underrun_s);
  w.counter("underruns_total", "Chunks that arrived after the listener had no audio left.",
            &M::underruns);
  w.gauge("kv_pages", "Pages of the KV cache.", &M::pages);
  w.gauge("kv_pages_free", "Available pages.", &M::pages_free);
  w.gauge("kv_prefix_pages", "Pages that hold reusable prefixes.", &M::prefix_pages);
  w.counter("prompt_rows_total", "Prompt rows of all requests.", &M::prompt_rows);
  w.counter("prefix_hit_rows_total", "Prompt rows found in the cache.", &M::prefix_rows);
  w.counter("preemptions_total", "Sequences whose pages were taken.", &M::preemptions);
  w.counter("audio_seconds_total", "Audio delivered.", &M::audio_s);
  w.counter("text_tokens_total", "Tokens written.", &M::text_tokens);
  w.counter("drafted_tokens_total", "Guessed tokens that steps have checked.", &M::drafted);
  w.counter("draft_hits_total", "Guessed tokens that were right; each saved a step.",
            &M::draft_hits);
  w.counter("executor_busy_seconds_total", "Time in which executors ran batches.", &M::busy_s);
  w.counter("background_seconds_total", "Time in which executors ran background batches.",
            &M::background_s);
  w.counter("engine_overhead_seconds_total",
            "Time in which the engine planned, built and committed batches.", &M::overhead_s);
  w.counters("voices_total", "Recordings sent to be encoded into voices, by result.", "outcome",
             {{"encoded", &M::voices_encoded},
              {"failed", &M::voices_failed},
              {"rejected", &M::voices_rejected}});
  w.gauge("voices_waiting", "Recordings being encoded or waiting to be encoded.",
          &M::voices_waiting);
  w.counter("voice_encode_seconds_total", "Time spent on encoding recordings.", &M::voice_encode_s);
  const auto of_stages = [&](const char* name, const char* type, const char* help, auto of) {
    w.several(name, type, help, [&](const M& m, const std::string& model) {
      for (const StageMetrics& s : m.stages)
        w.sample(name, model + ',' + label("stage", s.stage), of(s));
    });
  };
  w.several("stage_device", "gauge", "The device that runs a stage; always 1.",
            [&](const M& m, const std::string& model) {
              for (const StageMetrics& s : m.stages) {
                w.sample("stage_device",
                         model + ',' + label("stage", s.stage) + ',' + label("device", s.device),
                         1.0);
              }
            });
  using S = StageMetrics;
  of_stages("batch_size", "histogram", "Sequences or chunks in a batch.", std::mem_fn(&S::batch));
  of_stages("step_seconds", "histogram", "Time of a batch.", std::mem_fn(&S::step_seconds));
  of_stages("units_total", "counter", "Work: rows of AR stages, frames of chunk stages.",
            [](const S& s) { return s.units.value(); });
  of_stages("gpu_batches_replayed_total", "counter", "Recorded batches that a GPU replayed.",
            [](const S& s) { return s.replayed.value(); });
  of_stages("gpu_batches_recalled_total", "counter",
            "Replayed batches for which no stage code ran on the host.",
            [](const S& s) { return s.recalled.value(); });
}

}  // namespace syrinx
