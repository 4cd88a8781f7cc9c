#include <CLI/CLI.hpp>
#include <memory>

#include "cli/line/arguments.h"
#include "cli/line/ranges.h"
#include "cli/measure/bench.h"
#include "predict/prediction.h"

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
  app.add_option("--sample-rate", bench.sample_rate_hz,
                 "sample rate of pcm if the answer states none")
      ->check(between(1000, 384000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--timeout", bench.timeout_s, "seconds for a request as a whole")
      ->check(between(0.1, kMostSeconds))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--new-connections", bench.new_connections, "use a new connection for every request")
      ->group(group);
  app.add_flag("--ignore-stop", bench.request.terms.ignore_stop,
               "in this process: run every request to --max-frames")
      ->group(group);
}

void add_targets(CLI::App& app, BenchOptions& bench) {
  const char* group = "Targets and search";
  app.add_option("--target-ttfa-ms", bench.target_first_audio_ms, "first audio within this time")
      ->check(between(0.1, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--target-percentile", bench.target_percentile,
                 "percentage of requests that must meet --target-ttfa-ms")
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
               "highest number of clients; begins at the given value")
      ->group(group);
  app.add_option("--search-precision", bench.search_precision,
                 "precision of the result, as a share of it")
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
                   "instead: questions that arrive over time at a text model (--model), answered "
                   "in speech with and without prediction, one after another")
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
  app.add_option("--system", predict.system, "system prompt of the text model")
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
  app.add_option(
         "--rules", predict.rules,
         "compared with no prediction: greedy, top-K, reflection, jacobi-N (greedy, with guesses "
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
               "in real time; otherwise on a virtual clock with real answers and measured costs, "
               "the same in every run")
      ->needs(on)
      ->group(group);
  app.add_option("--costs", predict.costs_file,
                 "costs of batches on the virtual clock, as written by --json; otherwise measured")
      ->needs(on)
      ->group(group);
}

void add_files(CLI::App& app, BenchOptions& bench) {
  const char* group = "Results";
  app.add_option("--json", bench.json_file, "write figures; '-' is the standard output")
      ->group(group);
  app.add_flag("--json-requests", bench.json_requests, "write every request into it")->group(group);
  app.add_option("--html", bench.html_file, "write a report with charts")->group(group);
}

void add_fleet(CLI::App& app, SimulateOptions& simulate) {
  const char* group = "Fleet";
  Fleet& fleet = simulate.how.fleet;
  Autoscaling& scaling = simulate.scaling;
  const auto option = [&](const char* name, auto& value, const char* text, double low,
                          double high) {
    return app.add_option(name, value, text)->check(between(low, high))->group(group);
  };
  option("--replicas", simulate.how.replicas,
         "whole engines, behind the balancer of packaging/haproxy", 1, 100'000)
      ->capture_default_str();
  app.add_option("--apart", simulate.how.apart,
                 "a node that runs in another process, on a device of its own; repeatable")
      ->group(group);
  app.add_option_function<double>(
         "--link-ms", [&](double ms) { simulate.how.link_s = ms / 1e3; },
         "delay to it and back, for each of its batches")
      ->check(between(0.0, 1e4))
      ->group(group);
  app.add_option("--failure", simulate.failures,
                 "AT+FOR or AT+FORxWORKERS, in seconds: workers that are killed, and when they are "
                 "ready again; repeatable")
      ->group(group);
  option("--voices", fleet.voices.voices,
         "number of cloned voices, each of which has a home worker", 1, 1e6);
  option("--voice-share", fleet.voices.share, "share of requests with a cloned voice", 0, 1)
      ->capture_default_str();
  option("--voice-skew", fleet.voices.skew, "the n-th voice is requested in proportion to n^-skew",
         0, 10)
      ->capture_default_str();
  app.add_option("--autoscale", simulate.autoscale, "least and most workers: 2,20")
      ->delimiter(',')
      ->expected(2)
      ->check(between(1, 100'000))
      ->group(group);
  option("--scale-load", scaling.load, "target: streams by capacity of a worker", 0.01, 1)
      ->capture_default_str();
  option("--scale-wait", scaling.wait_s, "target: predicted wait of a worker in seconds", 1e-3, 1e3)
      ->capture_default_str();
  option("--scale-start", scaling.start_s, "seconds until a new worker is ready", 0, 1e5)
      ->capture_default_str();
  option("--scale-fewer", scaling.fewer_per_min,
         "largest number of workers that are removed in a minute", 1, 100'000)
      ->capture_default_str();
}

void add_day(CLI::App& app, DayCommand& day) {
  const char* group = "Day";
  CLI::Option* listeners =
      app.add_option("--listeners", day.listeners,
                     "instead of a load: a day with this number of listeners at its peak")
          ->check(between(1.0, 1e9))
          ->group(group);
  app.add_option("--asks-every", day.asks_every_s, "seconds between two requests of a listener")
      ->check(between(0.01, 1e6))
      ->needs(listeners)
      ->capture_default_str()
      ->group(group);
  app.add_option("--day", day.day_s, "seconds of a day")
      ->check(between(1.0, 1e6))
      ->needs(listeners)
      ->capture_default_str()
      ->group(group);
  app.add_option("--levels", day.levels,
                 "listeners over the day as shares of the peak, evenly spread: 0.2,0.6,1,0.5")
      ->delimiter(',')
      ->check(between(0.0, 1.0))
      ->needs(listeners)
      ->group(group);
  app.add_option("--rows", day.rows, "of the table")
      ->check(between(1, 10'000))
      ->needs(listeners)
      ->capture_default_str()
      ->group(group);
  app.add_flag("--exact", day.exact,
               "simulate every request with the engine's scheduler, for small fleets and to check "
               "the fast method")
      ->needs(listeners)
      ->group(group);
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* sub = app.add_subcommand("bench", "Measure a server, or an engine in this process");
  BenchOptions& bench = *options;
  add_load(*sub, bench);
  add_texts(*sub, bench);
  add_target(*sub, bench);
  add_targets(*sub, bench);
  add_files(*sub, bench);
  add_predict(*sub, bench.predict);
  const char* group = "Results";
  sub->add_option("--audible-dbfs", bench.audible_dbfs, "quieter samples count as leading silence")
      ->check(between(-90.0, -1.0))
      ->capture_default_str()
      ->group(group);
  sub->add_option("--profile-steps", bench.profile_file,
                  "instead, measure the costs of the model's steps and chunks, and write them as "
                  "JSON for `syrinx simulate`; --duration is then the seconds for each batch size")
      ->group(group);
  add_model(*sub, bench.load);
  add_request(*sub, bench.request);
  add_engine(*sub, bench.load.engine);
  sub->callback([&chosen, options] { chosen = [options] { return run_bench(*options); }; });
}

void add_simulate(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* sub = app.add_subcommand(
      "simulate", "Compute how a server would handle a load, from measured costs");
  SimulateOptions& simulate = *options;
  SimulationOptions& how = simulate.how;
  sub->add_option("--profile", simulate.profile_file,
                  "the output of `syrinx bench --profile-steps`")
      ->required();
  sub->add_option("--policy", how.policy, "streaming, throughput or fcfs")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  sub->add_option("--executors", how.executors,
                  "of an engine, each as fast as the profile says and running any stage")
      ->check(between(1, 1024))
      ->capture_default_str();
  sub->add_flag("--split", how.split, "instead: chunk stages on one, any stage on the other");
  sub->add_flag(
      "--whole", how.whole,
      "a stage begins when the previous one has ended; otherwise frames are passed on at once");
  sub->add_option("--max-batch", how.max_batch)->check(between(2, 4096))->capture_default_str();
  sub->add_option("--max-prefill-rows", how.max_prefill_rows)
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  sub->add_option("--max-requests", how.max_requests, "of an engine, accepted and unfinished")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  sub->add_option("--max-wait", how.max_wait_s, "predicted wait above which requests are refused")
      ->check(between(0.0, 1e6))
      ->capture_default_str();
  sub->add_option_function<double>(
         "--network-ms", [&how](double ms) { how.delivery_s = ms / 1e3; },
         "from the engine to the client")
      ->check(between(0.0, 1e4));
  sub->add_flag("!--no-noise", how.noise, "batches always take their typical time");
  sub->add_option("--seed", simulate.load.request.sampling.seed, "of arrivals and texts")
      ->check(at_least(0))
      ->capture_default_str();
  add_load(*sub, simulate.load);
  add_fleet(*sub, simulate);
  add_day(*sub, simulate.day);
  add_targets(*sub, simulate.load);
  add_files(*sub, simulate.load);
  sub->callback([&chosen, options] { chosen = [options] { return run_simulate(*options); }; });
}

}  // namespace syrinx
