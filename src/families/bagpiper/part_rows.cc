#include "families/bagpiper/part_rows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "families/bagpiper/prompter.h"

namespace syrinx::bagpiper {
namespace {

/// Returns the companion's id for the id of a word or of a turn.
int32_t said_to_companion(int32_t id) { return id == kAudio ? id : kPad; }

}  // namespace

PartRows::PartRows(const ModelConfig& config, const DelayPattern& pattern)
    : prompt(static_cast<int>(config.streams)), speech(pattern), config_(&config) {}

void PartRows::begin(std::span<const int32_t> ids) {
  prompt = Prompt(static_cast<int>(config_->streams));
  std::vector<int32_t> places;
  for (const int32_t id : ids) {
    if (id == Prompter::kHeardRow) places.push_back(prompt.size());
    prompt.add(id);
  }
  heard = llm::HeardRows(std::move(places), config_->lm.hidden);
  said.clear();
}

void PartRows::remember(bool spoke) {
  const auto remember_id = [&](int32_t id) { prompt.add_row()[0] = id; };
  for (const int32_t id : said) remember_id(id);
  for (int step = 0; step < speech.steps(); ++step) speech_row(step, prompt.add_row());
  if (spoke) remember_id(kEndPart);
  remember_id(kAssistant);
  said.clear();
}

int PartRows::size() const {
  return std::max(1, prompt.size()) + static_cast<int>(std::ssize(said)) + speech.steps();
}

void PartRows::row(int pos, bool companion, std::span<int32_t> ids) const {
  const int turn = pos - prompt.size(), step = turn - static_cast<int>(std::ssize(said));
  if (turn < 0) {
    if (companion) ids[0] = kPad;
    if (!companion) std::ranges::copy(prompt.row(pos), ids.begin());
  } else if (step < 0) {
    const int32_t id = said[static_cast<size_t>(turn)];
    ids[0] = companion ? said_to_companion(id) : id;
  } else {
    speech_row(step, ids);
  }
}

void PartRows::speech_row(int step, std::span<int32_t> ids) const {
  SYRINX_CHECK(step < speech.steps(), "step ", step, " of ", speech.steps());
  for (size_t s = 0; s < ids.size(); ++s) {
    const int32_t choice = speech.at(step, static_cast<int>(s));
    ids[s] = config_->id_of(static_cast<int64_t>(s), choice);
  }
}

void PartRows::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  if (companion) {
    keys.insert(keys.end(), static_cast<size_t>(prompt.size()), uint64_t{kPad});
    return;
  }
  prompt.append_keys(keys);
  if (!heard.none()) keys.resize(static_cast<size_t>(heard.places().front()));
}

void PartRows::step_keys(bool companion, std::vector<uint64_t>& keys) const {
  if (!companion && !heard.none()) return;
  for (const int32_t id : said) {
    keys.push_back(static_cast<uint64_t>(companion ? said_to_companion(id) : id));
  }
}

}  // namespace syrinx::bagpiper
