#include "cli/bench_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/ranges.h"

namespace syrinx {
namespace {

constexpr double kMostRate = 10'000, kMostSeconds = 7 * 86400;
constexpr int kMostClients = 4096;

void add_load(CLI::App& app, BenchOptions& bench) {
  const char* group = "Load";
  app.add_option("-r,--rate,--rates", bench.rates,
                 "open loop: requests a second, Poisson arrivals; several, with commas: a run each")
      ->delimiter(',')
      ->check(between(0.001, kMostRate))
      ->group(group);
  app.add_option("-n,--streams", bench.streams,
                 "closed loop: clients that ask again when they have their answer (default 8)")
      ->delimiter(',')
      ->check(between(1, kMostClients))
      ->group(group);
  app.add_option("--realtime", bench.listeners,
                 "listeners that ask again when they have heard their answer")
      ->delimiter(',')
      ->check(between(1, kMostClients))
      ->group(group);
  app.add_option("-d,--duration", bench.duration_s, "seconds that are measured (default 30)")
      ->check(between(0.1, kMostSeconds))
      ->group(group);
  app.add_option("--warmup", bench.warmup_s,
                 "seconds before them that are not (default 2; 0 with --repeats and --trace)")
      ->check(between(0.0, kMostSeconds))
      ->group(group);
  app.add_option("--repeats", bench.repeats,
                 "with --streams and no --duration: requests per client (default 3)")
      ->check(between(1, 1'000'000))
      ->group(group);
}

void add_target(CLI::App& app, BenchOptions& bench) {
  const char* group = "Target";
  app.add_option(
         "-u,--url", bench.url,
         "http://host:port of any server with OpenAI's speech API; --model is then the name "
         "to ask for. Without it: an engine in this process")
      ->group(group);
  app.add_flag_callback(
         "--in-process", [&bench] { bench.url.clear(); }, "no server; the default")
      ->group(group);
  app.add_option("--api-key-file", bench.api_key_file,
                 "its first line is sent as a bearer token (or set SYRINX_API_KEY or "
                 "OPENAI_API_KEY)")
      ->group(group);
  app.add_option("--extra", bench.fields, "a JSON object added to every body")->group(group);
  app.add_option("--sample-rate", bench.sample_rate_hz, "of pcm where the answer does not tell")
      ->check(between(1000, 384000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--timeout", bench.timeout_s, "seconds for a request as a whole")
      ->check(between(0.1, kMostSeconds))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--new-connections", bench.new_connections, "a connection for every request")
      ->group(group);
  app.add_flag("--ignore-stop", bench.request.ignore_stop,
               "in this process: run every request to --max-frames")
      ->group(group);
}

void add_targets(CLI::App& app, BenchOptions& bench) {
  const char* group = "Targets and search";
  app.add_option("--target-ttfa-ms", bench.target_first_audio_ms, "first audio within so long")
      ->check(between(0.1, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--target-percentile", bench.target_percentile, "... for so many percent")
      ->check(between(1.0, 100.0))
      ->capture_default_str()
      ->group(group);
  app.add_option("--target-viable", bench.target_viable,
                 "share of requests without failure or underrun")
      ->check(between(0.0, 1.0))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--search", bench.search,
               "find the highest rate that holds the targets, or with --streams or --realtime the "
               "highest number of clients; begins at the value given there")
      ->group(group);
  app.add_option("--search-precision", bench.search_precision, "of the answer, as a share of it")
      ->check(between(0.001, 0.5))
      ->capture_default_str()
      ->group(group);
}

void add_texts(CLI::App& app, BenchOptions& bench) {
  const char* group = "Load";
  app.add_option("--trace", bench.trace,
                 "replay JSON Lines with time (seconds), text, voice and further fields")
      ->group(group);
  app.add_option("--trace-speed", bench.trace_speed, "2: twice as fast")
      ->check(between(0.001, 1000.0))
      ->capture_default_str()
      ->group(group);
  app.add_option("-t,--text", bench.text, "always this text; by default texts of varied lengths")
      ->group(group);
  app.add_option("--text-file", bench.text_file, "one text per line")->group(group);
}

void add_predict(CLI::App& app, PredictBench& predict) {
  const char* group = "Prediction";
  CLI::Option* on =
      app.add_flag("--predict", predict.on,
                   "instead: questions that come in over time to a text model (--model), answered "
                   "aloud with prediction and without, one after another")
          ->group(group);
  app.add_option("--voice-model", predict.speaker, "the model that speaks the answers")
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--questions", predict.questions,
                 "typed (--text, --text-file or built-in ones, at --typing characters a second), "
                 "heard (word by word, with words that are taken back), or a file of JSON Lines")
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--typing", predict.characters_a_second, "characters a second")
      ->check(between(0.1, 1000.0))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--system", predict.system, "what the text model is told first")
      ->needs(on)
      ->group(group);
  app.add_option("--max-tokens", predict.max_tokens, "of an answer")
      ->check(between(1, 100'000))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--sentence-chars", predict.sentence_chars,
                 "a sentence is cut there, for models that write none; 0: at 400")
      ->check(between(0, 10'000))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--rules", predict.rules,
                 "beside no prediction: greedy, top-K, reflection, jacobi-N (greedy, with guesses "
                 "by Jacobi iteration, an experiment)")
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--draft-tokens", predict.draft_tokens, "of the first draft")
      ->check(between(1, Prediction::kMostDraft))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--hint", predict.hint, "text behind a question in drafts")
      ->needs(on)
      ->group(group);
  app.add_flag("--real-time", predict.real_time,
               "by the clock on the wall; otherwise on a virtual clock, with real answers and "
               "measured costs, the same every time")
      ->needs(on)
      ->group(group);
  app.add_option("--costs", predict.costs_file,
                 "what batches take on the virtual clock, as --json wrote it; otherwise measured")
      ->needs(on)
      ->group(group);
}

void add_files(CLI::App& app, BenchOptions& bench) {
  const char* group = "Results";
  app.add_option("--json", bench.json_file, "write figures; '-' is the standard output")
      ->group(group);
  app.add_flag("--json-requests", bench.json_requests, "with every request in it")->group(group);
  app.add_option("--html", bench.html_file, "write a report with charts")->group(group);
}

}  // namespace

void add_bench_arguments(CLI::App& app, BenchOptions& bench) {
  add_load(app, bench);
  add_texts(app, bench);
  add_target(app, bench);
  add_targets(app, bench);
  add_files(app, bench);
  add_predict(app, bench.predict);
  const char* group = "Results";
  app.add_option("--audible-dbfs", bench.audible_dbfs, "quieter samples count as leading silence")
      ->check(between(-90.0, -1.0))
      ->capture_default_str()
      ->group(group);
  app.add_option("--profile-steps", bench.profile_file,
                 "measure what steps and chunks of the model cost instead, and write that as JSON "
                 "for `syrinx simulate`; --duration is then the seconds for each batch size")
      ->group(group);
}

void add_simulate_arguments(CLI::App& app, SimulateOptions& simulate) {
  SimulationOptions& how = simulate.how;
  app.add_option("--profile", simulate.profile_file, "what `syrinx bench --profile-steps` wrote")
      ->required();
  app.add_option("--policy", how.policy, "streaming, throughput or fcfs")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  app.add_option("--executors", how.executors,
                 "of an engine, each as fast as the profile says and running any stage")
      ->check(between(1, 1024))
      ->capture_default_str();
  app.add_flag("--split", how.split, "instead: chunk stages on one, any stage on the other");
  app.add_flag(
      "--whole", how.whole,
      "a stage begins when the one before it has ended; otherwise frames go on as they come");
  app.add_option("--replicas", how.replicas, "whole engines; a request goes to the least busy")
      ->check(between(1, 1024))
      ->capture_default_str();
  app.add_option("--max-batch", how.max_batch)->check(between(2, 4096))->capture_default_str();
  app.add_option("--max-prefill-rows", how.max_prefill_rows)
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-requests", how.max_requests, "of an engine, accepted and unfinished")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-wait", how.max_wait_s, "predicted wait past which requests are refused")
      ->check(between(0.0, 1e6))
      ->capture_default_str();
  app.add_option_function<double>(
         "--network-ms", [&how](double ms) { how.delivery_s = ms / 1e3; },
         "from the engine to the client")
      ->check(between(0.0, 1e4));
  app.add_flag("!--no-noise", how.noise, "batches take their typical time, always");
  app.add_option("--seed", simulate.load.request.seed, "of arrivals and texts")
      ->capture_default_str();
  add_load(app, simulate.load);
  add_targets(app, simulate.load);
  add_files(app, simulate.load);
}

}  // namespace syrinx
