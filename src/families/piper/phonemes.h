// Converts text to the ids that a Piper voice reads, as Piper does: the program espeak-ng turns
// clauses into phonemes, each clause's mark follows its phonemes, and a pad follows every phoneme.
// Const; any thread. Source: piper1-gpl:src/piper/phonemize_espeak.py, phoneme_ids.py (behaviour
// only).
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/piper/config.h"
#include "text/saying.h"

namespace syrinx::piper {

constexpr int64_t kMostIds = 4096;  ///< most ids of a sentence

/// A word: bytes [begin, end) of the request's text, and the id at which its sound begins.
struct WordStart {
  int64_t begin = 0, end = 0;
  int32_t id = 0;  ///< index into SpokenText::ids
};

/// A sentence as ids for the voice.
struct SpokenText {
  std::vector<int32_t> ids;
  std::vector<WordStart> words;
  std::set<char32_t> unsaid;  ///< symbols for which the voice has no ids
};

/// A sentence as text. `begin`: offset of its first byte in the request's text.
struct WrittenText {
  std::string text;
  int64_t begin = 0;
  /// Pronunciations of bytes of `text`, in order, without overlap.
  std::vector<Saying> sayings = {};
};

/// A function that returns the phonemes of each clause in IPA, with spaces between words.
using SayClauses = std::function<Result<std::vector<std::string>>(
    const std::vector<std::string>& clauses, const std::string& voice)>;

/// Gets the phonemes from a running espeak-ng process. Returns an Error if espeak-ng is not
/// installed. Takes a millisecond, but a tenth of a second for the first text in a language.
Result<std::vector<std::string>> say_by_espeak(const std::vector<std::string>& clauses,
                                               const std::string& voice);

/// Does the same with a new espeak-ng process, for clauses that the running process failed to read.
Result<std::vector<std::string>> say_by_process(const std::vector<std::string>& clauses,
                                                const std::string& voice);

/// Returns the ids of each sentence; a sentence without known phonemes has no ids. Returns kInvalid
/// for a sentence with more than kMostIds ids.
Result<std::vector<SpokenText>> read_aloud(const PiperConfig& config, const SayClauses& say,
                                           std::span<const WrittenText> sentences);

}  // namespace syrinx::piper
