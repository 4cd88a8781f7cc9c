#include "server/http/speech_batch.h"

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/http/server_state.h"
#include "server/http/speech_job.h"
#include "server/net/connection.h"
#include "server/request/fields.h"
#include "server/request/reply.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

class SpeechBatch {
 public:
  SpeechBatch(ServerState& server, std::shared_ptr<Connection> connection,
              const SpeechExchange& exchange)
      : server_(server),
        connection_(std::move(connection)),
        exchange_(exchange),
        wakeup_(std::make_shared<Wakeup>(server.io)) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  ~SpeechBatch() {
    connection_->unwatch();
    --server_.streams;
  }
  SpeechBatch(const SpeechBatch&) = delete;
  SpeechBatch& operator=(const SpeechBatch&) = delete;

  net::awaitable<bool> run();

 private:
  struct Item {
    Item(ServerState& server, std::shared_ptr<Wakeup> wakeup, uint64_t client,
         std::function<bool()> gone)
        : job(server, std::move(wakeup), client, std::move(gone)) {}
    SpeechJob job;
    std::optional<ApiError> fault;
    bool done = false;
  };
  net::awaitable<void> speak();
  net::awaitable<bool> pump(Item& item);
  std::optional<ApiError> add_items();
  size_t bytes() const;
  ordered_json result(size_t index) const;
  Reply answer() const;

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  const SpeechExchange& exchange_;
  const std::shared_ptr<Wakeup> wakeup_;
  std::deque<Item> items_;
  std::vector<SpeechBody::Item> bodies_;
};

std::optional<ApiError> SpeechBatch::add_items() {
  auto parsed = SpeechBody::parse(exchange_.body);
  if (auto* fault = std::get_if<ApiError>(&parsed)) return std::move(*fault);
  auto items = std::get<SpeechBody>(parsed).items();
  if (auto* fault = std::get_if<ApiError>(&items)) return std::move(*fault);
  bodies_ = std::move(std::get<std::vector<SpeechBody::Item>>(items));
  for (size_t i = 0; i < bodies_.size(); ++i) {
    items_.emplace_back(server_, wakeup_, exchange_.client,
                        [connection = connection_.get()] { return connection->gone(); });
  }
  return {};
}

/// Encodes new audio of the item; returns false if no audio has arrived.
net::awaitable<bool> SpeechBatch::pump(Item& item) {
  const bool came = co_await item.job.pump();
  item.job.written();  // nothing is sent yet; kMaxWholeBytes limits the audio
  item.fault = item.job.fault();
  const auto& outcome = item.job.outcome();
  if (!item.fault && outcome && is_bad(*outcome)) {
    item.fault = to_api_error(outcome->error);
  } else if (!item.fault && outcome && item.job.bytes().empty()) {
    item.fault = item.job.no_audio();
  }
  item.done = item.fault || outcome;
  if (item.done && !item.fault) item.job.state_length(item.job.bytes());
  co_return came;
}

size_t SpeechBatch::bytes() const {
  size_t out = 0;
  for (const Item& item : items_) out += item.job.bytes().size();
  return out;
}

net::awaitable<void> SpeechBatch::speak() {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (const auto* body = std::get_if<SpeechBody>(&bodies_[i])) {
      co_await items_[i].job.start(*body);
      items_[i].fault = items_[i].job.fault();
    } else {
      items_[i].fault = std::get<ApiError>(bodies_[i]);
    }
    items_[i].done = items_[i].fault.has_value();
  }
  for (bool open = true; open && !connection_->gone();) {
    open = false;
    bool came = false;
    for (Item& item : items_) {
      if (item.done) continue;
      const bool some = co_await pump(item);
      came = came || some;
      open = open || !item.done;
    }
    if (bytes() > kMaxWholeBytes) {
      for (Item& item : items_) {
        if (item.done) continue;
        item.fault = ApiError{.message = "The audio of this batch is too long for one answer.",
                              .code = "batch_too_long"};
        item.done = true;
      }
      co_return;
    }
    if (open && !came) co_await wakeup_->wait();
  }
}

ordered_json SpeechBatch::result(size_t index) const {
  const Item& item = items_[index];
  ordered_json out = {{"index", index}, {"status", item.fault ? "error" : "success"}};
  if (item.fault) {
    out["error"] = ordered_json::parse(error_object(*item.fault));
    return out;
  }
  out["audio_data"] = base64(item.job.bytes());
  out["media_type"] = mime_type(item.job.call().audio.format);
  out["sample_rate"] = item.job.rate_hz();
  out["seed"] = item.job.call().request.sampling.seed;
  out["finish_reason"] = finish_reason_name(item.job.outcome()->reason);
  const auto& warnings = item.job.call().warnings;
  if (!warnings.empty()) out["warnings"] = warnings;
  return out;
}

Reply SpeechBatch::answer() const {
  int64_t failed = 0;
  ordered_json results = ordered_json::array();
  for (size_t i = 0; i < items_.size(); ++i) {
    results.push_back(result(i));
    failed += items_[i].fault ? 1 : 0;
  }
  const auto total = static_cast<int64_t>(items_.size());
  const ordered_json out = {{"id", "speech-batch-" + exchange_.request_id},
                            {"results", std::move(results)},
                            {"total", total},
                            {"succeeded", total - failed},
                            {"failed", failed}};
  return {.status = 200, .body = dump_json(out) + "\n"};
}

net::awaitable<bool> SpeechBatch::run() {
  const std::optional<ApiError> fault = add_items();
  if (!fault) co_await speak();
  if (connection_->gone()) co_return false;
  const Reply reply = fault ? reply_of(*fault) : answer();
  Headers headers = {{"Content-Type", reply.content_type},
                     {"Content-Length", std::to_string(reply.body.size())},
                     {"X-Request-Id", exchange_.request_id},
                     {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  headers.insert(headers.end(), reply.headers.begin(), reply.headers.end());
  server_.log(concat(exchange_.request_id, " batch ", reply.status, " items=", items_.size()));
  const std::string bytes = response_head(reply.status, headers) + reply.body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent&& exchange_.keep_alive;
}

}  // namespace

net::awaitable<bool> answer_batch(ServerState& server, std::shared_ptr<Connection> connection,
                                  const SpeechExchange& exchange) {
  SpeechBatch batch(server, std::move(connection), exchange);
  const bool more = co_await batch.run();
  co_return more;
}

}  // namespace syrinx
