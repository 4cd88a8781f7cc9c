#include "model/sequence.h"

#include "base/check.h"

namespace syrinx {

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kRepetition:
      return "repetition";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "unknown";
}

void Sequence::rows(int, bool, InputRows&) const {
  SYRINX_CHECK(false, "this stage needs rows, which the sequence does not describe");
}

Status Sequence::append_text(std::string_view, bool) {
  return Error{ErrorCode::kUnsupported, "this model needs the whole text at once, not in pieces",
               "text"};
}

Status Sequence::take(int port, const Frames&) {
  return Error{ErrorCode::kInternal, concat("no input accepts frames at port ", port)};
}

}  // namespace syrinx
