// Runs work on other threads and in coroutines. Asio instantiates code for each type of task; here
// all tasks have one type, so that this happens once (run_on.cc). Inside the server only.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <future>
#include <utility>

namespace syrinx {

/// Runs `task`, which would block the io thread, on a thread of `pool`; then resumes on the io
/// thread.
net::awaitable<void> run_function_on(net::thread_pool& pool, std::function<void()> task);

/// Runs a task of any type and returns its result. It is not a coroutine: GCC 12 loses temporaries
/// in a co_await expression, such as a call of this function.
template <typename Task>
net::awaitable<void> run_on(net::thread_pool& pool, Task task) {
  return run_function_on(pool, std::function<void()>(std::move(task)));
}

/// Runs `task` later, on a thread of `pool` or on the io thread; call from any thread.
void run_later(net::thread_pool& pool, std::function<void()> task);
void run_later(net::io_context& io, std::function<void()> task);

/// Runs `task` on the io thread and returns its result; call from any other thread.
template <typename Task>
auto ask_of(net::io_context& io, Task task) {
  std::packaged_task<decltype(task())()> packaged(std::move(task));
  auto result = packaged.get_future();
  run_later(io, [&packaged] { packaged(); });
  return result.get();
}

/// Waits until count(), called on the io thread, returns 0; returns false after `timeout_s`.
bool emptied(net::io_context& io, const std::function<size_t()>& count, double timeout_s);

/// Starts a separate coroutine on the io thread; call from any thread. It must not throw.
void spawn(net::io_context& io, std::function<net::awaitable<void>()> coroutine);

}  // namespace syrinx
