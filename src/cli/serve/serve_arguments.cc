// Options of `serve` about models, voices, recognition and stages.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "cli/line/arguments.h"
#include "cli/line/ranges.h"
#include "cli/serve/serve.h"
#include "cli/serve/serve_access.h"
#include "cli/speak/voice_choice.h"
#include "cli/talk/prediction_arguments.h"

namespace syrinx {
namespace {

void add_served_models(CLI::App& app, ServeOptions& serve) {
  app.add_option(
      "-m,--model", serve.models,
      "built-in model (finch speaks, wren writes), checkpoint directory, or Org/Name in the hub's "
      "cache; may be repeated: the first is loaded at once and is the default, others are loaded "
      "when requested (default: finch)");
  app.add_option(
      "--voices-dir", serve.voices_dir,
      "directory of Piper voices: each NAME.onnx with NAME.onnx.json is a model, listed after "
      "those of --model");
  app.add_option(
         "--model-keep", serve.model_keep_s,
         "seconds that a model, except the first, is kept after its last use; 0 means forever")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option(
         "--first-keep", serve.first_keep_s,
         "seconds that the first model is kept; the next request loads it again; 0 means forever")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option(
         "--model-memory-mib", serve.model_memory_mib,
         "limit of all models' weights; above it unused models are unloaded; 0 means no limit")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--model-alias", serve.model_aliases,
                 "NAME=MODEL: a further name that clients may use for MODEL; may be repeated");
  app.add_flag("--strict", serve.strict,
               "refuse instructions and SSML that a model does not support, instead "
               "of ignoring them with a warning (X-Warning)");
  add_load(app, serve.load);
}

/// Adds options for stages in other processes, and for holding stages for other servers.
void add_stages(CLI::App& app, ServeOptions& serve) {
  CLI::Option* remote = app.add_option(
      "--remote", serve.remote,
      "NODE=ADDRESS: the stage of this node (codec, flow, vocoder, ...; see inspect) "
      "runs in the process that listens at ADDRESS; may be repeated, also for several "
      "processes with the same stage");
  app.add_option("--placement", serve.placement,
                 "a YAML file that states where each node of the model runs: here, "
                 "ADDRESS, or [ADDRESS, ADDRESS]")
      ->excludes(remote);
  CLI::Option* stage = app.add_option("--stage", serve.stages,
                                      "do not serve requests, but run these stages of the model "
                                      "for servers with --remote; needs --listen-stage")
                           ->delimiter(',');
  CLI::Option* listen = app.add_option(
      "--listen-stage", serve.listen_stage,
      "address for --stage: path of a socket, for this user only, or grpc://HOST:PORT");
  stage->needs(listen), listen->needs(stage);
  StageKeys& keys = serve.load.stage_keys;
  CLI::Option* cert =
      app.add_option("--stage-cert", keys.certificate,
                     "certificate (PEM) of this process for grpc:// to other hosts");
  CLI::Option* key = app.add_option("--stage-key", keys.key, "private key of --stage-cert");
  CLI::Option* authority =
      app.add_option("--stage-ca", keys.authority, "authority that signed the peer's certificate");
  cert->needs(key)->needs(authority), key->needs(cert), authority->needs(cert);
}

void add_hearing(CLI::App& app, ServeOptions& serve) {
  app.add_option(
      "--ears", serve.ears,
      "recogniser beside the models: pocketsphinx, or a Whisper or another model that transcribes "
      "(a directory or Org/Name); auto: pocketsphinx, if it is installed; none; "
      "may be repeated, the first is OpenAI's 'whisper-1' (default: auto)");
  app.add_option("--vad", serve.vad,
                 "silero_vad_16k.safetensors of Silero's speech detector, or its directory: it "
                 "finds turns instead of WebRTC's detector, and Whisper and PocketSphinx skip "
                 "noise and music");
  app.add_option(
      "--smart-turn", serve.smart_turn,
      "Smart Turn's weights as tools/smart_turn.py writes them, or their directory: in "
      "sessions with semantic_vad it judges after a pause of 0.2 s whether the speaker is "
      "done (/v1/realtime)");
  app.add_option("--max-recording", serve.max_heard_s, "most seconds of a transcribed recording")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--max-transcript-wait", serve.max_transcript_wait_s,
                 "longest predicted wait for the transcript of a spoken turn, in seconds; a turn "
                 "that would wait longer is refused with an error (/v1/realtime)")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option(
         "--predict", serve.predict,
         "draft answers, and prepare their first audio, while the question is still spoken or "
         "typed (/v1/realtime): on, ask (in sessions that request it), off; auto: on if --threads "
         "leaves the recogniser a core, or with --device cuda, else ask")
      ->check(CLI::IsMember({"auto", "on", "ask", "off"}))
      ->capture_default_str();
  add_prediction(app, serve.prediction);
  app.add_flag("--decode-in-server", serve.decode_in_server,
               "decode recordings in the server itself, not in processes with few rights");
}

void add_served_voices(CLI::App& app, ServeOptions& serve) {
  add_store(app, serve.voice_store);
  app.add_flag("--no-voice-upload", serve.no_voice_upload,
               "clients may neither add nor remove voices");
  app.add_option(
      "--voice-alias", serve.voice_aliases,
      "NAME=VOICE: a further name that clients may use for a voice or mix, e.g. a vendor's id; "
      "may be repeated");
  app.add_option("--voice-cache-mib", serve.voice_cache_mib,
                 "MiB of memory for recently used cloned voices")
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-encode-wait", serve.max_encode_wait_s,
                 "seconds of predicted wait above which recordings get status 503")
      ->check(at_least(0))
      ->capture_default_str();
}

/// Prints every option with its value as a config file; prints options without a value as comments.
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
  CLI::App* sub = app.add_subcommand("serve", "Serve OpenAI's speech API over HTTP");
  add_listening(*sub, serve);
  sub->add_flag("-q,--quiet", serve.quiet, "do not log requests");
  add_served_models(*sub, serve);
  add_served_voices(*sub, serve);
  add_hearing(*sub, serve);
  add_stages(*sub, serve);
  add_access(*sub, serve);
  add_bounds(*sub, serve);
  add_engine(*sub, serve.load.engine);
  CLI::Option* print =
      sub->add_flag("--print-config")->description("print all options as a config file and exit");
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
