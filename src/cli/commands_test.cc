// Options of every command that loads a model or sends requests for speech.
#include "cli/commands.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/files/request_fields.h"
#include "cli/line/arguments.h"
#include "cli/line/describe.h"
#include "cli/line/exit.h"
#include "model/options.h"

namespace syrinx {
namespace {

/// Long names of a command's options, with their help.
using Offered = std::map<std::string, std::string>;

Offered offered_by(const CommandFacts& command) {
  Offered out;
  for (const OptionFacts& option : command.options) {
    if (!option.names.empty()) out[option.names.back()] = option.description;
  }
  return out;
}

std::map<std::string, Offered> commands() {
  CLI::App app("", "syrinx");
  Chosen chosen;
  for (const AddCommand add : all_commands()) add(app, chosen);
  std::map<std::string, Offered> out;
  for (const CommandFacts& command : describe(app)) out[command.name] = offered_by(command);
  return out;
}

template <typename Add>
Offered options_of(Add&& add) {
  CLI::App app("", "x");
  add(app);
  return offered_by(describe(app).front());
}

/// Expects that the command has the options of `want`, with the same help texts.
void expect_all(const std::map<std::string, Offered>& all, const std::string& command,
                const Offered& want) {
  const auto found = all.find(command);
  ASSERT_NE(found, all.end()) << command;
  for (const auto& [name, help] : want) {
    if (name == "--help") continue;
    const auto option = found->second.find(name);
    ASSERT_NE(option, found->second.end()) << command << " lacks " << name;
    EXPECT_EQ(option->second, help) << command << ' ' << name;
  }
}

TEST(Commands, ThoseThatLoadAModelHaveTheSameOptionsOfLoading) {
  LoadOptions load;
  const Offered want = options_of([&](CLI::App& app) { add_load(app, load); });
  for (const char* name : {"--weights", "--weights-cache", "--device", "--lexicon", "--threads",
                           "--kv-mib", "--node", "--load-format"}) {
    EXPECT_TRUE(want.contains(name)) << name;
  }
  const auto all = commands();
  std::set<std::string> loading;
  for (const auto& [name, options] : all) {
    if (options.contains("--model")) loading.insert(name);
  }
  EXPECT_EQ(loading,
            (std::set<std::string>{"say", "chat", "book", "batch", "voice add", "voice export",
                                   "transcribe", "serve", "trace", "inspect", "bench"}));
  for (const std::string& name : loading) expect_all(all, name, want);
}

TEST(Commands, ThoseThatSpeakHaveTheSameOptionsOfRequests) {
  SpeechRequest request;
  const Offered want = options_of([&](CLI::App& app) { add_request(app, request); });
  EXPECT_TRUE(want.contains("--exaggeration"));
  EXPECT_TRUE(want.contains("--language"));
  EXPECT_FALSE(want.contains("--max-tokens")) << "of answers";
  const auto all = commands();
  for (const char* name : {"say", "book", "batch", "trace", "bench"}) expect_all(all, name, want);
}

SpeechRequest parsed(const std::string& line) {
  SpeechRequest request;
  CLI::App app("", "x");
  add_request(app, request);
  app.parse(line);
  return request;
}

TEST(RequestArguments, AreReadAsTheTableSays) {
  const SpeechRequest r = parsed(
      "-v anna -l de --speed 2 --seed 18446744073709551615 --temperature 0.5 --top-k 7 "
      "--flow full --spell-numbers false --speaker 0 --max-frames 0 --text-in-prompt true");
  EXPECT_EQ(r.voice.name, "anna");
  EXPECT_EQ(r.say.language, "de");
  EXPECT_EQ(r.voice.speed, 2);
  EXPECT_EQ(r.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(r.sampling.temperature, 0.5f);
  EXPECT_EQ(r.sampling.top_k, 7);
  EXPECT_EQ(r.terms.flow, FlowMode::kFull);
  EXPECT_EQ(r.say.spell_numbers, false);
  EXPECT_EQ(r.voice.speaker, 0);
  EXPECT_EQ(r.terms.max_frames, 0);
  EXPECT_EQ(r.say.in_prompt, true);
  for (const char* bad :
       {"--speed 5", "--temperature -1", "--top-k -2", "--flow half", "--exaggeration 3",
        "--speaker -2", "--max-frames -1", "--repetition-penalty 0", "--seed -1"}) {
    EXPECT_THROW(parsed(bad), CLI::ParseError) << bad;
  }
}

TEST(RequestFields, HoldTheOptionsThatAreSet) {
  SpeechRequest request;
  EXPECT_EQ(request_fields(request, "", false), "");
  EXPECT_EQ(request_fields(request, "", true), R"({"seed":0})");
  EXPECT_EQ(request_fields(request, R"({"seed": -1})", true), R"({"seed":-1})");
  request.voice.name = "anna";
  request.terms.flow = FlowMode::kCausal;
  request.sampling.seed = 7;
  request.terms.max_frames = 5;
  EXPECT_EQ(nlohmann::json::parse(request_fields(request, R"({"model": "m"})", true)),
            nlohmann::json::parse(
                R"({"model": "m", "voice": "anna", "seed": 7, "flow": "causal",
                    "max_new_tokens": 5})"));
  EXPECT_FALSE(nlohmann::json::parse(request_fields(request, "", false)).contains("seed"));
  EXPECT_THROW(request_fields(request, R"({"voice": "ben"})", true), UsageError);
  EXPECT_THROW(request_fields(request, "[1]", true), UsageError);
  request.say.in_prompt = true;
  EXPECT_THROW(request_fields(request, "", true), UsageError);
}

}  // namespace
}  // namespace syrinx
