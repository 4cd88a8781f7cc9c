// Languages as clients, models and recognisers call them: codes (ISO 639-1, a few of 639-2 and -3),
// tags of BCP 47 with a region, English names. The codes and names are those of OpenAI's API, which
// Whisper was trained on. Free functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// "en" is "english"; a code that is not known stays as it is.
std::string language_name(std::string_view code);
/// The code of what a client calls a language: "en", "EN", "en-US", "eng" or "English"; "auto" is
/// ""; what is not known comes back in small letters.
std::string language_code(std::string_view called);

/// What of `known`, a model's names of languages, is meant by what a client calls one. A region
/// that is not known falls back to the language. Nothing where the language is not among them.
std::optional<std::string> find_language(std::span<const std::string> known,
                                         std::string_view called);

/// Whether the model is to find the language by itself: "" and "auto" in any case.
bool is_any_language(std::string_view called);

}  // namespace syrinx
