// The command line: parses, runs one command, turns what is thrown into one line and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>

#include "cli/bench_arguments.h"
#include "cli/commands.h"

namespace syrinx {
namespace {

constexpr int kFailed = 1, kUsage = 2;

void add_load(CLI::App& app, LoadOptions& load) {
  app.add_option("--weights", load.weights, "f32, bf16, q8 or auto: how linear weights are kept")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "q8"}))
      ->capture_default_str();
  app.add_option("--threads", load.engine.threads, "CPU threads; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--load-format", [&load](const std::string& format) { load.dummy = format == "dummy"; },
         "auto, or dummy: random weights, for measuring")
      ->check(CLI::IsMember({"auto", "dummy"}));
}

void add_model(CLI::App& app, LoadOptions& load) {
  app.add_option("-m,--model", load.model,
                 "built-in voice, checkpoint directory, or Org/Name in the hub's cache")
      ->capture_default_str();
  add_load(app, load);
}

void add_models(CLI::App& app, ServeOptions& serve) {
  app.add_option("-m,--model", serve.models,
                 "built-in voice, checkpoint directory, or Org/Name in the hub's cache; may be "
                 "repeated: the first is loaded at once and answers when no model is named, others "
                 "are loaded when asked for (default: finch)");
  app.add_option("--model-keep", serve.model_keep_s,
                 "seconds that a model but the first is kept after its last use; 0: for ever")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--model-memory-mib", serve.model_memory_mib,
                 "weights of all models together; past it those out of use are let go; 0: no bound")
      ->capture_default_str();
  add_load(app, serve.load);
}

void add_request(CLI::App& app, SpeechRequest& request) {
  app.add_option("-v,--voice", request.voice, "one of the model's voices");
  app.add_option("-l,--language", request.language, "as the model names it");
  app.add_option("--instructions", request.instructions, "how to speak, where the model listens");
  app.add_option("--seed", request.seed, "same seed, same audio")->capture_default_str();
  app.add_option("--temperature", request.temperature, "0: always the most likely code")
      ->check(CLI::Range(0.0, 2.0));
  app.add_option("--top-p", request.top_p)->check(CLI::Range(0.0, 1.0));
  app.add_option("--top-k", request.top_k)->check(CLI::NonNegativeNumber);
  app.add_option("--min-p", request.min_p)->check(CLI::Range(0.0, 1.0));
  app.add_option("--repetition-penalty", request.repetition_penalty)->check(CLI::Range(0.1, 10.0));
  app.add_option("--guidance", request.guidance, "scale of guidance, where the model uses it")
      ->check(CLI::Range(0.0, 20.0));
  app.add_option("--max-frames", request.max_frames, "0: a bound derived from the text")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--initial-chunk-frames", request.initial_chunk_frames,
                 "frames of the first chunk; 0: as the load allows")
      ->check(CLI::NonNegativeNumber);
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option("--policy", engine.policy,
                 "streaming: playback deadlines; throughput: largest batches; fcfs: the baseline")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--executors",
         [&engine](const std::string& name) { engine.executors = find_executors(name); },
         "shared: all threads on one batch; split: language model beside codec; each: a batch a "
         "thread; auto: split with two threads or more (auto)")
      ->check(CLI::IsMember({"auto", "shared", "split", "each"}));
  app.add_option("--max-batch", engine.max_batch, "streams in one step")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--max-prefill-rows", engine.max_prefill_rows,
                 "prompt rows that ride along in one step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-wait", engine.max_wait_s,
                 "seconds of predicted wait past which requests get a 503")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-per-client", engine.max_per_client,
                 "unfinished requests of one key or address; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--trace-file", engine.trace_file,
                 "write what the engine does, for Perfetto or chrome://tracing");
  app.add_option("--max-requests", engine.max_requests, "accepted and unfinished; more get a 503")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option_function<size_t>(
         "--kv-mib", [&engine](size_t mib) { engine.kv_bytes = mib << 20; },
         "memory of the KV cache; by default enough for max-batch long requests, at most 1024")
      ->check(CLI::Range(size_t{1}, size_t{1} << 20));
}

void add_say(CLI::App& app, SayOptions& say, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("say", "Speak a text into a WAV file");
  sub->add_option("text", say.words, "the text; '-' reads it from the standard input");
  sub->add_option("-f,--file", say.text_file, "read the text from a file");
  sub->add_option("-o,--output", say.output, "WAV file; '-' is the standard output")
      ->capture_default_str();
  sub->add_flag("--words", say.print_words, "print when each word begins");
  sub->add_option("--srt", say.srt_file, "write subtitles");
  add_model(*sub, say.load);
  add_request(*sub, say.request);
  sub->callback([&] { command = [&say] { return run_say(say); }; });
}

void add_serve_security(CLI::App& app, ServeOptions& serve) {
  app.add_option("--tls-cert", serve.tls_cert, "certificate chain (PEM): serve HTTPS");
  app.add_option("--tls-key", serve.tls_key, "private key of the certificate (PEM)");
  app.add_option("--cors-origin", serve.cors_origins,
                 "let pages of this origin (https://example.org) use the server; may be repeated");
  app.add_option("--allowed-host", serve.allowed_hosts,
                 "a name that the server goes by; without one any, on loopback only its own");
  app.add_option("--client-rpm", serve.client_requests_per_min,
                 "requests a minute from one key or address; 0: any number; default: 600, on "
                 "loopback any number");
  app.add_option("--client-concurrency", serve.client_concurrency,
                 "requests at a time from one key or address; 0: any number; default: 32, on "
                 "loopback any number");
  app.add_option("--max-connections-per-address", serve.max_connections_per_address,
                 "0: any number; this machine's own are not counted")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-audio", serve.max_audio_s, "seconds of audio in one answer; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--header-timeout", serve.header_timeout_s, "seconds to send a request's head")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--body-timeout", serve.body_timeout_s, "seconds to send a request's body")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--idle-timeout", serve.idle_timeout_s, "seconds that an idle connection is kept")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

/// Every option and its value as a config file; those without a value as comments.
int print_config(const CLI::App& command) {
  std::istringstream lines(command.config_to_str(true, true));
  std::printf("[%s]\n", command.get_name().c_str());
  for (std::string line; std::getline(lines, line);) {
    std::printf("%s%s\n", line.ends_with("=\"\"") ? "# " : "", line.c_str());
  }
  return 0;
}

void add_serve(CLI::App& app, ServeOptions& serve, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("serve", "Answer OpenAI's speech API over HTTP");
  sub->add_option("--host", serve.host, "address to listen on")->capture_default_str();
  sub->add_option("--port", serve.port, "0: any free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  sub->add_option("--api-key-file", serve.api_key_file,
                  "admit only who has one of these keys, one per line (or set SYRINX_API_KEY)");
  sub->add_flag("--allow-public", serve.allow_public, "listen beyond this machine without a key");
  sub->add_flag("-q,--quiet", serve.quiet, "no line per request");
  sub->add_option("--drain-timeout", serve.drain_timeout_s,
                  "seconds that running requests get after SIGTERM")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub->add_option("--stall-timeout", serve.stall_timeout_s,
                  "seconds after which a client that does not read is cut off")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--max-body-bytes", serve.max_body_bytes, "largest request")
      ->check(CLI::Range(size_t{1024}, size_t{1} << 30))
      ->capture_default_str();
  sub->add_option("--max-connections", serve.max_connections)
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_serve_security(*sub, serve);
  add_models(*sub, serve);
  add_engine(*sub, serve.load.engine);
  sub->fallthrough();  // lets --config stand after the command
  CLI::Option* print =
      sub->add_flag("--print-config")->description("print every option as a config file and end");
  print->configurable(false);
  sub->callback([&serve, &command, sub, print] {
    if (print->count() > 0) {
      command = [sub] { return print_config(*sub); };
    } else {
      command = [&serve] { return run_serve(serve); };
    }
  });
}

void add_trace(CLI::App& app, TraceCommand& trace, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand(
      "trace", "Speak greedily in f32 and keep ids, logits, frames and samples for comparing");
  trace.load.weights = "f32";
  sub->add_option("-t,--text", trace.request.text)->required();
  sub->add_option("--dump", trace.output, "safetensors file")->required();
  sub->add_option("--logit-steps", trace.logit_steps, "steps of which the logits are kept")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_model(*sub, trace.load);
  add_request(*sub, trace.request);
  sub->add_option("--text-in-prompt", trace.request.text_in_prompt,
                  "all text in the prompt, or word by word beside the audio (true, false)");
  sub->callback([&] {
    trace.request.temperature = 0.0f;
    command = [&trace] { return run_trace(trace); };
  });
}

void add_inspect(CLI::App& app, LoadOptions& load, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("inspect", "Show what a model is made of");
  sub->add_option("name", load.model, "built-in voice, directory or Org/Name");
  add_model(*sub, load);
  sub->callback([&] { command = [&load] { return run_inspect(load); }; });
}

void add_hub(CLI::App& app, HubPullOptions& pull, std::function<int()>& command) {
  CLI::App* hub = app.add_subcommand("hub", "Models of the hub");
  hub->require_subcommand(1);
  CLI::App* sub = hub->add_subcommand("pull",
                                      "Download models into the hub's local cache, or go on with "
                                      "it (HF_ENDPOINT, HF_HOME, HF_TOKEN)");
  sub->add_option("model", pull.models, "Org/Name or Org/Name@revision")->required();
  sub->add_option("--include", pull.include, "only files like this: '*.safetensors'; repeatable");
  sub->callback([&] { command = [&pull] { return run_hub_pull(pull); }; });
}

void add_bench(CLI::App& app, BenchOptions& bench, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("bench", "Measure a server, or an engine in this process");
  add_bench_arguments(*sub, bench);
  add_model(*sub, bench.load);
  add_request(*sub, bench.request);
  add_engine(*sub, bench.load.engine);
  sub->callback([&] { command = [&bench] { return run_bench(bench); }; });
}

void add_simulate(CLI::App& app, SimulateOptions& simulate, std::function<int()>& command) {
  CLI::App* sub =
      app.add_subcommand("simulate", "Compute what a load would meet, from measured costs");
  add_simulate_arguments(*sub, simulate);
  sub->callback([&] { command = [&simulate] { return run_simulate(simulate); }; });
}

int run(int argc, char** argv) {
  CLI::App app("Syrinx: a streaming server for speech language models", "syrinx");
  app.require_subcommand(1);
  app.set_version_flag("--version", SYRINX_VERSION);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "TOML file: options of a command under its name, as [serve]");
  std::function<int()> command;
  SayOptions say;
  ServeOptions serve;
  TraceCommand trace;
  LoadOptions inspect;
  BenchOptions bench;
  HubPullOptions pull;
  SimulateOptions simulate;
  add_say(app, say, command);
  add_serve(app, serve, command);
  add_trace(app, trace, command);
  add_inspect(app, inspect, command);
  add_bench(app, bench, command);
  add_hub(app, pull, command);
  add_simulate(app, simulate, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "syrinx: %s (see --help)\n", error.what());
    return kUsage;
  }
  return command();
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  try {
    return syrinx::run(argc, argv);
  } catch (const syrinx::UsageError& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return syrinx::kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return syrinx::kFailed;
  }
}
