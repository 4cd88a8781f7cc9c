// For tests: sampling parameters as a text that tables can contain.
#pragma once

#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/sample.h"

namespace syrinx {

/// Returns the settings that differ from those of SampleParams.
inline std::string settings_of(const SampleParams& p) {
  std::string out;
  const auto add = [&](const char* name, auto value, auto usual) {
    if (value != usual) out += concat(out.empty() ? "" : " ", name, " ", value);
  };
  const SampleParams usual;
  add("temperature", p.temperature, usual.temperature);
  add("top_k", p.top_k, usual.top_k);
  add("top_p", p.top_p, usual.top_p);
  add("min_p", p.min_p, usual.min_p);
  add("penalty", p.repetition_penalty, usual.repetition_penalty);
  add("window", p.penalty_window, usual.penalty_window);
  add("ras_window", p.ras_window, usual.ras_window);
  add("ras_repeats", p.ras_repeats, usual.ras_repeats);
  add("ras_temperature", p.ras_temperature, usual.ras_temperature);
  add("ras_top_p", p.ras_top_p, usual.ras_top_p);
  for (const auto& [name, set] : {std::pair{"min_p_first", p.min_p_first},
                                  {"penalty_last", p.penalty_last},
                                  {"penalty_each", p.penalty_each},
                                  {"filter_first", p.filter_first}}) {
    if (set) out += concat(out.empty() ? "" : " ", name);
  }
  return out;
}

}  // namespace syrinx
