// Surrogate halves of characters beyond U+FFFF. Programs with UTF-16 texts may cut a text between
// the two halves of such a character, and write a half into JSON as "\ud83d", which parsers refuse.
// Free functions and plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx {

/// How a half without its other half is treated.
enum class LoneHalf {
  kReplace,  ///< U+FFFD
  kMark,     ///< three noncharacters, which HalfJoiner reads
};

/// Returns a JSON document in which no escape is half a character. Nothing: there is no such
/// escape, so the document can be parsed unchanged. Other faults are left to the parser.
std::optional<std::string> mend_halves(std::string_view json, LoneHalf lone = LoneHalf::kReplace);

/// Joins the halves of a character that arrive in different pieces of a text.
class HalfJoiner {
 public:
  /// Returns the next piece with joined halves; a half at its end waits for the next piece. Lone
  /// halves become U+FFFD.
  std::string push(std::string_view piece);
  /// Returns the waiting half when no piece follows: U+FFFD or nothing.
  std::string finish();

 private:
  char32_t high_ = 0;  // waiting half; 0: none
};

}  // namespace syrinx
