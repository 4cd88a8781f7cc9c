#include "server/net/run_on.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

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

void spawn(net::io_context& io, std::function<net::awaitable<void>()> coroutine) {
  net::co_spawn(io, std::move(coroutine), net::detached);
}

}  // namespace syrinx
