#include "families/llm/answer_form.h"

#include <algorithm>
#include <utility>

namespace syrinx::llm {
namespace {

/// Number of masks that are kept. Inside a string most masks equal the previous mask.
constexpr size_t kMostMasks = 4;

std::vector<std::vector<int32_t>> all_beginnings(const std::vector<AnswerForm::One>& all) {
  std::vector<std::vector<int32_t>> out;
  for (const AnswerForm::One& one : all) out.push_back(one.begins);
  return out;
}

}  // namespace

AnswerForm::AnswerForm(std::vector<One> all, std::shared_ptr<const TokenMasks> masks)
    : all_(std::move(all)), masks_(std::move(masks)), beginnings_(all_beginnings(all_)) {
  begin({});
}

void AnswerForm::begin(std::span<const int32_t> said) {
  const auto one = std::find_if(all_.begin(), all_.end(), [&](const One& each) {
    return std::equal(each.begins.begin(), each.begins.end(), said.begin(), said.end());
  });
  if (one == all_.end()) return;
  writing_.emplace(one->grammar, one->closers);
  find_mask();
}

void AnswerForm::find_mask() {
  if (masks_ == nullptr) return;
  const auto made = std::find_if(made_.begin(), made_.end(),
                                 [&](const Mask& mask) { return mask.behind == *writing_; });
  if (made != made_.end()) {
    std::rotate(made, made + 1, made_.end());
    return;
  }
  if (made_.size() == kMostMasks) made_.erase(made_.begin());
  made_.push_back({*writing_, masks_->behind(*writing_)});
}

void AnswerForm::restrict(std::span<const int32_t> said, SampleRule& rule) const {
  if (!writing_) {
    beginnings_.restrict(said, rule);
  } else if (!made_.empty()) {
    rule.mask = made_.back().bits;
  }
}

std::optional<size_t> AnswerForm::take(std::span<const int32_t> said, std::string_view bytes) {
  if (all_.empty()) return std::nullopt;
  if (!writing_) {
    begin(said);
    return std::nullopt;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!writing_->push(static_cast<unsigned char>(bytes[i]))) {  // may fail only without masks
      *this = AnswerForm();
      return std::nullopt;
    }
    if (writing_->done()) return i + 1;
  }
  find_mask();
  return std::nullopt;
}

}  // namespace syrinx::llm
