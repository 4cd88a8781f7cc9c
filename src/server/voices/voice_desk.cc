#include "server/voices/voice_desk.h"

// clang-format off
#include "server/net/run_on.h"
// clang-format on
#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

using SharedVoice = std::shared_ptr<const Voice>;

/// Collects the voices of one fetch. Shared by the fetch and by the desk's thread.
class Basket {
 public:
  Basket(size_t count, std::function<void()> wake) : voices_(count), wake_(std::move(wake)) {}

  void take(size_t index, Result<SharedVoice> voice) {
    const std::lock_guard lock(mutex_);
    if (!wake_ || fault_) return;
    if (voice) {
      voices_[index] = voice.take();
      const bool all = std::all_of(voices_.begin(), voices_.end(),
                                   [](const SharedVoice& each) { return each != nullptr; });
      if (!all) return;
    } else {
      fault_ = voice.error();
    }
    wake_();
  }
  std::optional<Status> status() const {
    const std::lock_guard lock(mutex_);
    if (fault_) return Status(*fault_);
    const bool all = std::all_of(voices_.begin(), voices_.end(),
                                 [](const SharedVoice& each) { return each != nullptr; });
    if (!all) return {};
    return ok_status();
  }
  /// Accepts no further voices.
  void give_up() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
  }
  bool wanted() const {
    const std::lock_guard lock(mutex_);
    return wake_ != nullptr && !fault_;
  }
  const std::vector<SharedVoice>& voices() const { return voices_; }

 private:
  mutable std::mutex mutex_;
  std::vector<SharedVoice> voices_;  // voices of all wishes that have a source, in order
  std::optional<Error> fault_;
  std::function<void()> wake_;
};

/// A voice that a fetch waits for: its index in the fetch's basket.
struct Waiter {
  std::shared_ptr<Basket> basket;
  size_t index = 0;
};

/// A recording that is being encoded, and all requests that wait for it.
struct Encoding {
  std::string name;  ///< model and key; requests for the same voice share the encoding
  std::shared_ptr<Backend> backend;
  PreparedVoice prepared;
  std::vector<Waiter> waiters;
  std::optional<uint64_t> id;
};

std::string encoding_name(const Backend& backend, const std::string& key) {
  return backend.info().model + " " + key;
}

}  // namespace

struct VoiceDesk::Impl : std::enable_shared_from_this<VoiceDesk::Impl> {
  Impl(std::shared_ptr<VoiceStore> kept, VoiceDeskOptions wish)
      : store(std::move(kept)), options(std::move(wish)), cache(options.cache_bytes) {}

  Speaker speaker(const Backend& backend) const {
    return {backend.info(), backend.voice_encoder(), store.get(), &options.aliases};
  }
  std::optional<Result<SharedVoice>> at_hand(const Backend& backend, const VoiceSource& source);
  void look_up(const std::shared_ptr<Backend>& backend, const VoiceSource& source, Waiter waiter,
               uint64_t client);
  bool join(const std::string& name, const Waiter& waiter);
  void encode(const std::shared_ptr<Backend>& backend, PreparedVoice prepared, Waiter waiter,
              uint64_t client);
  void encoded(uint64_t number, Result<Voice> voice);
  void forget_unwanted();

  const std::shared_ptr<VoiceStore> store;
  const VoiceDeskOptions options;
  VoiceCache cache;
  std::mutex mutex;  // protects the members below
  std::map<uint64_t, Encoding> encodings;
  std::map<std::string, uint64_t> joinable;  // encodings by name, except cancelled encodings
  uint64_t next_number = 1;
  int waiting = 0;
  net::thread_pool worker{1};
};

/// Returns the voice if it is available without reading or decoding; otherwise nothing.
std::optional<Result<SharedVoice>> VoiceDesk::Impl::at_hand(const Backend& backend,
                                                            const VoiceSource& source) {
  if (!source.embedding.empty()) {
    auto voice = backend.voice_of_embedding(source.embedding);
    if (!voice) return Result<SharedVoice>(voice.error());
    return Result<SharedVoice>(std::make_shared<const Voice>(voice.take()));
  }
  auto quick = prepare_voice(speaker(backend), source, {.cache = &cache, .quick = true});
  if (!quick) return Result<SharedVoice>(quick.error());
  if (quick.value().voice) return Result<SharedVoice>(quick.value().voice);
  return {};
}

/// Finds a voice in the cache or the store, on the desk's thread.
void VoiceDesk::Impl::look_up(const std::shared_ptr<Backend>& backend, const VoiceSource& source,
                              Waiter waiter, uint64_t client) try {
  if (!waiter.basket->wanted()) return;
  bool joined = false;
  const auto join_it = [&](const std::string& key) {
    return joined = join(encoding_name(*backend, key), waiter);
  };
  auto prepared =
      prepare_voice(speaker(*backend), source,
                    {.cache = &cache, .limits = options.recordings, .under_way = join_it});
  if (joined) return;
  if (!prepared) return waiter.basket->take(waiter.index, prepared.error());
  if (prepared.value().voice) return waiter.basket->take(waiter.index, prepared.value().voice);
  encode(backend, prepared.take(), waiter, client);
} catch (const std::exception& error) {
  waiter.basket->take(waiter.index, Error{ErrorCode::kInternal, error.what(), "voice"});
}

/// Joins an encoding of the same recording, on the desk's thread; returns false without one.
bool VoiceDesk::Impl::join(const std::string& name, const Waiter& waiter) {
  const std::lock_guard lock(mutex);
  const auto at = joinable.find(name);
  if (at == joinable.end()) return false;
  encodings[at->second].waiters.push_back(waiter);
  return true;
}

/// Starts an encoding, on the desk's thread. join() has found no encoding of the same recording.
void VoiceDesk::Impl::encode(const std::shared_ptr<Backend>& backend, PreparedVoice prepared,
                             Waiter waiter, uint64_t client) {
  const std::string name = encoding_name(*backend, prepared.key);
  Recording recording = std::move(prepared.recording);
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex);
    number = next_number++;
    joinable[name] = number;
    Encoding& encoding = encodings[number];
    encoding.waiters.push_back(waiter);
    encoding.name = name;
    encoding.backend = backend;
    encoding.prepared = std::move(prepared);
  }
  // A weak pointer, because the engine's thread calls this and must not destroy the engine.
  auto id = backend->encode_voice(std::move(recording), client,
                                  [weak = weak_from_this(), number](Result<Voice> voice) {
                                    const auto self = weak.lock();
                                    if (!self) return;
                                    auto shared = std::make_shared<Result<Voice>>(std::move(voice));
                                    run_later(self->worker, [impl = self.get(), number, shared] {
                                      impl->encoded(number, std::move(*shared));
                                    });
                                  });
  if (!id) return encoded(number, id.error());
  const std::lock_guard lock(mutex);
  encodings[number].id = id.value();  // the entry still exists, as this thread also handles its end
}

/// Passes an encoded voice to all waiting requests, on the desk's thread.
void VoiceDesk::Impl::encoded(uint64_t number, Result<Voice> voice) {
  Encoding encoding;
  {
    const std::lock_guard lock(mutex);
    encoding = std::move(encodings[number]);
    encodings.erase(number);
    const auto at = joinable.find(encoding.name);
    if (at != joinable.end() && at->second == number) joinable.erase(at);
  }
  std::optional<Result<SharedVoice>> out;
  if (voice) {
    out = keep_voice(speaker(*encoding.backend), encoding.prepared, voice.take(), &cache);
  } else {
    out = voice.error();
  }
  for (const Waiter& waiter : encoding.waiters) waiter.basket->take(waiter.index, *out);
}

/// Cancels encodings that no request waits for.
void VoiceDesk::Impl::forget_unwanted() {
  const std::lock_guard lock(mutex);
  for (auto& [number, encoding] : encodings) {
    const bool wanted = std::any_of(encoding.waiters.begin(), encoding.waiters.end(),
                                    [](const Waiter& waiter) { return waiter.basket->wanted(); });
    if (wanted || !encoding.id) continue;
    encoding.backend->cancel_voice(*encoding.id);
    const auto at = joinable.find(encoding.name);
    if (at != joinable.end() && at->second == number) joinable.erase(at);
  }
}

namespace {

/// A fetch; voices that are not in the cache are looked up and encoded in parallel.
class Fetch : public VoiceFetch {
 public:
  Fetch(std::vector<VoiceWish> wishes, std::shared_ptr<Basket> basket,
        std::function<void()> give_up)
      : wishes_(std::move(wishes)), basket_(std::move(basket)), give_up_(std::move(give_up)) {}
  ~Fetch() override {
    basket_->give_up();
    if (give_up_) give_up_();
  }
  std::optional<Status> status() const override { return basket_->status(); }
  void put(SpeechRequest& request) const override {
    put_voices(wishes_, basket_->voices(), request);
  }

 private:
  const std::vector<VoiceWish> wishes_;
  const std::shared_ptr<Basket> basket_;
  const std::function<void()> give_up_;
};

}  // namespace

VoiceDesk::VoiceDesk(std::shared_ptr<VoiceStore> store, VoiceDeskOptions options)
    : impl_(std::make_shared<Impl>(std::move(store), std::move(options))) {}

VoiceDesk::~VoiceDesk() {
  {
    const std::lock_guard lock(impl_->mutex);
    for (auto& [number, encoding] : impl_->encodings) {
      if (encoding.id) encoding.backend->cancel_voice(*encoding.id);
    }
  }
  impl_->worker.join();
  // If the last encoding owns its backend, the backend is destroyed here, outside the lock.
  std::map<uint64_t, Encoding> unfinished;
  const std::lock_guard lock(impl_->mutex);
  unfinished.swap(impl_->encodings);
}

Speaker VoiceDesk::speaker(const Backend& backend) const { return impl_->speaker(backend); }
VoiceStore* VoiceDesk::store() const { return impl_->store.get(); }
const RecordingLimits& VoiceDesk::recordings() const { return impl_->options.recordings; }

void VoiceDesk::post(std::function<void()> task) { run_later(impl_->worker, std::move(task)); }

std::unique_ptr<VoiceFetch> VoiceDesk::fetch(std::shared_ptr<Backend> backend,
                                             std::vector<VoiceWish> wishes, uint64_t client,
                                             std::function<void()> wake) {
  std::vector<std::shared_ptr<const VoiceSource>> sources;
  for (const VoiceWish& wish : wishes) {
    if (wish.source) sources.push_back(wish.source);
  }
  auto basket = std::make_shared<Basket>(sources.size(), std::move(wake));
  std::vector<size_t> missing;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (auto voice = impl_->at_hand(*backend, *sources[i])) {
      basket->take(i, std::move(*voice));
    } else {
      missing.push_back(i);
    }
  }
  if (missing.empty() || !basket->wanted()) {
    return std::make_unique<Fetch>(std::move(wishes), basket, nullptr);
  }
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->waiting >= impl_->options.max_waiting) {
      basket->take(missing[0],
                   Error{ErrorCode::kOverloaded,
                         concat(impl_->waiting, " requests wait for a voice"), "voice", 1});
      return std::make_unique<Fetch>(std::move(wishes), basket, nullptr);
    }
    ++impl_->waiting;
  }
  for (const size_t index : missing) {
    run_later(impl_->worker,
              [impl = impl_.get(), backend, source = sources[index], basket, index, client] {
                impl->look_up(backend, *source, {basket, index}, client);
              });
  }
  const auto give_up = [weak = std::weak_ptr(impl_)] {
    const auto impl = weak.lock();
    if (!impl) return;
    impl->forget_unwanted();
    const std::lock_guard lock(impl->mutex);
    --impl->waiting;
  };
  return std::make_unique<Fetch>(std::move(wishes), basket, give_up);
}

}  // namespace syrinx
