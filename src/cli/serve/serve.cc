#include "cli/serve/serve.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "audio/decode_helper.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/line_log.h"
#include "cli/files/many_files.h"
#include "cli/line/exit.h"
#include "cli/line/load_line.h"
#include "cli/line/stop_signal.h"
#include "cli/serve/voices_dir.h"
#include "cli/speak/voice_choice.h"
#include "ears/ears.h"
#include "engine/machine.h"
#include "runtime/devices.h"
#include "server/http/agent_port.h"
#include "server/http/http_server.h"
#include "server/http/wyoming_server.h"

namespace syrinx {
namespace {

/// Receives a line of the log; called from any thread.
using LogLine = std::function<void(const std::string&)>;

ApiKeys read_keys(const std::string& file, const char* variable) {
  if (!file.empty()) return ApiKeys::from_file(file);
  const char* key = std::getenv(variable);
  return key == nullptr ? ApiKeys() : ApiKeys({key});
}

ApiKeys client_keys(const ServeOptions& options) {
  return read_keys(options.api_key_file, "SYRINX_API_KEY");
}

ApiKeys metrics_keys(const ServeOptions& options) {
  return read_keys(options.metrics_key_file, "SYRINX_METRICS_KEY");
}

AccessRules access_rules(const ServeOptions& options, bool loopback) {
  AccessRules rules{.hosts = options.allowed_hosts, .origins = {}};
  for (const std::string& given : options.cors_origins) {
    auto origin = read_origin(given);
    if (!origin) throw UsageError("--cors-origin: " + origin.error().message);
    rules.origins.push_back(origin.take());
  }
  if (!loopback) return rules;
  // On loopback the server checks the header Host. This refuses pages whose host name resolves to
  // this machine (DNS rebinding).
  for (const char* name : {"localhost", "127.0.0.1", "[::1]"}) rules.hosts.emplace_back(name);
  rules.hosts.push_back(options.host);
  return rules;
}

/// Splits "NAME=MEANING".
std::pair<std::string, std::string> read_alias(const char* option, const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size()) {
    throw UsageError(concat(option, ": '", pair, "' is invalid; expected NAME=MEANING"));
  }
  return {pair.substr(0, equals), pair.substr(equals + 1)};
}

/// Splits pairs NAME=MEANING. Throws UsageError if a name occurs twice.
std::map<std::string, std::string, std::less<>> read_aliases(
    const char* option, const std::vector<std::string>& pairs) {
  std::map<std::string, std::string, std::less<>> out;
  for (const std::string& pair : pairs) {
    auto [name, meaning] = read_alias(option, pair);
    if (!out.emplace(name, std::move(meaning)).second) {
      throw UsageError(concat(option, ": '", name, "' is given twice"));
    }
  }
  return out;
}

std::shared_ptr<VoiceDesk> voice_desk(const ServeOptions& options, const DecodeHelper* decoder) {
  VoiceDeskOptions desk{.cache_bytes = options.voice_cache_mib << 20,
                        .aliases = read_aliases("--voice-alias", options.voice_aliases)};
  desk.recordings.max_bytes = options.max_upload_bytes;
  desk.recordings.helper = decoder;
  return std::make_shared<VoiceDesk>(open_store(options.voice_store), desk);
}

std::shared_ptr<const Ears> open_ears(const ServeOptions& options,
                                      const std::shared_ptr<const SileroVad>& vad) {
  std::vector<std::shared_ptr<Recogniser>> out;
  LoadOptions how = options.load;  // options of the models, for a separate engine
  how.engine.trace_file.clear();
  bool asked_for = false;
  for (const std::string& name : options.ears) {
    if (name == "none") continue;
    if (name != "auto") {
      out.push_back(open_recogniser(name, how, vad));
      asked_for = true;
      continue;
    }
    try {
      out.push_back(open_recogniser("pocketsphinx", {}, vad));
    } catch (const LoadError&) {  // the user did not request PocketSphinx, so this is not an error
    }
  }
  return std::make_shared<Ears>(std::move(out), asked_for);
}

/// Returns when to draft. Drafts run only when the engine has no other request. But recognisers run
/// outside the engine, and drafts would delay them if both use the same cores.
PredictWhen predict_when(const ServeOptions& options) {
  if (options.predict == "on") return PredictWhen::kUnlessNot;
  if (options.predict == "ask") return PredictWhen::kAsked;
  if (options.predict == "off") return PredictWhen::kNever;
  const int threads = options.load.engine.threads;
  const bool apart = options.load.device == "cuda" || (threads > 0 && threads < usable_cores());
  return apart ? PredictWhen::kUnlessNot : PredictWhen::kAsked;
}

ServerOptions server_options(const ServeOptions& options,
                             const std::shared_ptr<const SileroVad>& vad,
                             const DecodeHelper* decoder, const std::shared_ptr<LineLog>& log,
                             const LogLine& report) {
  const bool loopback = is_loopback(options.host);
  const auto limit = [&](int value, int beyond) {
    return value >= 0 ? value : loopback ? 0 : beyond;
  };
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    throw UsageError("--tls-cert and --tls-key must be given together");
  }
  ServerOptions out{
      .host = options.host,
      .port = options.port,
      .keys = client_keys(options),
      .metrics_keys = metrics_keys(options),
      .tls_certificate = options.tls_cert,
      .tls_key = options.tls_key,
      .access = access_rules(options, loopback),
      .limits = {.requests_per_min = double(limit(options.client_requests_per_min, 600)),
                 .concurrent = limit(options.client_concurrency, 32)},
      .max_body_bytes = options.max_body_bytes,
      .max_upload_bytes = options.max_upload_bytes,
      .max_connections = options.max_connections,
      .max_connections_per_address = options.max_connections_per_address,
      .header_timeout_s = options.header_timeout_s,
      .body_timeout_s = options.body_timeout_s,
      .idle_timeout_s = options.idle_timeout_s,
      .stall_timeout_s = options.stall_timeout_s,
      .ears = open_ears(options, vad),
      .vad = vad,
      .smart_turn = options.smart_turn.empty() ? nullptr : SmartTurn::load(options.smart_turn),
      .max_heard_s = options.max_heard_s,
      .predict = predict_when(options),
      .prediction = options.prediction,
      .max_transcript_wait_s = options.max_transcript_wait_s,
      .decoder = decoder,
      .voices = voice_desk(options, decoder),
      .voice_uploads = !options.no_voice_upload,
      .strict = options.strict};
  if (!loopback && out.keys.empty() && !options.allow_public) {
    throw UsageError("to listen on " + out.host +
                     " give an API key (--api-key-file or SYRINX_API_KEY), or use --allow-public "
                     "to accept other machines without a key.");
  }
  if (!options.quiet) out.log = report;
  out.lost_lines = [log] { return log->dropped(); };
  return out;
}

/// Returns how many connections are possible with `files` open files, at most `wanted`. `others`:
/// connections of other ports. Without this bound, connections beyond it would wait instead of
/// getting an answer.
int possible_connections(int wanted, int files, int others, const LogLine& report) {
  constexpr int kServerFiles = 24;  // files of the server itself; 14 were measured when idle
  const int most = std::max(4, files - kServerFiles - others);
  if (wanted <= most) return wanted;
  report(concat("the limit of open files (", files, ") allows ", most,
                " connections, fewer than --max-connections (", wanted,
                "); raise it with ulimit -n, or LimitNOFILE of systemd"));
  return most;
}

std::vector<Placement> placements(const ServeOptions& options) {
  std::vector<Placement> out;
  for (const std::string& pair : options.remote) {
    auto [node, address] = read_alias("--remote", pair);
    out.push_back({std::move(node), std::move(address)});
  }
  return out;
}

/// Waits briefly for the processes that hold stages, so that they are connected before the first
/// listener.
void wait_for_stages(const Engine& engine, const LogLine& report) {
  constexpr double kPatience_s = 2;
  const double until_s = now_s() + kPatience_s;
  for (;;) {
    const std::vector<RemoteNode> nodes = engine.pipeline().remote_nodes();
    const auto away = std::find_if(nodes.begin(), nodes.end(), [](const auto& n) { return !n.up; });
    if (away == nodes.end()) return;
    if (now_s() > until_s) {
      return report("the stage '" + away->node + "' is not available yet: " + away->where + ": " +
                    away->trouble);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::vector<ModelSource> model_sources(const ServeOptions& options,
                                       const std::shared_ptr<const SileroVad>& vad,
                                       const LogLine& report) {
  std::vector<std::string> models = options.models;
  if (!options.voices_dir.empty()) {
    for (std::string& file : voice_files(options.voices_dir, report)) {
      models.push_back(std::move(file));
    }
  }
  if (models.empty()) models.push_back(options.load.model);
  LoadOptions common = options.load;
  if (!options.placement.empty()) common.placement_file = read_placement(options.placement);
  common.placements =
      common.placement_file ? common.placement_file->elsewhere : placements(options);
  if (!common.placements.empty() && models.size() > 1) {
    throw UsageError("--remote and --placement need a server with one model");
  }
  common.engine.remote_slots = remote_slots(common.placements);
  common.log = report;
  common.progress = options.quiet ? nullptr : log_load(report);
  // All models share one machine: its executors, and one scheduler that considers every deadline. A
  // single model gets its own machine at its first load, and keeps that machine at later loads.
  const auto machine = std::make_shared<std::shared_ptr<Machine>>();
  std::vector<std::string> names;
  for (const std::string& model : models) names.push_back(model_name(model));
  std::vector<LoadOptions> loads(models.size(), common);
  for (size_t i = 0; i < models.size(); ++i) {
    loads[i].model = models[i];
    loads[i].device = devices_of_model(common.device, names[i], names);
  }
  if (models.size() > 1) *machine = shared_machine(loads);
  const VoiceQueueLimits voices{.max_per_client = common.engine.max_per_client,
                                .max_wait_s = options.max_encode_wait_s};
  std::vector<ModelSource> out;
  for (const LoadOptions& load : loads) {
    const std::string name = model_name(load.model);
    std::string trouble;
    try {  // checks the other models now, so that a misspelt name is reported at the start
      if (!out.empty()) find_checkpoint(load);
    } catch (const LoadError& error) {
      trouble = error.what();
      report(concat("syrinx: ", trouble, "; until this is repaired, requests for '",
                    name, "' get 503"));
    }
    out.push_back({name,
                   [load, machine, report, vad, voices, quiet = options.quiet] {
                     if (!quiet) report("loading " + load.model);
                     auto engine = load_engine(load, *machine);
                     *machine = engine->machine();
                     wait_for_stages(*engine, report);
                     warm_up(*engine, load.engine.max_batch);
                     return make_backend(std::move(engine), vad, voices);
                   },
                   std::move(trouble), facts_of(load)});
  }
  return out;
}

void reload(HttpServer& server, const ServeOptions& options, const LogLine& report) try {
  server.reload(client_keys(options), metrics_keys(options));
  report("reloading keys, certificate and models");
} catch (const LoadError& error) {
  report(std::string("reloading failed, nothing has changed: ") + error.what());
}

std::string url_of(const std::string& host, int port, bool tls) {
  const bool any = host == "0.0.0.0" || host == "::";
  const std::string name = any ? "127.0.0.1" : host;
  return (tls ? "https://" : "http://") +
         (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":" +
         std::to_string(port);
}

/// Returns the curl arguments after the address, for a first request to the model.
std::string first_request(const Backend& model, bool keys) {
  const PipelineInfo& info = model.info();
  const std::string key = keys ? "    -H \"Authorization: Bearer $SYRINX_API_KEY\" \\\n" : "";
  // Whisper only transcribes; it does not answer messages.
  if (!info.speaks && info.hearing.seconds == 0 && model.recogniser()) {
    return concat("/v1/audio/transcriptions \\\n", key, "    -F file=@talk.mp3");
  }
  return concat(info.speaks ? "/v1/audio/speech" : "/v1/chat/completions",
                " -H 'Content-Type: application/json' \\\n", key, "    -d '",
                info.speaks
                    ? R"({"input": "Hello from Syrinx."}' -o hello.mp3)"
                    : R"({"messages": [{"role": "user", "content": "What is 7 times 8?"}]}')");
}

std::string welcome(const ServeOptions& options, const ModelTable& models, int port, bool keys,
                    double ready_s) {
  const std::string url = url_of(options.host, port, !options.tls_cert.empty());
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f", ready_s);
  return concat("Syrinx serves '", models.list()[0].name, "' at ", url, " (ready after ", seconds,
                " s). Try:\n\n  curl ", url, first_request(*models.first(), keys), "\n\nor open ",
                url, " in a browser. OpenAI clients: base_url ", url,
                "/v1. Ctrl-C stops the server.");
}

/// Returns large freed blocks (bodies that clients sent) to the system. By default glibc, once it
/// has freed a block of up to 32 MB, lets every thread keep blocks of that size.
void give_large_blocks_back() {
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

}  // namespace

int run_serve(const ServeOptions& options) {
  give_large_blocks_back();
  const double began_s = now_s();
  if (options.wyoming_port >= 0 && options.first_keep_s > 0) {
    throw UsageError(
        "--first-keep does not work with Wyoming, whose clients request the first model's voices "
        "at any time");
  }
  if (options.wyoming_port >= 0 && !is_loopback(options.wyoming_host) && !options.allow_public) {
    throw UsageError("Wyoming has no keys: to serve Wyoming on " + options.wyoming_host +
                     " use --allow-public.");
  }
  // Created before threads, keys and models, as the decoder's processes are copies of this process.
  std::optional<DecodeHelper> decoder;
  if (!options.decode_in_server) {
    try {
      decoder.emplace(DecodeHelperOptions{.again = {"/proc/self/exe", kDecodeHelperCommand}});
    } catch (const LoadError& error) {
      throw LoadError(std::string(error.what()) + "; --decode-in-server avoids this");
    }
  }
  StopSignal stop;
  // Writing to these logs never waits for their reader. `out` is created first, so destroyed last.
  LineLog out({.descriptor = STDOUT_FILENO});
  const auto log = std::make_shared<LineLog>();
  const LogLine report = [log](const std::string& line) { log->add(line); };
  const int files = allow_many_files();
  if (decoder && !decoder->filtered() && !options.quiet) {
    report("seccomp is missing or failed: recordings of clients are decoded under " +
           decoder->confinement());
  }
  const auto vad = options.vad.empty() ? nullptr : SileroVad::load(options.vad);
  ServerOptions http = server_options(options, vad, decoder ? &*decoder : nullptr, log, report);
  const int others = options.wyoming_port >= 0 ? WyomingOptions{}.max_connections : 0;
  http.max_connections = possible_connections(http.max_connections, files, others, report);
  const bool keys = !http.keys.empty();
  const std::shared_ptr<VoiceDesk> voices = http.voices;
  const std::shared_ptr<const Ears> ears = http.ears;
  HttpServer server(std::move(http));
  std::optional<AgentPort> agent;
  if (options.agent_port >= 0) agent.emplace(options.agent_host, options.agent_port);
  const auto models = std::make_shared<ModelTable>(
      model_sources(options, vad, report),
      ModelTableOptions{.keep_s = options.model_keep_s,
                        .keep_first_s = options.first_keep_s,
                        .memory_bytes = options.model_memory_mib << 20,
                        .log = report,
                        .aliases = read_aliases("--model-alias", options.model_aliases)});
  stop.arm();
  StopSignal::watch_device(report);
  std::optional<WyomingServer> wyoming;
  if (options.wyoming_port >= 0) {
    WyomingOptions home{.host = options.wyoming_host,
                        .port = options.wyoming_port,
                        .stall_timeout_s = options.stall_timeout_s,
                        .voices = voices,
                        .ears = ears};
    if (!options.quiet) home.log = report;
    wyoming.emplace(std::move(home), models);
  }
  server.open(models);
  if (agent) agent->open(models);
  out.add(welcome(options, *models, server.port(), keys, now_s() - began_s));
  if (wyoming) {
    out.add(concat("Home Assistant (Wyoming): ", options.wyoming_host, ", port ", wyoming->port(),
                   "."));
  }
  if (agent) {
    out.add(concat("Load balancers (agent-check): ", options.agent_host, ", port ", agent->port(),
                   "."));
  }

  while (stop.wait() == StopSignal::Event::kReload) reload(server, options, report);
  report(concat("stopping: running requests may take ", options.drain_timeout_s, " s"));
  const double deadline_s = now_s() + options.drain_timeout_s;
  if (agent) agent->drain();
  bool whole = server.drain(options.drain_timeout_s);
  if (wyoming) whole = wyoming->drain(std::max(0.0, deadline_s - now_s())) && whole;
  if (!whole) report("stopping: some requests were cut off");
  return StopSignal::end_watch();
}

}  // namespace syrinx
