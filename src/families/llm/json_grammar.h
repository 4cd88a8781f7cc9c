// JSON that follows a schema, byte by byte: a grammar made from a JSON schema, and the state of a
// text written by this grammar. docs/guide/http.md documents the subset of JSON Schema. Value
// types; no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/jinja/value.h"

namespace syrinx::llm {

/// The allowed JSON texts. Const once made; cheap to copy.
class JsonGrammar {
 public:
  /// Makes the grammar of any JSON object.
  JsonGrammar();
  /// Makes the grammar of a schema whose root is an object. An Error names the unsupported keyword.
  static Result<JsonGrammar> of_schema(const jinja::Value& schema);

  /// The values that are allowed at one place of a text.
  struct Node {
    bool string = false, number = false, integer = false, object = false, array = false;
    std::vector<std::string> literals = {};  ///< allowed literals as JSON texts, sorted
    std::vector<std::string> keys = {};      ///< keys of the object as JSON texts, sorted
    std::vector<int> values = {};            ///< node of each key's value
    uint64_t required = 0;                   ///< bit i: the object must have keys[i]
    int others = -1;                         ///< node of all values if `keys` is empty; -1: no keys
    int items = 0;                           ///< node of the items of an array
    int64_t least = 0, most = INT64_MAX;     ///< bounds of the number of items
  };
  const Node& node(int at) const { return (*nodes_)[static_cast<size_t>(at)]; }
  int root() const { return root_; }

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
  int root_ = 0;
};

/// The state of a text that is being written. The grammar must outlive the state.
class JsonWriting {
 public:
  /// `closers`: closing braces of outer objects that must follow the value.
  explicit JsonWriting(const JsonGrammar& grammar, int closers = 0)
      : grammar_(&grammar), node_(grammar.root()), closers_(closers) {}
  JsonWriting(const JsonWriting& other) { *this = other; }
  JsonWriting& operator=(const JsonWriting& other);
  bool operator==(const JsonWriting& other) const;

  /// Adds the next byte. Returns false if it is not allowed; do not use this state afterwards.
  bool push(unsigned char c);
  /// Returns whether the text is complete. Then only blanks may follow.
  bool done() const { return place_ == Place::kDone; }

 private:
  static constexpr size_t kMostDepth = 24;
  enum class Place : uint8_t {
    kValue,
    kFirstItem,
    kAfter,
    kFirstKey,
    kKey,
    kKeyText,
    kColon,
    kString,
    kNumber,
    kLiteral,
    kClosers,
    kDone
  };
  /// An object or array that is not closed yet.
  struct Frame {
    int node = 0;
    bool object = false;
    uint64_t count = 0;  // the keys so far, as bits; or the number of items
    bool operator==(const Frame&) const = default;
  };

  bool begin_value(unsigned char c);
  bool begin_key(unsigned char c);
  bool after(unsigned char c);
  bool go_on(const std::vector<std::string>& texts, uint64_t skipped, unsigned char c);
  bool in_string(unsigned char c);
  bool in_number(unsigned char c);
  bool in_literal(unsigned char c);
  bool end_value();
  bool close(bool object);
  bool blank(unsigned char c);

  const JsonGrammar* grammar_ = nullptr;
  Place place_ = Place::kValue;
  int node_ = 0;        // node of the value that is expected or being written
  uint8_t blanks_ = 0;  // number of consecutive blanks
  uint8_t part_ = 0;    // current part of a string or number
  uint8_t digits_ = 0;  // digits of a number
  // Range of the next byte of a character; 0: the character is complete.
  uint8_t low_ = 0, high_ = 0;
  uint8_t left_ = 0;  // missing bytes of a character, or missing digits of an escape
  bool key_ = false;  // whether the string is a key
  int closers_ = 0;
  uint32_t text_ = 0, at_ = 0;  // in literals or keys: number of the text, and bytes of it so far
  size_t depth_ = 0;
  std::array<Frame, kMostDepth> frames_{};
};

}  // namespace syrinx::llm
