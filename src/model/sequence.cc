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
  SYRINX_CHECK(false, "the sequence describes no rows, as this stage needs them");
}

Status Sequence::append_text(std::string_view, bool) {
  return Error{ErrorCode::kUnsupported, "this model takes its text at once, not in pieces", "text"};
}

Status Sequence::take(int port, const Frames&) {
  return Error{ErrorCode::kInternal, concat("nothing takes frames at port ", port)};
}

}  // namespace syrinx
