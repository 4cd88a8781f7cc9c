// Halves of characters beyond U+FFFF. Programs that keep texts as UTF-16 cut them between the two
// halves of such a character, and write half of one into JSON as "\ud83d", which no parser takes.
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

/// The text of a JSON document in which no escape is half a character. Nothing when it holds none,
/// so that it can be read as it is; other faults of it stay for the parser.
std::optional<std::string> mend_halves(std::string_view json, LoneHalf lone = LoneHalf::kReplace);

/// Joins the halves of a character that come with different pieces of a text.
class HalfJoiner {
 public:
  /// The next piece with joined halves; a half at its end waits for the next piece. Lone halves
  /// become U+FFFD.
  std::string push(std::string_view piece);
  /// Returns the waiting half when no piece follows: U+FFFD or nothing.
  std::string finish();

 private:
  char32_t high_ = 0;  // half that waits; 0: none
};

}  // namespace syrinx
