// Reading the fields of a client's event. The first fault is thrown as an ApiError, which
// RealtimeSession catches and sends; nothing of it leaves the room. Borrows the object.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"
#include "server/request/fields.h"

namespace syrinx {

class EventFields {
 public:
  /// `scope` stands before the names in messages: "session.audio.".
  explicit EventFields(const JsonIn& object, std::string scope = "")
      : object_(object), scope_(std::move(scope)) {}

  std::string path(const char* name) const { return scope_ + name; }
  /// Whether it is there, null included.
  bool has(const char* name) const { return object_.contains(name); }
  /// Null when the field is absent or null.
  const JsonIn* find(const char* name) const;
  std::optional<std::string> text(const char* name) const;
  std::string need_text(const char* name) const;
  std::optional<bool> flag(const char* name) const;
  std::optional<double> number(const char* name, double low, double high) const;
  std::optional<int64_t> integer(const char* name, int64_t low, int64_t high) const;
  int64_t need_integer(const char* name, int64_t low, int64_t high) const;
  /// A text that is one of `choices`.
  std::optional<std::string> choice(const char* name,
                                    std::initializer_list<std::string_view> choices) const;
  std::optional<EventFields> object(const char* name) const;
  EventFields need_object(const char* name) const;
  const JsonIn* list(const char* name) const;
  const JsonIn& json() const { return object_; }

  [[noreturn]] void refuse(const char* name, const std::string& message,
                           const char* code = "invalid_value") const;
  [[noreturn]] void missing(const char* name) const;

 private:
  [[noreturn]] void wrong_type(const char* name, const char* want) const;
  const JsonIn& object_;
  std::string scope_;
};

}  // namespace syrinx
