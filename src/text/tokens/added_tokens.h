// Tokens that are cut out of a text before all other steps: special tokens and tokens added to a
// vocabulary later. At each position the longest matching token is cut out. Const once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A token with the flags of tokenizer.json.
struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = true;
  bool single_word = false;  ///< must not be next to a word character
  bool lstrip = false;       ///< includes the spaces before it
  bool rstrip = false;       ///< includes the spaces after it
  bool normalized = false;   ///< whether it is searched in the normalized text
};

/// A section of a text: a token, or plain text if the id is negative.
struct Section {
  int32_t id;
  size_t begin, end;
};

/// Finds the tokens of a list in a text.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Stores the tokens. The last of equal contents counts; tokens with empty contents are ignored.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  /// Returns whether finding a token depends on the text before it. find_final() may lack this
  /// text, because earlier calls have returned it.
  bool looks_behind() const { return looks_behind_; }

  /// Splits the text into sections from left to right; none is empty. If `specials` is false,
  /// special tokens count as plain text.
  std::vector<Section> find(std::string_view text, bool specials) const;

  /// Splits text that may continue, like find(). Stops where the following text could change the
  /// result, and returns that position in `done`. A plain section before `done` may still grow.
  std::vector<Section> find_final(std::string_view text, bool specials, size_t& done) const;

  /// Returns where an incomplete special token at the end of the text begins; text.size() if the
  /// text does not end with one.
  size_t special_begun(std::string_view text) const;

 private:
  struct Hit {
    const AddedToken* token = nullptr;  ///< longest token at the position
    bool unfinished = false;            ///< whether following text could make a longer token
  };
  Hit match(std::string_view text, size_t at) const;
  std::vector<Section> scan(std::string_view text, bool specials, bool more, size_t& done) const;
  std::vector<AddedToken> tokens_;  // sorted by content
  bool first_[256] = {};            // first bytes of all tokens
  bool strips_left_ = false, looks_behind_ = false;
};

}  // namespace syrinx
