#include "server/realtime/hearings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Returns the words with which both texts begin. If both texts end with the same word, omits this
/// word, because it may continue.
std::string agreed_words(std::string_view a, std::string_view b) {
  const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  const std::string_view common = a.substr(0, static_cast<size_t>(parted - a.begin()));
  const auto word_ends = [&](std::string_view text) {
    return common.size() == text.size() || text[common.size()] == ' ';
  };
  const bool whole = word_ends(a) && word_ends(b) && a.size() != b.size();
  const size_t end = whole ? common.size() : common.rfind(' ');
  return std::string(common.substr(0, end == common.npos ? 0 : end));
}

}  // namespace

void Hearings::open(const std::string& item, RealtimeOutbox& out) {
  hearings_[item] = {};
  TranscriptionWish wish = wish_.value_or(TranscriptionWish{});
  wish.partial = partial_;
  out.ask(OpenHearing{item, std::move(wish)});
}

void Hearings::give(const std::string& item, std::vector<float> samples,
                    RealtimeOutbox& out) const {
  if (!samples.empty()) out.ask(HearSamples{item, std::move(samples)});
}

void Hearings::pause(const std::string& item, bool pauses, RealtimeOutbox& out) const {
  if (contains(item)) out.ask(PauseHearing{item, pauses});
}

void Hearings::finish(const std::string& item, RealtimeOutbox& out) const {
  if (contains(item)) out.ask(EndHearing{item});
}

void Hearings::commit(const std::string& item, bool answer, RealtimeOutbox& out) {
  Hearing& hearing = hearings_.at(item);
  hearing.committed = true;
  hearing.answer = answer;
  send_settled(item, hearing, out);
}

void Hearings::drop(const std::string& item, RealtimeOutbox& out) {
  if (hearings_.erase(item) > 0) out.ask(DropHearing{item});
}

bool Hearings::hear(const std::string& item, const HearingNews& news, RealtimeOutbox& out) {
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return false;
  Hearing& hearing = at->second;
  for (const std::string& segment : news.segments) {
    // Keeps a later segment's first blank, which separates it from the segment before.
    hearing.settled += hearing.settled.empty() ? std::string(trimmed(segment)) : segment;
  }
  if (!news.segments.empty()) hearing.partial.clear();
  if (news.partial) hearing.partial = news.partial->empty() ? "" : " " + *news.partial;
  hearing.grows = news.grows;
  if (news.done) hearing.done = news.done;
  if (news.ends()) hearing.end = news;
  send_settled(item, hearing, out);
  return true;
}

std::string Hearings::so_far(const std::string& item) const {
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return {};
  return std::string(trimmed(at->second.settled + at->second.partial));
}

std::optional<bool> Hearings::done(const std::string& item) const {
  const auto at = hearings_.find(item);
  return at == hearings_.end() ? std::nullopt : at->second.done;
}

std::string Hearings::all_so_far() const {
  std::string out;
  for (const auto& [item, hearing] : hearings_) {
    const std::string text = so_far(item);
    if (!text.empty()) out += text + '\n';
  }
  return out;
}

std::optional<bool> Hearings::end(const std::string& item, Conversation& conversation,
                                  RealtimeOutbox& out) {
  const auto at = hearings_.find(item);
  if (at == hearings_.end() || !at->second.committed || !at->second.end) return {};
  const Hearing hearing = std::move(hearings_.extract(at).mapped());
  RealtimeItem* said = conversation.find(item);
  if (said == nullptr) return false;
  const HearingNews& news = *hearing.end;
  for (ItemPart& part : said->parts) {
    if (std::exchange(part.pending, false)) part.text = news.text.value_or(hearing.settled);
  }
  send_end(item, news, out);
  return hearing.answer && news.text && !trimmed(*news.text).empty();
}

void Hearings::send_event(const char* what, const std::string& item, const JsonOut& fields,
                          RealtimeOutbox& out) const {
  if (!wish_) return;
  JsonOut all = {{"item_id", item}, {"content_index", 0}};
  all.update(fields);
  out.send(concat("conversation.item.input_audio_transcription.", what), all);
}

/// Sends unsent words that are final or, with live_, equal in two hypotheses. A delta cannot be
/// withdrawn: if words that were sent change later, only the final transcript has the new words.
void Hearings::send_settled(const std::string& item, Hearing& hearing, RealtimeOutbox& out) const {
  const std::string now(trimmed(hearing.settled + hearing.partial));
  std::string sure = hearing.settled;
  if (live_) {
    const std::string agreed = hearing.grows ? now : agreed_words(hearing.before, now);
    if (agreed.size() > sure.size()) sure = agreed;
  }
  hearing.before = now;
  if (!hearing.committed && !live_) return;
  if (sure.size() <= hearing.sent.size() || !sure.starts_with(hearing.sent)) return;
  send_event("delta", item, {{"delta", sure.substr(hearing.sent.size())}}, out);
  hearing.sent = sure;
}

void Hearings::send_end(const std::string& item, const HearingNews& news,
                        RealtimeOutbox& out) const {
  if (news.text) {
    JsonOut fields = {{"transcript", *news.text}};
    if (!news.logprobs.is_null()) fields["logprobs"] = news.logprobs;
    fields["usage"] = news.usage;
    send_event("completed", item, fields, out);
  } else if (wish_) {
    send_event("failed", item, {{"error", error_fields(*news.error)}}, out);
  } else {
    out.send_error(*news.error, "");
  }
}

}  // namespace syrinx
