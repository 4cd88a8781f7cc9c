// Work handed to other threads and coroutines. Asio makes its machinery once more for each type of
// task; here tasks are of one type, and it is made once (run_on.cc). Inside the server only.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <future>
#include <utility>

namespace syrinx {

/// Runs `task` on a thread of `pool`, since it would hold up the io thread, and comes back there.
net::awaitable<void> run_function_on(net::thread_pool& pool, std::function<void()> task);

/// The same for any task. Not a coroutine, so that the function is not a temporary of a co_await
/// expression, which GCC 12 loses.
template <typename Task>
net::awaitable<void> run_on(net::thread_pool& pool, Task task) {
  return run_function_on(pool, std::function<void()>(std::move(task)));
}

/// Has `task` run on a thread of `pool`, or on the io thread, later; from any thread.
void run_later(net::thread_pool& pool, std::function<void()> task);
void run_later(net::io_context& io, std::function<void()> task);

/// Runs `task` on the io thread and waits for its result; from any other thread.
template <typename Task>
auto ask_of(net::io_context& io, Task task) {
  std::packaged_task<decltype(task())()> packaged(std::move(task));
  auto result = packaged.get_future();
  run_later(io, [&packaged] { packaged(); });
  return result.get();
}

/// Whether what `count` counts on the io thread came to nothing before `timeout_s` had passed.
bool emptied(net::io_context& io, const std::function<size_t()>& count, double timeout_s);

/// Starts a coroutine of its own on the io thread; from any thread. It must not throw.
void spawn(net::io_context& io, std::function<net::awaitable<void>()> coroutine);

}  // namespace syrinx
