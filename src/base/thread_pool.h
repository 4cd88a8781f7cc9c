// Fork-join over a fixed number of threads, for the kernels. The caller's thread does a part of the
// work. A pool runs one parallel_for at a time, so each executor has its own pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace syrinx {

/// A borrowed callable: like std::function, but without allocation. Valid only during the call.
template <typename Signature>
class FunctionRef;
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Worker threads spin for a moment, then sleep, so that an idle server uses no processor time.
class ThreadPool {
 public:
  /// `threads` includes the caller's thread: 1 means no worker threads. 0 means usable_cores()
  /// (base/cores.h).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  /// Runs body(begin, end) over disjoint parts of [0, count); parts begin at multiples of `grain`.
  /// The result must not depend on which thread runs which part. Returns when all parts are done.
  /// If one part is enough, the caller runs it. body must not throw and must not call parallel_for.
  void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
