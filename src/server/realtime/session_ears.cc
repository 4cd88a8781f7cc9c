#include "server/realtime/session_ears.h"

#include <cstdio>
#include <utility>

#include "base/check.h"
#include "ears/repeated_passes.h"
#include "ears/transcript_text.h"
#include "text/languages.h"

namespace syrinx {
namespace {

/// Most seconds of audio that may wait for a recogniser. Progress may be reported only each minute.
constexpr double kMostAhead_s = 120;

/// Returns seconds with one decimal place, for messages.
std::string rounded(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", seconds);
  return text;
}

}  // namespace

SessionEars::SessionEars(const Ears* apart, std::shared_ptr<Backend> writer, uint64_t client,
                         double most_wait_s, std::function<void()> wake)
    : apart_(apart),
      writer_(std::move(writer)),
      client_(client),
      most_wait_s_(most_wait_s),
      wake_(std::move(wake)) {}

SessionEars::~SessionEars() {
  for (auto& [item, hearing] : hearings_) hearing.queue->detach();
}

/// Returns the recogniser `name`. The model that answers may have its own recogniser. Returns that
/// one if `name` is its name, if nothing is named or configured, or if no other one exists.
Result<std::shared_ptr<Recogniser>> SessionEars::recogniser(const std::string& name) const {
  static const Ears kNone;
  const Ears& apart = apart_ != nullptr ? *apart_ : kNone;
  const auto own = writer_ ? writer_->recogniser() : nullptr;
  if (own && takes_any_ear(name) && !apart.asked_for()) return own;
  if (auto named = apart.find(name); named.ok()) return named;
  if (own && own->info().name == name) return own;
  auto first = apart.find("");  // other vendors' names mean the first recogniser
  if (own && !first.ok()) return own;
  return first;
}

Status SessionEars::listen(const TranscriptionWish& wish, Hearing& hearing) const {
  const auto found = recogniser(wish.model);
  if (!found) return found.error();
  const RecogniserInfo& info = found.value()->info();
  hearing.recogniser = info.name;
  hearing.grows = info.grows;
  ListenOptions options{.language = language_code(wish.language), .live = true, .client = client_};
  if (info.prompts) options.prompt = wish.prompt;
  options.scores = wish.scores && info.scores;
  if (const Status fit = check_listen(info, options); !fit.ok()) return fit.error();
  auto opened = listen_in_passes(found.value(), options, hearing.queue, wish.partial);
  if (!opened.ok()) return opened.error();
  hearing.listener = opened.take();
  return ok_status();
}

void SessionEars::refuse(Hearing& hearing, const Error& error) {
  hearing.error = to_api_error(error);
  wake_();
}

void SessionEars::open(const OpenHearing& open) {
  Hearing& hearing = hearings_[open.item];
  hearing.queue = std::make_shared<HeardQueue>(wake_);
  hearing.scores = open.wish.scores;
  ++opened_;
  if (const Status opened = listen(open.wish, hearing); !opened.ok()) {
    refuse(hearing, opened.error());
  }
}

void SessionEars::hear(const HearSamples& more) {
  const auto at = hearings_.find(more.item);
  if (at == hearings_.end() || !at->second.listener) return;
  at->second.given_s += static_cast<double>(more.samples.size()) / kHearingRate;
  at->second.listener->hear(more.samples);
}

void SessionEars::pause(const PauseHearing& pause) {
  const auto at = hearings_.find(pause.item);
  if (at != hearings_.end() && at->second.listener) at->second.listener->pause(pause.pauses);
}

/// Refuses an utterance whose transcript is predicted to be too late. Returns whether it did so.
bool SessionEars::refuse_if_late(Hearing& hearing) {
  const double delay_s = hearing.listener->delay_s();
  if (delay_s <= most_wait_s_) return false;
  hearing.queue->detach();
  hearing.listener.reset();
  refuse(
      hearing,
      Error{ErrorCode::kOverloaded,
            concat("The recogniser '", hearing.recogniser, "' is ", rounded(delay_s),
                   " s behind, and turns wait at most ", rounded(most_wait_s_),
                   " s (--max-transcript-wait): this turn is not transcribed. Say it again later."),
            {},
            delay_s});
  return true;
}

void SessionEars::end(const std::string& item) {
  const auto at = hearings_.find(item);
  if (at == hearings_.end() || !at->second.listener || refuse_if_late(at->second)) return;
  at->second.ended = true;
  at->second.listener->end();
}

void SessionEars::refuse_late() {
  for (auto& [item, hearing] : hearings_) {
    if (hearing.ended && hearing.listener) refuse_if_late(hearing);
  }
}

void SessionEars::drop(const std::string& item) {
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return;
  at->second.queue->detach();
  hearings_.erase(at);
}

bool SessionEars::full() const {
  double ahead_s = 0;
  for (const auto& [item, hearing] : hearings_) {
    if (hearing.listener) ahead_s += hearing.given_s - hearing.queue->heard_s();
  }
  return ahead_s > kMostAhead_s;
}

std::vector<std::string> SessionEars::items() const {
  std::vector<std::string> out;
  for (const auto& [item, hearing] : hearings_) out.push_back(item);
  return out;
}

std::optional<HearingNews> SessionEars::take(const std::string& item) {
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return {};
  HearingNews news;
  if (at->second.error) {
    news.error = at->second.error;
  } else {
    HeardQueue::News heard = at->second.queue->take();
    if (heard.segments.empty() && !heard.partial && !heard.done && !heard.result) return {};
    for (const TranscriptSegment& segment : heard.segments) news.segments.push_back(segment.text);
    news.partial = std::move(heard.partial);
    news.grows = at->second.grows;
    news.done = heard.done;
    if (heard.result && !*heard.result) {
      const Error& error = heard.result->error();
      if (error.code == ErrorCode::kInternal) troubles_.push_back(error.message);
      news.error = to_api_error(error);
    } else if (heard.result) {
      news.text = heard.result->value().text();
      news.usage = JsonOut::parse(usage_json(heard.result->value()));
      if (const auto pieces = pieces_of(heard.result->value());
          at->second.scores && !pieces.empty()) {
        news.logprobs = JsonOut::parse(logprobs_json(pieces));
      }
    }
  }
  if (news.ends()) hearings_.erase(at);
  return news;
}

std::vector<std::string> SessionEars::take_troubles() { return std::exchange(troubles_, {}); }

}  // namespace syrinx
