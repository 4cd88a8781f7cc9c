// Text to the ids that a Piper voice reads, as Piper makes them: clauses go to espeak-ng, which is
// a program of its own, each clause's mark stands behind its phonemes, and every phoneme is
// followed by a pad. Const; any thread. Source: piper1-gpl:src/piper/phonemize_espeak.py,
// phoneme_ids.py (behaviour only).
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

constexpr int64_t kMostIds = 4096;  ///< of a sentence

/// Bytes [begin, end) of the request's text begin to sound with an id.
struct WordStart {
  int64_t begin = 0, end = 0;
  int32_t id = 0;  ///< index
};

/// A sentence as it is read.
struct SpokenText {
  std::vector<int32_t> ids;
  std::vector<WordStart> words;
  std::set<char32_t> unsaid;  ///< symbols that the voice has no ids for
};

/// A sentence as it is written; `begin`: its first byte in the request's text.
struct WrittenText {
  std::string text;
  int64_t begin = 0;
  std::vector<Saying> sayings = {};  ///< of `text`, in order, apart
};

/// Phonemes in IPA of each of several clauses, words apart by spaces.
using SayClauses = std::function<Result<std::vector<std::string>>(
    const std::vector<std::string>& clauses, const std::string& voice)>;

/// By an espeak-ng that is kept running; Error: it is not installed. Takes a
/// millisecond, the first time for a language a tenth of a second.
Result<std::vector<std::string>> say_by_espeak(const std::vector<std::string>& clauses,
                                               const std::string& voice);

/// The same by a new process of espeak-ng, where the kept one cannot be used.
Result<std::vector<std::string>> say_by_process(const std::vector<std::string>& clauses,
                                                const std::string& voice);

/// Ids of each sentence; a sentence without a phoneme has no ids. kInvalid: a
/// sentence of more than kMostIds.
Result<std::vector<SpokenText>> read_aloud(const PiperConfig& config, const SayClauses& say,
                                           std::span<const WrittenText> sentences);

}  // namespace syrinx::piper
