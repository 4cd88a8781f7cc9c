#include "link/remote_sequence.h"

#include <utility>

#include "link/calls.h"
#include "link/step_message.h"

namespace syrinx {
namespace {

constexpr size_t kMostNoted = kMostMessage / 2;

Error too_large() {
  return {ErrorCode::kInvalid, "the data is too large to be sent to another process at once"};
}

}  // namespace

RemoteSequence::RemoteSequence(std::unique_ptr<Sequence> here,
                               std::shared_ptr<const std::string> request, size_t most_bytes)
    : here_(std::move(here)), request_(std::move(request)), most_bytes_(most_bytes) {}

RemoteSequence::~RemoteSequence() { leave(); }

void RemoteSequence::leave() {
  if (copy_) copy_->link->close_stream(epoch_, number_, forgotten_ > 0);
  copy_ = nullptr;
}

void RemoteSequence::note(std::string call) {
  bytes_ += call.size();
  calls_.push_back(std::move(call));
}

bool RemoteSequence::settle(const StageCopy& copy, uint64_t epoch, std::string& bytes) {
  if (copy_ != &copy || epoch_ != epoch) {
    const bool again = copy_ != nullptr;
    leave();
    if (forgotten_ > 0) return false;
    copy_ = &copy;
    epoch_ = epoch;
    number_ = copy.link->new_number();
    told_ = 0;
    copy.link->open_stream(again);
    append_open(bytes, {number_, copy.node, *request_});
  }
  for (; told_ < forgotten_ + calls_.size(); ++told_) {
    append_call(bytes, {number_, calls_[told_ - forgotten_]});
  }
  if (bytes_ > most_bytes_) {
    if (forgotten_ == 0) copy.link->bind_stream();
    forgotten_ = told_;
    calls_.clear();
    bytes_ = 0;
  }
  return true;
}

void RemoteSequence::missed(std::span<const int32_t> codes) {
  note(missed_call(codes));
  here_->missed(codes);
}

Verdict RemoteSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  note(advance_call(codes, out.values()));
  return here_->advance(codes, out);
}

Status RemoteSequence::append_text(std::string_view text, bool last) {
  if (text.size() > kMostNoted) return too_large();
  note(text_call(text, last));
  return here_->append_text(text, last);
}

Status RemoteSequence::take(int port, const Frames& frames) {
  std::string call = take_call(port, frames);
  if (call.size() > kMostNoted) return too_large();
  note(std::move(call));
  return here_->take(port, frames);
}

}  // namespace syrinx
