#include "base/check.h"
#include "base/clock.h"
#include "bench/simulator.h"
#include "cli/load_command.h"

namespace syrinx {

int run_simulate(const SimulateOptions& options) {
  if (!options.load.trace.empty()) throw UsageError("traces are not simulated");
  const StepProfile profile = load_profile(options.profile_file);
  SimulationOptions how = options.how;
  const double wanted = static_cast<double>(profile.pages) * how.max_batch;
  how.pages = static_cast<int>(wanted / std::max(1, profile.ars.back().decode.back().batch));
  LoadCommand command(options.load);
  command.title(profile.model + ", simulated");
  command.fact("profile", concat(options.profile_file, " (", profile.weights, " weights, ",
                                 profile.threads, " threads)"));
  command.fact("policy", how.policy);
  command.fact("executors", how.split ? "split" : concat(how.executors));
  if (how.whole) command.fact("edges", "whole");
  if (how.replicas > 1) command.fact("engines", concat(how.replicas));
  command.fact("max batch", concat(how.max_batch));
  return command.run([&](const LoadPoint& point, const TrafficOptions& traffic,
                         const ShowProgress&) { return simulate(profile, how, point, traffic); });
}

}  // namespace syrinx
