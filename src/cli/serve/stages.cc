// `syrinx serve --stage`: holds stages of a model for servers on this or other hosts.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/line_log.h"
#include "cli/files/many_files.h"
#include "cli/line/exit.h"
#include "cli/line/load_line.h"
#include "cli/line/stop_signal.h"
#include "cli/serve/serve.h"
#include "link/stage_server.h"

namespace syrinx {
namespace {

/// Waits at most `most_s` seconds until no server has streams in this process.
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
  if (options.models.size() > 1) throw UsageError("--stage needs exactly one model");
  if (!options.remote.empty() || !options.placement.empty()) {
    throw UsageError("--stage (a stage process) excludes --remote and --placement (a server)");
  }
  StopSignal stop;
  allow_many_files();
  LoadOptions load = options.load;
  if (!options.models.empty()) load.model = options.models.front();
  // Writing to these logs never waits for their reader.
  LineLog out({.descriptor = STDOUT_FILENO});
  const auto lines = std::make_shared<LineLog>();
  const auto log = [lines](const std::string& line) { lines->add(line); };
  load.log = log;
  load.progress = options.quiet ? nullptr : log_load(log);
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
  char ready_s[32];
  std::snprintf(ready_s, sizeof ready_s, "%.2f", now_s() - began_s);
  out.add(concat("Syrinx serves ", names, " of '", pipeline->info().model, "'; servers connect to ",
                 running.address(), " (ready after ", ready_s, " s). Ctrl-C stops it."));
  stop.arm();
  StopSignal::watch_device(log);
  while (stop.wait() == StopSignal::Event::kReload) log("SIGHUP: a stage process cannot reload");
  if (!options.quiet) log("stopping: finishing the streams of connected servers");
  drain(running, options.drain_timeout_s);
  return StopSignal::end_watch();
}

}  // namespace syrinx
