// Names of languages of clients, models and recognisers: codes (ISO 639-1, a few of 639-2 and -3),
// tags of BCP 47 with a region, English names. The codes and names are those of OpenAI's API, which
// Whisper's training also used. Thread-safe free functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// Returns "english" for "en"; an unknown code is returned unchanged.
std::string language_name(std::string_view code);
/// Returns the code of a client's name for a language: "en", "EN", "en-US", "eng" or "English".
/// Returns "" for "auto", and an unknown name in small letters.
std::string language_code(std::string_view called);

/// Returns the element of `known`, a model's names of languages, that best fits a client's name:
/// the same region, else no region, else another region. Returns nothing if none fits.
std::optional<std::string> find_language(std::span<const std::string> known,
                                         std::string_view called);

/// Returns whether the model should detect the language: for "" and for "auto" in any case.
bool is_any_language(std::string_view called);

}  // namespace syrinx
