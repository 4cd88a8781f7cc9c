#include "families/loading/checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace syrinx {

std::string model_type(const Config& root) {
  const auto found = root.raw().find("model_type");
  return found != root.raw().end() && found->is_string() ? found->get<std::string>() : "";
}

void load_sampling(const Config& config, SampleParams& out, const std::string& prefix) {
  const auto number = [&](const char* key, float absent, double least, double most) {
    return config.opt_f<float>(prefix + key, absent, least, most);
  };
  out.temperature = number("temperature", out.temperature, 0, 100);
  out.top_k = config.opt_i<int>(prefix + "top_k", out.top_k, 0, 1 << 24);
  out.top_p = number("top_p", out.top_p, 0, 1);
  out.min_p = number("min_p", out.min_p, 0, 1);
  out.repetition_penalty = number("repetition_penalty", out.repetition_penalty, 0.01, 100);
  if (!config.opt_b(prefix + "do_sample", true)) out.temperature = 0;
}

}  // namespace syrinx
