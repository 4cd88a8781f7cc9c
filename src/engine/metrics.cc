#include "engine/metrics.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "engine/admission.h"
#include "engine/metrics_text.h"
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

  template <typename Of>
  void counter(const char* name, const char* help, Of&& of) {
    one(name, "counter", help, of);
  }
  template <typename Of>
  void gauge(const char* name, const char* help, Of&& of) {
    one(name, "gauge", help, of);
  }
  template <typename Of>
  void histogram(const char* name, const char* help, Of&& of) {
    head(name, "histogram", help);
    for (const NamedMetrics& engine : engines_) {
      histogram(name, of(*engine.metrics), label("model", engine.model));
    }
  }
  /// Writes a metric of several samples: calls `write` with each engine's metrics and label.
  template <typename Write>
  void several(const char* name, const char* type, const char* help, Write&& write) {
    head(name, type, help);
    for (const NamedMetrics& engine : engines_) {
      write(*engine.metrics, label("model", engine.model));
    }
  }

  void sample(const std::string& name, const std::string& labels, double value) {
    write_sample(name, labels, value, out_);
  }
  void histogram(const std::string& name, const Histogram& h, const std::string& labels) {
    write_histogram(name, h, labels, out_);
  }

 private:
  void head(const char* name, const char* type, const char* help) {
    out_ += std::string("# HELP syrinx_") + name + ' ' + help + "\n# TYPE syrinx_" + name + ' ' +
            type + '\n';
  }
  template <typename Of>
  void one(const char* name, const char* type, const char* help, Of& of) {
    head(name, type, help);
    for (const NamedMetrics& engine : engines_) {
      sample(name, label("model", engine.model), of(*engine.metrics));
    }
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
  w.counter("requests_accepted_total", "Accepted requests.",
            [](const M& m) { return m.accepted.value(); });
  w.several("requests_finished_total", "counter", "Requests that ended, by reason.",
            [&](const M& m, const std::string& model) {
              for (size_t i = 0; i < m.finished.size(); ++i) {
                const char* reason = finish_reason_name(static_cast<FinishReason>(i));
                w.sample("requests_finished_total", model + ',' + label("reason", reason),
                         m.finished[i].value());
              }
            });
  w.several("requests_rejected_total", "counter", "Requests refused for lack of room, by reason.",
            [&](const M& m, const std::string& model) {
              const auto sample = [&](const char* reason, const Counter& count) {
                w.sample("requests_rejected_total", model + ',' + label("reason", reason),
                         count.value());
              };
              sample("wait", m.rejected_queue);
              sample("seats", m.rejected_seats);
              sample("client", m.rejected_client);
            });
  w.gauge("requests_running", "Requests that have a seat.",
          [](const M& m) { return m.running.value(); });
  w.gauge("requests_waiting", "Requests that wait for a seat.",
          [](const M& m) { return m.waiting.value(); });
  w.gauge("streams_capacity", "Real-time streams that the learned costs allow; 0 while unknown.",
          [](const M& m) { return m.streams_capacity.value(); });
  w.gauge("seats_limit",
          "Limit of streams after underruns although the costs allow more; 0: no limit.",
          [](const M& m) { return m.seats_limit.value(); });
  w.gauge("slowdown", "Time to first output, divided by that of a request alone.", [](const M& m) {
    return Slowdown::faded(std::max(1.0, m.slowdown.value()), now_s() - m.slowdown_at_s.value());
  });
  w.gauge("predicted_wait_seconds", "Predicted time until a new request gets a seat.",
          [](const M& m) { return m.predicted_wait_s.value(); });
  w.histogram("queue_wait_seconds", "From submission to the first step.",
              [](const M& m) -> const Histogram& { return m.wait_s; });
  w.histogram("first_audio_seconds", "From submission to the first samples.",
              [](const M& m) -> const Histogram& { return m.first_audio_s; });
  w.histogram("first_text_seconds", "From submission to the first token.",
              [](const M& m) -> const Histogram& { return m.first_text_s; });
  w.histogram("slack_seconds", "Unplayed audio of a listener when a chunk arrived.",
              [](const M& m) -> const Histogram& { return m.slack_s; });
  w.histogram("underrun_seconds", "Longest gap of each request with a gap.",
              [](const M& m) -> const Histogram& { return m.underrun_s; });
  w.counter("underruns_total", "Chunks that arrived after the listener had no audio left.",
            [](const M& m) { return m.underruns.value(); });
  w.gauge("kv_pages", "Pages of the KV cache.", [](const M& m) { return m.pages.value(); });
  w.gauge("kv_pages_free", "Available pages.", [](const M& m) { return m.pages_free.value(); });
  w.gauge("kv_prefix_pages", "Pages of known prefixes.",
          [](const M& m) { return m.prefix_pages.value(); });
  w.counter("prompt_rows_total", "Prompt rows of all requests.",
            [](const M& m) { return m.prompt_rows.value(); });
  w.counter("prefix_hit_rows_total", "Prompt rows found in the cache.",
            [](const M& m) { return m.prefix_rows.value(); });
  w.counter("preemptions_total", "Caches dropped for lack of pages.",
            [](const M& m) { return m.preemptions.value(); });
  w.counter("audio_seconds_total", "Audio delivered.",
            [](const M& m) { return m.audio_s.value(); });
  w.counter("text_tokens_total", "Tokens written.",
            [](const M& m) { return m.text_tokens.value(); });
  w.counter("drafted_tokens_total", "Guessed steps that ran with other steps.",
            [](const M& m) { return m.drafted.value(); });
  w.counter("draft_hits_total", "Right guesses: steps that needed no batch of their own.",
            [](const M& m) { return m.draft_hits.value(); });
  w.counter("executor_busy_seconds_total", "Time in which executors ran batches.",
            [](const M& m) { return m.busy_s.value(); });
  w.counter("background_seconds_total", "Time in which executors ran background batches.",
            [](const M& m) { return m.background_s.value(); });
  w.counter("engine_overhead_seconds_total",
            "Time in which the engine planned, built and committed batches.",
            [](const M& m) { return m.overhead_s.value(); });
  w.several("voices_total", "counter", "Recordings sent to be encoded into voices, by result.",
            [&](const M& m, const std::string& model) {
              const auto sample = [&](const char* outcome, const Counter& count) {
                w.sample("voices_total", model + ',' + label("outcome", outcome), count.value());
              };
              sample("encoded", m.voices_encoded);
              sample("failed", m.voices_failed);
              sample("rejected", m.voices_rejected);
            });
  w.gauge("voices_waiting", "Recordings that are being encoded or wait for it.",
          [](const M& m) { return m.voices_waiting.value(); });
  w.counter("voice_encode_seconds_total", "Time spent on encoding recordings.",
            [](const M& m) { return m.voice_encode_s.value(); });
  const auto stage_label = [](const std::string& model, const StageMetrics& stage) {
    return model + ',' + label("stage", stage.stage);
  };
  w.several("batch_size", "histogram", "Sequences or chunks in a batch.",
            [&](const M& m, const std::string& model) {
              for (const StageMetrics& s : m.stages) {
                w.histogram("batch_size", s.batch, stage_label(model, s));
              }
            });
  w.several("step_seconds", "histogram", "Time of a batch.",
            [&](const M& m, const std::string& model) {
              for (const StageMetrics& s : m.stages) {
                w.histogram("step_seconds", s.step_seconds, stage_label(model, s));
              }
            });
  const auto of_stages = [&](const char* name, const char* help, Counter StageMetrics::*counter) {
    w.several(name, "counter", help, [&, name, counter](const M& m, const std::string& model) {
      for (const StageMetrics& s : m.stages) {
        w.sample(name, stage_label(model, s), (s.*counter).value());
      }
    });
  };
  of_stages("units_total", "Rows of AR stages, frames of chunk stages.", &StageMetrics::units);
  of_stages("gpu_batches_replayed_total", "Batches that a GPU replayed.", &StageMetrics::replayed);
  of_stages("gpu_batches_recalled_total",
            "Replayed batches for which no stage code ran on the host.", &StageMetrics::recalled);
}

}  // namespace syrinx
