#include "cli/serve/fleet_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/number.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr size_t kMaxSamples = 100'000;
constexpr size_t kMaxNames = 32;
constexpr const char* kAudioBuckets = "syrinx_first_audio_seconds_bucket";
constexpr const char* kReset = "\033[0m";

std::optional<double> read_number(std::string_view text) {
  if (text == "+Inf") return INFINITY;
  double value = 0;
  if (!parse_number(text, value) || !std::isfinite(value)) return {};
  return value;
}

/// Returns the value of label `name` in `a="x",le="0.5"`, up to the first quote; empty without it.
std::string_view label_value(std::string_view labels, std::string_view name) {
  const std::string begin = std::string(name) + "=\"";
  const size_t at = labels.find(begin);
  if (at == labels.npos) return {};
  labels.remove_prefix(at + begin.size());
  return labels.substr(0, labels.find('"'));
}

/// Returns the columns that UTF-8 text takes in this table.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(std::string text, size_t width, bool right) {
  const size_t has = width_of(text);
  const std::string space(width > has ? width - has : 0, ' ');
  return right ? space + text : text + space;
}

std::string fixed(double value, int digits) {
  char out[48];
  std::snprintf(out, sizeof out, "%.*f", digits, value);
  return out;
}

/// Draws a bar of ten cells, each in eighths.
std::string bar(double share) {
  static constexpr const char* kEighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  std::string out;
  const int eighths = static_cast<int>(std::lround(80 * std::clamp(share, 0.0, 1.0)));
  for (int cell = 0; cell < 10; ++cell) out += kEighths[std::clamp(eighths - 8 * cell, 0, 8)];
  return out;
}

std::string latency(const std::optional<double>& seconds) {
  return seconds ? fixed(1e3 * *seconds, *seconds < 0.0095 ? 1 : 0) : "-";
}

const char* colour_of(const WorkerView& worker) {
  if (worker.state != "ready") return worker.state == "unreachable" ? "\033[31m" : "\033[33m";
  return worker.used() > 0.95 ? "\033[31m" : worker.used() > 0.7 ? "\033[33m" : "\033[32m";
}

std::string names_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

struct Column {
  const char* title;
  bool right;
};
constexpr Column kColumns[] = {{"WORKER", false},   {"STATE", false}, {"STREAMS", true},
                               {"LOAD", false},     {"WAIT s", true}, {"QUEUED", true},
                               {"AUDIO p50", true}, {"p95 ms", true}, {"LATE/min", true},
                               {"AUDIO s/s", true}, {"MODELS", false}};

std::vector<std::string> cells_of(const WorkerView& worker) {
  if (worker.state == "unreachable") return {worker.url, worker.state, shown(worker.fault, 60)};
  const std::string of = worker.capacity > 0 ? "/" + fixed(worker.capacity, 0) : "";
  return {worker.url,
          worker.state,
          concat(worker.streams, of),
          bar(worker.used()),
          fixed(worker.wait_s, 1),
          concat(worker.waiting),
          latency(worker.first_audio_p50_s),
          latency(worker.first_audio_p95_s),
          fixed(worker.late_a_minute, 1),
          fixed(worker.audio_a_second, 1),
          names_of(worker.models)};
}

/// Returns the sums of all workers that answer; latencies are those of the slowest worker.
WorkerView total_of(const std::vector<WorkerView>& workers) {
  WorkerView all;
  int ready = 0;
  double late = 0;
  for (const WorkerView& worker : workers) {
    ready += worker.state == "ready" ? 1 : 0;
    all.streams += worker.streams;
    all.waiting += worker.waiting;
    all.capacity += worker.capacity;
    all.wait_s = std::max(all.wait_s, worker.wait_s);
    all.first_audio_p50_s = std::max(all.first_audio_p50_s, worker.first_audio_p50_s);
    all.first_audio_p95_s = std::max(all.first_audio_p95_s, worker.first_audio_p95_s);
    late += worker.late_a_minute * worker.audio_a_second;
    all.audio_a_second += worker.audio_a_second;
  }
  if (all.audio_a_second > 0) all.late_a_minute = late / all.audio_a_second;
  all.url = "all";
  all.state = concat(ready, " of ", workers.size());
  return all;
}

}  // namespace

Scrape read_metrics(std::string_view text, double at_s) {
  Scrape out{.at_s = at_s};
  for (size_t samples = 0; !text.empty() && samples < kMaxSamples; ++samples) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty() || line.front() == '#') continue;
    const size_t space = line.rfind(' ');
    if (space == line.npos) continue;
    const auto value = read_number(line.substr(space + 1));
    std::string_view name = line.substr(0, space), labels;
    if (const size_t brace = name.find('{'); brace != name.npos) {
      labels = name.substr(brace + 1);
      name = name.substr(0, brace);
    }
    if (!value || !std::isfinite(*value)) continue;
    if (name == kAudioBuckets) {
      if (const auto bound = read_number(label_value(labels, "le"))) {
        out.first_audio[*bound] += *value;
      }
    } else {
      out.values[std::string(name)] += *value;
    }
  }
  return out;
}

std::optional<double> quantile(const std::map<double, double>& buckets, double share) {
  if (buckets.empty() || buckets.rbegin()->second <= 0) return {};
  const double wanted = share * buckets.rbegin()->second;
  double low = 0, below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= wanted) {
      if (std::isinf(bound)) return low;  // the value is above the last bound
      const double part = count > below ? (wanted - below) / (count - below) : 1;
      return low + part * (bound - low);
    }
    low = bound, below = count;
  }
  return low;
}

WorkerView view_worker(const std::string& url, const std::string& health, const Scrape& now,
                       const Scrape* before) {
  const auto json = nlohmann::json::parse(health, nullptr, false);
  if (!json.is_object() || !json.contains("state") || !json["state"].is_string()) {
    return unreachable_worker(url, "the answer to /health is not from Syrinx");
  }
  WorkerView view{.url = url, .state = shown(json["state"].get<std::string>(), 16)};
  const auto models = json.value("models", nlohmann::json::array());
  for (const auto& model : models) {
    if (!model.is_object() || view.models.size() == kMaxNames) continue;
    const auto id = model.find("id"), loaded = model.find("loaded");
    if (id == model.end() || !id->is_string() || loaded == model.end() || *loaded != true) continue;
    view.models.push_back(shown(id->get<std::string>(), 40));
  }
  // After a restart, a worker's counters begin at 0 again.
  const bool again = before != nullptr && now.value("syrinx_http_uptime_seconds") <
                                              before->value("syrinx_http_uptime_seconds");
  const Scrape none;
  const Scrape& then = before == nullptr || again ? none : *before;
  const auto gained = [&](const char* name) {
    return std::max(0.0, now.value(name) - then.value(name));
  };
  const auto whole = [&](const char* name) {
    return static_cast<int>(std::clamp(now.value(name), 0.0, 1e9));
  };
  view.streams = whole("syrinx_requests_running");
  view.waiting = whole("syrinx_requests_waiting");
  view.capacity = now.value("syrinx_streams_capacity");
  view.wait_s = now.value("syrinx_predicted_wait_seconds");
  view.uptime_s = now.value("syrinx_http_uptime_seconds");
  view.refused = gained("syrinx_requests_rejected_total");
  const double passed_s = &then == &none ? view.uptime_s : now.at_s - then.at_s;
  const double audio_s = gained("syrinx_audio_seconds_total");
  if (passed_s > 0) view.audio_a_second = audio_s / passed_s;
  if (audio_s > 0) view.late_a_minute = 60 * gained("syrinx_underruns_total") / audio_s;
  std::map<double, double> buckets = now.first_audio;
  for (auto& [bound, count] : buckets) {
    const auto at = then.first_audio.find(bound);
    if (at != then.first_audio.end()) count = std::max(0.0, count - at->second);
  }
  view.first_audio_p50_s = quantile(buckets, 0.5);
  view.first_audio_p95_s = quantile(buckets, 0.95);
  return view;
}

WorkerView unreachable_worker(const std::string& url, const std::string& why) {
  return {.url = url, .state = "unreachable", .fault = why};
}

std::string draw_workers(const std::vector<WorkerView>& workers, bool colour) {
  std::vector<std::vector<std::string>> rows;
  for (const WorkerView& worker : workers) rows.push_back(cells_of(worker));
  const WorkerView all = total_of(workers);
  if (workers.size() > 1) rows.push_back(cells_of(all));
  std::vector<size_t> widths;
  for (size_t c = 0; c < std::size(kColumns); ++c) {
    size_t width = width_of(kColumns[c].title);
    for (const auto& row : rows) {
      // The text of a fault may use the columns after it.
      if (c < row.size() && row.size() == std::size(kColumns))
        width = std::max(width, width_of(row[c]));
      if (c < 2) width = std::max(width, width_of(row[c]));
    }
    widths.push_back(width);
  }
  std::string out = colour ? "\033[1m" : "";
  for (size_t c = 0; c < widths.size(); ++c) {
    out += padded(kColumns[c].title, widths[c], kColumns[c].right) + "  ";
  }
  if (colour) out += kReset;
  for (size_t r = 0; r < rows.size(); ++r) {
    out += '\n';
    const bool total = r == workers.size();
    if (colour && total) out += "\033[1m";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const bool painted = colour && (c == 1 || c == 3);
      if (painted) out += colour_of(total ? all : workers[r]);
      out += padded(rows[r][c], widths[c], kColumns[c].right && rows[r].size() > 3);
      if (painted) out += kReset;
      out += "  ";
    }
    if (colour && total) out += kReset;
  }
  return out + "\n";
}

std::string workers_json(const std::vector<WorkerView>& workers) {
  const auto ms = [](const std::optional<double>& seconds) {
    return seconds ? nlohmann::ordered_json(1e3 * *seconds) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const WorkerView& worker : workers) {
    if (worker.state == "unreachable") {
      out.push_back({{"url", worker.url}, {"state", worker.state}, {"fault", worker.fault}});
      continue;
    }
    out.push_back({{"url", worker.url},
                   {"state", worker.state},
                   {"streams", worker.streams},
                   {"waiting", worker.waiting},
                   {"capacity_streams", worker.capacity},
                   {"used", worker.used()},
                   {"predicted_wait_s", worker.wait_s},
                   {"first_audio_p50_ms", ms(worker.first_audio_p50_s)},
                   {"first_audio_p95_ms", ms(worker.first_audio_p95_s)},
                   {"late_a_minute", worker.late_a_minute},
                   {"audio_s_a_second", worker.audio_a_second},
                   {"refused", worker.refused},
                   {"uptime_s", worker.uptime_s},
                   {"models", worker.models}});
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace syrinx
