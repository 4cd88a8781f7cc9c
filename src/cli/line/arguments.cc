#include "cli/line/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "audio/volume.h"
#include "base/cores.h"
#include "cli/line/load_line.h"
#include "cli/line/ranges.h"
#include "model/options.h"
#include "runtime/devices.h"

namespace syrinx {
namespace {

/// Declares a number whose value `unset` (0 or -1) means "not set".
template <typename T>
CLI::Option* add_number(CLI::App& app, const RequestOption& option, T& value, double unset) {
  CLI::Option* out = app.add_option(std::string(option.argument), value, std::string(option.help));
  const double low = std::min(option.bounds.low, unset);
  if (option.bounds.high >= std::numeric_limits<int>::max()) return out->check(at_least(low));
  return out->check(between(low, option.bounds.high));
}

/// Declares one option of a request, with the bounds and the help of the table of options.
CLI::Option* add_option_of(CLI::App& app, const RequestOption& option, SpeechRequest& request) {
  const std::string argument(option.argument), help(option.help);
  CLI::Option* out = std::visit(
      [&](auto field) -> CLI::Option* {
        auto& value = field(request);
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::same_as<Value, FlowMode>) {
          const auto names = flow_names();
          return app
              .add_option_function<std::string>(
                  argument,
                  [&value, names](const std::string& name) {
                    const auto at = std::find(names.begin(), names.end(), name);
                    value = static_cast<FlowMode>(at - names.begin());
                  },
                  help)
              ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
        } else if constexpr (std::same_as<Value, uint64_t>) {
          return app.add_option(argument, value, help)->check(at_least(0))->capture_default_str();
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return add_number(app, option, value, value);
        } else if constexpr (std::same_as<Value, std::optional<float>> ||
                             std::same_as<Value, std::optional<int>>) {
          return add_number(app, option, value, option.bounds.low);
        } else {
          return app.add_option(argument, value, help);
        }
      },
      option.field);
  if (!option.unit.empty()) {
    std::string unit(option.unit);
    std::transform(unit.begin(), unit.end(), unit.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    out->type_name(unit);
  }
  return out;
}

}  // namespace

void add_load(CLI::App& app, LoadOptions& load) {
  load.progress = show_load();
  app.add_option("--weights", load.weights,
                 "type of linear weights: f32, bf16, q8, q8a8, q4, mixed (of q8 and q4), or auto: "
                 "q8 on a CPU, bf16 on a GPU")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "q8", "q8a8", "q4", "mixed"}))
      ->capture_default_str();
  app.add_option("--weights-cache", load.weights_cache,
                 "directory that stores packed weights for the next start, off, or auto: "
                 "syrinx/weights in XDG_CACHE_HOME or ~/.cache, for checkpoints from 64 MiB")
      ->type_name("DIR|off|auto")
      ->capture_default_str();
  app.add_option("--device", load.device,
                 "cpu, cuda, cuda:N, or auto: cuda if this build and this machine have it; single "
                 "stages after it: cuda:0,codec=cuda:1 (with several models MODEL/codec=cuda:1)")
      ->check([](const std::string& text) -> std::string {
        try {
          static_cast<void>(read_device_option(text));
          return "";
        } catch (const LoadError& fault) {
          return fault.what();
        }
      })
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--lexicon", load.lexicon,
                 "a file of pronunciations, one per line: Syrinx /IPA/, Nguyen {ARPAbet} "
                 "or nginx engine X");
  app.add_option("--threads", load.engine.threads, "CPU threads; 0: all cores")
      ->check(between(0, 1024))
      ->capture_default_str();
  app.add_option_function<size_t>(
         "--kv-mib", [&load](size_t mib) { load.engine.kv_bytes = mib << 20; },
         "MiB of the KV cache; by default enough for a batch with 1024 positions a sequence, at "
         "most 1024, on a GPU 16384")
      ->check(between(1, 1 << 20));
  app.add_option_function<int>(
         "--node",
         [&load](int node) {
           stay_on(node, core_nodes());
           load.node = node;
         },
         "use only the cores and the memory of one NUMA node")
      ->check(at_least(0))
      ->type_name("N");
  app.add_option_function<std::string>(
         "--load-format", [&load](const std::string& format) { load.dummy = format == "dummy"; },
         "auto, or dummy (random weights, for measurements)")
      ->check(CLI::IsMember({"auto", "dummy"}));
}

void add_model(CLI::App& app, LoadOptions& load) {
  app.add_option(
         "-m,--model", load.model,
         "built-in (finch speaks, wren writes), checkpoint directory, or Org/Name in the hub's "
         "cache")
      ->capture_default_str();
  add_load(app, load);
}

void add_volume(CLI::App& app, double& volume) {
  app.add_option("--volume", volume,
                 "factor, 0.1 to 4; samples that become too loud are limited, not clipped")
      ->check(between(kMinVolume, kMaxVolume))
      ->type_name("FACTOR");
}

void add_request(CLI::App& app, SpeechRequest& request) {
  for (const RequestOption& option : request_options()) {
    const bool written = option.bodies != 0 && (option.bodies & kSpeechBody) == 0;
    if (!option.argument.empty() && !written) add_option_of(app, option, request);
  }
}

CLI::Option* add_request_option(CLI::App& app, std::string_view name, SpeechRequest& request,
                                const std::string& help) {
  return add_option_of(app, request_option(name), request)->description(help);
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option(
         "--policy", engine.policy,
         "streaming: by playback deadline; throughput: largest batches; fcfs: in order of arrival")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--executors",
         [&engine](const std::string& name) { engine.executors = find_executors(name); },
         "shared: all threads run one batch; split: half run only chunk stages (codecs), half any "
         "stage; each: one batch per thread; auto: split with two threads or more, but shared with "
         "two or three for a recogniser, a large model, "
         "or one that speaks whole utterances (auto)")
      ->check(CLI::IsMember({"auto", "shared", "split", "each"}));
  app.add_option("--max-batch", engine.max_batch, "most streams in one step")
      ->check(between(1, 4096))
      ->capture_default_str();
  app.add_option("--max-prefill-rows", engine.max_prefill_rows,
                 "most prompt rows that are added to one step; 0: 128, on a GPU 256")
      ->check(between(0, 1 << 20))
      ->capture_default_str();
  app.add_flag("--drafts,!--no-drafts", engine.drafts,
               "guess a text's next tokens and check them in one step; the text is the same, but "
               "faster (on)");
  app.add_option(
         "--background-share", engine.background_share,
         "share of the executors' total time that drafts and other background requests may use")
      ->check(between(0.001, 1))
      ->capture_default_str();
  app.add_option("--background-pages", engine.background_pages,
                 "share of a KV cache that drafts and other background requests may use")
      ->check(between(0, 1))
      ->capture_default_str();
  app.add_option("--max-wait", engine.max_wait_s,
                 "seconds of predicted wait above which requests for audio get status 503")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option(
         "--max-read-wait", engine.max_read_wait_s,
         "like --max-wait, for requests without audio (chats in text, transcriptions); not less "
         "than --max-wait")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--max-per-client", engine.max_per_client,
                 "most unfinished requests of one key or address; 0 means no limit")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--trace-file", engine.trace_file,
                 "write a trace of the engine for Perfetto or chrome://tracing");
  app.add_option("--max-requests", engine.max_requests,
                 "most unfinished requests; further ones get status 503")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
}

void add_format(CLI::App& app, std::string& format, const std::string& otherwise) {
  app.add_option("--format", format, "format of the audio; " + otherwise)
      ->check(CLI::IsMember({"wav", "flac", "mp3", "opus", "aac", "m4a", "pcm"}));
}

}  // namespace syrinx
