#include "engine/roster.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace syrinx {

Active& Roster::take_in(Waiting request) {
  waiting_.splice(waiting_.end(), request);
  Active& taken = *waiting_.back();
  ++taken.model->requests;
  guarded(taken, [&] { taken.output.accept(taken.id, trace_); });
  return taken;
}

Active* Roster::find(RequestId id) {
  Active* found = nullptr;
  for_each([&](Active& request) {
    if (request.id == id && request.live()) found = &request;
  });
  return found;
}

// ---------------------------------------------------------------------------- seats

void Roster::refuse_overdue(const ResidentModel& model) {
  if (!load_.realtime()) return;
  const double now = clock_.now();
  for (auto& request : waiting_) {
    const double promised_s = request->promised_s;
    if (request->model != &model || !request->live() || request->output.waited_s(now) <= promised_s)
      continue;
    request->model->metrics.rejected_queue.add();
    fail(*request,
         {ErrorCode::kOverloaded,
          concat("no place was free within ", promised_s, " s, the longest wait that was promised"),
          {},
          1});
  }
}

/// Reports an ended request as removable and updates the counts. Returns false if the request is
/// still live, or a batch or host thread has it.
bool Roster::forget(Active& request) {
  if (request.live() || request.in_flight()) return false;
  --request.model->requests;
  ended_.push_back({request.model, request.client});
  return true;
}

void Roster::count_holding(std::span<ResidentModel* const> models) {
  for (ResidentModel* model : models) model->holding = 0;
  for (const auto& request : active_) {
    const Output& client = request->output;
    if (client.open() && !client.unread() && !client.background()) ++request->model->holding;
  }
}

void Roster::promote(std::span<ResidentModel* const> models) {
  ended_.reserve(ended_.size() + waiting_.size());  // may throw; nothing after this line may throw
  const auto forget_ended = [&] {
    std::erase_if(waiting_, [&](const auto& request) { return forget(*request); });
  };
  forget_ended();
  count_holding(models);
  if (waiting_.empty()) return;
  for (ResidentModel* model : models) {
    const double seats = load_.seats(*model, models);
    while (promote_one(*model, seats)) {
    }
    if (static_cast<double>(model->holding) >= seats) refuse_overdue(*model);
  }
  forget_ended();
}

/// Gives a seat of the model to a waiting request. Returns false if no seat or request is left.
bool Roster::promote_one(ResidentModel& model, double seats) {
  const bool room = static_cast<double>(model.holding) < seats;
  std::map<uint64_t, int> held;
  if (room && seats < model.options.max_requests) {
    for (const auto& request : active_) {
      if (request->model == &model) ++held[request->client];
    }
  }
  auto best = waiting_.end();
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    if ((*it)->model != &model || !(*it)->live() || (*it)->opening) continue;
    if (!room && !(*it)->background()) continue;
    if (best == waiting_.end() || held[(*it)->client] < held[(*best)->client]) best = it;
  }
  if (best == waiting_.end()) return false;
  active_.push_back(std::move(*best));
  waiting_.erase(best);
  Active& fresh = *active_.back();
  model.holding += fresh.background() ? 0 : 1;
  fresh.promoted = true;
  fresh.output.set_alone(active_.size() == 1);
  if (active_.size() > 1) {
    for (const auto& other : active_) other->output.set_alone(false);
  }
  guarded(fresh, [&] { fresh.begin_segments(); });
  return true;
}

void Roster::sweep() {
  ended_.reserve(ended_.size() + active_.size());  // may throw; nothing after this line may throw
  std::erase_if(active_, [&](const auto& request) {
    if (!request->live()) request->release_pages();
    return forget(*request);
  });
}

bool Roster::has_ended() const {
  return std::any_of(active_.begin(), active_.end(),
                     [](const auto& request) { return !request->live() && !request->in_flight(); });
}

// ---------------------------------------------------------------------------- ends

void Roster::guarded(Active& request, FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& e) {
    fail(request, {ErrorCode::kInternal, e.what()});
  } catch (...) {
    fail(request, {ErrorCode::kInternal, "unknown exception type"});
  }
}

void Roster::fail(Active& request, Error error) {
  if (!request.live()) return;
  request.output.outcome().error = std::move(error);
  finish(request, FinishReason::kError);
}

void Roster::finish(Active& request, FinishReason reason) {
  if (!request.live()) return;
  for (NodeRun& run : request.runs) {
    if (run.ar) run.ar->open = false;
  }
  request.output.outcome().frames =
      request.frames_before + (request.between ? 0 : request.frames());
  request.release_pages();
  publish_pages(*request.model);  // before the client is notified, so that its pages are free then
  request.output.end(reason, clock_.now());
}

void Roster::cancel_all(const ResidentModel* model) {
  for_each([&](Active& request) {
    if (!model || request.model == model) finish(request, FinishReason::kCancelled);
  });
}

void Roster::fail_all(const char* why) {
  for_each([&](Active& request) { fail(request, {ErrorCode::kInternal, why}); });
}

// ---------------------------------------------------------------------------- counts

/// Returns the load of a model, for predictions of the wait: its finish_rate assumes full seats.
Load Roster::load(const ResidentModel& model, std::span<ResidentModel* const> models) const {
  const auto waiting = std::count_if(waiting_.begin(), waiting_.end(),
                                     [&](const auto& one) { return one->model == &model; });
  return {model.holding, static_cast<int>(waiting), load_.seats(model, models),
          model.load.finish_rate()};
}

void Roster::publish_counts(std::span<ResidentModel* const> models) const {
  for (ResidentModel* model : models) {
    const auto mine = [&](const auto& request) { return request->model == model; };
    model->metrics.running.set(
        static_cast<double>(std::count_if(active_.begin(), active_.end(), mine)));
    model->metrics.waiting.set(
        static_cast<double>(std::count_if(waiting_.begin(), waiting_.end(), mine)));
  }
}

SlowRequests Roster::slow(const ResidentModel& model) const {
  SlowRequests slow;
  const double now = clock_.now();
  for_each([&](const Active& request) {
    const Output& client = request.output;
    if (request.model != &model || !client.open() || !client.awaits_first_output()) return;
    const double waited_s = client.waited_s(now);
    if (!model.load.slowdown().is_slow(waited_s)) return;
    slow.waited_s += waited_s;
    ++slow.count;
  });
  return slow;
}

void publish_pages(ResidentModel& model) {
  double free = 0, prefixes = 0;
  for (const ResidentNode& node : model.nodes) {
    if (!node.pages) continue;
    free += node.pages->available();
    prefixes += node.pages->cache().prefix_pages();
  }
  model.metrics.pages_free.set(free);
  model.metrics.prefix_pages.set(prefixes);
}

}  // namespace syrinx
