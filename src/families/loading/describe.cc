#include "families/loading/describe.h"

#include <algorithm>
#include <charconv>

namespace syrinx {

std::string describe_decoder(const DecoderConfig& d) {
  std::string out = concat(d.layers, " layers, width ", d.hidden, ", heads ", d.heads, "/",
                           d.kv_heads, " x ", d.head_dim);
  if (d.moe.experts == 0) return concat(out, ", ffn ", d.ffn);
  out += concat(", ", d.moe.top_k, " of ", d.moe.experts, " experts x ", d.moe.ffn);
  return d.moe.shared_ffn > 0 ? concat(out, " and one of ", d.moe.shared_ffn) : out;
}

void set_rates(PipelineInfo& info, int64_t sample_rate, int64_t hop) {
  info.speech.sample_rate = static_cast<int>(sample_rate);
  info.speech.frame_rate = static_cast<double>(sample_rate) / static_cast<double>(hop);
}

void set_voices(PipelineInfo& info, std::vector<VoiceInfo> voices) {
  info.speech.default_voice = voices.front().id;
  info.speech.voices = std::move(voices);
}

void offer_speakers(PipelineInfo& info, int most, const char* description) {
  std::vector<VoiceInfo> voices;
  for (int speaker = 0; speaker < 10; ++speaker) voices.push_back({concat(speaker), description});
  set_voices(info, std::move(voices));
  info.offers.add("speaker", {0, static_cast<double>(most)});
}

void lack_draws(PipelineInfo& info) {
  info.offers.lack({"top_k", "top_p", "min_p", "repetition_penalty"},
                   "it samples no codes; 'temperature' scales its noise");
}

Error unknown_voice(const PipelineInfo& info, const std::string& name) {
  constexpr size_t kMostNamed = 50;
  const std::vector<VoiceInfo>& voices = info.speech.voices;
  std::string names;
  for (size_t i = 0; i < voices.size() && i < kMostNamed; ++i)
    names += (i == 0 ? "" : ", ") + voices[i].id;
  if (voices.size() > kMostNamed) names += concat(" and ", voices.size() - kMostNamed, " more");
  return {ErrorCode::kNotFound, concat("the model has no voice \"", name, "\"; it has ", names),
          "voice"};
}

Status check_voice(const PipelineInfo& info, const RequestVoice& asked) {
  const bool known =
      std::ranges::any_of(info.speech.voices, [&](const auto& v) { return v.id == asked.name; });
  if (asked.data || asked.name.empty() || known) return ok_status();
  return unknown_voice(info, asked.name);
}

Result<std::string> voice_name(const PipelineInfo& info, const RequestVoice& asked) {
  if (const Status known = check_voice(info, asked); !known) return known.error();
  return asked.name.empty() ? info.speech.default_voice : asked.name;
}

Result<std::vector<float>> voice_shares(const PipelineInfo& info, const RequestVoice& asked) {
  std::vector<VoiceShare> mix = asked.mix;
  if (mix.empty()) mix = {{asked.name, asked.data, 1.f}};
  const std::vector<VoiceInfo>& voices = info.speech.voices;
  std::vector<float> shares(voices.size(), 0.f);
  double sum = 0;
  for (const VoiceShare& share : mix) {
    if (share.data) return Error{ErrorCode::kUnsupported, info.speech.no_cloning, "voice"};
    const std::string& name = share.voice.empty() ? info.speech.default_voice : share.voice;
    const auto named = std::ranges::find(voices, name, &VoiceInfo::id);
    size_t at = static_cast<size_t>(named - voices.begin());
    if (at == voices.size() && info.speech.voices_are_speakers) {
      const Result<int> number = speaker_number(name, static_cast<int>(voices.size()) - 1, 0);
      if (number.ok()) at = static_cast<size_t>(number.value());
    }
    if (at == voices.size()) return unknown_voice(info, name);
    shares[at] += share.weight;
    sum += share.weight;
  }
  for (float& share : shares) share = static_cast<float>(share / sum);
  return shares;
}

Result<int> speaker_number(const std::string& name, int most, int absent) {
  int number = absent;
  const char* end = name.data() + name.size();
  if (name.empty()) return number;
  const auto [stop, fault] = std::from_chars(name.data(), end, number);
  if (fault != std::errc() || stop != end || number < 0 || number > most) {
    return Error{
        ErrorCode::kNotFound,
        concat("the model has no voice \"", name, "\"; its speakers are numbers from 0 to ", most),
        "voice"};
  }
  return number;
}

}  // namespace syrinx
