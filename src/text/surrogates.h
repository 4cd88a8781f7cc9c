// Surrogate halves of characters beyond U+FFFF. Programs with UTF-16 texts may cut a text between
// the two halves of such a character, and write a half into JSON as "\ud83d", which parsers refuse.
// Free functions and plain data; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx {

/// The treatment of a half without its other half.
enum class LoneHalf {
  kReplace,  ///< written as U+FFFD
  kMark,     ///< written as three noncharacters, which HalfJoiner reads
};

/// Returns a JSON document in which no escape is half a character. Returns nothing if no escape
/// needs a change, so the caller parses the original. Other faults are left to the parser.
std::optional<std::string> mend_halves(std::string_view json, LoneHalf lone = LoneHalf::kReplace);

/// Joins the halves of a character that arrive in different pieces of a text.
class HalfJoiner {
 public:
  /// Returns the next piece with joined halves; a half at its end waits for the next piece. Lone
  /// halves become U+FFFD.
  std::string push(std::string_view piece);
  /// Returns U+FFFD for a half that still waits at the end of the text; otherwise "".
  std::string finish();

 private:
  char32_t high_ = 0;  // the waiting half; 0 if no half waits
};

}  // namespace syrinx
