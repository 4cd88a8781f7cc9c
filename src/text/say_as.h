// SSML's say-as: converts text to words by its kind. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx {

/// Returns words for `text`. `kind`: "characters", "digits", "cardinal", "ordinal", "date", "time",
/// "telephone", ... `format`: the format of a date ("mdy", "ymd", "md", ...). If `english` is
/// false, only spelled text is changed. Returns nothing if the kind is unknown or `text` does not
/// fit the kind; the caller then reads the text as usual.
std::optional<std::string> say_as(std::string_view kind, std::string_view format,
                                  std::string_view text, bool english);

}  // namespace syrinx
