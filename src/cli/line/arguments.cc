#include "cli/line/arguments.h"

#include <CLI/CLI.hpp>

#include "audio/volume.h"
#include "base/cores.h"
#include "cli/line/ranges.h"

namespace syrinx {

void add_load(CLI::App& app, LoadOptions& load) {
  app.add_option(
         "--weights", load.weights,
         "how linear weights are kept: f32, bf16, q8, q8a8, q4, mixed (of q8 and q4), or auto: "
         "q8 on a CPU, bf16 on a GPU")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "q8", "q8a8", "q4", "mixed"}))
      ->capture_default_str();
  app.add_option("--weights-cache", load.weights_cache,
                 "where packed weights are kept for the next start: a directory, off, or auto: "
                 "syrinx/weights in XDG_CACHE_HOME or ~/.cache, for checkpoints from 64 MiB")
      ->type_name("DIR|off|auto")
      ->capture_default_str();
  app.add_option("--device", load.device,
                 "cpu, cuda, or auto: cuda where this build and this machine have it")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--lexicon", load.lexicon,
                 "a file that tells how words are said, one a line: Syrinx /IPA/, Nguyen {ARPAbet} "
                 "or nginx engine X");
  app.add_option("--threads", load.engine.threads, "CPU threads; 0: all cores")
      ->check(between(0, 1024))
      ->capture_default_str();
  app.add_option_function<size_t>(
         "--kv-mib", [&load](size_t mib) { load.engine.kv_bytes = mib << 20; },
         "memory of the KV cache; by default enough for the longest requests of a batch, at most "
         "1024")
      ->check(between(1, 1 << 20));
  app.add_option_function<int>(
         "--node",
         [&load](int node) {
           stay_on(node, core_nodes());
           load.node = node;
         },
         "run on the cores and in the memory of one node of a machine that has several (NUMA)")
      ->check(at_least(0))
      ->type_name("N");
  app.add_option_function<std::string>(
         "--load-format", [&load](const std::string& format) { load.dummy = format == "dummy"; },
         "auto, or dummy: random weights, for measuring")
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
  app.add_option("--volume", volume, "factor, 0.1 to 4; what gets too loud is bent, not clipped")
      ->check(between(kMinVolume, kMaxVolume))
      ->type_name("FACTOR");
}

void add_request(CLI::App& app, SpeechRequest& request) {
  app.add_option(
      "-v,--voice", request.voice,
      "one of the model's voices, one of 'syrinx voice list', or a mix: 'anna(2)+ben(1)'");
  app.add_option("-l,--language", request.language, "as the model names it");
  app.add_option("--instructions", request.instructions, "how to speak, where the model listens");
  app.add_option("--speed", request.speed, "factor, as far as the model itself can")
      ->check(between(0.25f, 4.0f))
      ->type_name("FACTOR");
  app.add_option("--seed", request.seed, "same seed, same audio")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--temperature", request.temperature, "0: always the most likely code")
      ->check(between(0.0, 2.0));
  app.add_option("--top-p", request.top_p, "only the likeliest codes that make up so much")
      ->check(between(0.0, 1.0));
  app.add_option("--top-k", request.top_k, "only so many codes; 0: all")->check(at_least(0));
  app.add_option("--min-p", request.min_p, "only codes this likely, the likeliest being 1")
      ->check(between(0.0, 1.0));
  app.add_option("--repetition-penalty", request.repetition_penalty, "1: none")
      ->check(between(0.1, 10.0));
  app.add_option("--guidance", request.guidance, "scale of guidance, where the model uses it")
      ->check(between(0.0, 20.0));
  app.add_option("--inner-temperature", request.inner_temperature,
                 "of the codes after a frame's first, where they are drawn apart")
      ->check(between(0.0, 2.0));
  app.add_option("--inner-top-p", request.inner_top_p, "the same")->check(between(0.0, 1.0));
  app.add_option("--inner-top-k", request.inner_top_k, "the same")->check(at_least(0));
  app.add_option_function<std::string>(
         "--flow",
         [&request](const std::string& name) {
           request.flow = name == "full"     ? FlowMode::kFull
                          : name == "causal" ? FlowMode::kCausal
                                             : FlowMode::kAuto;
         },
         "what the model's flow attends to: causal, chunks that can be streamed; full, all of "
         "a part of the text; auto, as it was trained (auto)")
      ->check(CLI::IsMember({"auto", "causal", "full"}));
  app.add_option("--exaggeration", request.exaggeration,
                 "degree of emotion, where the model has it")
      ->check(between(0.0, 2.0));
  app.add_option("--spell-numbers", request.spell_numbers,
                 "numbers in words as the model's authors write them, where they do (true, false)");
  app.add_option("--speaker", request.speaker,
                 "who of a conversation speaks, where speakers have numbers")
      ->check(at_least(0));
  app.add_option("--max-frames", request.max_frames, "0: a bound derived from the text")
      ->check(at_least(0));
  app.add_option("--initial-chunk-frames", request.initial_chunk_frames,
                 "frames of the first chunk; 0: as the load allows")
      ->check(at_least(0));
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option("--policy", engine.policy,
                 "streaming: playback deadlines; throughput: largest batches; fcfs: the baseline")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--executors",
         [&engine](const std::string& name) { engine.executors = find_executors(name); },
         "shared: all threads on one batch; split: language models beside codecs; each: a batch a "
         "thread; auto: split with two threads or more, but shared with two or three for one large "
         "model (auto)")
      ->check(CLI::IsMember({"auto", "shared", "split", "each"}));
  app.add_option("--max-batch", engine.max_batch, "streams in one step")
      ->check(between(1, 4096))
      ->capture_default_str();
  app.add_option("--max-prefill-rows", engine.max_prefill_rows,
                 "prompt rows that ride along in one step")
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  app.add_flag(
      "--drafts,!--no-drafts", engine.drafts,
      "run guesses of a text's next tokens along with its steps; the same text, sooner (on)");
  app.add_option(
         "--background-share", engine.background_share,
         "of the executors' time, what drafts and other requests in the background may take "
         "where nobody else wants it")
      ->check(between(0.001, 1))
      ->capture_default_str();
  app.add_option("--background-pages", engine.background_pages,
                 "share of a KV cache that they may hold")
      ->check(between(0, 1))
      ->capture_default_str();
  app.add_option("--max-wait", engine.max_wait_s,
                 "seconds of predicted wait past which requests that are heard get a 503")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--max-read-wait", engine.max_read_wait_s,
                 "the same of requests that are only read: chats in text, transcriptions; not less "
                 "than --max-wait")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--max-per-client", engine.max_per_client,
                 "unfinished requests of one key or address; 0: no limit")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--trace-file", engine.trace_file,
                 "write what the engine does, for Perfetto or chrome://tracing");
  app.add_option("--max-requests", engine.max_requests, "accepted and unfinished; more get a 503")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
}

void add_format(CLI::App& app, std::string& format, const std::string& otherwise) {
  app.add_option("--format", format, "of the audio; " + otherwise)
      ->check(CLI::IsMember({"wav", "flac", "mp3", "opus", "aac", "m4a", "pcm"}));
}

}  // namespace syrinx
