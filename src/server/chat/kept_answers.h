// Keeps spoken answers of chats for a while, so that clients can refer to them by id in later
// requests, as in OpenAI's API. Bounded: the oldest answers are dropped first. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/chat/chat_call.h"

namespace syrinx {

class KeptAnswers {
 public:
  static constexpr double kKept_s = 3600;  ///< lifetime of an answer, as in OpenAI's API
  static constexpr size_t kMostBytes = size_t{16} << 20;

  explicit KeptAnswers(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  /// Keeps an answer of the client with hash `client`. `model` made `ids` (Sink::answer_ids()).
  void keep(std::string id, uint64_t client, std::string model, std::string text,
            std::vector<int32_t> ids, double now_s);
  /// Returns an answer of this client; omits the ids if another model made the answer.
  std::optional<NamedAnswer> find(const std::string& id, uint64_t client, const std::string& model,
                                  double now_s);
  size_t bytes() const;

 private:
  struct Entry {
    std::string id;
    uint64_t client;
    std::string model, text;
    std::shared_ptr<const std::vector<int32_t>> ids;
    double kept_s;

    size_t bytes() const {
      return sizeof(Entry) + id.size() + model.size() + text.size() + ids->size() * sizeof(int32_t);
    }
  };
  void bound(double now_s);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
  size_t bytes_ = 0;
};

}  // namespace syrinx
