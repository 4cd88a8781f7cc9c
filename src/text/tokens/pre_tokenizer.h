// The first steps of a tokenizer: cuts text into pieces that are encoded separately. A chain of
// stages as in tokenizer.json: Split, ByteLevel, Digits. Const after construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/regex.h"

namespace syrinx {

/// What a stage does with the matches of its pattern; the names are those of tokenizer.json.
enum class SplitBehavior : uint8_t {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

/// A stage of the chain. A stage without a pattern does not cut the text.
struct SplitStage {
  std::vector<Regex> pattern;  ///< holds one pattern, or is empty
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;            ///< swaps matches and the parts between them
  bool add_prefix_space = false;  ///< puts a space before a piece that does not begin with one
};

/// GPT-2's pattern, which ByteLevel uses by default.
extern const char* const kGpt2Pattern;
/// Qwen2's pattern, for checkpoints that do not contain it.
extern const char* const kQwen2Pattern;

/// Runs the stages one after another.
class PreTokenizer {
 public:
  explicit PreTokenizer(std::vector<SplitStage> stages);

  /// Returns the pieces of a whole section of text; none is empty.
  std::vector<std::string> split(std::string_view text) const;

  /// Returns the final pieces of text that may continue. `done` returns the number of bytes of
  /// these pieces and of text that a stage removed. The caller must pass the rest again, with the
  /// following text. Returns nothing if splits_early() is false.
  std::vector<std::string> split_final(std::string_view text, size_t& done) const;

  /// Returns whether pieces can be final before the text is complete. Returns false if a stage
  /// merges pieces or looks behind.
  bool splits_early() const;

 private:
  struct Run;
  void apply(size_t stage, std::string_view piece, Run& run) const;
  std::vector<SplitStage> stages_;
};

}  // namespace syrinx
