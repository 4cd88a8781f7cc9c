// Byte-pair encoding of single pieces of text: over bytes, the vocabulary of a byte-level model
// with GPT-2's byte alphabet already undone, or over characters, as sentencepiece has it. Merges
// the pair of lowest rank first, leftmost among equals, in O(n log n). Const after construction;
// may be used by many threads.
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
  std::vector<std::string> bytes;  ///< of each id; ids that no entry has are empty
  std::vector<bool> reachable;     ///< whether text can become this id (its bytes stand for text)
  std::vector<BpeMerge> merges;    ///< by rank; of equal pairs the last counts
  bool rank_is_result = false;     ///< tiktoken's: a merge's rank is the id that it makes
  bool ignore_merges = false;      ///< a piece that is a token as a whole is not merged
  int32_t unknown = -1;            ///< for bytes without a token; < 0: such bytes vanish
  bool fuse_unknown = false;       ///< one for a run of them
  /// A piece begins as its characters, not its bytes; one that is not a token becomes the tokens of
  /// its bytes, or unknown where one of them is missing (-1).
  bool characters = false;
  std::array<int32_t, 256> byte_tokens = {};
};

/// The merges and vocabulary of one tokenizer.
class Bpe {
 public:
  explicit Bpe(BpeTables tables);

  /// Appends the ids of one piece.
  void encode(std::string_view piece, std::vector<int32_t>& out) const;

  int32_t size() const { return static_cast<int32_t>(tables_.bytes.size()); }
  /// The bytes of an id; "" for one that does not exist.
  std::string_view bytes(int32_t id) const;
  /// The token with exactly these bytes; -1 when there is none.
  int32_t find(std::string_view bytes) const;

  Bpe(Bpe&&) = default;

 private:
  struct Entry {
    uint64_t pair = ~0ull;  // left and right; all ones: free
    int32_t rank = 0, result = 0;
  };
  struct Symbol {
    int32_t id, before, after;
  };
  const Entry* merge_of(int32_t left, int32_t right) const;
  void start(std::string_view piece, std::vector<Symbol>& symbols) const;
  static void add_symbol(int32_t id, std::vector<Symbol>& symbols);
  /// Says no, and adds nothing, where a byte has no token.
  bool add_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const;
  void merge(std::vector<Symbol>& symbols) const;

  BpeTables tables_;
  std::vector<Entry> entries_;  // open addressing; a power of two
  std::unordered_map<std::string_view, int32_t> ids_;
  int32_t byte_ids_[256];
};

/// GPT-2's alphabet: how each byte is written in vocabularies. The 256 code points are all
/// different.
std::vector<char32_t> byte_alphabet();

}  // namespace syrinx
