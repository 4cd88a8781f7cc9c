#include "families/spoken/text_plan.h"

#include "base/check.h"

namespace syrinx {

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

TextPlan::TextPlan(const TextPlanOptions& options, bool open, Encode encode)
    : late_(open),
      most_ids_(options.most_ids),
      queue_(options.segment_bytes, open, options.short_chars),
      encode_(std::move(encode)) {}

Status TextPlan::begin(std::string_view text) {
  if (is_blank(text) && !late_) return nothing_to_say();
  return take(text, !late_);
}

Status TextPlan::append(std::string_view text, bool last) {
  if (!open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  return take(text, last);
}

Status TextPlan::take(std::string_view text, bool last) {
  queue_.push(text, last);
  for (std::string segment = queue_.next(); !segment.empty(); segment = queue_.next()) {
    Result<std::vector<int32_t>> ids = encode_(segment, queue_.begin());
    if (!ids) return ids.error();
    if (most_ids_ > 0 && std::ssize(ids.value()) > most_ids_) {
      return Error{ErrorCode::kInvalid,
                   concat("a sentence has ", ids.value().size(), " ids, at most ", most_ids_,
                          " can be spoken at once"),
                   "input"};
    }
    waiting_.push_back(ids.take());
  }
  return ok_status();
}

std::vector<int32_t> TextPlan::next() {
  std::vector<int32_t> ids = std::move(waiting_.front());
  waiting_.pop_front();
  return ids;
}

}  // namespace syrinx
