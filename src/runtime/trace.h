// Runs one request through a pipeline on the engine's own path, one batch at a time, and records
// intermediate results: for comparing a family with its original implementation.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// How a trace is made.
struct TraceOptions {
  int threads = 0;       ///< threads of the CPU; 0: all cores
  int logit_steps = 32;  ///< number of first steps whose logits are recorded
  /// Whether codes are sampled with the request's settings; else the most probable ones are taken.
  bool draws = false;
};

/// Intermediate results of a request, row-major. S steps (L <= S with logits) of the pipeline's
/// first AR stage, K codes a step, C codes a frame, T frames.
struct Trace {
  /// The ids of the first segment's prompt; empty if the family has none.
  std::vector<int32_t> prompt_ids;
  int prompt_rows = 0;  ///< rows of the first segment's prompt
  int logit_steps = 0;  ///< L, the number of steps with logits
  std::vector<std::vector<float>>
      logits;  ///< for each code k, [L, vocab[k]], after guidance and before any rule
  std::vector<int32_t> codes;   ///< [S, K], the sampled codes
  std::vector<int32_t> frames;  ///< [T, C], the input of the first chunk stage after an AR stage
  std::vector<float> rows;      ///< [T, C] instead of frames, if a frame is numbers (latents)
  std::vector<float> samples;
  int steps = 0;        ///< S, the number of steps
  int frame_codes = 0;  ///< C, or the count of numbers of a frame
  FinishReason reason = FinishReason::kStop;

  int64_t frame_count() const {  ///< returns T
    return static_cast<int64_t>(frames.size() + rows.size()) / frame_codes;
  }
};

/// Traces a request. Without `draws` the result is greedy: the largest logit after the rules and
/// the repetition penalty. Late text is not supported. An Error is a fault of the request, or says
/// which stage failed.
Result<Trace> trace_request(const Pipeline& pipeline, const SpeechRequest& request,
                            const TraceOptions& options = {});

}  // namespace syrinx
