#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "cli/line/arguments.h"
#include "cli/line/ranges.h"
#include "cli/serve/serve.h"
#include "cli/speak/voice_choice.h"
#include "cli/talk/prediction_arguments.h"

namespace syrinx {
namespace {

void add_models(CLI::App& app, ServeOptions& serve) {
  app.add_option(
      "-m,--model", serve.models,
      "built-in (finch speaks, wren writes), checkpoint directory, or Org/Name in the hub's "
      "cache; may be repeated: the first is loaded at once and answers when no model is named, "
      "others "
      "are loaded when asked for (default: finch)");
  app.add_option("--model-keep", serve.model_keep_s,
                 "seconds that a model but the first is kept after its last use; 0: for ever")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--model-memory-mib", serve.model_memory_mib,
                 "weights of all models together; past it those out of use are let go; 0: no bound")
      ->check(at_least(0))
      ->capture_default_str();
  add_load(app, serve.load);
}

void add_serve_security(CLI::App& app, ServeOptions& serve) {
  app.add_option("--tls-cert", serve.tls_cert, "certificate chain (PEM): serve HTTPS");
  app.add_option("--tls-key", serve.tls_key, "private key of the certificate (PEM)");
  app.add_option("--cors-origin", serve.cors_origins,
                 "let pages of this origin (https://example.org, https://*.example.org, *) use the "
                 "server; may be "
                 "repeated");
  app.add_option("--allowed-host", serve.allowed_hosts,
                 "a name that the server goes by; without one any, on loopback only its own");
  app.add_option("--client-rpm", serve.client_requests_per_min,
                 "requests a minute from one key or address; 0: any number; default: 600, on "
                 "loopback any number")
      ->check(at_least(0));
  app.add_option("--client-concurrency", serve.client_concurrency,
                 "requests at a time from one key or address; 0: any number; default: 32, on "
                 "loopback any number")
      ->check(at_least(0));
  app.add_option("--max-connections-per-address", serve.max_connections_per_address,
                 "0: any number; this machine's own are not counted")
      ->check(at_least(0))
      ->capture_default_str();
  serve.load.engine.max_audio_s = 3600;
  app.add_option("--max-audio", serve.load.engine.max_audio_s,
                 "seconds of audio in one answer; 0: any number")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--header-timeout", serve.header_timeout_s, "seconds to send a request's head")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--body-timeout", serve.body_timeout_s, "seconds to send a request's body")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--idle-timeout", serve.idle_timeout_s, "seconds that an idle connection is kept")
      ->check(above(0))
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

}  // namespace

void add_serve(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ServeOptions>();
  ServeOptions& serve = *options;
  CLI::App* sub = app.add_subcommand("serve", "Answer OpenAI's speech API over HTTP");
  sub->add_option("--host", serve.host, "address to listen on")->capture_default_str();
  sub->add_option("--port", serve.port, "0: any free port")
      ->check(between(0, 65535))
      ->capture_default_str();
  sub->add_option("--api-key-file", serve.api_key_file,
                  "admit only who has one of these keys, one per line (or set SYRINX_API_KEY)");
  sub->add_option("--metrics-key-file", serve.metrics_key_file,
                  "answer /metrics only with one of these keys, one per line (or set "
                  "SYRINX_METRICS_KEY); default: /metrics is open, also while API keys are set");
  sub->add_flag("--allow-public", serve.allow_public, "listen beyond this machine without a key");
  sub->add_option(
         "--wyoming-port", serve.wyoming_port,
         "also serve Home Assistant (Wyoming) at this port, usually 10200; 0: any free port")
      ->check(between(0, 65535));
  sub->add_option("--wyoming-host", serve.wyoming_host,
                  "address of that; Wyoming has no keys: beyond this machine say --allow-public")
      ->capture_default_str();
  sub->add_option(
         "--agent-port", serve.agent_port,
         "tell load balancers at this port how much room there is (HAProxy's agent-check); "
         "0: any free port")
      ->check(between(0, 65535));
  sub->add_option("--agent-host", serve.agent_host, "address of that; whoever asks is answered")
      ->capture_default_str();
  CLI::Option* remote = sub->add_option(
      "--remote", serve.remote,
      "NODE=ADDRESS: the stage of this node (codec, flow, vocoder, ...; see inspect) "
      "runs in the process that listens there; may be repeated, also for several "
      "processes with the same stage");
  sub->add_option("--placement", serve.placement,
                  "a file (YAML) that says of each node of the model where it runs: here, ADDRESS, "
                  "or [ADDRESS, ADDRESS]")
      ->excludes(remote);
  CLI::Option* stage = sub->add_option("--stage", serve.stages,
                                       "serve nobody, but hold these stages of the model for "
                                       "servers that say --remote; needs --listen-stage")
                           ->delimiter(',');
  CLI::Option* listen = sub->add_option("--listen-stage", serve.listen_stage,
                                        "where: path of a socket, open to this user only, or "
                                        "grpc://HOST:PORT");
  stage->needs(listen), listen->needs(stage);
  StageKeys& keys = serve.load.stage_keys;
  CLI::Option* cert =
      sub->add_option("--stage-cert", keys.certificate,
                      "certificate (PEM) of this end of links by grpc:// to other hosts");
  CLI::Option* key = sub->add_option("--stage-key", keys.key, "its key");
  CLI::Option* authority = sub->add_option(
      "--stage-ca", keys.authority, "who signed the other end's certificate; others get nowhere");
  cert->needs(key)->needs(authority), key->needs(cert), authority->needs(cert);
  sub->add_flag("-q,--quiet", serve.quiet, "no line per request");
  sub->add_option("--drain-timeout", serve.drain_timeout_s,
                  "seconds that running requests, or those of servers whose stages these are, get "
                  "after SIGTERM")
      ->check(at_least(0))
      ->capture_default_str();
  sub->add_option("--stall-timeout", serve.stall_timeout_s,
                  "seconds after which a client that does not read is cut off")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option("--max-body-bytes", serve.max_body_bytes, "largest request")
      ->check(between(1024, 1 << 30))
      ->capture_default_str();
  sub->add_option("--max-upload-bytes", serve.max_upload_bytes,
                  "largest request that carries a recording, to be cloned or written down")
      ->check(between(1024, 1 << 28))
      ->capture_default_str();
  sub->add_option(
      "--ears", serve.ears,
      "what recognises speech beside the models: pocketsphinx, or a Whisper or another model that "
      "writes recordings down (a directory or Org/Name); auto: pocketsphinx, where it is "
      "installed; "
      "none; "
      "may be repeated, the first is OpenAI's 'whisper-1' (default: auto)");
  sub->add_option("--vad", serve.vad,
                  "silero_vad_16k.safetensors of Silero's detector of speech, or its directory: it "
                  "hears turns instead of WebRTC's detector, and Whisper looks at no windows of "
                  "noise or music");
  sub->add_option("--max-recording", serve.max_heard_s,
                  "seconds of one recording that is written down")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option(
         "--predict", serve.predict,
         "draft answers, and speak their first sentence, while the question is still being "
         "said or typed (/v1/realtime): on, ask (in sessions that ask for it), off; auto: on where "
         "--threads leaves the ears a core, or with --device cuda, else ask")
      ->check(CLI::IsMember({"auto", "on", "ask", "off"}))
      ->capture_default_str();
  add_prediction(*sub, serve.prediction);
  sub->add_flag("--decode-in-server", serve.decode_in_server,
                "decode what clients send in the server's own process, not in confined children");
  add_store(*sub, serve.voice_store);
  sub->add_flag("--no-voice-upload", serve.no_voice_upload,
                "clients may neither add nor remove voices");
  sub->add_option("--voice-alias", serve.voice_aliases,
                  "NAME=VOICE: what clients call a voice or a mix, as another vendor's id; may be "
                  "repeated");
  sub->add_option("--model-alias", serve.model_aliases,
                  "NAME=MODEL: what clients call a model; may be repeated");
  sub->add_flag("--strict", serve.strict,
                "refuse requests with instructions for a model that follows none, instead of "
                "speaking without them and saying so (X-Warning)");
  sub->add_option("--voice-cache-mib", serve.voice_cache_mib,
                  "memory for cloned voices that were used lately")
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  sub->add_option("--max-encode-wait", serve.load.engine.max_encode_wait_s,
                  "seconds of predicted wait past which recordings get a 503")
      ->check(at_least(0))
      ->capture_default_str();
  sub->add_option("--max-connections", serve.max_connections, "open at a time")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  add_serve_security(*sub, serve);
  add_models(*sub, serve);
  add_engine(*sub, serve.load.engine);
  CLI::Option* print =
      sub->add_flag("--print-config")->description("print every option as a config file and end");
  print->configurable(false);
  sub->callback([&chosen, options, sub, print] {
    if (print->count() > 0) {
      chosen = [sub] { return print_config(*sub); };
    } else {
      chosen = [options] {
        return options->stages.empty() ? run_serve(*options) : run_stages(*options);
      };
    }
  });
}

}  // namespace syrinx
