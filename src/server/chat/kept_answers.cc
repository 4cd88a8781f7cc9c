#include "server/chat/kept_answers.h"

#include <utility>

namespace syrinx {

void KeptAnswers::keep(std::string id, uint64_t client, std::string model, std::string text,
                       std::vector<int32_t> ids, double now_s) {
  const std::lock_guard lock(mutex_);
  if (by_id_.contains(id)) return;
  auto kept = std::make_shared<const std::vector<int32_t>>(std::move(ids));
  entries_.push_back(
      {std::move(id), client, std::move(model), std::move(text), std::move(kept), now_s});
  by_id_.emplace(entries_.back().id, std::prev(entries_.end()));
  bytes_ += entries_.back().bytes();
  bound(now_s);
}

std::optional<NamedAnswer> KeptAnswers::find(const std::string& id, uint64_t client,
                                             const std::string& model, double now_s) {
  const std::lock_guard lock(mutex_);
  bound(now_s);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->client != client) return std::nullopt;
  const Entry& entry = *found->second;
  NamedAnswer out;
  out.text = entry.text;
  if (entry.model == model && !entry.ids->empty()) out.made.ids = entry.ids;
  return out;
}

size_t KeptAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

/// Drops the oldest answers until all are within the time limit and the size limit.
void KeptAnswers::bound(double now_s) {
  while (!entries_.empty() && (bytes_ > most_bytes_ || now_s - entries_.front().kept_s > kKept_s)) {
    bytes_ -= entries_.front().bytes();
    by_id_.erase(entries_.front().id);
    entries_.pop_front();
  }
}

}  // namespace syrinx
