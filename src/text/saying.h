// Pronunciation of parts of a text, as SSML or a lexicon requires. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syrinx {

/// The sounds of a word or a few words. Empty phones mean that none were given.
struct Phones {
  std::string ipa;  ///< IPA, with ˈ and ˌ before stressed syllables or vowels
  /// The same sounds in US English: small letters, vowels with their stress ("ow1").
  std::vector<std::string> arpabet;
  bool empty() const { return arpabet.empty(); }
};

/// The pronunciation of the bytes [begin, end) of a text, which contain whole words.
struct Saying {
  int64_t begin = 0, end = 0;
  std::string words = {};  ///< words to read instead; empty: the text as written
  Phones phones = {};      ///< for models that take phones; other models read the words
  bool strong = false;     ///< whether the words are stressed
};

/// Returns the sayings in the `size` bytes of a text after `begin`, with offsets from `begin`.
std::vector<Saying> within(const std::vector<Saying>& sayings, int64_t begin, int64_t size);
/// Joins both lists in order. Where two sayings overlap, keeps the saying of `first`.
std::vector<Saying> joined(std::vector<Saying> first, std::vector<Saying> second);

/// The delivery from byte `begin` of a text up to the next Delivery.
struct Delivery {
  int64_t begin = 0;
  float rate = 1;   ///< speed as a factor of the request's speed
  float pitch = 0;  ///< semitones above the voice's pitch
};

/// A position in a text; the client requests the time at which it is spoken.
struct TextMark {
  std::string name;
  int64_t at = 0;  ///< byte offset in the text
};

}  // namespace syrinx
