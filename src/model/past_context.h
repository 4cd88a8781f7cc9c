// The error for a prompt with more tokens than its model has positions. Servers return it with a
// code of its own, which lets clients shorten a chat. Its text begins like OpenAI's message,
// because many clients search for these words. Free functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {

inline constexpr std::string_view kPastContext = "This model's maximum context length is ";

/// Returns a kInvalid error: a model with `positions` positions received a prompt of `tokens`
/// tokens, and an answer needs at least `answer` more. `param` is "messages", "prompt" or "input".
inline Error past_context(int64_t positions, int64_t tokens, const char* param,
                          int64_t answer = 1) {
  return {ErrorCode::kInvalid,
          concat(kPastContext, positions, " tokens. However, your ", param, " resulted in ", tokens,
                 " tokens, and an answer needs ", answer, " more at least. Please shorten the ",
                 param, "."),
          param};
}

/// Returns whether past_context() made the error.
inline bool is_past_context(const Error& error) {
  return error.code == ErrorCode::kInvalid && error.message.starts_with(kPastContext);
}

}  // namespace syrinx
