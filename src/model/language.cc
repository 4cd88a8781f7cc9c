#include "model/language.h"

#include <algorithm>

#include "base/check.h"
#include "model/pipeline.h"
#include "text/languages.h"

namespace syrinx {

Result<std::string> read_language(const PipelineInfo& info, std::string_view asked) {
  if (is_any_language(asked)) return std::string();
  if (info.speech.languages.empty()) return std::string(asked);
  if (auto found = find_language(info.speech.languages, asked)) return std::move(*found);
  const std::string shown(asked.substr(0, 40));
  if (finds_language_alone(info)) {
    return Error{ErrorCode::kUnsupported,
                 concat("the model takes the language from the text: \"auto\" is the only value of "
                        "'language', not \"",
                        shown, "\""),
                 "language"};
  }
  std::string names = "auto";
  for (const std::string& each : info.speech.languages) {
    if (!is_any_language(each)) names += ", " + each;
  }
  return Error{ErrorCode::kUnsupported,
               concat("unsupported language \"", shown, "\"; supported are ", names), "language"};
}

bool finds_language_alone(const PipelineInfo& info) {
  return !info.speech.languages.empty() &&
         std::all_of(info.speech.languages.begin(), info.speech.languages.end(),
                     [](const std::string& each) { return is_any_language(each); });
}

}  // namespace syrinx
