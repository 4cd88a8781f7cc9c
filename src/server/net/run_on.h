// Runs tasks on other threads and in coroutines. Asio instantiates its templates for each type of
// task; here all tasks have one type, so only run_on.cc instantiates them. Only for src/server.
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

/// Runs a task of any type on a thread of `pool`. This function is not a coroutine, because GCC 12
/// loses temporary arguments of a coroutine that is called in a co_await expression.
template <typename Task>
net::awaitable<void> run_on(net::thread_pool& pool, Task task) {
  return run_function_on(pool, std::function<void()>(std::move(task)));
}

/// Runs `task` later, on a thread of `pool` or on the io thread; call from any thread.
void run_later(net::thread_pool& pool, std::function<void()> task);
void run_later(net::io_context& io, std::function<void()> task);

/// Runs `task` on the io thread, waits for it and returns its result; call from another thread.
template <typename Task>
auto ask_of(net::io_context& io, Task task) {
  std::packaged_task<decltype(task())()> packaged(std::move(task));
  auto result = packaged.get_future();
  run_later(io, [&packaged] { packaged(); });
  return result.get();
}

/// Waits until count(), called on the io thread, returns 0; returns false after `timeout_s`.
bool emptied(net::io_context& io, const std::function<size_t()>& count, double timeout_s);

/// Starts a coroutine on the io thread without waiting for it. The coroutine must not throw.
void spawn(net::io_context& io, std::function<net::awaitable<void>()> coroutine);

}  // namespace syrinx
