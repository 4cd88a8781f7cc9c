// Settings of a model that speaks text which all requests share, and the effect of their options. A
// plain value; const functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "families/spoken/text_plan.h"
#include "kernels/sample.h"
#include "model/delay.h"
#include "model/request.h"

namespace syrinx {

struct SpokenModel {
  int tables = 1;
  DelayPattern pattern;       ///< of the codes of a step
  int64_t max_positions = 0;  ///< of a segment
  SampleParams sampling;      ///< where a request says nothing
  /// Options of the codes after the first of a step, where they differ.
  std::optional<SampleParams> inner_sampling = {};
  /// Scale of guidance where a request says nothing; unset: the model has none.
  std::optional<float> guidance = {};
  TextPlanOptions text = {};
  // The bound of a segment, where a request gives none, in steps without the pattern's tail.
  int64_t spare_steps = 0;
  int64_t steps_per_id = 0;  ///< slow speech
  int64_t most_steps = 0;    ///< 0: no limit but max_positions
  int64_t least_steps = 0;   ///< a first prompt that leaves fewer is refused

  /// Refuses the options that the model lacks, but for those that check_request() refuses, or a
  /// scale of guidance out of range.
  Status check(const SpeechRequest& request) const;
  // The settings that follow from the options of a request.
  SampleParams sampling_of(const SpeechRequest& request) const;
  SampleParams inner_sampling_of(const SpeechRequest& request) const;
  /// Unset: not guided.
  std::optional<float> guidance_of(const SpeechRequest& request) const;
};

/// `defaults` with what a request says of them. Min-p is another way of sampling than those that
/// look for repetitions or filter first.
SampleParams asked(SampleParams defaults, const SpeechRequest& request);

}  // namespace syrinx
