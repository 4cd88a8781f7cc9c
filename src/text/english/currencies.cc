#include "text/english/currencies.h"

#include <algorithm>
#include <array>

#include "text/english/chars.h"

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
    {0xFFE1, kPound}, {0xFFE5, kYen},   {0xFFE6, kWon},
});

constexpr std::array kCurrencies = std::to_array<Currency>({
    {"US$", "U S dollar", "U S dollars", "cent", "cents"},
    {"AU$", "australian dollar", "australian dollars", "cent", "cents"},
    {"A$", "australian dollar", "australian dollars", "cent", "cents"},
    {"CA$", "canadian dollar", "canadian dollars", "cent", "cents"},
    {"C$", "canadian dollar", "canadian dollars", "cent", "cents"},
    {"NZ$", "new zealand dollar", "new zealand dollars", "cent", "cents"},
    {"HK$", "hong kong dollar", "hong kong dollars", "cent", "cents"},
    {"SG$", "singapore dollar", "singapore dollars", "cent", "cents"},
    {"S$", "singapore dollar", "singapore dollars", "cent", "cents"},
    {"NT$", "new taiwan dollar", "new taiwan dollars", "cent", "cents"},
    {"MX$", "mexican peso", "mexican pesos", "centavo", "centavos"},
    {"R$", "real", "reais", "centavo", "centavos"},
    {"$", "dollar", "dollars", "cent", "cents"},
    {"\x01", "euro", "euros", "cent", "cents"},
    {"\x02", "pound", "pounds", "penny", "pence"},
    {"\x03", "yen", "yen", "sen", "sen"},
    {"\x04", "rupee", "rupees", "paisa", "paise"},
    {"\x05", "won", "won", "jeon", "jeon"},
    {"\x06", "ruble", "rubles", "kopek", "kopeks"},
    {"\x07", "cent", "cents"},
    {"\x80", "baht", "baht", "satang", "satang"},
    {"\x81", "colon", "colones"},
    {"\x82", "naira", "naira", "kobo", "kobo"},
    {"\x83", "shekel", "shekels", "agora", "agorot"},
    {"\x84", "dong", "dong"},
    {"\x85", "kip", "kip"},
    {"\x86", "tugrik", "tugriks"},
    {"\x87", "peso", "pesos", "centavo", "centavos"},
    {"\x88", "guarani", "guaranis"},
    {"\x89", "hryvnia", "hryvnias", "kopek", "kopeks"},
    {"\x8A", "cedi", "cedis", "pesewa", "pesewas"},
    {"\x8B", "tenge", "tenge"},
    {"\x8C", "lira", "lira", "kurus", "kurus"},
    {"\x8D", "manat", "manat"},
    {"\x8E", "lari", "lari", "tetri", "tetri"},
    {"\x8F", "bitcoin", "bitcoins"},
    // Codes from here on.
    {"USD", "U S dollar", "U S dollars", "cent", "cents"},
    {"EUR", "euro", "euros", "cent", "cents"},
    {"GBP", "pound", "pounds", "penny", "pence"},
    {"JPY", "yen", "yen"},
    {"CHF", "swiss franc", "swiss francs"},
    {"CAD", "canadian dollar", "canadian dollars", "cent", "cents"},
    {"AUD", "australian dollar", "australian dollars", "cent", "cents"},
    {"NZD", "new zealand dollar", "new zealand dollars", "cent", "cents"},
    {"HKD", "hong kong dollar", "hong kong dollars", "cent", "cents"},
    {"SGD", "singapore dollar", "singapore dollars", "cent", "cents"},
    {"TWD", "new taiwan dollar", "new taiwan dollars", "cent", "cents"},
    {"INR", "rupee", "rupees", "paisa", "paise"},
    {"CNY", "yuan", "yuan"},
    {"RMB", "yuan", "yuan"},
    {"KRW", "won", "won"},
    {"RUB", "ruble", "rubles", "kopek", "kopeks"},
    {"SEK", "swedish krona", "swedish kronor", "ore", "ore"},
    {"NOK", "norwegian krone", "norwegian kroner", "ore", "ore"},
    {"DKK", "danish krone", "danish kroner", "ore", "ore"},
    {"ISK", "icelandic krona", "icelandic kronur"},
    {"PLN", "zloty", "zlotys", "grosz", "groszy"},
    {"CZK", "czech koruna", "czech korunas", "haler", "halers"},
    {"HUF", "forint", "forints"},
    {"RON", "romanian leu", "romanian lei"},
    {"BGN", "bulgarian lev", "bulgarian leva"},
    {"UAH", "hryvnia", "hryvnias", "kopek", "kopeks"},
    {"TRY", "lira", "lira", "kurus", "kurus"},
    {"ILS", "shekel", "shekels", "agora", "agorot"},
    {"BRL", "real", "reais", "centavo", "centavos"},
    {"MXN", "mexican peso", "mexican pesos", "centavo", "centavos"},
    {"ARS", "argentine peso", "argentine pesos", "centavo", "centavos"},
    {"CLP", "chilean peso", "chilean pesos"},
    {"COP", "colombian peso", "colombian pesos"},
    {"PHP", "philippine peso", "philippine pesos", "centavo", "centavos"},
    {"ZAR", "rand", "rand", "cent", "cents"},
    {"NGN", "naira", "naira", "kobo", "kobo"},
    {"KES", "kenyan shilling", "kenyan shillings", "cent", "cents"},
    {"THB", "baht", "baht", "satang", "satang"},
    {"IDR", "rupiah", "rupiah"},
    {"MYR", "ringgit", "ringgit", "sen", "sen"},
    {"VND", "dong", "dong"},
    {"PKR", "pakistani rupee", "pakistani rupees", "paisa", "paise"},
    {"AED", "dirham", "dirhams", "fils", "fils"},
    {"SAR", "riyal", "riyals", "halala", "halalas"},
    {"EGP", "egyptian pound", "egyptian pounds", "piaster", "piasters"},
    {"BTC", "bitcoin", "bitcoins"},
    {"zl", "zloty", "zlotys", "grosz", "groszy"},
    {"Rs", "rupee", "rupees", "paisa", "paise"},
    {"kr", "krone", "kroner", "ore", "ore"},
    {"Kc", "czech koruna", "czech korunas", "haler", "halers"},
});

bool is_letter_code(std::string_view sign) { return is_letter(sign.back()); }

}  // namespace

const Currency* leading_currency_of(std::string_view core) {
  const auto it = std::find_if(kCurrencies.begin(), kCurrencies.end(), [&](const Currency& c) {
    if (!core.starts_with(c.sign)) return false;
    const char behind = core.size() > c.sign.size() ? core[c.sign.size()] : ' ';
    return !is_letter_code(c.sign) || (c.sign.size() == 3 && is_digit(behind) && c.sign != "PHP");
  });
  return it == kCurrencies.end() ? nullptr : &*it;
}

const Currency* currency_of(std::string_view text) {
  const auto it = std::find_if(kCurrencies.begin(), kCurrencies.end(),
                               [&](const Currency& c) { return text == c.sign; });
  return it == kCurrencies.end() ? nullptr : &*it;
}

char currency_byte(char32_t code) {
  const auto it = std::find_if(kCurrencySigns.begin(), kCurrencySigns.end(),
                               [code](const CurrencySign& s) { return s.code == code; });
  return it == kCurrencySigns.end() ? '\0' : it->plain;
}

}  // namespace syrinx::english
