#include "server/models/model_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/models/vendor_names.h"

namespace syrinx {
namespace {

constexpr double kRetryLoadS = 10;

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0, the whole name
}

/// Returns the error of a failed load. Waiting helps when memory was short, but not when files are
/// invalid.
Error load_failure(std::string_view why, bool waiting_helps) {
  return {ErrorCode::kOverloaded, concat("The model cannot be loaded: ", why, "."), "model",
          waiting_helps ? kRetryLoadS : std::numeric_limits<double>::infinity()};
}

size_t bytes_of(const Backend& backend) {
  size_t bytes = 0;
  for (const PartInfo& part : backend.info().parts) bytes += part.bytes;
  return bytes;
}

}  // namespace

ModelTable::ModelTable(std::vector<ModelSource> sources, ModelTableOptions options)
    : options_(std::move(options)) {
  SYRINX_CHECK(!sources.empty(), "[model_table] no model");
  for (ModelSource& source : sources) {
    if (std::any_of(slots_.begin(), slots_.end(),
                    [&](const Slot& slot) { return slot.source.name == source.name; })) {
      throw LoadError(concat("two models are called '", source.name, "'"));
    }
    const std::string trouble = source.trouble;
    slots_.push_back({.source = std::move(source), .backend = nullptr});
    if (!trouble.empty()) slots_.back().failure = load_failure(trouble, false);
  }
  for (const auto& [alias, name] : options_.aliases) {
    if (slot(name) != nullptr) continue;
    throw LoadError(
        concat("'", alias, "' is an alias of the model '", name, "', which is not served"));
  }
  put(slots_[0], slots_[0].source.load());
}

ModelTable::ModelTable(std::shared_ptr<Backend> backend)
    : ModelTable({{backend->info().model, [backend] { return backend; }}}, ModelTableOptions{}) {}

void ModelTable::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

std::vector<ModelTable::Entry> ModelTable::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> out;
  for (const Slot& slot : slots_) out.push_back(entry(slot));
  return out;
}

ModelTable::Entry ModelTable::entry(const Slot& slot) const {
  const bool bad = !slot.backend && std::isinf(slot.failure.retry_after_s);
  return {slot.source.name, slot.backend, bad ? slot.failure.message : "", slot.source.facts,
          slot.hears};
}

Error ModelTable::not_loaded(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Slot* found = slot(name);
  if (found != nullptr && !found->failure.message.empty()) return found->failure;
  return {ErrorCode::kOverloaded, "The model is not loaded yet; POST /v1/audio/speech loads it.",
          "model", 1};
}

std::shared_ptr<Backend> ModelTable::first() const {
  const std::lock_guard lock(mutex_);
  return slots_[0].backend;
}

const ModelTable::Slot* ModelTable::slot(std::string_view name) const {
  if (const auto alias = options_.aliases.find(name); alias != options_.aliases.end()) {
    name = alias->second;
  }
  if (name.empty()) return &slots_[0];
  for (const Slot& slot : slots_) {
    if (slot.source.name == name) return &slot;
  }
  for (const Slot& slot : slots_) {
    if (last_part(slot.source.name) == last_part(name)) return &slot;
  }
  return is_vendor_model(name) ? &slots_[0] : nullptr;
}

ModelTable::Slot* ModelTable::slot(std::string_view name) {
  return const_cast<Slot*>(std::as_const(*this).slot(name));
}

std::optional<ModelTable::Entry> ModelTable::look_up(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Slot* found = slot(name);
  if (found == nullptr) return {};
  return entry(*found);
}

std::optional<ModelTable::Entry> ModelTable::hearer() const {
  const std::lock_guard lock(mutex_);
  const Slot* unloaded = nullptr;
  for (const Slot& each : slots_) {
    if (!each.hears) continue;
    if (each.backend) return entry(each);
    if (unloaded == nullptr) unloaded = &each;
  }
  return unloaded == nullptr ? std::nullopt : std::optional(entry(*unloaded));
}

Result<std::shared_ptr<Backend>> ModelTable::find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (Slot* found = slot(name)) {
    found->used_s = now_s();
    return found->backend;
  }
  std::string known;
  for (const Slot& each : slots_) known += (known.empty() ? "" : ", ") + each.source.name;
  return Error{ErrorCode::kNotFound,
               concat("The model '", name.substr(0, 200),
                      "' is not served by this server; available: ", known, "."),
               "model"};
}

Result<std::shared_ptr<Backend>> ModelTable::load(std::string_view name) {
  const std::lock_guard one(loading_);
  Result<std::shared_ptr<Backend>> there = find(name);
  // The model is unknown, or another thread loaded it while this thread waited.
  if (!there || there.value()) return there;
  Slot* wanted = slot(name);
  if (now_s() - wanted->failed_s < kRetryLoadS) return wanted->failure;
  try {
    const double began_s = now_s();
    const std::shared_ptr<Backend> backend = wanted->source.load();
    put(*wanted, backend);
    log(concat("model ", wanted->source.name, " loaded in ", now_s() - began_s, " s"));
    make_room(wanted);
    return backend;
  } catch (const std::exception& error) {  // includes std::bad_alloc
    log(concat("model ", wanted->source.name, " cannot be loaded: ", error.what()));
    const std::lock_guard lock(mutex_);
    wanted->failed_s = now_s();
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    wanted->failure = load_failure(memory ? "too little memory is free" : error.what(), memory);
    return wanted->failure;
  }
}

void ModelTable::put(Slot& slot, std::shared_ptr<Backend> backend) {
  const size_t bytes = bytes_of(*backend);
  auto facts = std::make_shared<const PipelineInfo>(backend->info());
  const auto recogniser = backend->recogniser();
  auto hears = recogniser ? std::make_shared<const RecogniserInfo>(recogniser->info()) : nullptr;
  {
    const std::lock_guard lock(mutex_);
    slot.backend.swap(backend);
    slot.source.facts = std::move(facts);
    slot.hears = std::move(hears);
    slot.bytes = bytes;
    slot.used_s = now_s();
    slot.failure = {};
  }
  // The old backend is destroyed here, outside the lock, or later when its last stream ends.
}

void ModelTable::reload() {
  const std::lock_guard one(loading_);
  for (Slot& slot : slots_) {
    {
      const std::lock_guard lock(mutex_);
      if (!slot.backend) continue;
    }
    try {
      put(slot, slot.source.load());
      log(concat("model ", slot.source.name, " loaded again"));
    } catch (const std::exception& error) {  // includes std::bad_alloc
      log(concat("model ", slot.source.name, " is unchanged: ", error.what()));
    }
  }
}

std::vector<std::shared_ptr<Backend>> ModelTable::make_room(const Slot* keep) {
  std::vector<std::shared_ptr<Backend>> gone;
  const std::lock_guard lock(mutex_);
  for (;;) {
    size_t bytes = 0;
    Slot* oldest = nullptr;
    for (Slot& slot : slots_) {
      if (!slot.backend) continue;
      bytes += slot.bytes;
      const bool idle = &slot != &slots_[0] && &slot != keep && slot.backend.use_count() == 1;
      if (idle && (oldest == nullptr || slot.used_s < oldest->used_s)) oldest = &slot;
    }
    if (options_.memory_bytes == 0 || bytes <= options_.memory_bytes || oldest == nullptr) break;
    log(concat("model ", oldest->source.name, " unloaded: too little memory is free"));
    gone.push_back(std::exchange(oldest->backend, nullptr));
  }
  return gone;
}

void ModelTable::sweep(double now_s) {
  std::vector<std::shared_ptr<Backend>> gone;
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      if (!slot.backend) continue;
      const double keep_s = &slot == &slots_[0] ? options_.keep_first_s : options_.keep_s;
      if (slot.backend.use_count() > 1) {
        slot.used_s = now_s;
      } else if (keep_s > 0 && now_s - slot.used_s > keep_s) {
        log(concat("model ", slot.source.name, " unloaded: not used for ", keep_s, " s"));
        gone.push_back(std::exchange(slot.backend, nullptr));
      }
    }
  }
  gone.clear();
  make_room(nullptr);
}

}  // namespace syrinx
