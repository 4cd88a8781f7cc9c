#include "engine/metrics.h"

#include <algorithm>
#include <cstdio>

#include "model/request.h"

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

/// A label's value: backslash, quote and line feed are escaped.
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

/// Writes samples that share the label of the model.
class Writer {
 public:
  Writer(const std::string& model, std::string& out)
      : label_("model=\"" + escaped(model) + "\""), out_(out) {}

  void head(const char* name, const char* type, const char* help) {
    out_ += std::string("# HELP syrinx_") + name + ' ' + help + "\n# TYPE syrinx_" + name + ' ' +
            type + '\n';
  }
  void sample(const std::string& name, double value, const std::string& more = {}) {
    out_ += "syrinx_" + name + '{' + label_ + (more.empty() ? "" : "," + more) + "} " +
            number(value) + '\n';
  }
  void one(const char* name, const char* type, const char* help, double value) {
    head(name, type, help);
    sample(name, value);
  }
  void histogram(const std::string& name, const Histogram& h, const std::string& more = {}) {
    uint64_t total = 0;
    const std::string comma = more.empty() ? "" : more + ",";
    for (size_t i = 0; i <= h.bounds().size(); ++i) {
      total += h.count(i);
      const std::string le = i < h.bounds().size() ? number(h.bounds()[i]) : "+Inf";
      sample(name + "_bucket", static_cast<double>(total), comma + "le=\"" + le + '"');
    }
    sample(name + "_sum", h.sum(), more);
    sample(name + "_count", static_cast<double>(total), more);
  }
  void histogram(const char* name, const char* help, const Histogram& h) {
    head(name, "histogram", help);
    histogram(std::string(name), h);
  }

 private:
  std::string label_;
  std::string& out_;
};

}  // namespace

void Histogram::observe(double value) {
  const size_t at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[at].fetch_add(1, std::memory_order_relaxed);
  sum_.add(value);
}

StageMetrics::StageMetrics(std::string name)
    : stage(std::move(name)), batch(kBatch), step_seconds(kSeconds) {}

EngineMetrics::EngineMetrics(std::span<const std::string> names)
    : wait_s(kSeconds), first_audio_s(kSeconds), slack_s(kSlack), underrun_s(kSeconds) {
  for (const std::string& name : names) stages.emplace_back(name);
}

void EngineMetrics::write_prometheus(const std::string& model, std::string& out) const {
  Writer w(model, out);
  w.one("requests_accepted_total", "counter", "Requests taken in.", accepted.value());
  w.head("requests_finished_total", "counter", "Requests that ended, by reason.");
  for (size_t i = 0; i < finished.size(); ++i) {
    w.sample("requests_finished_total", finished[i].value(),
             std::string("reason=\"") + finish_reason_name(static_cast<FinishReason>(i)) + '"');
  }
  w.head("requests_rejected_total", "counter", "Requests refused for lack of room, by reason.");
  w.sample("requests_rejected_total", rejected_queue.value(), "reason=\"wait\"");
  w.sample("requests_rejected_total", rejected_places.value(), "reason=\"places\"");
  w.sample("requests_rejected_total", rejected_client.value(), "reason=\"client\"");
  w.one("requests_running", "gauge", "Requests being spoken.", running.value());
  w.one("requests_waiting", "gauge", "Requests queued for a place.", waiting.value());
  w.one("streams_capacity", "gauge",
        "Real-time streams that the learned costs allow; 0 while unknown.",
        streams_capacity.value());
  w.one("predicted_wait_seconds", "gauge", "Wait that a new request would have.",
        predicted_wait_s.value());
  w.histogram("queue_wait_seconds", "From submission to the first step.", wait_s);
  w.histogram("first_audio_seconds", "From submission to the first samples.", first_audio_s);
  w.histogram("slack_seconds", "Audio a listener had left when a chunk arrived.", slack_s);
  w.histogram("underrun_seconds", "Longest gap of each request that had one.", underrun_s);
  w.one("underruns_total", "counter", "Chunks that came after the listener had run dry.",
        underruns.value());
  w.one("kv_pages", "gauge", "Pages of the KV cache.", pages.value());
  w.one("kv_pages_free", "gauge", "Pages that can be had.", pages_free.value());
  w.one("kv_prefix_pages", "gauge", "Pages of known prefixes.", prefix_pages.value());
  w.one("prompt_rows_total", "counter", "Prompt rows of all requests.", prompt_rows.value());
  w.one("prefix_hit_rows_total", "counter", "Prompt rows found in the cache.", prefix_rows.value());
  w.one("preemptions_total", "counter", "Caches dropped for want of pages.", preemptions.value());
  w.one("audio_seconds_total", "counter", "Audio delivered.", audio_s.value());
  w.one("executor_busy_seconds_total", "counter", "Executors at work.", busy_s.value());
  w.one("engine_overhead_seconds_total", "counter", "Planning, laying out, committing.",
        overhead_s.value());
  w.head("batch_size", "histogram", "Sequences or chunks in a batch.");
  const auto label = [](const StageMetrics& s) { return "stage=\"" + escaped(s.stage) + '"'; };
  for (const StageMetrics& s : stages) w.histogram("batch_size", s.batch, label(s));
  w.head("step_seconds", "histogram", "Time of a batch.");
  for (const StageMetrics& s : stages) w.histogram("step_seconds", s.step_seconds, label(s));
  w.head("units_total", "counter", "Rows of the AR stage, frames of the others.");
  for (const StageMetrics& s : stages) w.sample("units_total", s.units.value(), label(s));
}

}  // namespace syrinx
