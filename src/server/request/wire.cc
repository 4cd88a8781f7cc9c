#include "server/request/wire.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/markup.h"
#include "server/request/fields.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

std::string event(const ordered_json& data) { return "data: " + dump_json(data) + "\n\n"; }

/// Counts the code points of valid UTF-8.
int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  const auto value_of = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;  // '-' and '_' are in base64 for URLs
    return c == '/' || c == '_' ? 63 : -1;
  };
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = value_of(c);
    if (value < 0 || padding > 0) return {};
    group = group << 6 | static_cast<uint32_t>(value);
    if (++digits % 4 == 0) {
      for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(group >> shift & 255);
      group = 0;
    }
  }
  const size_t rest = digits % 4;
  if (rest == 1 || padding > 2 || (padding > 0 && rest + padding != 4)) return {};
  if (rest >= 2) out += static_cast<char>(group >> (rest == 2 ? 4 : 10) & 255);
  if (rest == 3) out += static_cast<char>(group >> 2 & 255);
  return out;
}

std::string audio_event(std::string_view bytes) {
  // Avoids the JSON library: base64 needs no escapes, and this code runs for every chunk.
  return "data: {\"type\":\"speech.audio.delta\",\"audio\":\"" + base64(bytes) + "\"}\n\n";
}

std::string done_event(const SpeechCall& call, const Outcome& outcome, const PipelineInfo& info) {
  const int64_t input = characters(call.request.say.text);
  ordered_json data = {{"type", "speech.audio.done"},
                       {"usage",
                        {{"input_tokens", input},
                         {"output_tokens", outcome.frames},
                         {"total_tokens", input + outcome.frames}}},
                       {"finish_reason", finish_reason_name(outcome.reason)}};
  const auto seconds = [&](int64_t frame) {
    return static_cast<double>(frame) / info.speech.frame_rate / call.audio.speed;
  };
  if (info.speech.word_times && call.words) {
    ordered_json words = ordered_json::array();
    for (const WordMark& word : outcome.words) {
      words.push_back({{"begin", word.begin}, {"end", word.end}, {"start_s", seconds(word.frame)}});
    }
    data["words"] = std::move(words);
  }
  if (call.ssml) {
    data["text"] = call.request.say.text;
    const auto end = std::llround(outcome.audio_s * info.speech.frame_rate);
    const std::vector<int64_t> frames = mark_frames(call.marks, outcome.words, end);
    ordered_json marks = ordered_json::array();
    for (size_t i = 0; i < frames.size(); ++i) {
      marks.push_back({{"name", call.marks[i].name}, {"start_s", seconds(frames[i])}});
    }
    data["marks"] = std::move(marks);
  }
  if (call.request.terms.phone_times) {
    ordered_json phones = ordered_json::array();
    for (const PhoneMark& mark : outcome.phones) {
      phones.push_back({{"phone", mark.phone}, {"start_s", seconds(mark.frame)}});
    }
    data["phones"] = std::move(phones);
  }
  return event(data);
}

std::string error_event(const ApiError& error) {
  return "data: {\"type\":\"speech.audio.error\",\"error\":" + error_object(error) + "}\n\n";
}

}  // namespace syrinx
