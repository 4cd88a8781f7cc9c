#include "server/request/load_header.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"

namespace syrinx {
namespace {

/// An additional metric, under vLLM's name if vLLM has the metric, otherwise under Syrinx's name.
struct NamedMetric {
  const char* name;
  double value;
};

}  // namespace

std::optional<std::pair<std::string, std::string>> load_header(std::string_view format,
                                                               const ServerLoad& load) {
  const NamedMetric named[] = {{"num_requests_running", static_cast<double>(load.running)},
                               {"num_requests_waiting", static_cast<double>(load.waiting)},
                               {"kv_cache_usage_perc", load.cache_used},
                               {"streams_capacity", load.streams},
                               {"predicted_wait_seconds", load.wait_s},
                               {"slowdown", load.slowdown}};
  std::string value;
  if (format == "TEXT") {
    value = concat("TEXT application_utilization=", load.used);
    for (const NamedMetric& metric : named) {
      value += concat(", named_metrics.", metric.name, "=", metric.value);
    }
  } else if (format == "JSON") {
    nlohmann::ordered_json metrics;
    for (const NamedMetric& metric : named) metrics[metric.name] = metric.value;
    const nlohmann::ordered_json report = {{"application_utilization", load.used},
                                           {"named_metrics", metrics}};
    value = "JSON " + report.dump();
  } else {
    return {};
  }
  return std::pair<std::string, std::string>("endpoint-load-metrics", std::move(value));
}

}  // namespace syrinx
