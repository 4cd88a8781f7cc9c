// Work of a coroutine that would hold up the io thread. Inside the server only.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/asio.h"

namespace syrinx {

/// Runs `task` on a thread of `pool` and comes back to the io thread.
template <typename Task>
net::awaitable<void> run_on(net::thread_pool& pool, Task task) {
  auto job = [task]() -> net::awaitable<void> {
    task();
    co_return;
  };
  co_await net::co_spawn(pool, std::move(job), net::use_awaitable);
}

}  // namespace syrinx
