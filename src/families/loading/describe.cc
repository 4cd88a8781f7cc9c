#include "families/loading/describe.h"

#include <algorithm>

namespace syrinx {

std::string describe_decoder(const DecoderConfig& d) {
  std::string out = concat(d.layers, " layers, width ", d.hidden, ", heads ", d.heads, "/",
                           d.kv_heads, " x ", d.head_dim);
  if (d.moe.experts == 0) return concat(out, ", ffn ", d.ffn);
  out += concat(", ", d.moe.top_k, " of ", d.moe.experts, " experts x ", d.moe.ffn);
  return d.moe.shared_ffn > 0 ? concat(out, " and one of ", d.moe.shared_ffn) : out;
}

std::string voice_names(const PipelineInfo& info) {
  std::string out;
  for (const VoiceInfo& voice : info.speech.voices) out += (out.empty() ? "" : ", ") + voice.id;
  return out;
}

Error unknown_voice(const PipelineInfo& info, const std::string& name) {
  return {ErrorCode::kNotFound,
          concat("the model has no voice \"", name, "\"; it has ", voice_names(info)), "voice"};
}

Status check_voice(const PipelineInfo& info, const std::string& name) {
  const bool known =
      std::ranges::any_of(info.speech.voices, [&](const auto& v) { return v.id == name; });
  if (name.empty() || known) return ok_status();
  return unknown_voice(info, name);
}

}  // namespace syrinx
