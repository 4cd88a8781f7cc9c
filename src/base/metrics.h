// Numbers for monitoring, each declared with the name under which it is published, and their text
// in Prometheus' format. Any thread may read a number at any time. A Counter has a single writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class Metric;

/// The metrics of one object, in the order of their declarations.
class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  const std::vector<const Metric*>& all() const { return all_; }

 private:
  friend class Metric;
  std::vector<const Metric*> all_;
};

/// A number with its name. Metrics with equal names differ in their labels.
class Metric {
 public:
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;
  virtual ~Metric() = default;

  std::string_view name() const { return name_; }
  std::string_view help() const { return help_; }
  const std::string& label() const { return label_; }
  virtual const char* type() const = 0;
  /// Appends the samples. `labels` contains label() and the labels of the metric's owner.
  virtual void write(const std::string& labels, std::string& out) const = 0;

 protected:
  /// Makes a metric that is not published.
  Metric() = default;
  /// `name`, without the prefix "syrinx_", and `help` must be literals. `label`: "" or the text of
  /// metric_label(). The metric must live as long as `list`.
  Metric(Metrics& list, const char* name, const char* help, std::string label)
      : name_(name), help_(help), label_(std::move(label)) {
    list.all_.push_back(this);
  }

 private:
  std::string_view name_, help_;
  std::string label_;
};

/// A metric with one sample.
class Number : public Metric {
 public:
  virtual double value() const = 0;
  void write(const std::string& labels, std::string& out) const override;

 protected:
  using Metric::Metric;
};

/// A number with a single writer, which only adds to it.
class Counter final : public Number {
 public:
  Counter() = default;
  Counter(Metrics& list, const char* name, const char* help, std::string label = {})
      : Number(list, name, help, std::move(label)) {}
  void add(double amount = 1) { value_.store(value() + amount, std::memory_order_relaxed); }
  double value() const override { return value_.load(std::memory_order_relaxed); }
  const char* type() const override { return "counter"; }

 private:
  std::atomic<double> value_{0};
};

/// A number that may rise and fall. Any thread may set it.
class Gauge final : public Number {
 public:
  Gauge() = default;
  Gauge(Metrics& list, const char* name, const char* help, std::string label = {})
      : Number(list, name, help, std::move(label)) {}
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const override { return value_.load(std::memory_order_relaxed); }
  const char* type() const override { return "gauge"; }

 private:
  std::atomic<double> value_{0};
};

/// A number that is computed whenever it is read.
class ComputedGauge final : public Number {
 public:
  ComputedGauge(Metrics& list, const char* name, const char* help, std::function<double()> value)
      : Number(list, name, help, {}), value_(std::move(value)) {}
  double value() const override { return value_(); }
  const char* type() const override { return "gauge"; }

 private:
  const std::function<double()> value_;
};

/// Counts of values in buckets with upper bounds, like Prometheus' histograms.
class Histogram final : public Metric {
 public:
  /// `bounds`: upper bounds in rising order; one more bucket counts the values above the last
  /// bound.
  Histogram(Metrics& list, const char* name, const char* help, std::span<const double> bounds,
            std::string label = {})
      : Metric(list, name, help, std::move(label)),
        bounds_(bounds.begin(), bounds.end()),
        counts_(bounds.size() + 1) {}
  void observe(double value);
  std::span<const double> bounds() const { return bounds_; }
  /// Returns the count of bucket i alone, not cumulative. Bucket bounds().size() counts the values
  /// above the last bound.
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  /// Returns the number of observed values.
  uint64_t count() const;
  double sum() const { return sum_.value(); }
  const char* type() const override { return "histogram"; }
  void write(const std::string& labels, std::string& out) const override;

 private:
  std::vector<double> bounds_;
  std::deque<std::atomic<uint64_t>> counts_;
  Counter sum_;
};

/// Returns the text of a label, key="value".
std::string metric_label(std::string_view key, std::string_view value);

/// Metrics with the labels that their owner adds: "" or texts of metric_label() with commas.
struct LabelledMetrics {
  std::string labels;
  const Metrics* metrics = nullptr;
};
/// Appends all metrics in Prometheus' text format (version 0.0.4), with the samples of each name
/// together.
void write_prometheus(std::span<const LabelledMetrics> lists, std::string& out);

}  // namespace syrinx
