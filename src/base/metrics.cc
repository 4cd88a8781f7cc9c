#include "base/metrics.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace syrinx {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + ',' + b;
}

void write_sample(std::string_view name, const char* suffix, const std::string& labels,
                  double value, std::string& out) {
  out.append("syrinx_").append(name).append(suffix);
  if (!labels.empty()) out += '{' + labels + '}';
  out += ' ' + number(value) + '\n';
}

}  // namespace

void Number::write(const std::string& labels, std::string& out) const {
  write_sample(name(), "", labels, value(), out);
}

void Histogram::observe(double value) {
  const size_t at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[at].fetch_add(1, std::memory_order_relaxed);
  sum_.add(value);
}

uint64_t Histogram::count() const {
  uint64_t all = 0;
  for (const std::atomic<uint64_t>& bucket : counts_) all += bucket.load(std::memory_order_relaxed);
  return all;
}

void Histogram::write(const std::string& labels, std::string& out) const {
  uint64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    total += count(i);
    const std::string le = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    write_sample(name(), "_bucket", joined(labels, metric_label("le", le)),
                 static_cast<double>(total), out);
  }
  write_sample(name(), "_sum", labels, sum(), out);
  write_sample(name(), "_count", labels, static_cast<double>(total), out);
}

std::string metric_label(std::string_view key, std::string_view value) {
  std::string out = std::string(key) + "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

void write_prometheus(std::span<const LabelledMetrics> lists, std::string& out) {
  std::vector<std::pair<const Metric*, std::string>> all;
  for (const LabelledMetrics& list : lists) {
    for (const Metric* metric : list.metrics->all())
      all.emplace_back(metric, joined(list.labels, metric->label()));
  }
  std::set<std::string_view> written;
  for (const auto& [first, unused] : all) {
    if (!written.insert(first->name()).second) continue;
    out.append("# HELP syrinx_").append(first->name()).append(" ").append(first->help());
    out.append("\n# TYPE syrinx_").append(first->name()).append(" ").append(first->type());
    out += '\n';
    for (const auto& [metric, labels] : all) {
      if (metric->name() == first->name()) metric->write(labels, out);
    }
  }
}

}  // namespace syrinx
