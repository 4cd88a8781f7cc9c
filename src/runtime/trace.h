// Runs one request through a pipeline with the code of the engine, one batch at a time, and records
// intermediate results, to compare a family with its original implementation.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// Settings of a trace.
struct TraceOptions {
  int threads = 0;       ///< threads of the CPU; 0 means all cores
  int logit_steps = 32;  ///< number of first steps whose logits are recorded
  /// Whether codes are sampled with the request's settings. Otherwise the likeliest code is used.
  bool draws = false;
};

/// Intermediate results of a request, row-major. S steps of the pipeline's first AR stage (L <= S
/// of them with logits), K codes a step, C codes a frame, T frames.
struct Trace {
  /// The ids of the first segment's prompt; empty if the family's prompts have no ids.
  std::vector<int32_t> prompt_ids;
  int prompt_rows = 0;  ///< rows of the first segment's prompt
  int logit_steps = 0;  ///< L: number of steps with logits
  std::vector<std::vector<float>>
      logits;  ///< for each code k: [L, vocab[k]], after guidance and before any rule
  std::vector<int32_t> codes;   ///< [S, K], the sampled codes
  std::vector<int32_t> frames;  ///< [T, C], input of the first chunk stage after an AR stage
  std::vector<float> rows;      ///< [T, C], replaces `frames` if a frame is numbers (latents)
  std::vector<float> samples;
  int steps = 0;        ///< S: number of steps
  int frame_codes = 0;  ///< C: codes or numbers of a frame
  FinishReason reason = FinishReason::kStop;

  int64_t frame_count() const {  ///< returns T, the number of frames
    return static_cast<int64_t>(frames.size() + rows.size()) / frame_codes;
  }
};

/// Traces a request. Without `draws`, each code is the one with the largest logit after the rules
/// and the repetition penalty. Late text is not supported. An Error is a fault of the request, or
/// names the stage that failed.
Result<Trace> trace_request(const Pipeline& pipeline, const SpeechRequest& request,
                            const TraceOptions& options = {});

}  // namespace syrinx
