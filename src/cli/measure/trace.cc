#include "cli/measure/trace.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/check.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/ranges.h"
#include "cli/speak/voice_choice.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "runtime/trace.h"

namespace syrinx {
namespace {

struct TraceCommand {
  LoadOptions load;
  SpeechRequest request;
  VoiceChoice voice;
  std::string output;
  int logit_steps = 32;  ///< steps whose logits are kept
};

/// Returns whether codes are drawn at random. A sampling option selects this; a penalty does not.
bool draws(const SpeechRequest& r) {
  return r.sampling.temperature || r.sampling.top_k || r.sampling.top_p || r.sampling.min_p ||
         r.sampling.inner_temperature || r.sampling.inner_top_k || r.sampling.inner_top_p;
}

template <typename T>
View view_of(std::vector<T>& values, DType dtype, const Shape& shape) {
  return {values.data(), dtype, shape};
}

void write_trace(Trace& trace, const Pipeline& pipeline, const std::string& path) {
  const std::vector<int>& vocab = pipeline.graph().ar().traits().vocab;
  const auto codes = static_cast<int64_t>(vocab.size());
  const auto ids = static_cast<int64_t>(trace.prompt_ids.size());
  const auto samples = static_cast<int64_t>(trace.samples.size());
  SafetensorsWriter file(path);
  if (ids > 0) file.add("prompt_ids", view_of(trace.prompt_ids, DType::kI32, {ids}));
  for (size_t k = 0; k < vocab.size(); ++k) {
    file.add(concat("logits_", k),
             view_of(trace.logits[k], DType::kF32, {trace.logit_steps, vocab[k]}));
  }
  file.add("codes", view_of(trace.codes, DType::kI32, {trace.steps, codes}));
  const Shape frames{trace.frame_count(), trace.frame_codes};
  if (trace.rows.empty()) {
    file.add("frames", view_of(trace.frames, DType::kI32, frames));
  } else {
    file.add("rows", view_of(trace.rows, DType::kF32, frames));
  }
  file.add("samples", view_of(trace.samples, DType::kF32, {samples}));
  file.finish({{"model", pipeline.info().model},
               {"family", pipeline.info().family},
               {"prompt_rows", std::to_string(trace.prompt_rows)},
               {"sample_rate", std::to_string(pipeline.info().speech.sample_rate)},
               {"finish_reason", finish_reason_name(trace.reason)}});
}

int run_trace(TraceCommand options) {
  need_writable(options.output);
  const std::shared_ptr<const Pipeline> pipeline = load_pipeline(options.load);
  {  // makes a voice of a recording, as `say` does
    Engine engine(pipeline, options.load.engine);
    choose_voice(engine, options.voice, options.request);
  }
  Result<Trace> traced = trace_request(*pipeline, options.request,
                                       {.threads = options.load.engine.threads,
                                        .logit_steps = options.logit_steps,
                                        .draws = draws(options.request)});
  if (!traced) throw LoadError(traced.error().message);
  Trace trace = traced.take();
  write_trace(trace, *pipeline, options.output);
  std::printf("%d prompt rows, %d steps, %lld frames, %.2f s of audio, %s: %s\n", trace.prompt_rows,
              trace.steps, static_cast<long long>(trace.frame_count()),
              static_cast<double>(trace.samples.size()) / pipeline->info().speech.sample_rate,
              finish_reason_name(trace.reason), options.output.c_str());
  return 0;
}

}  // namespace

void add_trace(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TraceCommand>();
  TraceCommand& trace = *options;
  CLI::App* sub = app.add_subcommand("trace",
                                     "Speak in f32, greedily by default, and store ids, logits, "
                                     "frames and samples for comparison");
  trace.load.weights = "f32";
  sub->add_option("-t,--text", trace.request.say.text, "what to speak")->required();
  sub->add_option("--dump", trace.output, "safetensors file")->required();
  sub->add_option("--logit-steps", trace.logit_steps,
                  "number of first steps whose logits are stored")
      ->check(at_least(0))
      ->capture_default_str();
  add_model(*sub, trace.load);
  add_request(*sub, trace.request);
  add_voice_choice(*sub, trace.voice);
  sub->callback([&chosen, options] { chosen = [options] { return run_trace(*options); }; });
}

}  // namespace syrinx
