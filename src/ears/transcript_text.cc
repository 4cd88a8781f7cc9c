#include "ears/transcript_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "text/languages.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

// Limits of a cue: two lines of a screen, and the time needed to read them.
constexpr size_t kCueColumns = 84;
constexpr double kCueS = 7;

struct TranscriptCue {
  double start_s = 0, end_s = 0;
  std::string text;
};

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos
             ? ""
             : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

bool is_long(const TranscriptSegment& segment) {
  return display_columns(segment.text) > kCueColumns || segment.end_s - segment.start_s > kCueS;
}

/// Returns each word together with the text up to the next word (punctuation, blanks). Returns no
/// words if they do not occur in the text.
std::vector<TranscriptCue> words_of_text(const TranscriptSegment& segment) {
  std::vector<TranscriptCue> out;
  size_t at = 0;
  for (const TranscriptWord& word : segment.words) {
    const size_t found = segment.text.find(word.word, at);
    if (word.word.empty() || found == std::string::npos) return {};
    if (!out.empty()) out.back().text += segment.text.substr(at, found - at);
    out.push_back({word.start_s, word.end_s, word.word});
    at = found + word.word.size();
  }
  if (!out.empty()) out.back().text += segment.text.substr(at);
  return out;
}

std::vector<TranscriptCue> cues_of(const Transcript& transcript) {
  std::vector<TranscriptCue> out;
  for (const TranscriptSegment& segment : transcript.segments) {
    const auto words = is_long(segment) ? words_of_text(segment) : std::vector<TranscriptCue>();
    if (words.empty()) {
      out.push_back({segment.start_s, segment.end_s, segment.text});
      continue;
    }
    bool begin = true;
    size_t columns = 0;
    for (const TranscriptCue& word : words) {
      const size_t more = display_columns(word.text);
      if (begin || columns + more > kCueColumns || word.end_s - out.back().start_s > kCueS) {
        out.push_back(word);
        columns = more;
      } else {
        out.back().text += word.text;
        out.back().end_s = word.end_s;
        columns += more;
      }
      begin = false;
    }
  }
  for (TranscriptCue& cue : out) {
    cue.text = without_blanks(cue.text);
    for (char& c : cue.text) c = c == '\n' ? ' ' : c;  // an empty line would end the cue
  }
  std::erase_if(out, [](const TranscriptCue& cue) { return cue.text.empty(); });
  return out;
}

/// Formats a time as "00:01:02,345".
std::string cue_time(double seconds, char point) {
  const auto ms = static_cast<long long>(std::llround(seconds * 1000));
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), "%02lld:%02lld:%02lld%c%03lld", ms / 3'600'000,
                ms / 60'000 % 60, ms / 1000 % 60, point, ms % 1000);
  return out.data();
}

/// Rounds times and probabilities for output.
double rounded(double value, double steps = 1000) { return std::round(value * steps) / steps; }

std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json duration_usage(const Transcript& transcript) {
  return {{"type", "duration"}, {"seconds", rounded(transcript.duration_s)}};
}

ordered_json usage_object(const Transcript& transcript) {
  if (transcript.completion_tokens > 0) {
    return {{"type", "tokens"},
            {"input_tokens", transcript.prompt_tokens},
            {"output_tokens", transcript.completion_tokens},
            {"total_tokens", transcript.prompt_tokens + transcript.completion_tokens}};
  }
  return duration_usage(transcript);
}

ordered_json logprobs_object(std::span<const ScoredPiece> pieces) {
  ordered_json out = ordered_json::array();
  for (const ScoredPiece& piece : pieces) {
    out.push_back({{"token", utf8_repair(piece.bytes)},
                   {"logprob", rounded(piece.logprob, 1e6)},
                   {"bytes", std::vector<uint8_t>(piece.bytes.begin(), piece.bytes.end())}});
  }
  return out;
}

}  // namespace

std::string transcript_srt(const Transcript& transcript) {
  std::string out;
  int number = 0;
  for (const TranscriptCue& cue : cues_of(transcript)) {
    out += std::to_string(++number) + "\n" + cue_time(cue.start_s, ',') + " --> " +
           cue_time(cue.end_s, ',') + "\n" + cue.text + "\n\n";
  }
  return out;
}

std::string transcript_vtt(const Transcript& transcript) {
  std::string out = "WEBVTT\n\n";
  for (const TranscriptCue& cue : cues_of(transcript)) {
    std::string text;
    for (const char c : cue.text) {  // escapes the characters that WebVTT reserves
      text += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    out += cue_time(cue.start_s, '.') + " --> " + cue_time(cue.end_s, '.') + "\n" + text + "\n\n";
  }
  return out;
}

std::string transcript_verbose_json(const Transcript& transcript, const VerboseParts& parts) {
  ordered_json out = {{"task", parts.translated ? "translate" : "transcribe"},
                      {"language", language_name(transcript.language)},
                      {"duration", rounded(transcript.duration_s)},
                      {"text", transcript.text()}};
  ordered_json segments = ordered_json::array(), words = ordered_json::array();
  for (const TranscriptSegment& segment : transcript.segments) {
    segments.push_back(
        {{"id", segments.size()},
         {"seek", std::llround(100 * (segment.window_s < 0 ? segment.start_s : segment.window_s))},
         {"start", rounded(segment.start_s)},
         {"end", rounded(segment.end_s)},
         {"text", segment.text},
         {"tokens", segment.tokens},
         {"temperature", rounded(segment.temperature)},
         {"avg_logprob", rounded(segment.avg_logprob, 1e6)},
         {"compression_ratio", rounded(segment.compression_ratio, 1e6)},
         {"no_speech_prob", rounded(segment.no_speech_prob, 1e6)}});
    for (const TranscriptWord& word : segment.words) {
      words.push_back({{"word", word.word},
                       {"start", rounded(word.start_s)},
                       {"end", rounded(word.end_s)},
                       {"probability", rounded(word.probability, 1e6)}});
    }
  }
  if (parts.segments) out["segments"] = std::move(segments);
  if (parts.words) out["words"] = std::move(words);
  out["usage"] = duration_usage(transcript);
  return dumped(out);
}

std::string transcript_json(const Transcript& transcript, bool scores) {
  ordered_json out = {{"text", transcript.text()}};
  if (scores) out["logprobs"] = logprobs_object(pieces_of(transcript));
  out["usage"] = usage_object(transcript);
  return dumped(out);
}

std::string logprobs_json(std::span<const ScoredPiece> pieces) {
  return dumped(logprobs_object(pieces));
}

std::vector<ScoredPiece> pieces_of(const Transcript& transcript) {
  std::vector<ScoredPiece> out;
  for (const TranscriptSegment& segment : transcript.segments)
    out.insert(out.end(), segment.pieces.begin(), segment.pieces.end());
  return out;
}

std::string usage_json(const Transcript& transcript) { return dumped(usage_object(transcript)); }

}  // namespace syrinx
