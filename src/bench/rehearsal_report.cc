#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "bench/rehearsal.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

struct Spread {
  double mean = 0, median = 0, p90 = 0;
};

/// Nearest rank; of nothing, nothing.
Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double share) {
    const double at = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(1.0, at)) - 1];
  };
  Spread out{0, rank(0.5), rank(0.9)};
  for (const double value : values) out.mean += value / static_cast<double>(values.size());
  return out;
}

/// A run in one line.
struct Summary {
  int turns = 0, failed = 0, silent = 0;
  Spread sentence_s, audio_s, forwards;
  double at_once = 0, ready = 0;  // shares of the turns
  DraftCounts tokens;
  int spoken_ahead = 0, spoken_in_vain = 0;
};

Summary summary_of(const RehearsalRun& run) {
  Summary out;
  std::vector<double> sentence_s, audio_s, forwards;
  int at_once = 0, ready = 0;
  for (const Rehearsal& turn : run.turns) {
    ++out.turns;
    if (!turn.error.message.empty()) {
      ++out.failed;
      continue;
    }
    sentence_s.push_back(turn.sentence_s);
    if (turn.audio_s > 0 || turn.counts.ready) {
      audio_s.push_back(turn.audio_s);
    } else {
      ++out.silent;
    }
    if (turn.forwards > 0) forwards.push_back(turn.forwards);
    at_once += turn.forwards == 1 ? 1 : 0;
    ready += turn.counts.ready ? 1 : 0;
    out.tokens.drafts += turn.counts.drafts;
    out.tokens.drafted += turn.counts.drafted;
    out.tokens.accepted += turn.counts.accepted;
    out.tokens.wasted += turn.counts.wasted;
    out.spoken_ahead += turn.counts.spoken_ahead;
    out.spoken_in_vain += turn.counts.spoken_in_vain;
  }
  const double answered = std::max<double>(1, static_cast<double>(sentence_s.size()));
  out.at_once = at_once / answered, out.ready = ready / answered;
  out.sentence_s = spread_of(std::move(sentence_s));
  out.audio_s = spread_of(std::move(audio_s));
  out.forwards = spread_of(std::move(forwards));
  return out;
}

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

std::string rehearsal_text(const std::vector<RehearsalRun>& runs) {
  std::string out =
      "              first sentence, ms    forwards        first audio, ms       ready  tokens\n"
      "              median  p90    mean   mean  at once   median  p90    mean          drafted  "
      "wasted for each of use\n";
  for (const RehearsalRun& run : runs) {
    const Summary s = summary_of(run);
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    out += line_of("%-12s %7.1f %7.1f %7.1f %6.1f %6.0f %%  %7.1f %7.1f %7.1f %5.0f %%",
                   run.rule.c_str(), ms(s.sentence_s.median), ms(s.sentence_s.p90),
                   ms(s.sentence_s.mean), s.forwards.mean, 100 * s.at_once, ms(s.audio_s.median),
                   ms(s.audio_s.p90), ms(s.audio_s.mean), 100 * s.ready);
    if (s.tokens.drafted > 0) {
      out += line_of("  %6d", s.tokens.drafted);
      out += s.tokens.accepted > 0
                 ? line_of("   %.1f", static_cast<double>(s.tokens.wasted) / s.tokens.accepted)
                 : std::string("   none was of use");
    }
    if (s.failed > 0) out += line_of("  %d failed", s.failed);
    out += "\n";
  }
  const Summary first = summary_of(runs.front());
  for (size_t i = 1; i < runs.size(); ++i) {
    const Summary s = summary_of(runs[i]);
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    out += line_of("%s: first sentence %.2f, first audio %.2f times as fast on average\n",
                   runs[i].rule.c_str(), ratio(first.sentence_s.mean, s.sentence_s.mean),
                   ratio(first.audio_s.mean, s.audio_s.mean));
  }
  return out;
}

std::string rehearsal_json(const std::vector<RehearsalRun>& runs, const PairCosts* costs) {
  Json out;
  out["clock"] = costs != nullptr ? "virtual" : "real";
  if (costs != nullptr) {
    out["costs"] = {{"writer", costs_json(costs->writer)}, {"speaker", costs_json(costs->speaker)}};
  }
  out["runs"] = Json::array();
  for (const RehearsalRun& run : runs) {
    const Summary s = summary_of(run);
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
                           {"drafts", s.tokens.drafts},
                           {"drafted", s.tokens.drafted},
                           {"accepted", s.tokens.accepted},
                           {"wasted", s.tokens.wasted},
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
          fail("a stage has the numbers 'fixed_ms' and 'unit_ms'");
        }
        const double ms = stage[field];
        if (!(ms >= 0 && ms <= 1e6)) fail("a cost is between 0 and 1000 s");
        return ms / 1e3;
      };
      out.push_back({number("fixed_ms"), number("unit_ms")});
    }
    return out;
  };
  return {read("writer"), read("speaker")};
}

}  // namespace syrinx
