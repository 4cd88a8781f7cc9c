// Compares a day computed from curves with the same day simulated request by request, within the
// bounds that docs/guide/sizing.md states.
#include "bench/day_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/day_report.h"
#include "bench/toy_profile.h"

namespace syrinx {
namespace {

constexpr double kSlower = 5;  // factor of the toy's costs: 11 requests a second fill a worker
constexpr ServiceTargets kTargets{.first_audio_s = 0.1};

struct Both {
  DayResult quick, exact;
};

const WorkerCurve& toy_curve(const StepProfile& profile) {
  static const WorkerCurve curve =
      calibrate(profile, {}, {.workers = 4, .requests = 1500, .targets = kTargets});
  return curve;
}

/// Returns the computed and the simulated result of a "day" of a few minutes, by its quarters.
Both both_of(SimulationOptions fleet, double peak_rate, std::vector<double> levels,
             double day_s = 200) {
  static const StepProfile profile = toy_profile(kSlower);
  DayOptions options{.fleet = std::move(fleet),
                     .day = {day_s, std::move(levels)},
                     .peak_rate = peak_rate,
                     .rows = 4,
                     .tick_s = 0.5};
  Both out;
  out.quick = plan_day(toy_curve(profile), options);
  TrafficOptions traffic;
  traffic.duration_s = day_s;
  traffic.seed = 3;
  FleetUse use;
  const LoadResult result =
      simulate(profile, options.fleet, {LoadKind::kRate, peak_rate}, traffic, &options.day, &use);
  out.exact = count_day(result, use, options, kTargets);
  return out;
}

void expect_alike(const DayRow& quick, const DayRow& exact, double times) {
  SCOPED_TRACE(quick.at_s);
  EXPECT_NEAR(quick.requests, exact.requests, 3.5 * std::sqrt(exact.requests)) << "Poisson";
  EXPECT_NEAR(quick.p50_s / exact.p50_s, 1, times);
  EXPECT_NEAR(quick.p90_s / exact.p90_s, 1, times);
  EXPECT_NEAR(quick.good / quick.requests, exact.good / exact.requests, 0.01);
  EXPECT_NEAR(quick.used, exact.used, 0.01 + 0.1 * exact.used);
  EXPECT_NEAR(quick.up, exact.up, 0.02 * exact.up + 0.02);
  EXPECT_NEAR(quick.audio_s / quick.ok, exact.audio_s / exact.ok, 0.03);
}

TEST(DayPlan, AgreesWithTheExactOneOverAQuietDay) {
  SimulationOptions fleet;
  fleet.replicas = 4;
  const Both day = both_of(fleet, 30, {0.1, 0.4, 1, 0.6});
  for (int i = 0; i < 4; ++i) expect_alike(day.quick.rows[i], day.exact.rows[i], 0.12);
  expect_alike(day.quick.whole, day.exact.whole, 0.12);
  EXPECT_NEAR(day.quick.whole.refused, 0, 1e-6);
  EXPECT_EQ(day.exact.whole.refused, 0);
}

TEST(DayPlan, AgreesWhereWorkersDie) {
  SimulationOptions fleet;
  fleet.replicas = 6;
  fleet.fleet.failures = {{70, 30, 2}, {150, 10, 3}};
  const Both day = both_of(fleet, 27, {0.7, 0.8, 1, 0.8});
  for (int i = 0; i < 4; ++i) expect_alike(day.quick.rows[i], day.exact.rows[i], 0.12);
  EXPECT_GT(day.exact.whole.cut, 0);
  EXPECT_NEAR(day.quick.whole.cut, day.exact.whole.cut, 4 * std::sqrt(day.exact.whole.cut))
      << "one draw of what it expects";
}

TEST(DayPlan, AgreesInOverload) {
  SimulationOptions fleet;
  fleet.replicas = 3;
  const Both day = both_of(fleet, 39, {0.9, 1, 1, 0.9});
  const DayRow &quick = day.quick.whole, &exact = day.exact.whole;
  EXPECT_GT(exact.refused, 0.05 * exact.requests);
  EXPECT_NEAR(quick.refused / quick.requests, exact.refused / exact.requests, 0.03);
  EXPECT_NEAR(quick.good / quick.requests, exact.good / exact.requests, 0.08);
  EXPECT_NEAR(quick.p50_s / exact.p50_s, 1, 0.2);
}

TEST(DayPlan, AgreesWhereTheFleetFollowsTheLoad) {
  SimulationOptions fleet;
  fleet.replicas = 3;
  fleet.fleet.autoscaling = {
      .least = 2, .most = 12, .start_s = 10, .keep_s = 40, .fewer_per_min = 2};
  const Both day = both_of(fleet, 50, {0.2, 0.5, 1, 0.3}, 400);
  const DayRow &quick = day.quick.whole, &exact = day.exact.whole;
  EXPECT_NEAR(quick.workers, exact.workers, 0.1 * exact.workers);
  EXPECT_NEAR(quick.good / quick.requests, exact.good / exact.requests, 0.1);
  EXPECT_NEAR(quick.refused / quick.requests, exact.refused / exact.requests, 0.02);
}

TEST(DayPlan, AgreesWhereVoicesHaveHomes) {
  SimulationOptions fleet;
  fleet.replicas = 6;
  fleet.fleet.voices = {.voices = 20, .share = 0.7, .skew = 1};
  const Both day = both_of(fleet, 30, {0.8, 1, 1, 0.9});
  expect_alike(day.quick.whole, day.exact.whole, 0.1);
  EXPECT_GT(day.quick.whole.most_used, 1.2 * day.quick.rows[1].used) << "the fullest home";
}

TEST(DayPlan, AThousandWorkersAndTheSameEveryTime) {
  SimulationOptions fleet;
  fleet.replicas = 1000;
  fleet.fleet.failures = {{300, 100, 50}};
  const DayOptions options{
      .fleet = fleet, .day = {2000, usual_day()}, .peak_rate = 5000, .tick_s = 1};
  const StepProfile profile = toy_profile(kSlower);
  const DayResult once = plan_day(toy_curve(profile), options);
  const DayResult again = plan_day(toy_curve(profile), options);
  DayReport report, other;
  report.day = once, other.day = again;
  EXPECT_EQ(day_json(report), day_json(other));
  EXPECT_GT(once.whole.good, 0.99 * once.whole.requests);
  EXPECT_GT(once.whole.cut, 10);
  EXPECT_LT(once.whole.up, 999);
}

TEST(DayPlan, ReportsSayTheSameInEveryForm) {
  DayReport report;
  report.title = "a <day>";
  report.facts = {{"engines", "3"}};
  report.day.whole = {.for_s = 3600,
                      .requests = 7200,
                      .ok = 7100,
                      .good = 6840,
                      .refused = 99,
                      .cut = 1,
                      .p50_s = 0.012,
                      .p90_s = 0.034,
                      .p99_s = 1.5,
                      .audio_s = 14400,
                      .workers = 2,
                      .up = 2,
                      .used = 0.4,
                      .most_used = 0.7};
  report.day.rows = {report.day.whole};
  const std::string text = day_text(report), html = day_html(report);
  for (const char* part : {"2.0", "12 ms", "34 ms", "1.50 s", "95.0 %", "99", "40.0 %", "70.0 %",
                           "7200 requests, 4 hours of audio, 2.0 worker hours: 2.0 hours"}) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
    EXPECT_NE(html.find(part), html.npos) << part;
  }
  EXPECT_NE(html.find("a &lt;day&gt;"), html.npos);
  const auto json = nlohmann::json::parse(day_json(report));
  EXPECT_EQ(json["whole"]["refused"], 99);
  EXPECT_EQ(json["rows"][0]["first_audio_s"]["p99"], 1.5);
}

}  // namespace
}  // namespace syrinx
