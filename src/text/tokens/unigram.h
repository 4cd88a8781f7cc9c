// From text to the ids of a unigram vocabulary and back, exactly as sentencepiece does it from its
// tokenizer.model, or from a tokenizer.json of such a vocabulary. Words for special tokens in a
// text are text. Const after load and safe to use from many threads; copies share the tables. Text
// may be any bytes: what is not UTF-8 becomes U+FFFD.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

struct UnigramTables;

/// Loading faults are LoadErrors naming file and entry.
class Unigram {
 public:
  /// From a directory: tokenizer.model, or else tokenizer.json.
  static Unigram load(const std::string& directory);
  static Unigram from_model(const std::string& path);
  static Unigram from_json(const std::string& path);
  /// Random weights need no files: the blank and the printable ASCII characters, 97 ids.
  static Unigram characters();

  std::vector<int32_t> encode(std::string_view text) const;
  /// Without the blank that encode() puts first.
  std::string decode(std::span<const int32_t> ids) const;
  /// One more than the largest id.
  int32_t size() const;

 private:
  explicit Unigram(std::shared_ptr<const UnigramTables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const UnigramTables> tables_;
};

}  // namespace syrinx
