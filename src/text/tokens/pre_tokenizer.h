// The first steps of a tokenizer: cutting text into pieces that are encoded one by one. A chain of
// stages as tokenizer.json describes them: Split, ByteLevel, Digits. Const after construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/regex.h"

namespace syrinx {

/// Treatment of the matches of a stage, in the words of tokenizer.json.
enum class SplitBehavior : uint8_t {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

/// One stage. A stage without a pattern leaves pieces whole.
struct SplitStage {
  std::vector<Regex> pattern;  ///< one or none
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;            ///< swaps what counts as a match
  bool add_prefix_space = false;  ///< before cutting, where the piece does not begin with one
};

/// GPT-2's pattern, which ByteLevel uses by itself.
extern const char* const kGpt2Pattern;
/// Qwen2's, for checkpoints that do not write it down.
extern const char* const kQwen2Pattern;

/// The chain.
class PreTokenizer {
 public:
  explicit PreTokenizer(std::vector<SplitStage> stages);

  /// The pieces of a whole section of text, none empty.
  std::vector<std::string> split(std::string_view text) const;

  /// For text that may go on: the pieces that are final, and in `done` the bytes they cover
  /// (together with what a stage removed). What is left must be given again with what follows.
  /// Always nothing unless splits_early().
  std::vector<std::string> split_final(std::string_view text, size_t& done) const;

  /// Whether pieces are certain before the text is whole: not when a stage merges pieces or looks
  /// behind.
  bool splits_early() const;

 private:
  struct Run;
  void apply(size_t stage, std::string_view piece, Run& run) const;
  std::vector<SplitStage> stages_;
};

}  // namespace syrinx
