// Byte-pair encoding of single pieces of text. The symbols are bytes, with a vocabulary already
// converted from GPT-2's byte alphabet, or characters, as in sentencepiece. Merges the pair of
// lowest rank first, the leftmost among equals, in O(n log n). Const after construction, so
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace syrinx {

/// A merge of two tokens, by their ids.
struct BpeMerge {
  int32_t left, right, result;
};

/// The parts of a tokenizer model.
struct BpeTables {
  std::vector<std::string> bytes;  ///< bytes of each id; empty for unused ids
  std::vector<bool> reachable;     ///< whether text can become this id
  std::vector<BpeMerge> merges;    ///< sorted by rank; of equal pairs, the last counts
  bool rank_is_result = false;     ///< as in tiktoken: a merge's rank is the id of its result
  bool ignore_merges = false;      ///< a piece that is itself a token is not merged
  int32_t unknown = -1;            ///< id for bytes without a token; < 0: the bytes are dropped
  bool fuse_unknown = false;       ///< whether a run of unknown bytes becomes one unknown id
  /// Pieces begin as characters instead of bytes. A character without a token becomes the tokens of
  /// its bytes, or the unknown id if one of these tokens is missing (-1).
  bool characters = false;
  std::array<int32_t, 256> byte_tokens = {};
};

/// Encodes with the merges and the vocabulary of one tokenizer.
class Bpe {
 public:
  explicit Bpe(BpeTables tables);

  /// Appends the ids of one piece.
  void encode(std::string_view piece, std::vector<int32_t>& out) const;

  int32_t size() const { return static_cast<int32_t>(tables_.bytes.size()); }
  /// Returns the bytes of an id; "" for an unknown id.
  std::string_view bytes(int32_t id) const;
  /// Returns the token with exactly these bytes; -1 if no token has them.
  int32_t find(std::string_view bytes) const;

  Bpe(Bpe&&) = default;

 private:
  struct Entry {
    uint64_t pair = ~0ull;  // left and right id; all ones: unused
    int32_t rank = 0, result = 0;
  };
  struct Symbol {
    int32_t id, before, after;
  };
  const Entry* merge_of(int32_t left, int32_t right) const;
  void start(std::string_view piece, std::vector<Symbol>& symbols) const;
  static void add_symbol(int32_t id, std::vector<Symbol>& symbols);
  /// Adds the tokens of all bytes; if one byte has no token, adds nothing and returns false.
  bool add_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const;
  void merge(std::vector<Symbol>& symbols) const;

  BpeTables tables_;
  std::vector<Entry> entries_;  // hash table with open addressing; its size is a power of two
  std::unordered_map<std::string_view, int32_t> ids_;
  int32_t byte_ids_[256];
};

/// Returns GPT-2's alphabet: the code point for each byte in vocabularies. All 256 code points
/// differ.
std::vector<char32_t> byte_alphabet();

}  // namespace syrinx
