#include "text/tokens/normalizer.h"

#include <utility>

namespace syrinx {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != text.npos; at = hit + from.size())
    out.append(text.substr(at, hit - at)).append(to);
  return out.append(text.substr(at));
}

void Normalizer::add(NormalForm form) {
  if (form != NormalForm::kNone) steps_.push_back({form, {}, {}});
}

void Normalizer::add_prepend(std::string mark) {
  if (!mark.empty()) steps_.push_back({NormalForm::kNone, {}, std::move(mark)});
}

void Normalizer::add_replace(std::string from, std::string to) {
  steps_.push_back({NormalForm::kNone, std::move(from), std::move(to)});
}

NormalForm Normalizer::only_form() const {
  return steps_.size() == 1 ? steps_[0].form : NormalForm::kNone;
}

std::string Normalizer::operator()(std::string_view text) const {
  std::string out(text);
  for (const Step& step : steps_) {
    if (step.form != NormalForm::kNone) {
      out = normalize(out, step.form);
    } else if (step.from.empty()) {
      if (!out.empty()) out.insert(0, step.to);
    } else {
      out = replaced(out, step.from, step.to);
    }
  }
  return out;
}

}  // namespace syrinx
