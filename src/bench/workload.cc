#include "bench/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/file.h"
#include "io/json.h"

namespace syrinx {
namespace {

/// Calls take(line, line number) for every nonblank line.
template <typename F>
void each_line(std::string_view file, const std::string& path, F&& take) {
  if (file.size() > kMaxWorkloadBytes) {
    load_fault(path, "", concat("has ", file.size(), " bytes, the limit is ", kMaxWorkloadBytes));
  }
  size_t number = 0, taken = 0;
  for (size_t begin = 0; begin < file.size();) {
    const size_t end = std::min(file.find('\n', begin), file.size());
    std::string_view line = file.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string where = concat("line ", number);
    if (line.size() > kMaxTextBytes) {
      load_fault(path, where, concat("has ", line.size(), " bytes, the limit is ", kMaxTextBytes));
    }
    if (++taken > kMaxWorkloadLines) {
      load_fault(path, where, concat("has more than ", kMaxWorkloadLines, " lines"));
    }
    take(line, where);
  }
  if (taken == 0) load_fault(path, "", "expected at least one line, got none");
}

TracedUtterance traced(const Config& line) {
  TracedUtterance out;
  out.at_s = line.f("time", 0, kMaxTrace_s);
  const bool openai = !line.has("text");
  out.utterance.text = line.s(openai ? "input" : "text");
  if (out.utterance.text.empty()) line.fail(openai ? "input" : "text", "is empty");
  out.utterance.voice = line.opt_s("voice", "");
  out.utterance.language = line.opt_s("language", "");
  out.utterance.instructions = line.opt_s("instructions", "");
  if (line.has("seed")) out.utterance.seed = static_cast<uint64_t>(line.i("seed"));
  nlohmann::json rest = line.raw();
  for (const char* taken : {"time", "text", "input", "voice", "language", "instructions", "seed"}) {
    rest.erase(taken);
  }
  if (!rest.empty()) out.utterance.fields = rest.dump();
  return out;
}

}  // namespace

std::vector<std::string> built_in_texts() {
  return {
      "Yes.",
      "Good morning!",
      "Your order has shipped.",
      "One moment, please, while I look that up for you.",
      "The next train to the harbour leaves at seven forty from platform three.",
      "I could not find an appointment under that name. Could you spell it for me?",
      "Turn left at the old mill, cross the bridge, and the house is on your right.",
      "Thank you for calling. All of our lines are busy at the moment, but somebody will be with "
      "you "
      "shortly.",
      "The forecast for tomorrow is bright and cold, with a light wind from the north east and a "
      "little frost in the valleys.",
      "Your balance is two hundred and fourteen pounds. Would you like to hear the last three "
      "payments?",
      "When the kettle boils, pour the water over the leaves, wait four minutes, and only then add "
      "the milk.",
      "She closed the book, put out the lamp, and listened for a long while to the rain on the "
      "roof.",
      "A blackbird sings from the top of a tree so that its song carries far. It sings most at "
      "dusk "
      "and after rain, and no two birds sing quite the same song.",
      "To reset the device, hold the small button on its side for ten seconds. The light turns "
      "red, "
      "then green. When it is green again, let go, and start the setup from the beginning.",
      "The ship left before sunrise. By noon the coast was a thin grey line, and by evening there "
      "was only water, a slow swell from the west, and the creak of ropes over our heads as we "
      "tried "
      "to sleep.",
      "Here is what happened while you were away. Two parcels came, the plumber mended the tap in "
      "the kitchen, and your sister called to say that she will visit on the ninth. She asks "
      "whether "
      "you still have the blue suitcase, and whether she may borrow it in the spring.",
  };
}

std::vector<std::string> parse_texts(std::string_view file, const std::string& path) {
  std::vector<std::string> texts;
  each_line(file, path,
            [&](std::string_view line, const std::string&) { texts.emplace_back(line); });
  return texts;
}

std::vector<TracedUtterance> parse_trace(std::string_view file, const std::string& path) {
  std::vector<TracedUtterance> trace;
  each_line(file, path, [&](std::string_view line, const std::string& where) {
    trace.push_back(traced(Config::parse(std::string(line), path + " " + where)));
  });
  std::stable_sort(
      trace.begin(), trace.end(),
      [](const TracedUtterance& a, const TracedUtterance& b) { return a.at_s < b.at_s; });
  return trace;
}

}  // namespace syrinx
