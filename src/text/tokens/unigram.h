// Converts text to the ids of a unigram vocabulary and back, exactly as sentencepiece does, from
// its tokenizer.model or a tokenizer.json. Names of special tokens in a text are plain text. Const
// after loading; thread-safe; copies share the tables. Text may be any bytes: invalid UTF-8 becomes
// U+FFFD.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

struct UnigramTables;

/// A unigram tokenizer. Faults of files are LoadErrors that name file and entry.
class Unigram {
 public:
  /// Loads tokenizer.model of a directory, or else tokenizer.json.
  static Unigram load(const std::string& directory);
  static Unigram from_model(const std::string& path);
  static Unigram from_json(const std::string& path);
  /// Makes a tokenizer for random weights without files: the blank and the printable ASCII
  /// characters, 97 ids.
  static Unigram characters();

  std::vector<int32_t> encode(std::string_view text) const;
  /// Returns the text of ids, without the blank that encode() puts before the text.
  std::string decode(std::span<const int32_t> ids) const;
  /// Returns the bytes of one id, for text that is output id by id. The first id of a word begins
  /// with a blank; one id may be a part of a character. Empty for control tokens and unknown ids.
  std::string bytes(int32_t id) const;
  /// Returns the largest id plus one.
  int32_t size() const;

 private:
  explicit Unigram(std::shared_ptr<const UnigramTables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const UnigramTables> tables_;
};

}  // namespace syrinx
