#include "engine/roster.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/fault.h"

namespace syrinx {
namespace {

bool has_seat(const Active& request) {
  const Output& client = request.output;
  return request.promoted && client.open() && !client.unread() && !client.background();
}

}  // namespace

Active* Roster::take_in(std::unique_ptr<Active> request) {
  Active& taken = *request;
  guarded(taken, [&] {
    requests_.push_back(std::move(request));  // if it throws, the request is still here
    ++taken.model->requests;
    taken.output.accept(taken.id, trace_);
  });
  return request ? nullptr : &taken;
}

Active* Roster::find(RequestId id) {
  for (const auto& request : requests_) {
    if (request->id == id && request->live()) return request.get();
  }
  return nullptr;
}

void Roster::sweep() {
  std::erase_if(requests_, [&](const auto& request) {
    if (request->live()) return false;
    request->release_pages();
    if (request->in_flight()) return false;
    --request->model->requests;
    return true;
  });
}

bool Roster::has_ended() const {
  return std::ranges::any_of(
      requests_, [](const auto& request) { return !request->live() && !request->in_flight(); });
}

// ---------------------------------------------------------------------------- seats

bool Roster::waits() const {
  return std::ranges::any_of(
      requests_, [](const auto& request) { return !request->promoted && request->live(); });
}

void Roster::refuse_overdue(const ResidentModel& model) {
  if (!load_.realtime()) return;
  const double now = clock_.now();
  for (auto& request : requests_) {
    const double promised_s = request->promised_s;
    if (request->promoted || request->model != &model || !request->live() ||
        request->output.waited_s(now) <= promised_s)
      continue;
    request->model->metrics.rejected_queue.add();
    fail(*request,
         {ErrorCode::kOverloaded,
          concat("no place was free within ", promised_s, " s, the longest wait that was promised"),
          {},
          1});
  }
}

void Roster::count_holding(std::span<ResidentModel* const> models) {
  for (ResidentModel* model : models) model->holding = 0;
  for (const auto& request : requests_) request->model->holding += has_seat(*request) ? 1 : 0;
}

void Roster::promote(std::span<ResidentModel* const> models) {
  count_holding(models);
  if (!waits()) return;
  for (ResidentModel* model : models) {
    const double seats = load_.seats(*model, models);
    while (promote_one(*model, seats)) {
    }
    if (static_cast<double>(model->holding) >= seats) refuse_overdue(*model);
  }
}

/// Gives a seat of the model to a waiting request. Returns false if no seat or request is left.
bool Roster::promote_one(ResidentModel& model, double seats) {
  const bool room = static_cast<double>(model.holding) < seats;
  std::map<uint64_t, int> held;
  if (room && seats < model.options.max_requests) {
    for (const auto& request : requests_) {
      if (request->promoted && request->model == &model) ++held[request->client];
    }
  }
  Active* best = nullptr;
  for (const auto& request : requests_) {
    if (request->promoted || request->model != &model || !request->live() || request->opening)
      continue;
    if (!room && !request->background()) continue;
    if (!best || held[request->client] < held[best->client]) best = request.get();
  }
  if (!best) return false;
  model.holding += best->background() ? 0 : 1;
  best->promoted = true;
  const auto is_promoted = [](const auto& request) { return request->promoted; };
  const bool alone = std::ranges::count_if(requests_, is_promoted) == 1;
  for (const auto& request : requests_) {
    if (request->promoted) request->output.set_alone(alone);
  }
  guarded(*best, [&] { best->begin_segments(); });
  return true;
}

// ---------------------------------------------------------------------------- ends

void Roster::guarded(Active& request, FunctionRef<void()> work) {
  if (const auto fault = fault_of(work)) fail(request, {ErrorCode::kInternal, *fault});
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
  for (const auto& request : requests_) {
    if (!model || request->model == model) finish(*request, FinishReason::kCancelled);
  }
}

void Roster::fail_all(const std::string& why) {
  for (const auto& request : requests_) {
    const auto fault = fault_of([&] { fail(*request, {ErrorCode::kInternal, why}); });
    if (fault) fail(*request, {ErrorCode::kInternal, *fault});  // a short message needs no memory
  }
}

// ---------------------------------------------------------------------------- counts

/// Returns how many requests of the model wait for a seat.
int Roster::waiting(const ResidentModel& model) const {
  return static_cast<int>(std::ranges::count_if(requests_, [&](const auto& request) {
    return request->model == &model && !request->promoted;
  }));
}

/// Returns the load of a model, for predictions of the wait: its finish_rate assumes full seats.
Load Roster::load(const ResidentModel& model, std::span<ResidentModel* const> models) const {
  return {model.holding, waiting(model), load_.seats(model, models), model.load.finish_rate(),
          model.requests};
}

void Roster::publish_counts(std::span<ResidentModel* const> models) {
  count_holding(models);
  for (ResidentModel* model : models) {
    model->metrics.running.set(model->holding);
    model->metrics.waiting.set(waiting(*model));
  }
}

SlowRequests Roster::slow(const ResidentModel& model) const {
  SlowRequests slow;
  const double now = clock_.now();
  for (const auto& request : requests_) {
    const Output& client = request->output;
    if (request->model != &model || !client.open() || !client.awaits_first_output()) continue;
    const double waited_s = client.waited_s(now);
    if (!model.load.slowdown().is_slow(waited_s)) continue;
    slow.waited_s += waited_s;
    ++slow.count;
  }
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
