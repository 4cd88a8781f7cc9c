// Implements the fibers, barriers and exchanges of emulation/gpu.h. For x86-64 only.
#include "kernels/cuda/emulation/gpu.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cuda/emulation/memory.h"

// Saves the registers that a function must preserve on the stack, switches to the other stack, and
// restores its registers.
extern "C" void syrinx_switch_stack(void** save, void* to);
asm(R"(
.text
.globl syrinx_switch_stack
.type syrinx_switch_stack, @function
syrinx_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size syrinx_switch_stack, .-syrinx_switch_stack
)");

namespace syrinx::gpu::emulated {
namespace {

constexpr size_t kStack = 128u << 10, kThreads = 1024;
constexpr int kWarp = 32;

enum class State : uint8_t { kReady, kAtBlock, kAtWarp, kDone };

/// An asynchronous copy to shared memory that is not complete.
struct Copy {
  void* to;
  unsigned char bytes[16];
  int group;
};

struct Fiber {
  void* stack = nullptr;
  State state = State::kReady;
  bool waited = false;  // for the earlier kernel
  int turn = 0;         // index of the exchange buffer that is used next
  int group = 0;        // number of groups of copies that were committed
  std::vector<Copy> copies = {};
};

/// How many fibers of a group are at the barrier, and how many have ended.
struct Group {
  int at_barrier = 0, done = 0;
};

struct Machine {
  Machine() {
    memory = static_cast<char*>(mmap(nullptr, kStack * kThreads, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory == MAP_FAILED) std::abort();
  }
  char* memory = nullptr;
  std::vector<Fiber> fibers;
  void* scheduler = nullptr;
  int current = 0;
  int first = 0, step = 1;  // this round's first fiber, and the distance to the next fiber
  Group block, warps[kThreads / kWarp];
  const std::function<void()>* body = nullptr;
  const char* name = "";
  bool early = false;                              // each thread must wait for the earlier kernel
  const std::function<void()>* earlier = nullptr;  // the kernel that has not run so far
  alignas(16) unsigned char room[kThreads / kWarp][2][kWarp][32];
  alignas(128) unsigned char dynamic[kMostShared];
};

/// The machine that runs the current kernel: the second one if a kernel of the first one waits.
Machine*& current_machine() {
  static Machine* current = nullptr;
  return current;
}
Machine& machine() {
  static Machine first;
  if (current_machine() == nullptr) current_machine() = &first;
  return *current_machine();
}

/// Returns the next fiber after `i` that can run in this round; -1 if no fiber can run.
int ready_after(const Machine& m, int i) {
  const int count = static_cast<int>(m.fibers.size());
  do {
    i += m.step;
    if (i >= count) i -= count;
    if (i == m.first) return -1;
  } while (m.fibers[i].state != State::kReady);
  return i;
}

/// Continues fiber i.
void enter(Machine& m, int i, void** save) {
  m.current = i;
  threadIdx.x = static_cast<unsigned>(i);
  syrinx_switch_stack(save, m.fibers[i].stack);
}

/// Switches to the next fiber, or to run_block() at the end of a round.
void pause(State why) {
  Machine& m = machine();
  Fiber& me = m.fibers[m.current];
  Group& warp = m.warps[m.current / kWarp];
  me.state = why;
  if (why == State::kDone)
    ++warp.done, ++m.block.done;
  else
    ++(why == State::kAtWarp ? warp : m.block).at_barrier;
  const int next = ready_after(m, m.current);
  if (next < 0)
    syrinx_switch_stack(&me.stack, m.scheduler);
  else
    enter(m, next, &me.stack);
}

[[noreturn]] void stuck(const char* what) {
  const Machine& m = machine();
  std::fprintf(stderr, "[emulated gpu] kernel %s, block %u %u %u: %s\n", m.name, blockIdx.x,
               blockIdx.y, blockIdx.z, what);
  for (size_t i = 0; i < m.fibers.size(); ++i)
    std::fprintf(stderr, "%d", static_cast<int>(m.fibers[i].state));
  std::fprintf(stderr, "\n");
  std::abort();
}

void entry() {
  Machine& m = machine();
  (*m.body)();
  const Fiber& me = m.fibers[m.current];
  if (!me.copies.empty()) stuck("a thread ends and has copies that it began");
  if (m.early && !me.waited) stuck("a thread ends and did not wait for the earlier kernel");
  pause(State::kDone);
  std::abort();  // not reached: an ended fiber must not run again
}

void prepare(int i) {
  Machine& m = machine();
  char* top = m.memory + (i + 1) * kStack;
  auto** sp = reinterpret_cast<void**>(top - 16);
  *sp = reinterpret_cast<void*>(&entry);
  for (int r = 0; r < 6; ++r) *--sp = nullptr;
  Fiber& fiber = m.fibers[i];
  fiber.stack = sp;
  fiber.state = State::kReady;
  fiber.waited = false;
  fiber.turn = fiber.group = 0;
}

/// Continues `count` fibers from `begin` if all of them are at their group's barrier.
bool release(Group& group, int begin, int count) {
  if (group.at_barrier == 0) return false;
  if (group.done > 0 && group.at_barrier + group.done == count)
    stuck("threads wait for threads of their group that have ended");
  if (group.at_barrier != count) return false;
  group.at_barrier = 0;
  for (int i = begin; i < begin + count; ++i) machine().fibers[i].state = State::kReady;
  return true;
}

/// An order of blocks or threads: begins with `first`, and steps by `step`, modulo their number.
struct Order {
  uint64_t first, step;
};

/// Returns a different order for each launch, and for each round of a block's threads, because
/// kernels must not rely on any order. SYRINX_EMULATED_ORDER: a number that selects other orders.
Order next_order(uint64_t count) {
  static uint64_t orders = [] {
    const char* value = std::getenv("SYRINX_EMULATED_ORDER");
    return value ? std::strtoull(value, nullptr, 10) << 32 : 0;
  }();
  const uint64_t mixed = ++orders * 0x9e3779b97f4a7c15u >> 20;
  uint64_t step = mixed / count % count;
  while (std::gcd(step, count) != 1) ++step;
  return {mixed % count, step % count};
}

void run_block(int count) {
  Machine& m = machine();
  for (int i = 0; i < count; ++i) prepare(i);
  m.block = {};
  std::fill_n(m.warps, count / kWarp, Group{});
  while (m.block.done < count) {
    const Order order = next_order(static_cast<uint64_t>(count));
    m.first = static_cast<int>(order.first), m.step = static_cast<int>(order.step);
    const bool ready = m.fibers[m.first].state == State::kReady;
    const int first = ready ? m.first : ready_after(m, m.first);
    if (first >= 0) enter(m, first, &m.scheduler);
    bool moved = first >= 0;
    for (int w = 0; w < count / kWarp; ++w) moved |= release(m.warps[w], w * kWarp, kWarp);
    moved |= release(m.block, 0, count);
    if (!moved) stuck("threads wait at different places");
  }
}

}  // namespace

void wait_for_block() { pause(State::kAtBlock); }

const unsigned char* exchange(const void* mine, size_t bytes) {
  Machine& m = machine();
  const int me = m.current;
  const int turn = m.fibers[me].turn ^= 1;
  auto& room = m.room[me / kWarp][turn];
  if (bytes > 0) std::memcpy(room[me % kWarp], mine, bytes);
  pause(State::kAtWarp);
  return room[0];
}

void begin_copy(void* to, const void* from, bool inside) {
  Machine& m = machine();
  Fiber& me = m.fibers[m.current];
  if (reinterpret_cast<uintptr_t>(to) % 16 || reinterpret_cast<uintptr_t>(from) % 16)
    stuck("a copy is misaligned");
  Copy& copy = me.copies.emplace_back(Copy{to, {}, me.group});
  if (inside) std::memcpy(copy.bytes, from, sizeof(copy.bytes));
}

void commit_copies() {
  Machine& m = machine();
  ++m.fibers[m.current].group;
}

void finish_copies(int pending) {
  Machine& m = machine();
  Fiber& me = m.fibers[m.current];
  std::erase_if(me.copies, [&](const Copy& copy) {
    if (copy.group >= me.group - pending) return false;
    std::memcpy(copy.to, copy.bytes, sizeof(copy.bytes));
    return true;
  });
}

void* dynamic_memory() { return machine().dynamic; }

int lane() { return machine().current % kWarp; }

namespace {

/// A kernel of run().
struct Launch {
  const char* name;
  dim3 grid, block;
  size_t shared;
  bool early;
  std::function<void()> thread;

  /// Runs all blocks. `earlier` runs when the first thread waits for it, or before the kernel.
  void run(const std::function<void()>& earlier) const;
};

void Launch::run(const std::function<void()>& earlier) const {
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  if (earlier && (!early || blocks == 0)) earlier();
  if (blocks == 0) return;
  Machine& m = machine();
  m.fibers.resize(block.x);
  m.body = &thread;
  m.name = name;
  m.early = early;
  m.earlier = early && earlier ? &earlier : nullptr;
  gridDim = grid;
  blockDim = block;
  threadIdx = dim3(0, 0, 0);
  const Order order = next_order(blocks);
  for (uint64_t i = 0, at = order.first; i < blocks; ++i, at = (at + order.step) % blocks) {
    blockIdx = dim3(static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                    static_cast<unsigned>(at / grid.x / grid.y));
    std::memset(m.dynamic, 0xff, shared);  // NaN, because shared memory is uninitialised
    run_block(static_cast<int>(block.x));
  }
}

/// The kernels that are held back: none, one, or one and an earlier one.
std::vector<Launch>& held() {
  static std::vector<Launch> all;
  return all;
}

}  // namespace

void run_held() {
  const std::vector<Launch> all = std::exchange(held(), {});
  if (all.empty()) return;
  std::function<void()> earlier;
  if (all.size() == 2) earlier = [&] { all[0].run({}); };
  all.back().run(earlier);
}

void wait_for_earlier() {
  Machine& m = machine();
  m.fibers[m.current].waited = true;
  if (m.earlier == nullptr) return;
  static Machine second;
  const auto* earlier = std::exchange(m.earlier, nullptr);
  const dim3 places[] = {threadIdx, blockIdx, blockDim, gridDim};
  current_machine() = &second;
  (*earlier)();
  current_machine() = &m;
  threadIdx = places[0], blockIdx = places[1], blockDim = places[2], gridDim = places[3];
}

void run(const char* name, dim3 grid, dim3 block, size_t shared, bool early,
         const std::function<void()>& thread) {
  SYRINX_CHECK(block.y == 1 && block.z == 1 && block.x % kWarp == 0 && block.x <= kThreads, name,
               ": unsupported block of ", block.x, " threads");
  SYRINX_CHECK(shared <= sizeof(Machine::dynamic), name, ": a block may not have ", shared,
               " bytes of shared memory");
  Launch launch{name, grid, block, shared, early, thread};
  if (!early_wanted()) return launch.run({});
  if (!early || held().size() == 2) run_held();
  held().push_back(std::move(launch));
}

}  // namespace syrinx::gpu::emulated

namespace syrinx::gpu {

namespace {

/// Computes a product of mma_bf16 or mma_f16; `value` converts 16 bits.
template <typename F>
void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], F value) {
  struct Mine {
    uint32_t a[4], b[2];
  };
  const Mine mine{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const unsigned char* room = emulated::exchange(&mine, sizeof(mine));
  const auto of = [&](int lane) { return reinterpret_cast<const Mine*>(room + 32 * lane); };
  const auto half_of = [&](uint32_t word, int half) {
    return value(static_cast<uint16_t>(word >> (16 * half)));
  };
  const int lane = emulated::lane(), row = lane / 4, column = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {  // c[i] is row + 8 * (i / 2), column + i % 2
    const int high = i / 2, n = column + i % 2;
    double sum = c[i];
    for (int t = 0; t < 4; ++t) {
      for (int part = 0; part < 2; ++part) {
        for (int half = 0; half < 2; ++half)
          sum += double{half_of(of(row * 4 + t)->a[2 * part + high], half)} *
                 half_of(of(n * 4 + t)->b[part], half);
      }
    }
    c[i] = static_cast<float>(sum);
  }
}

/// Returns the addresses that the lanes pass to a load of matrices.
const uint16_t* const* row_addresses(const void* row) {
  static const uint16_t* rows[32];
  const unsigned char* room = emulated::exchange(&row, sizeof(row));
  for (int i = 0; i < 32; ++i) std::memcpy(&rows[i], room + 32 * i, sizeof(row));
  return rows;
}

}  // namespace

void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
              uint32_t b1) {
  multiply(c, {a0, a1, a2, a3}, {b0, b1}, bf16_to_f32);
}

void mma_f16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
             uint32_t b1) {
  multiply(c, {a0, a1, a2, a3}, {b0, b1}, f16_to_f32);
}

void load_matrices(uint32_t (&out)[4], const void* row) {
  const uint16_t* const* rows = row_addresses(row);
  const int g = emulated::lane() / 4, t = emulated::lane() % 4;
  for (int i = 0; i < 4; ++i) std::memcpy(&out[i], rows[8 * i + g] + 2 * t, 4);
}

void load_matrices_transposed(uint32_t (&out)[4], const void* row) {
  const uint16_t* const* rows = row_addresses(row);
  const int g = emulated::lane() / 4, t = emulated::lane() % 4;
  for (int i = 0; i < 4; ++i)
    out[i] = rows[8 * i + 2 * t][g] | uint32_t{rows[8 * i + 2 * t + 1][g]} << 16;
}

}  // namespace syrinx::gpu
