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
  app.add_option(
         "-r,--rate,--rates", bench.rates,
         "open loop: requests per second, Poisson arrivals; a comma-separated list: a run for each")
      ->delimiter(',')
      ->check(between(0.001, kMostRate))
      ->group(group);
  app.add_option("-n,--streams", bench.streams,
                 "closed loop: clients that send the next request after each answer (default 8)")
      ->delimiter(',')
      ->check(between(1, kMostClients))
      ->group(group);
  app.add_option("--realtime", bench.listeners,
                 "listeners that send the next request when they have played the answer")
      ->delimiter(',')
      ->check(between(1, kMostClients))
      ->group(group);
  app.add_option("-d,--duration", bench.duration_s,
                 "seconds of the measurement (default 30; with --streams: no limit)")
      ->check(between(0.1, kMostSeconds))
      ->group(group);
  app.add_option("--warmup", bench.warmup_s,
                 "seconds before the measurement (default 2; 0 with --repeats and --trace)")
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
         "http://host:port of any server with OpenAI's speech API; --model is then the model "
         "to request. By default an engine in this process is measured")
      ->group(group);
  app.add_flag_callback(
         "--in-process", [&bench] { bench.url.clear(); },
         "measure an engine in this process, not a server (default)")
      ->group(group);
  app.add_option("--api-key-file", bench.api_key_file,
                 "file whose first line is sent as a bearer token (or set SYRINX_API_KEY or "
                 "OPENAI_API_KEY)")
      ->group(group);
  app.add_option("--extra", bench.fields, "a JSON object added to every body")->group(group);
  app.add_option("--sample-rate", bench.sample_rate_hz,
                 "sample rate of pcm audio if the answer does not state it")
      ->check(between(1000, 384000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--timeout", bench.timeout_s, "most seconds of a whole request")
      ->check(between(0.1, kMostSeconds))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--new-connections", bench.new_connections, "use a new connection for every request")
      ->group(group);
  app.add_flag("--ignore-stop", bench.request.terms.ignore_stop,
               "run every request to --max-frames (not with --url)")
      ->group(group);
}

void add_targets(CLI::App& app, BenchOptions& bench) {
  const char* group = "Targets and search";
  app.add_option("--target-ttfa-ms", bench.target_first_audio_ms,
                 "target in ms for the time to the first audio")
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
               "find the highest rate that meets the targets, or with --streams or --realtime the "
               "highest number of clients; begins at the given value")
      ->group(group);
  app.add_option("--search-precision", bench.search_precision,
                 "precision of the result, as a share of the result")
      ->check(between(0.001, 0.5))
      ->capture_default_str()
      ->group(group);
}

void add_texts(CLI::App& app, BenchOptions& bench) {
  const char* group = "Load";
  app.add_option("--trace", bench.trace,
                 "replay JSON Lines with time (seconds), text, voice and further fields")
      ->group(group);
  app.add_option("--trace-speed", bench.trace_speed, "speed of the replay; 2 is twice as fast")
      ->check(between(0.001, 1000.0))
      ->capture_default_str()
      ->group(group);
  app.add_option("-t,--text", bench.text,
                 "text of every request; by default texts of varied lengths")
      ->group(group);
  app.add_option("--text-file", bench.text_file, "file with one text per line")->group(group);
}

void add_predict(CLI::App& app, PredictBench& predict) {
  const char* group = "Prediction";
  CLI::Option* on =
      app.add_flag("--predict", predict.on,
                   "measure questions that arrive over time at a text model (--model), answered "
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
  app.add_option("--sample", predict.sample,
                 "use only that many of the questions, spread evenly over them; 0: all")
      ->check(between(0, 100'000))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--system", predict.system, "system prompt of the text model")
      ->needs(on)
      ->group(group);
  app.add_option("--max-tokens", predict.max_tokens, "most tokens of an answer")
      ->check(between(1, 100'000))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--sentence-chars", predict.sentence_chars,
                 "most characters of a sentence, for models that write no sentences; 0 means 400")
      ->check(between(0, 10'000))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--rules", predict.rules,
                 "rules to compare with no prediction: greedy, top-K, reflection, jacobi-N "
                 "(greedy, guesses "
                 "by Jacobi iteration, an experiment)")
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--draft-tokens", predict.draft_tokens, "tokens of the first draft")
      ->check(between(1, Prediction::kMostDraft))
      ->capture_default_str()
      ->needs(on)
      ->group(group);
  app.add_option("--hint", predict.hint, "text added to the question in drafts")
      ->needs(on)
      ->group(group);
  app.add_flag("--real-time", predict.real_time,
               "measure in real time; by default on a virtual clock with real answers and measured "
               "costs, "
               "the same in every run")
      ->needs(on)
      ->group(group);
  app.add_option("--costs", predict.costs_file,
                 "file with costs of batches for the virtual clock, as written by --json; default: "
                 "measured")
      ->needs(on)
      ->group(group);
}

void add_files(CLI::App& app, BenchOptions& bench) {
  const char* group = "Results";
  app.add_option("--json", bench.json_file, "file for the figures; '-' is the standard output")
      ->group(group);
  app.add_flag("--json-requests", bench.json_requests,
               "also write every request into the file of --json")
      ->group(group);
  app.add_option("--html", bench.html_file, "file for a report with charts")->group(group);
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
         "number of whole engines behind the balancer of packaging/haproxy", 1, 100'000)
      ->capture_default_str();
  app.add_option("--apart", simulate.how.apart,
                 "a node that runs in another process, on its own device; repeatable")
      ->group(group);
  app.add_option_function<double>(
         "--link-ms", [&](double ms) { simulate.how.link_s = ms / 1e3; },
         "network round trip in ms, added to each batch of the node that --apart names")
      ->check(between(0.0, 1e4))
      ->group(group);
  app.add_option("--failure", simulate.failures,
                 "AT+FOR or AT+FORxWORKERS, in seconds: when workers are killed, and how long "
                 "until they are "
                 "ready again; repeatable")
      ->group(group);
  option("--voices", fleet.voices.voices,
         "number of cloned voices, each of which has a home worker", 1, 1e6);
  option("--voice-share", fleet.voices.share, "share of requests with a cloned voice", 0, 1)
      ->capture_default_str();
  option("--voice-skew", fleet.voices.skew, "the n-th voice is requested in proportion to n^-skew",
         0, 10)
      ->capture_default_str();
  app.add_option("--autoscale", simulate.autoscale, "least and most number of workers, e.g. 2,20")
      ->delimiter(',')
      ->expected(2)
      ->check(between(1, 100'000))
      ->group(group);
  option("--scale-load", scaling.load, "target: a worker's streams divided by its capacity", 0.01,
         1)
      ->capture_default_str();
  option("--scale-wait", scaling.wait_s, "target: predicted wait of a worker in seconds", 1e-3, 1e3)
      ->capture_default_str();
  option("--scale-start", scaling.start_s, "seconds until a new worker is ready", 0, 1e5)
      ->capture_default_str();
  option("--scale-fewer", scaling.fewer_per_min, "most workers that are removed in a minute", 1,
         100'000)
      ->capture_default_str();
}

void add_day(CLI::App& app, DayCommand& day) {
  const char* group = "Day";
  CLI::Option* listeners =
      app.add_option("--listeners", day.listeners,
                     "simulate a day with this number of listeners at its peak, instead of a load")
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
                 "listeners over the day as shares of the peak, evenly spaced: 0.2,0.6,1,0.5")
      ->delimiter(',')
      ->check(between(0.0, 1.0))
      ->needs(listeners)
      ->group(group);
  app.add_option("--rows", day.rows, "rows of the table")
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
  sub->add_option("--audible-dbfs", bench.audible_dbfs, "level below which samples are silent")
      ->check(between(-90.0, -1.0))
      ->capture_default_str()
      ->group(group);
  sub->add_option("--profile-steps", bench.profile_file,
                  "measure only the costs of the model's steps and chunks, and write them as "
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
                  "executors of an engine; each has the speed of the profile and runs any stage")
      ->check(between(1, 1024))
      ->capture_default_str();
  sub->add_flag("--split", how.split,
                "use two executors: chunk stages run on one, any stage on the other");
  sub->add_flag(
      "--whole", how.whole,
      "a stage begins when the previous one has ended; otherwise frames are passed on at once");
  sub->add_option("--max-batch", how.max_batch)->check(between(2, 4096))->capture_default_str();
  sub->add_option("--max-prefill-rows", how.max_prefill_rows)
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  sub->add_option("--max-requests", how.max_requests, "most unfinished requests of an engine")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  sub->add_option("--max-wait", how.max_wait_s, "most seconds of predicted wait of new requests")
      ->check(between(0.0, 1e6))
      ->capture_default_str();
  sub->add_option_function<double>(
         "--network-ms", [&how](double ms) { how.delivery_s = ms / 1e3; },
         "delay in ms from the engine to the client")
      ->check(between(0.0, 1e4));
  sub->add_flag("!--no-noise", how.noise, "every batch takes its typical time");
  sub->add_option("--seed", simulate.load.request.sampling.seed, "seed of arrivals and texts")
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
