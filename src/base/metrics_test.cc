#include "base/metrics.h"

#include <gtest/gtest.h>

#include <array>

namespace syrinx {
namespace {

struct Numbers {
  Metrics all;
  Counter good{all, "ends_total", "Ends, by kind.", metric_label("kind", "good")};
  Gauge waiting{all, "waiting", "Waiting."};
  Counter bad{all, "ends_total", "", metric_label("kind", "bad")};
  ComputedGauge twice{all, "twice", "Twice the waiting.", [this] { return 2 * waiting.value(); }};
};

TEST(Metrics, SamplesOfANameAreTogether) {
  Numbers one, two;
  one.good.add(), one.good.add(0.5), two.bad.add(7);
  one.waiting.set(3);
  std::string out;
  const LabelledMetrics lists[] = {{metric_label("model", "a \"b\"\\\n"), &one.all},
                                   {metric_label("model", "c"), &two.all}};
  write_prometheus(lists, out);
  EXPECT_EQ(out,
            R"(# HELP syrinx_ends_total Ends, by kind.
# TYPE syrinx_ends_total counter
syrinx_ends_total{model="a \"b\"\\\n",kind="good"} 1.5
syrinx_ends_total{model="a \"b\"\\\n",kind="bad"} 0
syrinx_ends_total{model="c",kind="good"} 0
syrinx_ends_total{model="c",kind="bad"} 7
# HELP syrinx_waiting Waiting.
# TYPE syrinx_waiting gauge
syrinx_waiting{model="a \"b\"\\\n"} 3
syrinx_waiting{model="c"} 0
# HELP syrinx_twice Twice the waiting.
# TYPE syrinx_twice gauge
syrinx_twice{model="a \"b\"\\\n"} 6
syrinx_twice{model="c"} 0
)");
}

TEST(Metrics, HistogramsCountUpwards) {
  Metrics all;
  const std::array bounds = {0.1, 1.};
  Histogram times(all, "time_seconds", "Times.", bounds, metric_label("of", "x"));
  for (const double value : {0.05, 0.1, 0.5, 4.}) times.observe(value);
  EXPECT_EQ(times.count(), 4u);
  EXPECT_EQ(times.count(2), 1u);
  std::string out;
  const LabelledMetrics list{"", &all};
  write_prometheus({&list, 1}, out);
  EXPECT_EQ(out, R"(# HELP syrinx_time_seconds Times.
# TYPE syrinx_time_seconds histogram
syrinx_time_seconds_bucket{of="x",le="0.1"} 2
syrinx_time_seconds_bucket{of="x",le="1"} 3
syrinx_time_seconds_bucket{of="x",le="+Inf"} 4
syrinx_time_seconds_sum{of="x"} 4.65
syrinx_time_seconds_count{of="x"} 4
)");
}

}  // namespace
}  // namespace syrinx
