#include "families/kokoro/tag_model.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "families/kokoro/written.h"
#include "io/file.h"

namespace syrinx::kokoro {
namespace {

constexpr size_t kMostSource = 64 << 20, kMostStates = 1024;
constexpr double kNoEmission = -3.14e100;
constexpr double kNoStep = -std::numeric_limits<double>::infinity();
constexpr char32_t kLastCut = 0x9fd5;  // last of the characters that the model cuts

/// A part of a dictionary in the source of a Python module.
struct PythonItem {
  enum Kind { kEnd, kState, kCharacter, kNumber, kOther } kind = kEnd;
  char place = 0;        // place in a word, if the item is a state
  std::string_view tag;  // part of speech, if the item is a state
  char32_t character = 0;
  double number = 0;
  int depth = 0;  // number of braces around the item
};

/// Reads states ('B', 'n'), characters '\u4e00' and numbers; skips everything else.
class PythonReader {
 public:
  explicit PythonReader(std::string_view source)
      : rest_(source.substr(std::min(source.find("P={"), source.size()))) {}

  PythonItem next() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '\'') return character();
      if (c == '-' || (c >= '0' && c <= '9')) return number();
      rest_.remove_prefix(1);
      if (c == '{') ++depth_;
      if (c == '}') --depth_;
      if (c == '(' && rest_.starts_with('\'')) return state();
    }
    return item(PythonItem::kEnd);
  }

 private:
  PythonItem item(PythonItem::Kind kind) const {
    PythonItem out;
    out.kind = kind;
    out.depth = depth_;
    return out;
  }
  /// Reads a text between quotes.
  std::optional<std::string_view> quoted() {
    const size_t begin = rest_.find('\'');
    const size_t end = begin == rest_.npos ? rest_.npos : rest_.find('\'', begin + 1);
    if (end == rest_.npos) return std::nullopt;
    const std::string_view out = rest_.substr(begin + 1, end - begin - 1);
    rest_.remove_prefix(end + 1);
    return out;
  }
  PythonItem fault() {
    rest_ = {};
    return item(PythonItem::kOther);
  }
  PythonItem state() {
    const auto place = quoted();
    const auto tag = place ? quoted() : std::nullopt;
    if (!tag || place->size() != 1) return fault();
    PythonItem out = item(PythonItem::kState);
    out.place = place->front();
    out.tag = *tag;
    return out;
  }
  PythonItem character() {
    const auto text = quoted();
    if (!text) return fault();
    PythonItem out = item(PythonItem::kCharacter);
    uint32_t code = 0;
    if (text->starts_with("\\u")) {
      std::from_chars(text->data() + 2, text->data() + text->size(), code, 16);
      out.character = code;
    } else if (const std::u32string plain = utf32_of(*text); plain.size() == 1) {
      out.character = plain[0];
    }
    return out;
  }
  PythonItem number() {
    PythonItem out = item(PythonItem::kNumber);
    return take_number(rest_, out.number) ? out : fault();
  }

  std::string_view rest_;
  int depth_ = 0;
};

uint64_t key_of(char32_t c, size_t state) { return uint64_t{c} << 16 | state; }

}  // namespace

Result<std::unique_ptr<const TagModel>> TagModel::load(const std::string& folder) {
  std::unique_ptr<TagModel> out(new TagModel());
  try {
    if (Status status = out->read(join_path(folder, "posseg")); !status.ok()) {
      return status.error();
    }
  } catch (const LoadError& error) {
    return Error{ErrorCode::kUnsupported,
                 concat("the Chinese of this checkpoint needs the files of jieba (Debian: apt-get "
                        "install python3-jieba; SYRINX_JIEBA names another folder): ",
                        error.what()),
                 "input"};
  }
  return std::unique_ptr<const TagModel>(std::move(out));
}

const TagModel::State* TagModel::find(const State& state) const {
  const auto at = std::lower_bound(states_.begin(), states_.end(), state);
  return at == states_.end() || *at != state ? nullptr : &*at;
}

Status TagModel::read(const std::string& folder) {
  std::string name;
  const auto other_form = [&] {
    return Error{ErrorCode::kUnsupported,
                 concat("jieba's posseg/", name,
                        " does not have the format of jieba 0.42 (Debian: python3-jieba)"),
                 "input"};
  };
  // Calls take(item, index) for each item. `index`: number of the state that the item belongs to.
  const auto each = [&](const char* file, auto take) {
    name = file;
    const std::string source = read_file(join_path(folder, file), kMostSource);
    PythonReader reader(source);
    bool sound = true;
    size_t count = 0;
    for (PythonItem item = reader.next(); item.kind != PythonItem::kEnd; item = reader.next()) {
      ++count;
      size_t index = 0;
      if (item.kind == PythonItem::kState && !states_.empty()) {
        const State* known = find({item.place, std::string(item.tag)});
        sound &= known != nullptr;
        index = known == nullptr ? 0 : static_cast<size_t>(known - states_.data());
      }
      sound &= item.kind != PythonItem::kOther;
      if (!sound) break;
      take(item, index);
    }
    return sound && count > 0;
  };
  std::vector<std::pair<State, double>> starts;
  const bool begun = each("prob_start.py", [&](const PythonItem& item, size_t) {
    if (item.kind == PythonItem::kState) starts.push_back({{item.place, std::string(item.tag)}, 0});
    if (item.kind == PythonItem::kNumber && !starts.empty()) starts.back().second = item.number;
  });
  if (!begun || starts.empty() || starts.size() > kMostStates) return other_form();
  std::sort(starts.begin(), starts.end());
  for (auto& [state, log_p] : starts) {
    all_.push_back(static_cast<Index>(states_.size()));
    states_.push_back(std::move(state));
    starts_.push_back(log_p);
  }
  steps_.assign(states_.size() * states_.size(), kNoStep);
  size_t from = 0, to = 0;
  const bool stepped = each("prob_trans.py", [&](const PythonItem& item, size_t index) {
    if (item.kind == PythonItem::kState) (item.depth == 1 ? from : to) = index;
    if (item.kind == PythonItem::kNumber) steps_[from * states_.size() + to] = item.number;
  });
  if (!stepped) return other_form();
  size_t state = 0;
  char32_t character = 0;
  const bool emitted = each("prob_emit.py", [&](const PythonItem& item, size_t index) {
    if (item.kind == PythonItem::kState) state = index;
    if (item.kind == PythonItem::kCharacter) character = item.character;
    if (item.kind == PythonItem::kNumber) emissions_[key_of(character, state)] = item.number;
  });
  if (!emitted) return other_form();
  const bool listed = each("char_state_tab.py", [&](const PythonItem& item, size_t index) {
    if (item.kind == PythonItem::kCharacter) character = item.character;
    if (item.kind == PythonItem::kState) possible_[character].push_back(static_cast<Index>(index));
  });
  if (!listed) return other_form();
  return ok_status();
}

double TagModel::emission(size_t state, char32_t c) const {
  const auto found = emissions_.find(key_of(c, state));
  return found == emissions_.end() ? kNoEmission : found->second;
}

const std::vector<TagModel::Index>& TagModel::states_of(char32_t c) const {
  const auto found = possible_.find(c);
  return found == possible_.end() ? all_ : found->second;
}

/// Returns the most probable state of each character; among equal states, the later one.
std::vector<size_t> TagModel::path(std::u32string_view run) const {
  const size_t count = states_.size();
  std::vector<double> now(count), before(count);
  std::vector<std::vector<Index>> from(run.size(), std::vector<Index>(count));
  std::vector<Index> live = states_of(run[0]);
  for (const Index state : live) now[state] = starts_[state] + emission(state, run[0]);
  for (size_t at = 1; at < run.size(); ++at) {
    std::vector<bool> reached(count);
    std::vector<Index> previous;
    for (const Index state : live) {
      bool goes_on = false;
      for (size_t to = 0; to < count; ++to) {
        if (step(state, to) == kNoStep) continue;
        reached[to] = goes_on = true;
      }
      if (goes_on) previous.push_back(state);
    }
    std::sort(previous.begin(), previous.end());
    std::vector<Index> next;
    for (const Index state : states_of(run[at])) {
      if (reached[state]) next.push_back(state);
    }
    for (size_t to = 0; next.empty() && to < count; ++to) {
      if (reached[to]) next.push_back(static_cast<Index>(to));
      if (to + 1 == count && next.empty()) next = all_;
    }
    std::swap(now, before);
    for (const Index state : next) {
      const double here = emission(state, run[at]);
      now[state] = kNoStep;
      for (const Index last : previous) {
        const double log_p = before[last] + step(last, state) + here;
        if (log_p >= now[state]) now[state] = log_p, from[at][state] = last;
      }
    }
    live = std::move(next);
  }
  std::sort(live.begin(), live.end());
  size_t best = live.front();
  for (const Index state : live) {
    if (now[state] >= now[best]) best = state;
  }
  std::vector<size_t> out(run.size());
  for (size_t at = run.size(); at-- > 0;) {
    out[at] = best;
    best = from[at][best];
  }
  return out;
}

void TagModel::cut_chinese(std::u32string_view run, std::vector<TaggedWord>& out) const {
  const std::vector<size_t> states = path(run);
  size_t begin = 0, after = 0;
  for (size_t at = 0; at < run.size(); ++at) {
    const State& state = states_[states[at]];
    if (state.place == 'B') begin = at;
    if (state.place != 'E' && state.place != 'S') continue;
    if (state.place == 'S') begin = at;
    out.push_back({std::u32string(run.substr(begin, at + 1 - begin)), state.tag});
    after = at + 1;
  }
  if (after < run.size()) {
    out.push_back({std::u32string(run.substr(after)), states_[states[after]].tag});
  }
}

void TagModel::cut(std::u32string_view run, std::vector<TaggedWord>& out) const {
  enum Class { kChinese, kNumber, kElse };
  const auto class_of = [](char32_t c) {
    if (c >= 0x4e00 && c <= kLastCut) return kChinese;
    return c == U'.' || (c >= U'0' && c <= U'9') ? kNumber : kElse;
  };
  for (size_t at = 0; at < run.size();) {
    const Class kind = class_of(run[at]);
    size_t end = at + 1;
    while (end < run.size() && class_of(run[end]) == kind) ++end;
    const std::u32string_view part = run.substr(at, end - at);
    if (kind == kChinese) {
      cut_chinese(part, out);
    } else {
      out.push_back({std::u32string(part), kind == kNumber ? "m" : "x"});
    }
    at = end;
  }
}

}  // namespace syrinx::kokoro
