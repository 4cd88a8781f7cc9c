#include "families/spoken/text_plan.h"

#include "base/check.h"

namespace syrinx {

TextPlan::TextPlan(const TextPlanOptions& options, bool open, Encode encode, Split split)
    : late_(open),
      most_ids_(options.most_ids),
      queue_(options.segment_bytes, open, options.short_chars),
      encode_(std::move(encode)),
      split_(std::move(split)) {}

Status TextPlan::begin(std::string_view text) {
  if (is_blank(text) && !late_) return nothing_to_say();
  if (const Status taken = take(text, !late_); !taken.ok()) return taken;
  return late_ || !empty() ? ok_status() : nothing_to_say();
}

Status TextPlan::append(std::string_view text, bool last) {
  if (!open()) return text_is_complete();
  return take(text, last);
}

Status TextPlan::take(std::string_view text, bool last) {
  if (split_ && !late_) {
    queue_.push({}, last);
    return add_parts(text, 0, true);
  }
  queue_.push(text, last);
  for (std::string segment = queue_.next(); !segment.empty(); segment = queue_.next()) {
    const Status added =
        split_ ? add_parts(segment, queue_.begin(), false) : add(segment, queue_.begin());
    if (!added.ok()) return added;
  }
  return ok_status();
}

Status TextPlan::add_parts(std::string_view text, int64_t begin, bool whole) {
  for (const std::string& part : split_(text, begin, whole)) {
    if (const Status added = add(part, begin); !added.ok()) return added;
  }
  return ok_status();
}

Status TextPlan::add(std::string_view segment, int64_t begin) {
  Result<std::vector<int32_t>> ids = encode_(segment, begin);
  if (!ids) return ids.error();
  if (most_ids_ > 0 && std::ssize(ids.value()) > most_ids_) {
    return Error{ErrorCode::kInvalid,
                 concat("a sentence has ", ids.value().size(), " ids, at most ", most_ids_,
                        " can be spoken at once"),
                 "input"};
  }
  if (!ids.value().empty()) waiting_.push_back(ids.take());
  return ok_status();
}

std::vector<int32_t> TextPlan::next() {
  std::vector<int32_t> ids = std::move(waiting_.front());
  waiting_.pop_front();
  return ids;
}

}  // namespace syrinx
