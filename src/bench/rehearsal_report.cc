#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "bench/rehearsal_summary.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const Spread& spread, double unit) {
  return {
      {"mean", unit * spread.mean}, {"median", unit * spread.median}, {"p90", unit * spread.p90}};
}

Json costs_json(const std::vector<StageCost>& costs) {
  Json out = Json::array();
  for (const StageCost& cost : costs) {
    out.push_back({{"fixed_ms", 1e3 * cost.fixed_s}, {"unit_ms", 1e3 * cost.unit_s}});
  }
  return out;
}

template <typename... Args>
std::string line_of(const char* format, Args... args) {
  char line[256];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

}  // namespace

std::string question_line(const std::vector<RehearsalRun>& runs) {
  const Rehearsal& first = runs.front().turns.back();
  if (!first.error.message.empty()) return "failed: " + first.error.message;
  std::string out = line_of("first audio: %.0f ms without prediction", 1e3 * first.audio_s);
  for (size_t i = 1; i < runs.size(); ++i) {
    const Rehearsal& turn = runs[i].turns.back();
    out += ", with " + runs[i].rule;
    if (!turn.error.message.empty()) {
      out += " failed";
      continue;
    }
    out += line_of(" %.0f ms%s%s", 1e3 * turn.audio_s, turn.counts.ready ? " (ready)" : "",
                   turn.answer == first.answer ? "" : " (another answer)");
  }
  return out;
}

std::string rehearsal_text(const std::vector<RehearsalRun>& runs, size_t wanted) {
  std::string out;
  if (runs.front().turns.size() < wanted) {
    out = concat("partial: ", runs.front().turns.size(), " of ", wanted, " questions\n");
  }
  out +=
      "              first sentence, ms    forwards        first audio, ms       ready  same    "
      "tokens\n"
      "              median  p90    mean   mean  at once   median  p90    mean          answer  "
      "drafted  wasted for each used\n";
  const RehearsalSummary first = summary_of(runs.front(), runs.front());
  for (const RehearsalRun& run : runs) {
    const RehearsalSummary s = summary_of(run, runs.front());
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    out += line_of("%-12s %7.1f %7.1f %7.1f %6.1f %6.0f %%  %7.1f %7.1f %7.1f %5.0f %% %5.0f %%",
                   run.rule.c_str(), ms(s.sentence_s.median), ms(s.sentence_s.p90),
                   ms(s.sentence_s.mean), s.forwards.mean, 100 * s.at_once, ms(s.audio_s.median),
                   ms(s.audio_s.p90), ms(s.audio_s.mean), 100 * s.ready, 100 * s.same);
    if (s.tokens.drafted > 0) {
      out += line_of("  %6d", s.tokens.drafted);
      out += s.tokens.accepted > 0
                 ? line_of("   %.1f", static_cast<double>(s.tokens.wasted) / s.tokens.accepted)
                 : std::string("   none was used");
    }
    if (s.failed > 0) out += line_of("  %d failed", s.failed);
    out += "\n";
  }
  for (size_t i = 1; i < runs.size(); ++i) {
    const RehearsalSummary s = summary_of(runs[i], runs.front());
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    out += line_of("%s: first sentence %.2f, first audio %.2f times as fast on average\n",
                   runs[i].rule.c_str(), ratio(first.sentence_s.mean, s.sentence_s.mean),
                   ratio(first.audio_s.mean, s.audio_s.mean));
  }
  return out;
}

std::string rehearsal_json(const std::vector<RehearsalRun>& runs, size_t wanted,
                           const PairCosts* costs) {
  Json out;
  out["clock"] = costs != nullptr ? "virtual" : "real";
  out["partial"] = runs.front().turns.size() < wanted;
  out["questions_wanted"] = wanted;
  if (costs != nullptr) {
    out["costs"] = {{"writer", costs_json(costs->writer)}, {"speaker", costs_json(costs->speaker)}};
  }
  out["runs"] = Json::array();
  for (const RehearsalRun& run : runs) {
    const RehearsalSummary s = summary_of(run, runs.front());
    Json turns = Json::array();
    for (const Rehearsal& turn : run.turns) {
      const TurnCounts& c = turn.counts;
      turns.push_back({{"question", turn.question},
                       {"answer", turn.answer},
                       {"sentence_ms", 1e3 * turn.sentence_s},
                       {"audio_ms", 1e3 * turn.audio_s},
                       {"forwards", turn.forwards},
                       {"ready", c.ready},
                       {"drafts", c.drafts},
                       {"drafted", c.drafted},
                       {"accepted", c.accepted},
                       {"wasted", c.wasted},
                       {"reflections", c.reflections},
                       {"spoken_ahead", c.spoken_ahead},
                       {"spoken_in_vain", c.spoken_in_vain},
                       {"error", turn.error.message}});
    }
    out["runs"].push_back({{"rule", run.rule},
                           {"questions", s.turns},
                           {"failed", s.failed},
                           {"silent", s.silent},
                           {"sentence_ms", spread_json(s.sentence_s, 1e3)},
                           {"audio_ms", spread_json(s.audio_s, 1e3)},
                           {"forwards", spread_json(s.forwards, 1)},
                           {"at_once", s.at_once},
                           {"ready", s.ready},
                           {"same", s.same},
                           {"drafts", s.tokens.drafts},
                           {"drafted", s.tokens.drafted},
                           {"accepted", s.tokens.accepted},
                           {"wasted", s.tokens.wasted},
                           {"reflections", s.reflections},
                           {"spoken_ahead", s.spoken_ahead},
                           {"spoken_in_vain", s.spoken_in_vain},
                           {"turns", std::move(turns)}});
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

PairCosts parse_costs(const std::string& text, const std::string& path) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw LoadError(path + ": expected a JSON object");
  if (json.contains("costs")) json = Json(json["costs"]);
  const auto read = [&](const char* name) {
    const auto fail = [&](const char* why) {
      throw LoadError(concat(path, ": ", name, ": ", why));
    };
    std::vector<StageCost> out;
    if (!json.is_object() || !json.contains(name) || !json[name].is_array())
      fail("expected a list");
    for (const Json& stage : json[name]) {
      const auto number = [&](const char* field) {
        if (!stage.is_object() || !stage.contains(field) || !stage[field].is_number()) {
          fail("a stage must have the numbers 'fixed_ms' and 'unit_ms'");
        }
        const double ms = stage[field];
        if (!(ms >= 0 && ms <= 1e6)) fail("a cost must be between 0 and 1000 s");
        return ms / 1e3;
      };
      out.push_back({number("fixed_ms"), number("unit_ms")});
    }
    return out;
  };
  return {read("writer"), read("speaker")};
}

}  // namespace syrinx
