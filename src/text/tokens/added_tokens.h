// Tokens that are cut out of a text before anything else: special tokens and tokens added to a
// vocabulary later. At each place the longest wins. Const once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// One token with the flags of tokenizer.json.
struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = true;
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes the spaces before it along
  bool rstrip = false;       ///< takes the spaces after it along
  bool normalized = false;   ///< is looked for in the normalized text
};

/// A stretch of a text: a token, or plain text (id < 0).
struct Section {
  int32_t id;
  size_t begin, end;
};

/// Finds the tokens of a list.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Among tokens with equal contents the last counts; empty contents are left out.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  /// Whether a token asks for what stands before it, which find_final() may not see any more.
  bool looks_behind() const { return looks_behind_; }

  /// The text as sections from left to right, none empty. With `specials` off, special tokens
  /// count as plain text.
  std::vector<Section> find(std::string_view text, bool specials) const;

  /// The same for text that may go on: stops where what follows could change the outcome, and
  /// gives that place in `done`. A plain last section ends there, it is not final by itself.
  std::vector<Section> find_final(std::string_view text, bool specials, size_t& done) const;

  /// Where the end of a text is the beginning of a special token; its size: nowhere.
  size_t special_begun(std::string_view text) const;

 private:
  struct Hit {
    const AddedToken* token = nullptr;  ///< the longest at the place
    bool unfinished = false;            ///< a longer one could come of text that follows
  };
  Hit match(std::string_view text, size_t at) const;
  std::vector<Section> scan(std::string_view text, bool specials, bool more, size_t& done) const;
  std::vector<AddedToken> tokens_;  // sorted by content
  bool first_[256] = {};            // bytes that a token begins with
  bool strips_left_ = false, looks_behind_ = false;
};

}  // namespace syrinx
