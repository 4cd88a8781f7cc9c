#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "base/clock.h"
#include "bench/day_report.h"
#include "bench/simulator.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "cli/measure/load_command.h"

namespace syrinx {
namespace {

constexpr double kMostExact = 2'000'000;  // most requests, as each is kept in memory

using Facts = std::vector<std::pair<std::string, std::string>>;

SimulationOptions simulated(const SimulateOptions& options, const StepProfile& profile) {
  SimulationOptions how = options.how;
  const double wanted = static_cast<double>(profile.pages) * how.max_batch;
  how.pages = static_cast<int>(wanted / std::max(1, profile.ars.back().decode.back().batch));
  for (const std::string& failure : options.failures) {
    how.fleet.failures.push_back(read_failure(failure));
  }
  if (!options.autoscale.empty()) {
    how.fleet.autoscaling = options.scaling;
    how.fleet.autoscaling->least = options.autoscale.front();
    how.fleet.autoscaling->most = options.autoscale.back();
    if (options.autoscale.front() > options.autoscale.back()) {
      throw UsageError("--autoscale: expected LEAST,MOST with LEAST below MOST");
    }
    how.replicas = std::clamp(how.replicas, options.autoscale.front(), options.autoscale.back());
  }
  return how;
}

Facts fleet_facts(const SimulateOptions& options, const SimulationOptions& how,
                  const StepProfile& profile) {
  Facts facts;
  const auto fact = [&](const char* name, const std::string& value) {
    facts.emplace_back(name, value);
  };
  fact("profile", concat(options.profile_file, " (", profile.weights, " weights, ", profile.threads,
                         " threads)"));
  fact("policy", how.policy);
  fact("executors", how.split ? "split" : concat(how.executors));
  if (how.whole) fact("edges", "whole");
  for (const std::string& link : how.apart) fact(link.c_str(), "in another process");
  if (!how.apart.empty()) fact("link", concat(1e3 * how.link_s, " ms"));
  if (how.replicas > 1 || how.fleet.autoscaling) fact("engines", concat(how.replicas));
  if (how.fleet.autoscaling) {
    fact("autoscaled", concat(how.fleet.autoscaling->least, " to ", how.fleet.autoscaling->most,
                              ", ready after ", how.fleet.autoscaling->start_s, " s"));
  }
  for (const std::string& failure : options.failures) fact("failure", failure);
  if (how.fleet.voices.voices > 0) {
    fact("voices",
         concat(how.fleet.voices.voices, ", of ", 100 * how.fleet.voices.share, " % of requests"));
  }
  fact("max batch", concat(how.max_batch));
  return facts;
}

int run_day(const SimulateOptions& options, const StepProfile& profile,
            const SimulationOptions& how, Facts facts) {
  const DayCommand& wish = options.day;
  const BenchOptions& load = options.load;
  DayOptions day{.fleet = how,
                 .day = {wish.day_s, wish.levels.empty() ? usual_day() : wish.levels},
                 .peak_rate = wish.listeners / wish.asks_every_s,
                 .rows = wish.rows,
                 .tick_s = std::min(1.0, wish.day_s / wish.rows / 10)};
  DayReport report;
  report.title = profile.model + ", a day, " + (wish.exact ? "request by request" : "computed");
  report.targets = {.first_audio_s = load.target_first_audio_ms / 1e3,
                    .percentile = load.target_percentile / 100,
                    .viable = load.target_viable};
  facts.emplace_back("listeners", concat(wish.listeners, " at the peak, each asks every ",
                                         wish.asks_every_s, " s"));
  facts.emplace_back("seed", concat(load.request.sampling.seed));
  const double began_s = now_s();
  if (wish.exact) {
    if (day.peak_rate * wish.day_s > kMostExact) {
      throw UsageError(
          concat("--exact supports at most ", kMostExact, " requests at the peak's rate"));
    }
    TrafficOptions traffic;
    traffic.duration_s = wish.day_s;
    traffic.seed = load.request.sampling.seed;
    FleetUse use;
    const LoadResult result =
        simulate(profile, how, {LoadKind::kRate, day.peak_rate}, traffic, &day.day, &use);
    report.day = count_day(result, use, day, report.targets);
    facts.emplace_back("sent to another worker", concat(use.retried));
  } else {
    CurveOptions curve_how{.workers = std::min(4, most_workers(how)),
                           .targets = report.targets,
                           .seed = load.request.sampling.seed};
    ProgressLine line;
    const WorkerCurve curve = calibrate(profile, how, curve_how, [&](double rate) {
      char text[64];
      std::snprintf(text, sizeof text, "one worker at %.3g requests/s", rate);
      line.show(text);
    });
    report.day = plan_day(curve, day);
    report.curve = curve.points();
  }
  std::fprintf(stderr, "computed in %.1f s\n", now_s() - began_s);
  report.facts = std::move(facts);
  if (load.json_file == "-") {
    std::fputs(day_json(report).c_str(), stdout);
    return kExitOk;
  }
  std::fputs(day_text(report).c_str(), stdout);
  if (!load.json_file.empty()) write_text(load.json_file, day_json(report));
  if (!load.html_file.empty()) write_text(load.html_file, day_html(report));
  return kExitOk;
}

}  // namespace

int run_simulate(const SimulateOptions& options) {
  if (!options.load.trace.empty()) throw UsageError("--trace is not supported by simulate");
  const StepProfile profile = load_profile(options.profile_file);
  const SimulationOptions how = simulated(options, profile);
  const Facts facts = fleet_facts(options, how, profile);
  need_results(options.load);
  if (options.day.listeners > 0) return run_day(options, profile, how, facts);
  LoadCommand command(options.load);
  command.title(profile.model + ", simulated");
  for (const auto& [name, value] : facts) command.fact(name, value);
  return command.run([&](const LoadPoint& point, const TrafficOptions& traffic,
                         const ShowProgress&) { return simulate(profile, how, point, traffic); });
}

}  // namespace syrinx
