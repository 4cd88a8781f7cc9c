#include "families/loading/espeak.h"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/ascii.h"
#include "base/clock.h"
#include "io/program.h"

namespace syrinx {
namespace {

constexpr size_t kMostLine = 900;     // bytes; espeak-ng reads at most 999 bytes of a line
constexpr double kFirstAnswer_s = 3;  // time limit for the first answer of a started process
constexpr double kPause_s = 30;       // pause after a failed start
// Words that no language has.
constexpr std::string_view kBorder = "zdragzvok", kEnd = "wubbleflink";

/// Calls `take` with each line that is not blank, trimmed. Ignores text after the last line end.
template <typename Take>
void for_lines(std::string_view printed, const Take& take) {
  for (size_t begin = 0, end; (end = printed.find('\n', begin)) != printed.npos; begin = end + 1) {
    const std::string_view line = trimmed(printed.substr(begin, end - begin));
    if (!line.empty()) take(line);
  }
}

bool has_line(std::string_view printed, std::string_view wanted) {
  bool found = false;
  for_lines(printed, [&](std::string_view line) { found = found || line == wanted; });
  return found;
}

/// One espeak-ng process, for one voice. Used by one thread at a time.
class Espeak {
 public:
  static std::unique_ptr<Espeak> start(const std::string& voice, EspeakInput input) {
    std::vector<std::string> command{"espeak-ng", "-q", "--ipa", "-b", "1", "-v", voice};
    if (input == EspeakInput::kMarkup) command.emplace_back("-m");
    auto program = KeptProgram::start(command);
    if (!program.ok()) return nullptr;
    auto out = std::unique_ptr<Espeak>(new Espeak(voice, input, program.take()));
    out->border_ = out->sound_of(kBorder);
    out->end_ = out->sound_of(kEnd);
    const bool known = !out->border_.empty() && !out->end_.empty() && out->border_ != out->end_;
    return known ? std::move(out) : nullptr;
  }

  bool speaks(std::string_view voice, EspeakInput input) const {
    return voice_ == voice && input_ == input;
  }

  /// Returns the phonemes of each text. Returns nullopt if the process has failed and must be
  /// replaced.
  std::optional<std::vector<std::string>> say(std::span<const std::string> texts) {
    std::string lines;
    for (const std::string& text : texts) {
      lines += text;
      lines.append("\n").append(kBorder).append("\n");
    }
    lines.append(kEnd).append("\n");
    const auto printed = program_->ask(
        lines, [&](std::string_view all) { return has_line(all, end_); }, {.timeout_s = 10});
    if (!printed.ok()) return {};
    std::vector<std::string> said(1);
    bool ended = false, behind = false;
    for_lines(printed.value(), [&](std::string_view line) {
      behind = behind || ended;
      if (line == end_) {
        ended = true;
      } else if (line == border_) {
        said.emplace_back();
      } else {
        if (!said.back().empty()) said.back() += ' ';
        said.back() += line;
      }
    });
    // A text that sounds like the separator or the end mark changes the number of lines.
    const bool clear = said.back().empty() && said.size() == texts.size() + 1 && !behind;
    if (!clear) return {};
    said.pop_back();
    return said;
  }

 private:
  Espeak(std::string voice, EspeakInput input, std::unique_ptr<KeptProgram> program)
      : voice_(std::move(voice)), input_(input), program_(std::move(program)) {}

  /// Returns the line that the process prints for a word. Empty if it prints no line.
  std::string sound_of(std::string_view word) {
    const auto whole = [](std::string_view all) {
      bool any = false;
      for_lines(all, [&](std::string_view) { any = true; });
      return any;
    };
    const auto printed =
        program_->ask(std::string(word) + "\n", whole, {.timeout_s = kFirstAnswer_s});
    return printed.ok() ? std::string(trimmed(printed.value())) : "";
  }

  const std::string voice_;
  const EspeakInput input_;
  const std::unique_ptr<KeptProgram> program_;
  std::string border_, end_;
};

/// Running espeak-ng processes. Idle ones are listed, the most recently used first.
class Kept {
 public:
  /// Returns an idle or new process for the voice. Null if all are busy or a start has failed.
  std::unique_ptr<Espeak> take(std::string_view voice, EspeakInput input) {
    std::unique_ptr<Espeak> gone;  // destroyed after the lock is released
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(idle_, [&](const auto& each) { return each->speaks(voice, input); });
      if (found != idle_.end()) {
        auto out = std::move(*found);
        idle_.erase(found);
        return out;
      }
      const auto paused = not_before_s_.find(voice);
      if (paused != not_before_s_.end() && now_s() < paused->second) return nullptr;
      if (count_ == kMostEspeaks) {
        if (idle_.empty()) return nullptr;
        gone = std::move(idle_.back());
        idle_.pop_back();
      } else {
        ++count_;
      }
    }
    gone.reset();
    auto out = Espeak::start(std::string(voice), input);
    if (out) return out;
    const std::lock_guard lock(mutex_);
    --count_;
    not_before_s_[std::string(voice)] = now_s() + kPause_s;
    return nullptr;
  }
  void put_back(std::unique_ptr<Espeak> program) {
    const std::lock_guard lock(mutex_);
    idle_.push_front(std::move(program));
  }
  void drop(std::unique_ptr<Espeak> program) {
    program.reset();
    const std::lock_guard lock(mutex_);
    --count_;
  }

 private:
  std::mutex mutex_;
  std::list<std::unique_ptr<Espeak>> idle_;
  int count_ = 0;  // number of processes, with those that are busy or starting
  std::map<std::string, double, std::less<>>
      not_before_s_;  // time of the next try for a voice after a failed start
};

Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

std::optional<std::vector<std::string>> espeak_kept(std::span<const std::string> texts,
                                                    std::string_view voice, EspeakInput input) {
  for (const std::string& text : texts) {
    if (text.size() > kMostLine || text.find('\n') != text.npos) return {};
  }
  // Tries twice, because the process may have ended while it was idle.
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto program = kept().take(voice, input);
    if (!program) return {};
    if (auto said = program->say(texts)) {
      kept().put_back(std::move(program));
      return said;
    }
    kept().drop(std::move(program));
  }
  return {};
}

}  // namespace syrinx
