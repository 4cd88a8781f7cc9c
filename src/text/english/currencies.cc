#include "text/english/currencies.h"

#include <algorithm>
#include <array>
#include <vector>

#include "text/english/chars.h"
#include "text/english/tables.h"

namespace syrinx::english {
namespace {

struct CurrencySign {
  char32_t code;
  char plain;
};
constexpr std::array kCurrencySigns = std::to_array<CurrencySign>({
    {0xA2, kCent},    {0xA3, kPound},   {0xA5, kYen},     {0xE3F, '\x80'},  {0x20A1, '\x81'},
    {0x20A6, '\x82'}, {0x20A8, kRupee}, {0x20A9, kWon},   {0x20AA, '\x83'}, {0x20AB, '\x84'},
    {0x20AC, kEuro},  {0x20AD, '\x85'}, {0x20AE, '\x86'}, {0x20B1, '\x87'}, {0x20B2, '\x88'},
    {0x20B4, '\x89'}, {0x20B5, '\x8A'}, {0x20B8, '\x8B'}, {0x20B9, kRupee}, {0x20BA, '\x8C'},
    {0x20BC, '\x8D'}, {0x20BD, kRuble}, {0x20BE, '\x8E'}, {0x20BF, '\x8F'}, {0xFFE0, kCent},
    {0xFFE1, kPound}, {0xFFE5, kYen},   {0xFFE6, kWon},   {0x5186, kYen},
});

const std::vector<Currency>& currencies() {
  static const auto kRows = table_rows<Currency>(tables::currencies(), 3, 5, [](const Cells& c) {
    return Currency{c[0], c[1], c[2], c[3], c[4]};
  });
  return kRows;
}

bool is_letter_code(std::string_view sign) { return is_letter(sign.back()); }

}  // namespace

const Currency* leading_currency_of(std::string_view core) {
  const auto it = std::find_if(currencies().begin(), currencies().end(), [&](const Currency& c) {
    if (!core.starts_with(c.sign)) return false;
    const char behind = core.size() > c.sign.size() ? core[c.sign.size()] : ' ';
    return !is_letter_code(c.sign) ||
           (c.sign.size() == 3 && is_digit(behind) && !listed(" PHP COP ", c.sign));  // "COP26"
  });
  return it == currencies().end() ? nullptr : &*it;
}

const Currency* currency_of(std::string_view text) {
  const auto it = std::find_if(currencies().begin(), currencies().end(),
                               [&](const Currency& c) { return text == c.sign; });
  return it == currencies().end() ? nullptr : &*it;
}

char currency_byte(char32_t code) {
  const auto it = std::find_if(kCurrencySigns.begin(), kCurrencySigns.end(),
                               [code](const CurrencySign& s) { return s.code == code; });
  return it == kCurrencySigns.end() ? '\0' : it->plain;
}

}  // namespace syrinx::english
