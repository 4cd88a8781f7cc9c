// From text to the ids of a BPE vocabulary, of bytes or of characters, and back, exactly as the
// `tokenizers` library does it from the same files. Const after loading and safe to use from many
// threads; copies share the tables. Text may be any bytes: what is no UTF-8 becomes U+FFFD.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/added_tokens.h"

namespace syrinx {

struct TokenizerParts;  // text/tokens/tokenizer_parts.h

/// A tokenizer. Loading faults are LoadErrors naming file and entry; what the files ask for and
/// this cannot do exactly (other models, other normalizers) is one of them.
class Tokenizer {
 public:
  /// From a model's directory: tokenizer.json, or else vocab.json + merges.txt with
  /// tokenizer_config.json. `extra` tokens are added as by add_tokens(): without an id they take
  /// that of an equal token, or the next free one.
  static Tokenizer load(const std::string& directory, std::vector<AddedToken> extra = {});
  static Tokenizer from_json(const std::string& path, std::vector<AddedToken> extra = {});
  /// From the text of a tokenizer.json; `path` is for messages.
  static Tokenizer parse_json(std::string_view json, const std::string& path);
  /// `config` may be empty. The pattern is Qwen2's unless the config says that it is GPT-2's.
  static Tokenizer from_vocab(const std::string& vocab, const std::string& merges,
                              const std::string& config, std::vector<AddedToken> extra = {});

  /// From tiktoken's ranks, cut by `pattern`, with the added tokens of tokenizer_config.json
  /// (`config`, may be empty) and `extra` ones, each with its id.
  static Tokenizer from_tiktoken(const std::string& ranks, const std::string& pattern,
                                 const std::string& config, std::vector<AddedToken> extra = {});

  /// The same from the bytes of each rank; `path` is for messages.
  static Tokenizer from_ranks(std::vector<std::string> ranks, const std::string& path,
                              const std::string& pattern, std::vector<AddedToken> extra);

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts);

  /// Ids of a text, without what the template adds around it. `specials`: whether special tokens
  /// written in the text become their ids. Say no for text of strangers.
  std::vector<int32_t> encode(std::string_view text, bool specials = true) const;

  /// Text of ids; ids that do not exist are skipped, and special tokens when asked.
  std::string decode(std::span<const int32_t> ids, bool skip_special = false) const;

  /// The bytes that an id stands for, which may be a part of a character; none for an id that does
  /// not exist.
  std::string bytes(int32_t id) const;
  /// Whether bytes are tokens of their own where the vocabulary lacks a character: each of them
  /// that is not part of a character is a U+FFFD of the text.
  bool spells_bytes() const;
  /// Whether decode() leaves out a blank that a text begins with.
  bool drops_blank() const;
  /// Where special tokens are written in a text, from left to right.
  std::vector<Section> specials_in(std::string_view text) const;
  /// Where the end of a text is the beginning of a special token; its size: nowhere.
  size_t special_begun(std::string_view text) const;

  /// The id of a token by its text, added or ordinary: id("<|im_start|>").
  std::optional<int32_t> id(std::string_view token) const;
  /// The same for a token that must be there: LoadError naming it.
  int32_t need_id(std::string_view token) const;
  bool is_special(int32_t id) const;
  /// One more than the largest id.
  int32_t size() const;
  /// The ids that the file's template puts before and after a text: often a token for its
  /// beginning.
  const std::vector<int32_t>& prefix() const;
  const std::vector<int32_t>& suffix() const;

 private:
  friend class StreamEncoder;
  std::shared_ptr<const TokenizerParts> parts_;
};

/// Encodes a text that arrives in pieces, which may end anywhere, also within a character. All ids
/// together are those of encode() for the whole text; what later text could still change waits,
/// usually the last word. One thread.
class StreamEncoder {
 public:
  explicit StreamEncoder(Tokenizer tokenizer, bool specials = true);

  /// Appends to `out` what has become certain.
  void push(std::string_view text, std::vector<int32_t>& out);
  /// Appends the rest; the encoder is then ready for another text.
  void finish(std::vector<int32_t>& out);
  /// False when this tokenizer's rules let nothing be certain before finish().
  bool incremental() const { return incremental_; }

 private:
  void normalize_plain(bool closed);
  void encode_open(std::vector<int32_t>& out);
  void close(std::vector<int32_t>& out);

  Tokenizer tokenizer_;
  bool specials_, incremental_;
  std::string bytes_;  // the beginning of a character
  std::string raw_;    // may hold an added token, or the beginning of one
  std::string plain_;  // plain text whose last characters may yet combine with what follows
  std::string ready_;  // normalized text; its last piece may yet grow
};

}  // namespace syrinx
