// SSML's say-as: what a writing stands for, as words. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx {

/// "characters", "digits", "cardinal", "ordinal", "date", "time", "telephone", ... `format`: of a
/// date ("mdy", "ymd", "md", ...). `english`: else only what is spelled is changed. Nothing: there
/// is an unknown kind, or `text` does not fit it; then it is read as any text is.
std::optional<std::string> say_as(std::string_view kind, std::string_view format,
                                  std::string_view text, bool english);

}  // namespace syrinx
