#include "text/tokens/pre_tokenizer.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx {
namespace {

/// A part of a text, and whether it counts as a match.
struct Part {
  size_t begin, end;
  bool match;
};

/// Returns the matches of a pattern and the parts between them. If `more` text may follow, stops
/// where the following text could change the result.
std::vector<Part> find_parts(RegexMatcher& matcher, bool invert, std::string_view text, bool more) {
  std::vector<Part> parts;
  size_t covered = 0, from = 0;
  while (from <= text.size() && matcher.find(text, from, more) == RegexMatcher::Found::kMatch) {
    if (matcher.begin() > covered) parts.push_back({covered, matcher.begin(), invert});
    if (matcher.end() > matcher.begin()) parts.push_back({matcher.begin(), matcher.end(), !invert});
    covered = matcher.end();
    from = covered;
    if (matcher.end() == matcher.begin())  // an empty match: continue after the next character
      from += from < text.size() ? utf8_at(text, from).size : 1;
  }
  // While more text may follow, unmatched text at the end may become longer.
  if (!more && covered < text.size()) parts.push_back({covered, text.size(), invert});
  return parts;
}

std::vector<Part> merge_with_previous(const std::vector<Part>& parts) {
  std::vector<Part> out;
  bool after_match = false;
  for (const Part& part : parts) {
    if (part.match && !after_match && !out.empty()) {
      out.back().end = part.end;
    } else {
      out.push_back(part);
    }
    after_match = part.match;
  }
  return out;
}

std::vector<Part> merge_with_next(const std::vector<Part>& parts) {
  std::vector<Part> out;
  bool after_match = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !after_match && !out.empty()) {
      out.back().begin = part->begin;
    } else {
      out.push_back(*part);
    }
    after_match = part->match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Part> merge_alike(const std::vector<Part>& parts) {
  std::vector<Part> out;
  for (const Part& part : parts) {
    if (!out.empty() && out.back().match == part.match) {
      out.back().end = part.end;
    } else {
      out.push_back(part);
    }
  }
  return out;
}

std::vector<Part> arrange(SplitBehavior behavior, std::vector<Part> parts) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return parts;
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.match; });
      return parts;
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(parts);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(parts);
    case SplitBehavior::kContiguous:
      return merge_alike(parts);
  }
  return parts;
}

}  // namespace

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

PreTokenizer::PreTokenizer(std::vector<SplitStage> stages) : stages_(std::move(stages)) {
  // Removes stages that have no effect: they neither cut nor add anything.
  std::erase_if(stages_, [](const SplitStage& stage) {
    return stage.pattern.empty() && !stage.add_prefix_space;
  });
}

/// The matchers of the stages, made once and used for all pieces of a text.
struct PreTokenizer::Run {
  explicit Run(const std::vector<SplitStage>& stages) {
    for (const SplitStage& stage : stages)
      matchers.push_back(stage.pattern.empty() ? nullptr
                                               : std::make_unique<RegexMatcher>(stage.pattern[0]));
  }
  std::vector<std::unique_ptr<RegexMatcher>> matchers;
  std::vector<std::string> out;
};

void PreTokenizer::apply(size_t stage, std::string_view piece, Run& run) const {
  if (piece.empty()) return;
  if (stage == stages_.size()) {
    run.out.emplace_back(piece);
    return;
  }
  const SplitStage& how = stages_[stage];
  std::string prefixed;
  if (how.add_prefix_space && piece[0] != ' ') piece = prefixed = ' ' + std::string(piece);
  if (how.pattern.empty()) return apply(stage + 1, piece, run);
  auto parts = find_parts(*run.matchers[stage], how.invert, piece, false);
  for (const Part& part : arrange(how.behavior, std::move(parts)))
    apply(stage + 1, piece.substr(part.begin, part.end - part.begin), run);
}

std::vector<std::string> PreTokenizer::split(std::string_view text) const {
  Run run(stages_);
  apply(0, text, run);
  return std::move(run.out);
}

bool PreTokenizer::splits_early() const {
  if (stages_.empty() || stages_[0].pattern.empty()) return false;
  const SplitStage& first = stages_[0];
  return !first.add_prefix_space && !first.pattern[0].looks_behind() &&
         (first.behavior == SplitBehavior::kIsolated || first.behavior == SplitBehavior::kRemoved);
}

std::vector<std::string> PreTokenizer::split_final(std::string_view text, size_t& done) const {
  done = 0;
  if (!splits_early() || text.empty()) return {};
  Run run(stages_);
  const SplitStage& first = stages_[0];
  for (const Part& part : find_parts(*run.matchers[0], first.invert, text, true)) {
    done = part.end;
    if (first.behavior == SplitBehavior::kRemoved && part.match) continue;
    apply(1, text.substr(part.begin, part.end - part.begin), run);
  }
  return std::move(run.out);
}

}  // namespace syrinx
