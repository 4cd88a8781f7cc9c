#include "families/spoken/spoken_model.h"

#include <algorithm>

namespace syrinx {

SampleRule SpokenModel::spoken(const SampleRule& rule) const {
  const IdRange out = unspoken.end > 0 ? unspoken : IdRange{end, end + 1};
  const bool forced = rule.forced >= out.begin && rule.forced < out.end;
  if (out.begin < 0 || (rule.forced >= 0 && !forced)) return rule;
  SampleRule left;
  const auto add = [&](int32_t from, int32_t to) {
    if (from < to) left.allowed[left.ranges++] = {from, to};
  };
  if (rule.ranges == 0) add(0, out.begin);
  for (int r = 0; r < rule.ranges; ++r) {
    const IdRange& range = rule.allowed[r];
    add(range.begin, std::min(range.end, out.begin));
    add(std::max(range.begin, out.end), range.end);
  }
  return left;
}

std::optional<float> SpokenModel::guidance_of(const SpeechRequest& request) const {
  const float scale = request.sampling.guidance.value_or(guidance.value_or(1));
  return scale == 1 ? std::nullopt : std::optional(scale);
}

SampleParams SpokenModel::sampling_of(const SpeechRequest& request) const {
  return asked(sampling, request);
}

SampleParams SpokenModel::inner_sampling_of(const SpeechRequest& request) const {
  if (!inner_sampling) return sampling_of(request);
  SampleParams inner = asked(*inner_sampling, request);
  inner.repetition_penalty = inner_sampling->repetition_penalty;
  inner.temperature = request.sampling.inner_temperature.value_or(inner.temperature);
  inner.top_k = request.sampling.inner_top_k.value_or(inner.top_k);
  inner.top_p = request.sampling.inner_top_p.value_or(inner.top_p);
  return inner;
}

SampleParams asked(SampleParams defaults, const SpeechRequest& request) {
  defaults.temperature = request.sampling.temperature.value_or(defaults.temperature);
  defaults.top_k = request.sampling.top_k.value_or(defaults.top_k);
  defaults.top_p = request.sampling.top_p.value_or(defaults.top_p);
  if (request.sampling.min_p) defaults.min_p = *request.sampling.min_p;
  if (request.sampling.min_p.value_or(0) > 0)
    defaults.filter_first = false, defaults.ras_window = 0;
  defaults.repetition_penalty =
      request.sampling.repetition_penalty.value_or(defaults.repetition_penalty);
  return defaults;
}

}  // namespace syrinx
