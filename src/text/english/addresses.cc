// Reads addresses of the web and of mail, telephone numbers, versions, names of files.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

struct SignName {
  char sign;
  std::string name;
};

const std::vector<SignName>& address_signs() {
  static const auto kRows = table_rows<SignName>(tables::address_signs(), 2, 2, [](const Cells& c) {
    return SignName{c[0][0], c[1]};
  });
  return kRows;
}

/// Reads every part as a word, and the signs between the parts by their names.
std::string address_words(std::string_view text, std::string_view silent = {}) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_alnum(text[end])) ++end;
    if (end > at) {
      const std::string_view part = text.substr(at, end - at);
      const bool port = is_digits(part, 4, 4) && at > 0 && text[at - 1] == ':';
      add(out, port ? pair_words(part) : part_words(part));
      at = end;
      continue;
    }
    const char sign = text[at++];
    if (silent.find(sign) != silent.npos) continue;
    const auto known = std::find_if(address_signs().begin(), address_signs().end(),
                                    [sign](const SignName& n) { return n.sign == sign; });
    if (known != address_signs().end()) add(out, known->name);
  }
  return out;
}

/// Reads the last part of a host's name: "com" as a word; spells some others letter by letter.
std::string host_words(std::string_view host) {
  const size_t dot = host.rfind('.');
  if (dot == host.npos || host.size() - dot > 3 || !all(host.substr(dot + 1), is_letter)) {
    return address_words(host);
  }
  const std::string_view top = host.substr(dot + 1);
  const bool word = listed(" me be in it at no so to is us ", lower(top)) && lower(top) != "us";
  std::string out = address_words(host.substr(0, dot));
  add(out, "dot");
  add(out, word || lower(top) == "co" ? lower(top) : letter_names(top));
  return out;
}

bool has_known_top_domain(std::string_view host) {
  const size_t dot = host.rfind('.');
  return dot != host.npos && dot > 0 &&
         listed(word_lists().top_domains, lower(host.substr(dot + 1)));
}

bool is_host(std::string_view host) {
  return std::all_of(host.begin(), host.end(),
                     [](char c) { return is_alnum(c) || c == '.' || c == '-'; });
}

/// Reads a host, a port and a path.
std::string url_words(std::string_view url) {
  if (lower(url.substr(0, 4)) == "www.") url.remove_prefix(4);
  while (!url.empty() && url.back() == '/') url.remove_suffix(1);
  const size_t end = std::min(url.find_first_of("/?#:"), url.size());
  std::string out = is_host(url.substr(0, end)) ? host_words(url.substr(0, end))
                                                : address_words(url.substr(0, end));
  add(out, address_words(url.substr(end)));
  return out;
}

/// Returns whether the text is an IPv4 address like "192.168.0.1", with or without a port or mask.
bool is_ip(std::string_view core) {
  const auto parts = split(core.substr(0, core.find_first_of(":/")), '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view p) {
           return is_digits(p, 1, 3) && value_of(p) < 256;
         });
}

/// Returns the number of digits if `core` has only groups of digits joined by - and .; otherwise 0.
size_t grouped_digits(std::string_view core) {
  size_t digits = 0;
  for (size_t i = 0; i < core.size(); ++i) {
    if (is_digit(core[i])) {
      ++digits;
    } else if ((core[i] != '-' && core[i] != '.') || i == 0 || !is_digit(core[i - 1])) {
      return 0;
    }
  }
  return core.empty() || !is_digit(core.back()) ? 0 : digits;
}

/// Reads groups of digits digit by digit, but the group "800" as "eight hundred".
std::string telephone_words(std::string_view core) {
  std::string out;
  for (size_t at = 0; at < core.size();) {
    const size_t end = std::min(core.find_first_of("-.", at), core.size());
    const std::string_view group = core.substr(at, end - at);
    add(out, group == "800" ? "eight hundred" : digit_words(group));
    at = end + 1;
  }
  return out;
}

bool is_telephone(std::string_view core) {
  const char sign = core.find('-') != core.npos ? '-' : '.';
  const auto parts = split(core, sign);
  if (!std::all_of(parts.begin(), parts.end(), [](auto p) { return is_digits(p, 1, 8); })) {
    return false;
  }
  const auto sizes = [&](std::initializer_list<size_t> want) {
    return parts.size() == want.size() &&
           std::equal(parts.begin(), parts.end(), want.begin(),
                      [](std::string_view p, size_t size) { return p.size() == size; });
  };
  if (sign == '-' && sizes({3, 4})) return true;
  if (sizes({3, 3, 4}) || sizes({1, 3, 3, 4})) return true;
  return sign == '-' && parts.size() > 2 && grouped_digits(core) > 6;
}

}  // namespace

Reading read_address(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  while (core.size() > 1 && core.front() == '<') core.remove_prefix(1);
  while (core.size() > 1 && core.back() == '>') core.remove_suffix(1);
  const std::string small = lower(core.substr(0, 8));
  for (const std::string_view scheme : {"https://", "http://", "ftp://", "mailto:"}) {
    if (small.starts_with(scheme)) return Spoken{url_words(core.substr(scheme.size()))};
  }
  const size_t at = core.find('@');
  if (at != core.npos && at > 0 && core.find('.', at) != core.npos) {
    return Spoken{address_words(core.substr(0, at)) + " at " + host_words(core.substr(at + 1))};
  }
  if (at == 0 && core.size() > 1 && is_alnum(core[1])) return Spoken{address_words(core)};
  if (is_ip(core)) return Spoken{address_words(core)};
  const std::string_view host = core.substr(0, core.find_first_of("/?:"));
  const bool named = host.size() > 3 && is_host(host) && has_known_top_domain(host);
  if (named && is_letter(host[0]) && host.find("..") == host.npos) {
    return Spoken{url_words(core)};
  }
  return {};
}

Reading read_digit_groups(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  // "+1 555 123 4567", "4111 1111 1111 1111"
  const bool plus = core.size() > 1 && core[0] == '+' && grouped_digits(core.substr(1)) > 0;
  const bool four = is_digits(core, 4, 4);
  if (plus || four) {
    size_t used = 1, digits = core.size();
    std::string all_digits(core.substr(plus ? 1 : 0));
    while (i + used < tokens.size() && used < 8 && tokens[i + used - 1].close == 0) {
      const std::string_view next = tokens.core(i + used);
      if (four ? !is_digits(next, 4, 4) : grouped_digits(next) == 0) break;
      all_digits += '-' + std::string(next);
      digits += next.size();
      ++used;
    }
    if (digits > 7 && (plus || used > 2)) {
      return Spoken{(plus ? "plus " : "") + telephone_words(all_digits), used};
    }
  }
  if (core == "1" && is_digits(tokens.after(i), 3, 3) && is_digits(tokens.after(i + 1), 3, 3) &&
      is_digits(tokens.after(i + 2), 4, 4)) {  // "1 800 555 1234"
    const std::string groups =
        concat("1-", tokens.core(i + 1), "-", tokens.core(i + 2), "-", tokens.core(i + 3));
    return Spoken{telephone_words(groups), 4};
  }
  // "(555) 123-4567"
  const Token& token = tokens[i];
  if (is_digits(core, 3, 3) && token.opens && token.closes && is_telephone(tokens.core(i + 1))) {
    return Spoken{telephone_words(core) + ' ' + telephone_words(tokens.core(i + 1)), 2};
  }
  if (is_telephone(core)) return Spoken{telephone_words(core)};
  return {};
}

Reading read_dotted(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  // Versions: "v2.1.3", "1.0.0-rc1".
  const bool marked = core.size() > 1 && (core[0] == 'v' || core[0] == 'V') && is_digit(core[1]);
  const std::string_view numbers = marked ? core.substr(1) : core;
  const size_t end = std::min(numbers.find_first_not_of("0123456789."), numbers.size());
  const auto dots =
      std::count(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(end), '.');
  const bool version =
      (marked || dots > 1) && is_digit(numbers[0]) && grouped_digits(numbers.substr(0, end)) > 0;
  if (version && (end == numbers.size() || numbers[end] == '-' || numbers[end] == '+')) {
    const bool named = !marked || lower(tokens.before(i)) == "version";
    std::string words = named ? "" : "version";
    const auto parts = split(numbers.substr(0, end), '.');
    for (size_t p = 0; p < parts.size(); ++p) {
      if (p > 0) add(words, "point");
      add(words, cardinal_words(parts[p]));
    }
    add(words, address_words(numbers.substr(end), "-+"));
    return Spoken{words};
  }
  // Letters with dots: "U.S", "J.R.R".
  const auto parts = split(core, '.');
  const auto single = [](std::string_view p) { return p.size() == 1 && is_letter(p[0]); };
  if (parts.size() > 1 && std::all_of(parts.begin(), parts.end(), single)) {
    return Spoken{letter_names(core)};
  }
  // Names of files and paths: "main.cpp", "/usr/bin", "~/notes.txt", "C:\Users".
  const bool path =
      core.find('/') != core.npos && core.find("//") == core.npos &&
      (core[0] == '/' || core[0] == '~' || core[0] == '.' || core.find('.') != core.npos ||
       std::count(core.begin(), core.end(), '/') > 1) &&
      any(core, is_letter);
  const bool windows = core.size() > 2 && is_letter(core[0]) && core.substr(1, 2) == ":\\";
  const size_t dot = core.rfind('.');
  const bool plain = std::all_of(core.begin(), core.end(), [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_';
  });
  // "the end.Then": a space is missing.
  const bool stop = dot != core.npos && dot + 2 < core.size() && is_upper(core[dot + 1]) &&
                    all(core.substr(dot + 2), is_lower) && all(core.substr(1, dot - 1), is_lower);
  const bool letters = dot != core.npos && dot > 0 && dot + 2 == core.size() &&
                       is_upper(core[dot - 1]) && is_upper(core[dot + 1]);  // "non-U.S."
  const bool file = plain && !stop && !letters && dot != core.npos && dot + 1 < core.size() &&
                    core.size() - dot < 7 && is_letter(core[dot + 1]) &&
                    core.find("..") == core.npos;
  if (path || windows || file) return Spoken{address_words(core, path ? "" : "_-")};
  return {};
}

}  // namespace syrinx::english
