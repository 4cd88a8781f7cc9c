// Languages by their codes (ISO 639-1, a few of 639-3) and English names, as OpenAI's API tells
// them: those that Whisper was trained on. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// "en" is "english"; a code that is not known stays as it is.
std::string language_name(std::string_view code);
/// The code of what a client calls a language: "en", "EN", "en-US" or "English"; what is not known
/// comes back in small letters.
std::string language_code(std::string_view called);

}  // namespace syrinx
