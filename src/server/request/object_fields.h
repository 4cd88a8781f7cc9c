// The one reader of the fields of what clients send: bodies of speech and events of the Realtime
// API as nlohmann's JSON, bodies of chats as values of templates, which keep the order of keys. The
// first fault is thrown as an ApiError that names the field by its path; the code that parses a
// body or an event catches it, and nothing of it leaves that room. Borrows the object. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"
#include "server/request/fields.h"
#include "text/jinja/value.h"

namespace syrinx {

/// `Json` is JsonIn or jinja::Value. A field that is null counts as absent, except in has().
template <typename Json>
class ObjectFields {
 public:
  using List = std::vector<Json>;

  /// `object` is an object. `scope` stands before the names in messages: "session.audio.".
  explicit ObjectFields(const Json& object, std::string scope = "")
      : object_(&object), scope_(std::move(scope)) {}
  /// The fields of the value at `path`, which must be an object.
  static ObjectFields of(const Json& value, const std::string& path);

  std::string path(std::string_view name) const { return scope_ + std::string(name); }
  const Json& json() const { return *object_; }
  /// Whether the field is there, null included.
  bool has(std::string_view name) const;
  /// Null when the field is absent or null.
  const Json* find(std::string_view name) const;

  std::optional<std::string> text(std::string_view name) const;
  std::string need_text(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  /// A number in [low, high].
  std::optional<double> number(std::string_view name, double low, double high) const;
  /// An integer in [low, high], 3.0 included; the bounds are within 2^53.
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;
  int64_t need_integer(std::string_view name, int64_t low, int64_t high) const;
  /// An integer of 64 bits, signed or not; -1 is the largest one.
  std::optional<uint64_t> bits(std::string_view name) const;
  /// A text that is one of `choices`.
  std::optional<std::string> choice(std::string_view name,
                                    std::initializer_list<std::string_view> choices) const {
    return choice(name, std::span(choices.begin(), choices.size()));
  }
  std::optional<std::string> choice(std::string_view name,
                                    std::span<const std::string_view> choices) const;
  std::optional<ObjectFields> object(std::string_view name) const;
  ObjectFields need_object(std::string_view name) const;
  const List* list(std::string_view name) const;

  [[noreturn]] void refuse(std::string_view name, std::string message,
                           const char* code = "invalid_value") const;
  /// The same for what is well-formed, but cannot be honoured.
  [[noreturn]] void unsupported(std::string_view name, std::string message) const {
    refuse(name, std::move(message), "unsupported_value");
  }
  [[noreturn]] void missing(std::string_view name) const;
  /// `want`: "a string".
  [[noreturn]] void wrong_type(std::string_view name, std::string_view want, const Json& got) const;

 private:
  const Json* object_;
  std::string scope_;
};

extern template class ObjectFields<JsonIn>;
extern template class ObjectFields<jinja::Value>;

using JsonFields = ObjectFields<JsonIn>;
using ChatFields = ObjectFields<jinja::Value>;

}  // namespace syrinx
