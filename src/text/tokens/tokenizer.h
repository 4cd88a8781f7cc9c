// Converts text to the ids of a BPE vocabulary of bytes or characters, and back, exactly as the
// `tokenizers` library does with the same files. Const after loading and safe to use from many
// threads; copies share the tables. Text may be any bytes: invalid UTF-8 becomes U+FFFD.
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

/// A tokenizer. Invalid files throw a LoadError that names file and entry. So do features that
/// cannot be reproduced exactly, such as other models or other normalizers.
class Tokenizer {
 public:
  /// Loads a model's directory: tokenizer.json, or else vocab.json and merges.txt with
  /// tokenizer_config.json. `extra` tokens are added as by add_tokens(): a token without an id gets
  /// the id of an equal token, or the next free id.
  static Tokenizer load(const std::string& directory, std::vector<AddedToken> extra = {});
  static Tokenizer from_json(const std::string& path, std::vector<AddedToken> extra = {});
  /// Loads the text of a tokenizer.json; `path` is a name for messages.
  static Tokenizer parse_json(std::string_view json, const std::string& path);
  /// Loads vocab.json and merges.txt. `config` may be empty. The pattern is Qwen2's unless the
  /// config names GPT-2's.
  static Tokenizer from_vocab(const std::string& vocab, const std::string& merges,
                              const std::string& config, std::vector<AddedToken> extra = {});

  /// Loads tiktoken's ranks. `pattern` cuts texts; `config` is tokenizer_config.json with added
  /// tokens, or empty. `extra` tokens have ids of their own.
  static Tokenizer from_tiktoken(const std::string& ranks, const std::string& pattern,
                                 const std::string& config, std::vector<AddedToken> extra = {});

  /// Makes a tokenizer: ranks[i] has the bytes of the token with rank i. `path`: name for messages.
  static Tokenizer from_ranks(std::vector<std::string> ranks, const std::string& path,
                              const std::string& pattern, std::vector<AddedToken> extra);

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts);

  /// Returns the ids of a text, without the template's prefix and suffix. `specials`: special
  /// tokens written in the text become their ids. Pass false for text from clients.
  std::vector<int32_t> encode(std::string_view text, bool specials = true) const;
  /// Returns the ids of a client's text, in which each section of `own`, in order, becomes its id,
  /// or is removed if the id is negative. Ignores a section that begins within an earlier section.
  std::vector<int32_t> encode_around(std::string_view text, std::span<const Section> own) const;

  /// Returns the text of ids; skips unknown ids and, if `skip_special`, special tokens.
  std::string decode(std::span<const int32_t> ids, bool skip_special = false) const;

  /// Returns the bytes of an id, possibly only a part of a character; empty for an unknown id.
  std::string bytes(int32_t id) const;
  /// Returns whether the vocabulary spells missing characters by tokens for bytes. A byte that does
  /// not form a character becomes U+FFFD in the text.
  bool spells_bytes() const;
  /// Returns whether decode() removes a space at the beginning of a text.
  bool drops_blank() const;
  /// Returns the special tokens in a text, from left to right.
  std::vector<Section> specials_in(std::string_view text) const;
  /// Returns where an incomplete special token at the end of the text begins; the text's size if
  /// the text does not end with one.
  size_t special_begun(std::string_view text) const;

  /// Returns the id of an added or ordinary token with this text: id("<|im_start|>").
  std::optional<int32_t> id(std::string_view token) const;
  /// Returns the id of a token that must exist; throws a LoadError that names a missing token.
  int32_t need_id(std::string_view token) const;
  bool is_special(int32_t id) const;
  /// Returns the largest id + 1.
  int32_t size() const;
  /// Each returns the ids that the file's template adds, before or after a text. The prefix often
  /// marks the beginning of a text.
  const std::vector<int32_t>& prefix() const;
  const std::vector<int32_t>& suffix() const;

 private:
  friend class StreamEncoder;
  std::shared_ptr<const TokenizerParts> parts_;
};

/// Encodes a text that arrives in pieces, which may end anywhere, also within a character. All
/// returned ids together equal the ids of encode() for the whole text. Text whose ids could still
/// change waits, usually the last word. Not thread-safe.
class StreamEncoder {
 public:
  explicit StreamEncoder(Tokenizer tokenizer, bool specials = true);

  /// Appends to `out` the ids that have become certain.
  void push(std::string_view text, std::vector<int32_t>& out);
  /// Appends the rest; the encoder is then ready for another text.
  void finish(std::vector<int32_t>& out);
  /// Returns whether ids can be certain before finish() with this tokenizer's rules.
  bool incremental() const { return incremental_; }

 private:
  void normalize_plain(bool closed);
  void encode_open(std::vector<int32_t>& out);
  void close(std::vector<int32_t>& out);

  Tokenizer tokenizer_;
  bool specials_, incremental_;
  std::string bytes_;  // the beginning of a character whose other bytes have not arrived
  std::string raw_;    // text that may contain an added token, or the beginning of one
  std::string plain_;  // plain text; its last characters may combine with following characters
  std::string ready_;  // normalized text; its last piece may grow
};

}  // namespace syrinx
