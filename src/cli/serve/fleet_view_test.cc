#include "cli/serve/fleet_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace syrinx {
namespace {

std::string metrics_of(double uptime_s, int streams, int in_time, int late_first, double audio_s,
                       int underruns) {
  const auto line = [](const std::string& name, double value) {
    return "syrinx_" + name + " " + std::to_string(value) + "\n";
  };
  return "# HELP syrinx_requests_running Running requests of all models.\n" +
         line("http_uptime_seconds", uptime_s) + line("requests_running{model=\"a\"}", streams) +
         line("requests_running{model=\"b\"}", 1) + line("streams_capacity{model=\"a\"}", 20) +
         line("predicted_wait_seconds{model=\"a\"}", 0.5) +
         line("requests_rejected_total{model=\"a\",reason=\"wait\"}", 2) +
         line("requests_rejected_total{model=\"a\",reason=\"client\"}", 3) +
         line("first_audio_seconds_bucket{model=\"a\",le=\"0.1\"}", in_time) +
         line("first_audio_seconds_bucket{model=\"a\",le=\"0.2\"}", in_time + late_first) +
         line("first_audio_seconds_bucket{model=\"a\",le=\"+Inf\"}", in_time + late_first) +
         line("audio_seconds_total{model=\"a\"}", audio_s) +
         line("underruns_total{model=\"a\"}", underruns);
}

constexpr const char* kHealth =
    R"({"state":"ready","models":[{"id":"a","loaded":true},{"id":"b","loaded":false}]})";

TEST(FleetView, ReadsAWorkersReport) {
  const Scrape first = read_metrics(metrics_of(100, 4, 90, 10, 300, 5), 50);
  const WorkerView view = view_worker("w", kHealth, first, nullptr);
  EXPECT_EQ(view.state, "ready");
  EXPECT_EQ(view.streams, 5);
  EXPECT_EQ(view.capacity, 20);
  EXPECT_EQ(view.used(), 0.25);
  EXPECT_EQ(view.wait_s, 0.5);
  EXPECT_EQ(view.refused, 5);
  EXPECT_DOUBLE_EQ(view.audio_a_second, 3);
  EXPECT_DOUBLE_EQ(view.late_a_minute, 1);
  EXPECT_NEAR(*view.first_audio_p50_s, 0.1 * 50 / 90, 1e-12);
  EXPECT_NEAR(*view.first_audio_p95_s, 0.15, 1e-12);
  EXPECT_EQ(view.models, std::vector<std::string>{"a"});
}

TEST(FleetView, CountsSinceTheLastLook) {
  const Scrape first = read_metrics(metrics_of(100, 4, 90, 10, 300, 5), 50);
  const Scrape second = read_metrics(metrics_of(102, 4, 90, 20, 310, 5), 52);
  const WorkerView view = view_worker("w", kHealth, second, &first);
  EXPECT_DOUBLE_EQ(view.audio_a_second, 5);
  EXPECT_EQ(view.late_a_minute, 0);
  EXPECT_EQ(view.refused, 0);
  EXPECT_NEAR(*view.first_audio_p50_s, 0.15, 1e-12);
  // The worker was restarted: its counters begin at 0 again.
  const Scrape anew = read_metrics(metrics_of(2, 4, 10, 0, 8, 0), 54);
  EXPECT_DOUBLE_EQ(view_worker("w", kHealth, anew, &second).audio_a_second, 4);
}

TEST(FleetView, TrustsNoReport) {
  EXPECT_EQ(view_worker("w", "<html>", {}, nullptr).state, "unreachable");
  EXPECT_EQ(view_worker("w", R"({"state":7})", {}, nullptr).state, "unreachable");
  const WorkerView odd = view_worker(
      "w", R"({"state":"\u001b[31mready","models":[7,{"id":3},{"id":"x\u0007","loaded":true}]})",
      read_metrics("a\nb c\nd NaN\ne{le=\"\nsyrinx_requests_running -7\nsyrinx_requests_waiting "
                   "1e300\n",
                   0),
      nullptr);
  EXPECT_EQ(odd.streams, 0);
  EXPECT_EQ(odd.waiting, 1'000'000'000);
  const std::string drawn = draw_workers({odd}, false);
  EXPECT_EQ(drawn.find('\033'), drawn.npos);
  EXPECT_EQ(drawn.find('\007'), drawn.npos);
  EXPECT_FALSE(odd.first_audio_p50_s);
}

TEST(FleetView, Quantiles) {
  EXPECT_FALSE(quantile({}, 0.5));
  EXPECT_FALSE(quantile({{1, 0}, {INFINITY, 0}}, 0.5));
  EXPECT_DOUBLE_EQ(*quantile({{1, 10}, {INFINITY, 10}}, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(*quantile({{1, 0}, {2, 10}, {INFINITY, 10}}, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(*quantile({{1, 0}, {INFINITY, 10}}, 0.5), 1);
}

TEST(FleetView, DrawsOneLineEachAndOneForAll) {
  WorkerView a{.url = "a:1", .state = "ready"};
  a.streams = 3, a.capacity = 10, a.audio_a_second = 2, a.late_a_minute = 3;
  a.first_audio_p50_s = 0.0051;
  WorkerView b{.url = "b:1", .state = "draining"};
  b.streams = 1, b.capacity = 10, b.audio_a_second = 1;
  const std::string drawn =
      draw_workers({a, b, unreachable_worker("c:1", "Connection refused")}, false);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 5);
  EXPECT_NE(drawn.find("3/10"), drawn.npos);
  EXPECT_NE(drawn.find("4/20"), drawn.npos);
  EXPECT_NE(drawn.find("1 of 3"), drawn.npos);
  EXPECT_NE(drawn.find("5.1"), drawn.npos);
  EXPECT_NE(drawn.find("Connection refused"), drawn.npos);
  EXPECT_EQ(drawn.find('\033'), drawn.npos);
  EXPECT_NE(draw_workers({a}, true).find("\033[32m"), std::string::npos);

  const auto told = nlohmann::json::parse(workers_json({a, unreachable_worker("c:1", "gone")}));
  EXPECT_EQ(told[0]["streams"], 3);
  EXPECT_DOUBLE_EQ(told[0]["first_audio_p50_ms"], 5.1);
  EXPECT_TRUE(told[0]["first_audio_p95_ms"].is_null());
  EXPECT_EQ(told[1]["fault"], "gone");
}

}  // namespace
}  // namespace syrinx
