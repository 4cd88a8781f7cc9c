// `syrinx serve --stage`: holds stages of a model for servers of this host or of others.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "base/clock.h"
#include "cli/files/many_files.h"
#include "cli/line/exit.h"
#include "cli/line/stop_signal.h"
#include "cli/serve/serve.h"
#include "link/stage_server.h"

namespace syrinx {
namespace {

/// Until servers have no streams here any more, but no longer than that.
void drain(StageServer& server, double most_s) {
  const double until_s = now_s() + most_s;
  server.leave();
  while (server.state().servers > 0 && now_s() < until_s) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

int run_stages(const ServeOptions& options) {
  const double began_s = now_s();
  if (options.models.size() > 1) throw UsageError("--stage is for one model");
  if (!options.remote.empty() || !options.placement.empty()) {
    throw UsageError(
        "--stage is for processes that hold stages, --remote and --placement for servers");
  }
  StopSignal stop;
  allow_many_files();
  LoadOptions load = options.load;
  if (!options.models.empty()) load.model = options.models.front();
  const auto log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  load.held_nodes = options.stages;
  const std::shared_ptr<const Pipeline> pipeline = load_pipeline(load);
  StageServerOptions server{.address = options.listen_stage,
                            .keys = load.stage_keys,
                            .me = introduce(load),
                            .threads = load.engine.threads};
  if (!options.quiet) server.log = log;
  std::string names;
  for (const std::string& stage : options.stages) {
    server.me.nodes.push_back(shape_of(pipeline->graph(), stage));
    names += (names.empty() ? "" : ", ") + stage;
  }
  StageServer running(pipeline, server);
  std::printf("Syrinx holds %s of '%s' for servers at %s (ready after %.2f s). Ctrl-C stops it.\n",
              names.c_str(), pipeline->info().model.c_str(), running.address().c_str(),
              now_s() - began_s);
  std::fflush(stdout);
  stop.arm();
  while (stop.wait() == StopSignal::Event::kReload) log("there is nothing to reload");
  if (!options.quiet) log("stopping: what servers have here is finished");
  drain(running, options.drain_timeout_s);
  return 0;
}

}  // namespace syrinx
