// Measures how well a text model predicts given texts: the perplexity of real weights of one type.
//   text_scores MODEL WEIGHTS FILE [THREADS]
// FILE has passages, separated by blank lines. The first line of each is the prompt, the others are
// the text that must follow. All passages run together, one token per step. Writes JSON: for each
// passage the ids that follow, their natural log-probabilities, and the model's most probable ids.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/step_runner.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

using Json = nlohmann::json;

struct Passage {
  std::string prompt, rest;
};

std::vector<Passage> read_passages(const char* path) {
  std::ifstream file(path);
  std::vector<Passage> out;
  bool begins = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      begins = true;
    } else if (begins) {
      out.push_back({line, ""});
      begins = false;
    } else {
      out.back().rest += "\n" + line;
    }
  }
  return out;
}

std::vector<int32_t> ids_of(const Pipeline& model, const std::string& text) {
  SpeechRequest request;
  request.say.text = text;
  const auto sequence = open_only(model, request);
  const auto ids = sequence->prompt_ids();
  return {ids.begin(), ids.end()};
}

/// The state of a passage that runs.
struct Scored {
  Track track;
  std::vector<int32_t> follow, likeliest;
  std::vector<double> scores;

  bool over() const { return scores.size() == follow.size(); }
  void take(const std::vector<float>& logits) {
    const auto top = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x} - *top);
    likeliest.push_back(static_cast<int32_t>(top - logits.begin()));
    const auto wanted = static_cast<size_t>(follow[scores.size()]);
    scores.push_back(double{logits[wanted]} - *top - std::log(sum));
  }
};

int run(const char* path, const char* weights, const char* file, int threads) {
  LoadOptions options;
  options.model = path;
  options.weights = weights;
  options.device = "cpu";
  const auto model = load_pipeline(options);
  Runner runner(*model, threads);
  std::vector<Scored> all;
  for (const Passage& passage : read_passages(file)) {
    const auto whole = ids_of(*model, passage.prompt + passage.rest);
    const auto prompt = ids_of(*model, passage.prompt);
    if (whole.size() <= prompt.size() || !std::equal(prompt.begin(), prompt.end(), whole.begin())) {
      throw std::runtime_error("a prompt is not the beginning of its passage: " + passage.prompt);
    }
    SpeechRequest request;
    request.say.text = passage.prompt;
    request.writing.max_tokens = static_cast<int>(whole.size());
    all.push_back(
        {runner.open(request), {whole.begin() + std::ssize(prompt), whole.end()}, {}, {}});
  }
  for (;;) {
    std::vector<Track*> tracks;
    for (Scored& each : all) {
      each.track.follow = each.follow;
      if (!each.over()) tracks.push_back(&each.track);
    }
    if (tracks.empty()) break;
    runner.step(tracks);
    for (Scored& each : all) {
      for (const auto& logits : each.track.logits) each.take(logits);
      each.track.logits.clear();
    }
  }
  Json out = Json::array();
  for (const Scored& each : all) {
    out.push_back({{"ids", each.follow}, {"scores", each.scores}, {"likeliest", each.likeliest}});
  }
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: text_scores MODEL WEIGHTS FILE [THREADS]\n");
    return 2;
  }
  return syrinx::run(argv[1], argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "text_scores: %s\n", error.what());
  return 1;
}
