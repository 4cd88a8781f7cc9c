#include "text/jinja/token_cursor.h"

#include "base/check.h"
#include "io/file.h"

namespace syrinx::jinja {

std::string TokenCursor::here() const {
  switch (now().kind) {
    case Token::kEnd:
      return "the end of the template";
    case Token::kPrintEnd:
    case Token::kBlockEnd:
      return "the end of the tag";
    default:
      return shown(now().text);
  }
}

void TokenCursor::want_sign(std::string_view sign) {
  if (!skip_sign(sign)) fail(concat("expected '", sign, "', got ", here()));
}

void TokenCursor::want(Token::Kind kind, const char* what) {
  if (!see(kind)) fail(concat("expected ", what, ", got ", here()));
  take();
}

std::string TokenCursor::want_name(const char* what) {
  if (!see(Token::kName)) fail(concat("expected ", what, ", got ", here()));
  return take().text;
}

TokenCursor::Nesting::Nesting(TokenCursor& cursor) : cursor_(cursor) {
  if (++cursor_.nesting_ > kMaxNesting)
    cursor_.fail(concat("is nested more than ", kMaxNesting, " deep"));
}

}  // namespace syrinx::jinja
