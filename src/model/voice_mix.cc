#include "model/voice_mix.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/check.h"
#include "base/number.h"

namespace syrinx {
namespace {

constexpr size_t kMaxShares = 8;
constexpr float kMaxWeight = 1000;

/// Reads "anna(2)" or "anna". Returns nullopt for other texts.
std::optional<NamedShare> parse_share(std::string_view text) {
  text = trimmed(text);
  NamedShare share;
  const size_t open = text.find('(');
  share.name = trimmed(text.substr(0, open));
  if (share.name.empty() || share.name.find(')') != std::string::npos) return {};
  if (open == std::string_view::npos) return share;
  if (text.back() != ')') return {};
  const std::string_view number = trimmed(text.substr(open + 1, text.size() - open - 2));
  if (!parse_number(number, share.weight)) return {};
  if (!(share.weight > 0 && share.weight <= kMaxWeight)) return {};
  return share;
}

}  // namespace

Result<std::vector<NamedShare>> parse_voice_mix(std::string_view text) {
  std::vector<NamedShare> shares;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    const auto share = parse_share(text.substr(begin, end - begin));
    if (!share) {
      return Error{
          ErrorCode::kInvalid,
          concat("a mix of voices is written like 'anna(2)+ben(1)', with weights above 0 "
                 "and up to ",
                 kMaxWeight, "; '", text.substr(begin, end - begin), "' is not a part of a mix"),
          "voice"};
    }
    shares.push_back(*share);
    if (shares.size() > kMaxShares) {
      return Error{ErrorCode::kInvalid, concat("a mix has at most ", kMaxShares, " voices"),
                   "voice"};
    }
    begin = end + 1;
  }
  return shares;
}

}  // namespace syrinx
