// How parts of a text are to be said, whatever its writing suggests: what SSML and lexicons ask
// for. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syrinx {

/// The sounds of a word or a few. Empty: none are given.
struct Phones {
  std::string ipa;  ///< with ˈ and ˌ before stressed syllables or vowels
  /// The same in the sounds of US English: small letters, vowels with their stress ("ow1").
  std::vector<std::string> arpabet;
  bool empty() const { return arpabet.empty(); }
};

/// Bytes [begin, end) of a text, whole words.
struct Saying {
  int64_t begin = 0, end = 0;
  std::string words = {};  ///< to be read instead; empty: as written
  Phones phones = {};      ///< for models that take phones; the others say the words
  bool strong = false;     ///< with an accent
};

/// Those of `sayings` that lie in the `size` bytes of a text from `begin` on, moved to them.
std::vector<Saying> within(const std::vector<Saying>& sayings, int64_t begin, int64_t size);
/// Both in order; of those that meet, the first's.
std::vector<Saying> joined(std::vector<Saying> first, std::vector<Saying> second);

/// From byte `begin` of a text on, until the next.
struct Delivery {
  int64_t begin = 0;
  float rate = 1;   ///< times the speed of the request
  float pitch = 0;  ///< semitones above the voice's own
};

/// A place in a text whose time a client asked for.
struct TextMark {
  std::string name;
  int64_t at = 0;  ///< byte
};

}  // namespace syrinx
