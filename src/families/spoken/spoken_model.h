// The settings of a model that speaks text, which all requests share, and how a request's options
// change them. A plain value with const functions; any thread.
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
  /// Default sampling of the codes after the first of a step. Unset: the same as `sampling`.
  std::optional<SampleParams> inner_sampling = {};
  /// Scale of guidance for requests that do not set it. Unset: the model has no guidance.
  std::optional<float> guidance = {};
  /// Whether guidance needs a companion. Otherwise the stage itself reads the scale of a sequence.
  bool companions = true;
  TextPlanOptions text = {};
  /// Default bound of a segment, in steps without the tail of the pattern: spare_steps plus
  /// steps_per_id for each id of the text.
  int64_t spare_steps = 0;
  int64_t steps_per_id = 0;  ///< steps of one id in slow speech
  int64_t most_steps = 0;    ///< largest bound of a segment; 0: only max_positions limits it
  int64_t least_steps = 0;   ///< a first prompt that leaves room for fewer steps is refused
  /// Value of code 0 that ends a segment and is not spoken. If codes are delayed, the pattern's
  /// tail follows. -1: SpokenScript::ends() decides.
  int32_t end = -1;
  int64_t end_from = 0;  ///< index of the first step of a segment at which `end` ends it
  /// Values of code 0 that are excluded if a request ignores the end. Empty: only `end` is.
  IdRange unspoken = {};

  /// Returns a rule of code 0 without the `unspoken` values. A rule without ranges, which allows
  /// all values, then allows only those below `unspoken`.
  SampleRule spoken(const SampleRule& rule) const;
  // Returns the sampling that the options of a request select.
  SampleParams sampling_of(const SpeechRequest& request) const;
  SampleParams inner_sampling_of(const SpeechRequest& request) const;
  /// Returns the scale of guidance. Unset if the request is not guided.
  std::optional<float> guidance_of(const SpeechRequest& request) const;
};

/// Returns `defaults` changed by the options of a request. If the request sets min-p, turns off
/// ras_window and filter_first, because these methods ignore min-p.
SampleParams asked(SampleParams defaults, const SpeechRequest& request);

}  // namespace syrinx
