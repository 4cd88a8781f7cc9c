#include "ears/recogniser.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMaxPromptBytes = 8192;
constexpr size_t kMaxTemperatures = 16;

}  // namespace

std::string Transcript::text() const {
  std::string out = whole;
  if (out.empty()) {
    for (const TranscriptSegment& segment : segments) out += segment.text;
  }
  const size_t begin = out.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return {};
  return out.substr(begin, out.find_last_not_of(" \t\n") + 1 - begin);
}

Status check_listen(const RecogniserInfo& info, const ListenOptions& options) {
  const auto refuse = [](ErrorCode code, std::string message, const char* param) {
    return Error{code, std::move(message), param};
  };
  std::string known;
  for (const std::string& each : info.languages) known += (known.empty() ? "" : ", ") + each;
  if (!options.language.empty() && !info.languages.empty() &&
      std::find(info.languages.begin(), info.languages.end(), options.language) ==
          info.languages.end()) {
    return refuse(ErrorCode::kUnsupported,
                  concat("'", info.name, "' does not support the language '",
                         options.language.substr(0, 40), "'; it supports ", known, "."),
                  "language");
  }
  if (options.scores && !info.scores) {
    return refuse(ErrorCode::kUnsupported,
                  concat("'", info.name, "' does not report log-probabilities of tokens."),
                  "include");
  }
  if (options.translate && !info.translates) {
    return refuse(ErrorCode::kUnsupported, concat("'", info.name, "' cannot translate."), "model");
  }
  if (options.prompt.size() > kMaxPromptBytes) {
    return refuse(ErrorCode::kInvalid,
                  concat("'prompt' has ", options.prompt.size(), " bytes; at most ",
                         kMaxPromptBytes, " are accepted."),
                  "prompt");
  }
  if (options.temperatures.size() > kMaxTemperatures ||
      std::any_of(options.temperatures.begin(), options.temperatures.end(),
                  [](float t) { return !(t >= 0 && t <= 1); })) {
    return refuse(ErrorCode::kInvalid, "'temperature' must be a number from 0 to 1.",
                  "temperature");
  }
  return ok_status();
}

}  // namespace syrinx
