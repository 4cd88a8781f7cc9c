#include "text/tokens/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <new>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMaxPattern = 1 << 16;       // bytes
constexpr uint32_t kMatchLimit = 10'000'000;  // steps of one search
constexpr uint32_t kHeapLimitKb = 64 << 10;
constexpr size_t kJitStack = 32 << 10, kJitStackMax = 1 << 20;

// Character sets of Oniguruma, as the content of a character class:
constexpr const char* kSpace =
    "\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";
constexpr const char* kWord = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";
constexpr const char* kHex = "0-9a-fA-F";

/// Rewrites a pattern from left to right.
class Translator {
 public:
  Translator(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        inside_class(c);
      } else {
        if (c == '[')
          open_class();
        else
          out_ += c, ++at_;
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw LoadError(concat(where_, ": pattern ", shown(pattern_), ": ", what));
  }

  void open_class() {
    in_class_ = true;
    out_ += pattern_[at_++];
    if (at_ < pattern_.size() && pattern_[at_] == '^') out_ += pattern_[at_++];
    if (at_ < pattern_.size() && pattern_[at_] == ']') out_ += "\\]", ++at_;
  }

  void inside_class(char c) {
    if (pattern_.compare(at_, 2, "&&") == 0) fail("intersections of classes are not supported");
    if (pattern_.compare(at_, 2, "[:") == 0) {
      const size_t end = pattern_.find(":]", at_);
      if (end == std::string::npos) fail("a class has no end");
      out_.append(pattern_, at_, end + 2 - at_);
      at_ = end + 2;
      return;
    }
    if (c == '[') fail("classes within classes are not supported");
    if (c == ']') in_class_ = false;
    out_ += c, ++at_;
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) fail("ends with a backslash");
    const char kind = pattern_[at_ + 1];
    at_ += 2;
    if (kind == 'u') return code_point();
    const char* set = kind == 's' || kind == 'S'   ? kSpace
                      : kind == 'w' || kind == 'W' ? kWord
                      : kind == 'h' || kind == 'H' ? kHex
                                                   : nullptr;
    if (!set) {
      out_ += {'\\', kind};
      return;
    }
    const bool negated = kind < 'a';
    if (!in_class_) {
      out_ += concat(negated ? "[^" : "[", set, "]");
    } else if (negated) {
      fail(concat("\\", std::string(1, kind), " within a class is not supported"));
    } else {
      out_ += set;
    }
  }

  /// Rewrites \uHHHH as PCRE2's \x{HHHH}.
  void code_point() {
    const std::string digits = pattern_.substr(at_, 4);
    if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      fail("expected four hexadecimal digits after \\u");
    out_ += "\\x{" + digits + "}";
    at_ += 4;
  }

  const std::string& pattern_;
  const std::string& where_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

template <typename T, void (*free_it)(T*)>
struct Freer {
  void operator()(T* object) const { free_it(object); }
};
template <typename T, void (*free_it)(T*)>
using Owned = std::unique_ptr<T, Freer<T, free_it>>;

template <typename T>
T* have(T* object) {
  if (!object) throw std::bad_alloc();
  return object;
}

}  // namespace

std::string translate_pattern(const std::string& pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

struct Regex::Impl {
  Owned<pcre2_code, pcre2_code_free> code;
  bool looks_behind = false;
};

Regex::Regex(const std::string& pattern, const std::string& where) {
  if (pattern.size() > kMaxPattern)
    throw LoadError(concat(where, ": expected a pattern of at most ", kMaxPattern, " bytes, got ",
                           pattern.size()));
  const std::string text = translate_pattern(pattern, where);
  const Owned<pcre2_compile_context, pcre2_compile_context_free> context(
      have(pcre2_compile_context_create(nullptr)));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  size_t offset = 0;
  auto impl = std::make_unique<Impl>();
  impl->code.reset(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE,
      &error, &offset, context.get()));
  if (!impl->code) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    throw LoadError(concat(where, ": pattern ", shown(pattern), ": ",
                           reinterpret_cast<const char*>(message), " at byte ", offset));
  }
  // On a machine without JIT support, PCRE2 interprets the pattern, which is slower.
  pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  uint32_t behind = 0;
  pcre2_pattern_info(impl->code.get(), PCRE2_INFO_MAXLOOKBEHIND, &behind);
  impl->looks_behind = behind > 0;
  impl_ = std::move(impl);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::looks_behind() const { return impl_->looks_behind; }

struct RegexMatcher::Impl {
  const pcre2_code* code = nullptr;
  Owned<pcre2_match_data, pcre2_match_data_free> data;
  Owned<pcre2_match_context, pcre2_match_context_free> context;
  Owned<pcre2_jit_stack, pcre2_jit_stack_free> stack;
};

RegexMatcher::RegexMatcher(const Regex& regex) : impl_(std::make_unique<Impl>()) {
  impl_->code = regex.impl_->code.get();
  impl_->data.reset(have(pcre2_match_data_create_from_pattern(impl_->code, nullptr)));
  impl_->context.reset(have(pcre2_match_context_create(nullptr)));
  impl_->stack.reset(pcre2_jit_stack_create(kJitStack, kJitStackMax, nullptr));
  pcre2_set_match_limit(impl_->context.get(), kMatchLimit);
  pcre2_set_heap_limit(impl_->context.get(), kHeapLimitKb);
  if (impl_->stack) pcre2_jit_stack_assign(impl_->context.get(), nullptr, impl_->stack.get());
}

RegexMatcher::~RegexMatcher() = default;

RegexMatcher::Found RegexMatcher::find(std::string_view text, size_t from, bool more) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() ? text.data() : "");
  while (from <= text.size()) {
    const uint32_t options = PCRE2_NO_UTF_CHECK | (more ? PCRE2_PARTIAL_HARD : 0);
    const auto match = [&](uint32_t extra) {
      return pcre2_match(impl_->code, subject, text.size(), from, options | extra,
                         impl_->data.get(), impl_->context.get());
    };
    int count = match(0);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(PCRE2_NO_JIT);
    if (count == PCRE2_ERROR_NOMATCH) return Found::kNone;
    if (count >= 0 || count == PCRE2_ERROR_PARTIAL) {
      const size_t* places = pcre2_get_ovector_pointer(impl_->data.get());
      begin_ = places[0], end_ = std::max(places[0], places[1]);
      return count >= 0 ? Found::kMatch : Found::kUnfinished;
    }
    // A limit was exceeded. This position stays unmatched, and the search continues after it.
    if (from == text.size()) break;
    from += utf8_at(text, from).size;
  }
  return Found::kNone;
}

}  // namespace syrinx
