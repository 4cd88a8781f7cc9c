// Reads numbers that are names, not amounts: codes digit by digit, flights and rooms in pairs,
// national telephone numbers, network addresses, flags of commands.
#include <algorithm>
#include <array>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

/// Reads letters by their names and digits one by one.
std::string spelled(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_digit(c)) add(out, digit_words({&c, 1}));
    if (is_letter(c)) add(out, letter_names({&c, 1}));
    if (c == ':') add(out, "colon");
  }
  return out;
}

std::string small(const Tokens& tokens, size_t i) { return lower(tokens.core(i)); }

/// Returns whether token i follows a word like "code"; colons and dashes may stand between them.
bool is_code(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const bool numbered_here = core[0] == '#';
  bool numbered = numbered_here;
  const bool grouped = core.size() > 4 && core.find('-') != core.npos;
  if (grouped && i > 0 && listed(" order ticket case ", small(tokens, i - 1))) return true;
  for (size_t back = 1; back <= 6 && back <= i; ++back) {
    const std::string word = small(tokens, i - back);
    const bool error = i > back && listed(" error status ", small(tokens, i - back - 1));
    if (listed(word_lists().code_names, word) && !(word == "code" && error)) return true;
    if (listed(word_lists().numbered_things, word) && numbered) return true;
    numbered |= word == "number" || word == "no";
    if (!listed(word_lists().code_links, word)) return false;
    if (back > 1 && tokens[i - back].close == '.' && word != "no") return false;
  }
  return false;
}

/// Returns whether token i is the number of a room, a flight or a similar thing.
bool is_place(const Tokens& tokens, size_t i) {
  if (i == 0) return false;
  const auto close = [&](size_t k) { return tokens[k].close != 0 && tokens[k].close != '.'; };
  if (close(i - 1)) return false;
  std::string word = small(tokens, i - 1);
  if (listed(word_lists().numbered_places, word)) return true;
  const bool two = i > 1 && !close(i - 2);
  if (!two) return false;
  const std::string first = small(tokens, i - 2);
  const bool airline = tokens.core(i - 1).size() == 2 && all(tokens.core(i - 1), is_upper);
  if (airline && (first == "flight" || first == "flights")) return true;
  if (listed(" is number no code ", word)) {
    return listed(" room flight suite route channel gate apartment error status ", first);
  }
  return false;
}

/// Reads the digits of a group of a telephone number: "(0)20", "123-45"; "" for anything else.
std::string group_digits(std::string_view core) {
  std::string out;
  for (const char c : core) {
    if (is_digit(c)) {
      out += c;
    } else if (c != '-' && c != '.' && c != '(' && c != ')' && c != '/') {
      return {};
    }
  }
  return core.empty() || !is_digit(core.back()) ? std::string() : out;
}

/// Reads "020 7946 0958", "030/901820", "+31 (0)20 794 0800".
Reading read_national(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const bool plus = core.size() > 1 && core[0] == '+';
  std::string digits = group_digits(plus ? core.substr(1) : core);
  if (digits.empty() || core.find('.') != core.npos) return {};
  const bool called = i > 0 && listed(word_lists().call_words, small(tokens, i - 1));
  if (!plus && digits[0] != '0' && !called) return {};
  if (!plus && digits.size() > 5 && is_digits(core) && !called) return {};
  size_t used = 1;
  while (used < 8 && i + used < tokens.size() && tokens[i + used - 1].close == 0) {
    const std::string more = group_digits(tokens.core(i + used));
    if (more.empty() || tokens.core(i + used).find('/') != std::string_view::npos) break;
    if (digits.size() + more.size() > 15) break;
    digits += more;
    ++used;
  }
  const bool short_code = called && used == 1 && is_digits(core, 3, 6);
  if (digits.size() < 8 && !short_code) return {};
  if (!plus && used == 1 && is_digits(core) && !called) return {};
  return Spoken{(plus ? "plus " : "") + digit_words(digits), used};
}

/// Reads IPv6 addresses and addresses of network cards: "fe80::1/64", "[::1]:8080".
Reading read_hex_groups(std::string_view core) {
  const bool bracketed = core[0] == '[';
  const size_t end = std::min(core.find(bracketed ? ']' : '/'), core.size());
  const std::string_view address = core.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0));
  std::string_view behind = core.substr(std::min(end + (bracketed ? 1 : 0), core.size()));
  if (address.find(':') == address.npos) return {};
  if (!std::all_of(address.begin(), address.end(), [](char c) { return is_hex(c) || c == ':'; })) {
    return {};
  }
  const auto groups = split(address, ':');
  const bool two_each = std::all_of(groups.begin(), groups.end(),
                                    [](std::string_view group) { return group.size() == 2; });
  const bool short_form = address.find("::") != address.npos && any(address, is_hex);
  const bool long_form = groups.size() == 8 || (groups.size() == 6 && two_each);
  if (!short_form && !long_form) return {};
  std::string words = spelled(address);
  if (!behind.empty()) {
    add(words, behind[0] == ':' ? "colon" : "slash");
    behind.remove_prefix(1);
    if (!is_digits(behind, 1, 5)) return {};
    add(words, behind.size() == 4 ? pair_words(behind) : cardinal_words(behind));
  }
  return Spoken{words};
}

/// Reads hexadecimal digits one by one: "0x80070005", "550e8400-e29b-41d4-a716-446655440000".
Reading read_hex_figures(std::string_view core) {
  const auto is_figure = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_hex);
  };
  if (core.starts_with("0x") && core.size() < 19 && is_figure(core.substr(2))) {
    return Spoken{"zero X " + spelled(core.substr(2))};
  }
  if (core.starts_with("0b") && core.size() < 19 && core.size() > 2 &&
      core.find_first_not_of("01", 2) == core.npos) {
    return Spoken{"zero B " + spelled(core.substr(2))};  // "0b1010"
  }
  const bool colour = core[0] == '#' && (core.size() == 4 || core.size() == 7) &&
                      is_figure(core.substr(1)) && any(core, is_digit) && any(core, is_letter);
  if (colour) return Spoken{"hash " + spelled(core.substr(1))};  // "#ff8800"
  constexpr std::array<size_t, 5> kSizes{8, 4, 4, 4, 12};
  const auto groups = split(core, '-');
  const bool universal =
      std::ranges::equal(groups, kSizes, {}, [](std::string_view group) { return group.size(); }) &&
      std::ranges::all_of(groups, is_figure);
  return universal ? Reading(Spoken{spelled(core)}) : Reading();
}

/// Reads "/" and "~" as paths in "rm -rf /", "cd ~", "it lies in /.", but not in "his / hers".
Reading read_root(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if ((core != "/" && core != "~") || i == 0) return {};
  bool flag = false, command = listed(word_lists().shell_commands, small(tokens, i - 1));
  for (size_t back = 1; back <= 6 && back <= i && !command; ++back) {
    flag |= tokens.core(i - back)[0] == '-';
    command = flag && listed(word_lists().shell_commands, small(tokens, i - back));
  }
  const bool ends = core == "/" && tokens[i].close != 0;
  if (!command && !ends) return {};
  return Spoken{core == "/" ? "slash" : "tilde"};
}

Reading read_flag(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const size_t equals = core.find('=');
  if (core.starts_with("--") && equals != core.npos && core.size() > 3 && is_letter(core[2])) {
    std::string words = "dash dash";
    for (const auto part : split(core.substr(2, equals - 2), '-')) add(words, part_words(part));
    add(words, "equals");
    const std::string_view value = core.substr(equals + 1);
    const bool port = is_digits(value, 4, 4) && core.substr(2, equals - 2).ends_with("port");
    add(words, port               ? pair_words(value)
               : is_number(value) ? number_words(value)
                                  : word_words(value));
    return Spoken{words};
  }
  if (core.size() < 2 || core[0] != '-' || core[1] == '-') return {};
  const std::string_view name = core.substr(1);
  if (!all(name, is_alnum)) return {};
  bool command = false;
  for (size_t back = 1; back <= 6 && back <= i; ++back) {
    command |= listed(word_lists().shell_commands, small(tokens, i - back));
  }
  if (!command) return {};
  if (all(name, is_digit)) return Spoken{"dash " + cardinal_words(name)};
  const size_t letters = std::min(name.find_first_of("0123456789"), name.size());
  const bool word = letters > 3;
  std::string words = "dash";
  add(words, word ? word_words(name.substr(0, letters)) : letter_names(name.substr(0, letters)));
  if (letters < name.size()) add(words, number_words(name.substr(letters)));
  return Spoken{words};
}

/// Reads codes of states that are also words: "Portland, OR 97201", "Gary, IN, is small".
Reading read_state(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), zip = tokens.after(i);
  const bool seat = core.size() == 4 && core[1] == '-' && listed(" R D I ", core.substr(0, 1));
  if (seat && listed(" HI IN LA MA ME OH OK OR PA ", core.substr(2)))
    return Spoken{letter_names(core)};  // "Rep. Jordan (R-OH)"
  const bool place = i > 0 && is_upper(tokens.core(i - 1)[0]);
  if (!place || !listed(" HI IN LA MA ME OH OK OR PA ", core)) return {};
  const bool ends = !tokens.joined(i) && tokens[i].close != '!' && tokens[i].close != '?';
  const bool sigh = listed(" HI OH OK ", core);  // "No, Bob, OK."
  if (tokens[i - 1].close == ',' && ends && !sigh) return Spoken{letter_names(core)};
  const bool plain = is_digits(zip, 5, 5);
  const bool longer = zip.size() == 10 && zip[5] == '-' && is_digits(zip.substr(0, 5));
  if (!plain && !longer) return {};
  return Spoken{letter_names(core) + ' ' + digit_words(zip), 2};
}

/// Reads a type of airliner and its variant: "737-800", "737-MAX", "787-9", "767-300ER",
/// "A320-200".
Reading read_airliner(std::string_view core) {
  const size_t dash = core.find('-');
  if (dash != 3 && dash != 4) return {};
  const std::string_view type = core.substr(0, dash), kind = core.substr(dash + 1);
  const bool boeing = dash == 3 && is_digits(type) && type[0] == '7' && type[2] == '7';
  const bool airbus = dash == 4 && type[0] == 'A' && is_digits(type.substr(1)) && type[1] == '3';
  if (!boeing && !airbus) return {};
  if (kind == "MAX" || kind == "Max") return Spoken{pair_words(type) + " max"};
  const size_t digits = std::min(kind.find_first_not_of("0123456789"), kind.size());
  const std::string_view tail = kind.substr(digits);
  const bool several = tail == "s";
  const bool known_tail = tail.empty() || several || (tail.size() < 4 && all(tail, is_upper));
  if ((digits != 1 && digits != 3 && !(airbus && digits == 4)) || !known_tail) return {};
  std::string words = airbus ? "A " + pair_words(type.substr(1)) : pair_words(type);
  const std::string_view number = kind.substr(0, digits);
  add(words, digits == 1 ? cardinal_words(number) : pair_words(number));
  if (!several) add(words, letter_names(tail));
  return Spoken{several ? words + 's' : words};
}

/// Reads a spelled name: "S-h-a-y-n-e", "A-B-C".
Reading read_spelled_name(std::string_view core) {
  const auto letters = split(core, '-');
  const bool spelled =
      letters.size() > 2 && std::all_of(letters.begin(), letters.end(), [](std::string_view one) {
        return one.size() == 1 && is_letter(one[0]);
      });
  return spelled ? Reading(Spoken{letter_names(core)}) : Reading();
}

/// Reads a code of letters and digits, without the sign before it: "#A-1043-77", "INV-2024-001".
/// Returns "" for other texts.
std::string mixed_code(std::string_view text) {
  size_t digits = 0, letters = 0;
  for (const char c : text) {
    if (c != '-' && !is_alnum(c)) return {};
    digits += is_digit(c) ? 1 : 0;
    letters += is_upper(c) ? 1 : 0;
  }
  const size_t word = std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), text.size());
  const bool said = word > 3 && is_digits(text.substr(word), 1, 3) &&  // "SAVE20"
                    word_words(text.substr(0, word)).find(' ') == std::string::npos;
  const bool code =
      digits > 1 && letters > 0 && !said && !any(text, is_lower) && is_alnum(text.back());
  return code ? spelled(text) : std::string();
}

/// Returns whether a code has a long run of digits, which is not a quantity: "A1234567890".
bool has_long_number(std::string_view code) {
  constexpr size_t kLong = 6;
  size_t digits = 0, most = 0;
  for (const char c : code) most = std::max(most, digits = is_digit(c) ? digits + 1 : 0);
  return most >= kLong;
}

/// Returns whether token i is a number to dial, also after another number: "dial 999 or 112".
bool is_dialed(const Tokens& tokens, size_t i) {
  for (size_t k = i; k > 0;) {
    const std::string word = small(tokens, --k);
    if (listed(" call dial text dialed called ring dials ", word)) return k + 1 < i;
    const bool link = word == "or" || word == "and" || is_digits(word, 3, 3);
    if (!link || (tokens[k].close != 0 && tokens[k].close != ',')) return false;
  }
  return false;
}

/// Reads capitals with a number of three or four digits: "UA857", "A320neo", "U-235".
Reading read_type(std::string_view core) {
  size_t letters = 0;
  while (letters < core.size() && is_upper(core[letters])) ++letters;
  if (letters == 0 || letters > 3) return {};
  const bool hyphen = letters < core.size() && core[letters] == '-';
  const size_t from = letters + (hyphen ? 1 : 0);
  size_t to = from;
  while (to < core.size() && is_digit(core[to])) ++to;
  const std::string_view digits = core.substr(from, to - from), tail = core.substr(to);
  if (digits.size() < 3 || digits.size() > 4 || !(tail.empty() || all(tail, is_lower))) return {};
  std::string words = letter_names(core.substr(0, letters));
  add(words, pair_words(digits));
  if (!tail.empty()) add(words, part_words(tail));
  return Spoken{words};
}

/// Reads the number of a clause: "4(b)(ii)", "501(c)(3)", "401(k)".
Reading read_clause(std::string_view core) {
  const size_t open = core.find('(');
  const std::string_view number = core.substr(0, open);
  if (open == core.npos || !is_digits(number, 1, 4)) return {};
  std::string words = pair_words(number);
  for (std::string_view part : split(core.substr(open + 1), '(')) {
    if (part.ends_with(')')) part.remove_suffix(1);
    const bool small = part.find_first_not_of("ivx") == part.npos;  // "(ii)", but not "(cm)"
    const int numeral = small && part.size() > 1 ? numeral_value(part) : 0;
    if (numeral == 0 && !is_digits(part, 1, 2) && !(part.size() == 1 && is_letter(part[0]))) {
      return {};
    }
    add(words, numeral > 0         ? cardinal_words(std::to_string(numeral))
               : is_digit(part[0]) ? cardinal_words(part)
                                   : letter_names(part));
  }
  return Spoken{words};
}

/// Reads what is dialled on the keys of a telephone: "*67", "#31#".
Reading read_keys(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  const char first = core[0];
  const bool closed = core.size() > 1 && (core.back() == '#' || core.back() == '*');
  if (first != '*' && first != '#') return {};
  const bool called = i > 0 && listed(" dial press enter text call hit ", small(tokens, i - 1));
  if (!closed && !called) return {};
  const std::string_view digits = core.substr(1, core.size() - (closed ? 2 : 1));
  if (!is_digits(digits, 1, 4)) return {};
  const auto key = [](char c) { return c == '*' ? "star " : "pound "; };
  std::string words = key(first) + cardinal_words(digits);
  if (closed) add(words, core.back() == '*' ? "star" : "pound");
  return Spoken{words};
}

/// Reads a note of music: "Bb" in "Bb major".
Reading read_note(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const bool note = core.size() == 2 && core[0] >= 'A' && core[0] <= 'G' && core[1] == 'b';
  if (!note || !has_listed_word(tokens, i, word_lists().music_words)) return {};
  return Spoken{std::string(1, core[0]) + " flat"};
}

/// Returns whether token i is the short number of a service: "text STOP to 40404".
bool is_short_code(const Tokens& tokens, size_t i) {
  if (i < 2 || !is_digits(tokens.core(i), 5, 6) || tokens.core(i - 1) != "to") return false;
  const std::string_view next = tokens.after(i);
  if (all(next, is_lower) && !listed(" now today to for and or within by ", next)) return false;
  return listed(" text sms ", small(tokens, i - 2)) ||
         (i > 2 && listed(" text sms ", small(tokens, i - 3)));
}

}  // namespace

Reading read_code(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (auto reading = read_hex_groups(core)) return reading;
  if (auto reading = read_hex_figures(core)) return reading;
  if (auto reading = read_flag(tokens, i)) return reading;
  if (auto reading = read_root(tokens, i)) return reading;
  if (auto reading = read_airliner(core)) return reading;
  if (auto reading = read_spelled_name(core)) return reading;
  if (auto reading = read_clause(core)) return reading;
  if (auto reading = read_keys(tokens, i)) return reading;
  if (auto reading = read_note(tokens, i)) return reading;
  if (is_digits(core, 3, 3) && is_dialed(tokens, i)) return Spoken{digit_words(core)};
  if (is_short_code(tokens, i)) return Spoken{digit_words(core)};
  if (auto reading = read_national(tokens, i)) return reading;
  if (auto reading = read_type(core)) return reading;
  if (auto reading = read_state(tokens, i)) return reading;
  if (core.starts_with("802.") && core.size() < 10) {  // "802.11ax"
    const size_t end = std::min(core.find_first_not_of("0123456789", 4), core.size());
    const std::string_view tail = core.substr(end);
    if (end > 4 && (tail.empty() ? listed(" ieee wi-fi wifi ", lower(tokens.before(i)))
                                 : tail.size() < 3 && core.substr(4, end - 4) == "11")) {
      std::string words = "eight oh two dot " + cardinal_words(core.substr(4, end - 4));
      add(words, letter_names(tail));
      return Spoken{words};
    }
  }
  if (core == "101" && tokens.before(i).size() > 3 && is_upper(tokens.before(i)[0]) &&
      !is_place(tokens, i) && !listed(" call dial ring text ", small(tokens, i - 1)) &&
      (tokens.after(i).empty() || listed(" is was class course and for in ", tokens.after(i)))) {
    return Spoken{"one oh one"};  // "Psych 101"
  }
  if (core.starts_with("localhost:") && is_digits(core.substr(10), 2, 5)) {
    return Spoken{"localhost colon " + pair_words(core.substr(10))};
  }
  const std::string next = lower(tokens.after(i));
  if (core == "du" && next.starts_with('-')) return Spoken{"D U"};
  const bool product = next.find('^') != next.npos || tokens.after(i + 1) == "=";
  if (core == "x" && is_number(tokens.before(i)) && !next.empty() && is_digit(next[0]) && product) {
    return Spoken{"times"};  // "6.02 x 10^23", "2 x 3 = 6"
  }
  if (small(tokens, i) == "tel" && tokens[i].close == ':') return Spoken{"telephone"};
  if ((core == "ext" || core == "Ext" || core == "apt" || core == "Apt") && i + 1 < tokens.size() &&
      is_digit(tokens.core(i + 1)[0])) {
    return Spoken{lower(core) == "ext" ? "extension" : "apartment"};
  }
  if (core == "401k" || core == "403b") {
    return Spoken{pair_words(core.substr(0, 3)) + ' ' + to_upper(core.back())};
  }
  if ((core == "1s" && next == "and" && tokens.core(i + 2) == "0s") ||
      (core == "0s" && next == "and" && tokens.core(i + 2) == "1s")) {
    return Spoken{core == "1s" ? "ones and zeros" : "zeros and ones", 3};
  }
  const std::string_view figure = core[0] == '#' ? core.substr(1) : core;
  const std::string code = mixed_code(figure);
  if (!code.empty() && (is_code(tokens, i) || has_long_number(figure))) {
    return Spoken{(core[0] == '#' ? "number " : "") + code};
  }
  const std::string digits = group_digits(figure);
  if (digits.empty() || figure.find('/') != figure.npos || figure.find('.') != figure.npos)
    return {};
  const bool plain = digits.size() == figure.size();
  const bool long_enough = digits.size() > 2 || digits[0] == '0';
  const std::string before = i > 0 ? small(tokens, i - 1) : "";
  const bool counted =
      listed(word_lists().code_names, before) && all(next, is_lower) && digits.size() < 3;
  if (long_enough && !counted && is_code(tokens, i)) {
    std::string said = digit_words(digits);
    size_t used = 1;
    while (plain && used < 6 && is_digits(tokens.after(i + used - 1), 3, 4)) {  // "code is 123 456"
      add(said, digit_words(tokens.core(i + used++)));
    }
    return Spoken{(core[0] == '#' ? "number " : "") + said, used};
  }
  const bool longer = digits.size() == 9 && figure.size() == 10 && figure[5] == '-';
  if (longer && i > 0 && tokens.core(i - 1).size() == 2 && all(tokens.core(i - 1), is_upper))
    return Spoken{digit_words(digits)};  // "Austin, TX 78701-2345"
  if (!plain || core[0] == '#') return {};
  if (digits.size() == 5 && i > 0) {  // "Boise, ID 83702", "Beverly Hills, 90210."
    const Token& last = tokens[i - 1];
    const bool state =
        (last.core.size() == 2 && all(last.core, is_upper) && i > 1) || last.core == "D.C";
    const bool ends = i + 1 == tokens.size() && last.close == ',' && is_upper(last.core[0]);
    if (state || ends) return Spoken{digit_words(digits)};
  }
  if (digits.size() != 3 && digits.size() != 4) return {};
  const bool jet = digits.size() == 3 && digits[0] == '7' && digits[2] == '7' &&
                   (before == "a" || before == "the") && !all(next, is_lower);
  const bool form = digits.size() == 4 && listed(" form forms ", next);  // "a 1099 form"
  if (jet || form || is_place(tokens, i)) return Spoken{pair_words(digits)};
  return {};
}

}  // namespace syrinx::english
