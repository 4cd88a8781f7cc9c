// Runs one request through a pipeline on the engine's own path, one batch at a time, and keeps what
// happens on the way: for comparing a family with its original implementation.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// How a request is followed.
struct TraceOptions {
  int threads = 0;       ///< 0: all cores
  int logit_steps = 32;  ///< first steps whose logits are kept
  bool draws = false;    ///< codes are drawn as the request says; else the likeliest are taken
};

/// S steps (L <= S with logits) of the pipeline's first AR stage, K codes a step, C codes a frame,
/// T frames. Row-major.
struct Trace {
  std::vector<int32_t> prompt_ids;  ///< of the first segment; empty when the family has none
  int prompt_rows = 0;              ///< of the first segment
  int logit_steps = 0;              ///< L
  std::vector<std::vector<float>>
      logits;                   ///< per code k [L, vocab[k]], after guidance, before any rule
  std::vector<int32_t> codes;   ///< [S, K], as sampled
  std::vector<int32_t> frames;  ///< [T, C], as the first chunk stage behind an AR stage gets them
  std::vector<float> rows;      ///< [T, C] instead, where a frame is numbers (latents)
  std::vector<float> samples;
  int steps = 0;        ///< S
  int frame_codes = 0;  ///< C, or numbers of a frame
  FinishReason reason = FinishReason::kStop;

  int64_t frame_count() const {  ///< T
    return static_cast<int64_t>(frames.size() + rows.size()) / frame_codes;
  }
};

/// Greedy, whatever the request says: the largest logit after the rules and the repetition penalty.
/// Late text is not supported. An Error is the request's fault, or says which stage failed.
Result<Trace> trace_request(const Pipeline& pipeline, const SpeechRequest& request,
                            const TraceOptions& options = {});

}  // namespace syrinx
