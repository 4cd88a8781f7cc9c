// The settings of a model that speaks text, which all requests share, and the effect of a request's
// options. A plain value; const functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "families/spoken/text_plan.h"
#include "kernels/sample.h"
#include "model/delay.h"
#include "model/request.h"

namespace syrinx {

struct SpokenModel {
  int tables = 1;
  DelayPattern pattern;       ///< delays of the codes of a step
  int64_t max_positions = 0;  ///< largest number of positions of a segment
  SampleParams sampling;      ///< default sampling of requests
  /// Default sampling of the codes after the first of a step, if it differs.
  std::optional<SampleParams> inner_sampling = {};
  /// Scale of guidance for requests that do not state one; unset: the model has no guidance.
  std::optional<float> guidance = {};
  TextPlanOptions text = {};
  /// The default bound of a segment, in steps without the pattern's tail: spare_steps +
  /// steps_per_id for each id of the text.
  int64_t spare_steps = 0;
  int64_t steps_per_id = 0;  ///< steps of slow speech
  int64_t most_steps = 0;    ///< 0: no limit but max_positions
  int64_t least_steps = 0;   ///< a first prompt that leaves room for fewer steps is refused

  // The settings that follow from the options of a request.
  SampleParams sampling_of(const SpeechRequest& request) const;
  SampleParams inner_sampling_of(const SpeechRequest& request) const;
  /// Returns the scale of guidance; unset: the request is not guided.
  std::optional<float> guidance_of(const SpeechRequest& request) const;
};

/// Returns `defaults` changed by the options of a request. A request for min-p turns off sampling
/// methods that look for repetitions or filter first.
SampleParams asked(SampleParams defaults, const SpeechRequest& request);

}  // namespace syrinx
