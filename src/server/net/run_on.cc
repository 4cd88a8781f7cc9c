#include "server/net/run_on.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace syrinx {

net::awaitable<void> run_function_on(net::thread_pool& pool, std::function<void()> task) {
  auto job = [task = std::move(task)]() -> net::awaitable<void> {
    task();
    co_return;
  };
  co_await net::co_spawn(pool, std::move(job), net::use_awaitable);
}

void run_later(net::thread_pool& pool, std::function<void()> task) {
  net::post(pool, std::move(task));
}

void run_later(net::io_context& io, std::function<void()> task) { net::post(io, std::move(task)); }

bool emptied(net::io_context& io, const std::function<size_t()>& count, double timeout_s) {
  const double deadline_s = now_s() + timeout_s;
  while (ask_of(io, count) > 0) {
    if (now_s() > deadline_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void spawn(net::io_context& io, std::function<net::awaitable<void>()> coroutine) {
  net::co_spawn(io, std::move(coroutine), net::detached);
}

}  // namespace syrinx
