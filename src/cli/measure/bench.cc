// clang-format off
#include "bench/asio.h"  // must be first; the header explains why
// clang-format on
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/check.h"
#include "base/cores.h"
#include "bench/measure_steps.h"
#include "bench/target.h"
#include "cli/files/http_client.h"
#include "cli/files/many_files.h"
#include "cli/files/request_fields.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "cli/measure/load_command.h"
#include "cli/speak/voice_choice.h"
#include "io/file.h"

namespace syrinx {
namespace {

int run_profile(const BenchOptions& options) {
  if (!options.url.empty())
    throw UsageError("--profile-steps measures in this process: leave out --url");
  need_writable(options.profile_file);
  ProgressLine line;
  MeasureOptions measure{options.load, options.request, texts_of(options)};
  if (options.duration_s > 0) measure.seconds = options.duration_s;
  measure.progress = [&line](const std::string& what) { line.show(what); };
  const StepProfile profile = measure_steps(measure);
  line.clear();
  write_text(options.profile_file, profile_json(profile));
  const ArProfile& ar = profile.ars.front();
  std::printf("%s, %d threads: a batch of 1 takes %s, of %d %s", profile.model.c_str(),
              profile.threads, time_text(ar.step_s(1, 64, 0)).c_str(), ar.decode.back().batch,
              time_text(ar.step_s(ar.decode.back().batch, 64, 0)).c_str());
  for (size_t i = 0; i < profile.links.size(); ++i) {
    const LinkProfile& link = profile.links[i];
    std::printf("; %s, %d frames: %s", link.name.c_str(), link.policy.steady,
                time_text(profile.chunks_s(i, 1, link.policy.steady)).c_str());
  }
  std::printf("\noverhead: %.1f us per batch, %.1f us per sequence; wake-up: %s\n%s\n",
              1e6 * profile.batch_overhead_s, 1e6 * profile.sequence_overhead_s,
              time_text(profile.wake_s).c_str(), options.profile_file.c_str());
  return 0;
}

std::unique_ptr<BenchTarget> http_target(const BenchOptions& options, net::io_context& io,
                                         LoadCommand& command) {
  if (options.request.terms.ignore_stop) throw UsageError("--ignore-stop needs --in-process");
  allow_many_files();
  command.fact("requested model", options.load.model);
  return make_http_target(io, {.url = base_url(options.url),
                               .model = options.load.model,
                               .api_key = read_client_key(options.api_key_file),
                               .fields = request_fields(options.request, options.fields, false),
                               .sample_rate_hz = options.sample_rate_hz,
                               .timeout_s = options.timeout_s,
                               .keep_alive = !options.new_connections});
}

std::unique_ptr<BenchTarget> engine_target(const BenchOptions& options, net::io_context& io,
                                           std::unique_ptr<Engine>& engine, LoadCommand& command) {
  if (!options.fields.empty()) throw UsageError("--extra needs --url");
  const EngineOptions& how = options.load.engine;
  engine = load_engine(options.load);
  command.fact("weights", options.load.weights);
  command.fact("threads",
               how.threads == 0 ? concat(usable_cores(), " (all cores)") : concat(how.threads));
  command.fact("policy", how.policy);
  command.fact("max batch", concat(how.max_batch));
  SpeechRequest request = options.request;
  choose_voice(*engine, {}, request);
  return make_engine_target(io, *engine, request, options.timeout_s);
}

/// Sends one request before the measurement. Reports errors early and excludes slow first steps.
void probe(net::io_context& io, BenchTarget& target, TrafficOptions traffic) {
  traffic.repeats = 1;
  traffic.warmup_s = 0;
  const LoadResult result = run_load(io, target, {LoadKind::kStreams, 1}, traffic);
  const RequestRecord& record = result.requests.front();
  if (record.ok()) return;
  throw LoadError(concat(target.describe(), ": the first request failed (",
                         failure_name(record.failure), "): ", record.detail));
}

}  // namespace

int run_bench(const BenchOptions& options) {
  if (options.predict.on) return run_bench_predict(options);
  if (!options.profile_file.empty()) return run_profile(options);
  LoadCommand command(options);
  const TrafficOptions& traffic = command.traffic();
  net::io_context io;
  std::unique_ptr<Engine> engine;
  const std::unique_ptr<BenchTarget> target = options.url.empty()
                                                  ? engine_target(options, io, engine, command)
                                                  : http_target(options, io, command);
  command.title(target->describe());
  const size_t texts = traffic.trace.empty() ? traffic.texts.size() : traffic.trace.size();
  command.fact("texts", options.text.empty() ? concat(texts) : "\"" + shown(options.text) + "\"");
  probe(io, *target, traffic);
  return command.run(
      [&](const LoadPoint& point, const TrafficOptions& how, const ShowProgress& progress) {
        return run_load(io, *target, point, how, progress);
      });
}

}  // namespace syrinx
