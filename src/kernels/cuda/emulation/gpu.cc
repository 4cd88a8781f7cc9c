// Fibers, barriers and exchanges of emulation/gpu.h. x86-64 only.
#include "kernels/cuda/emulation/gpu.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/cuda/emulation/memory.h"

// Saves the registers that a function must keep on the stack, changes stacks, takes them back.
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

enum class State : uint8_t { kReady, kAtBlock, kAtWarp, kDone };

struct Fiber {
  void* stack = nullptr;
  State state = State::kReady;
  int turn = 0;  // of the two exchange rooms
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
  const std::function<void()>* body = nullptr;
  const char* name = "";
  alignas(16) unsigned char room[kThreads / 32][2][32][32];
  alignas(16) unsigned char dynamic[256u << 10];
};

Machine& machine() {
  static Machine one;
  return one;
}

void pause(State why) {
  Machine& m = machine();
  Fiber& me = m.fibers[m.current];
  me.state = why;
  syrinx_switch_stack(&me.stack, m.scheduler);
}

void entry() {
  (*machine().body)();
  pause(State::kDone);
  std::abort();  // a finished thread is not run again
}

void prepare(int i) {
  Machine& m = machine();
  char* top = m.memory + (i + 1) * kStack;
  auto** sp = reinterpret_cast<void**>(top - 16);
  *sp = reinterpret_cast<void*>(&entry);
  for (int r = 0; r < 6; ++r) *--sp = nullptr;
  m.fibers[i] = {sp, State::kReady, 0};
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

/// Lets all of `state` in [begin, end) go on when every one of them is in it.
bool release(size_t begin, size_t end, State state) {
  Machine& m = machine();
  size_t here = 0, done = 0;
  for (size_t i = begin; i < end; ++i) {
    here += m.fibers[i].state == state;
    done += m.fibers[i].state == State::kDone;
  }
  if (here > 0 && here + done == end - begin && done > 0)
    stuck("threads wait for others of their group that have ended");
  if (here != end - begin) return false;
  for (size_t i = begin; i < end; ++i) m.fibers[i].state = State::kReady;
  return true;
}

void run_block(dim3 block) {
  Machine& m = machine();
  const auto count = static_cast<int>(block.x);
  for (int i = 0; i < count; ++i) prepare(i);
  for (int round = 0;; ++round) {
    bool ran = false;
    for (int k = 0; k < count; ++k) {
      const int i = round % 2 ? count - 1 - k : k;
      if (m.fibers[i].state != State::kReady) continue;
      ran = true;
      m.current = i;
      threadIdx = dim3(static_cast<unsigned>(i), 0, 0);
      syrinx_switch_stack(&m.scheduler, m.fibers[i].stack);
    }
    bool moved = false, all_done = true;
    for (int w = 0; w < count; w += 32)
      moved |= release(w, static_cast<size_t>(w) + 32, State::kAtWarp);
    moved |= release(0, static_cast<size_t>(count), State::kAtBlock);
    for (int i = 0; i < count; ++i) all_done &= m.fibers[i].state == State::kDone;
    if (all_done) return;
    if (!ran && !moved) stuck("threads wait at different places");
  }
}

}  // namespace

void wait_for_block() { pause(State::kAtBlock); }

const unsigned char* exchange(const void* mine, size_t bytes) {
  Machine& m = machine();
  const int me = m.current;
  const int turn = m.fibers[me].turn ^= 1;
  auto& room = m.room[me / 32][turn];
  if (bytes > 0) std::memcpy(room[me % 32], mine, bytes);
  pause(State::kAtWarp);
  return room[0];
}

void* dynamic_memory() { return machine().dynamic; }

int lane() { return machine().current % 32; }

void run(const char* name, dim3 grid, dim3 block, size_t shared,
         const std::function<void()>& thread) {
  const DeviceAccess access;
  Machine& m = machine();
  SYRINX_CHECK(block.y == 1 && block.z == 1 && block.x % 32 == 0 && block.x <= kThreads, name,
               ": a block of ", block.x, " threads");
  SYRINX_CHECK(shared <= sizeof(m.dynamic), name, ": ", shared, " bytes of shared memory");
  m.fibers.resize(block.x);
  m.body = &thread;
  m.name = name;
  gridDim = grid;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        std::memset(m.dynamic, 0xff, shared);  // NaN: nobody wrote it
        run_block(block);
      }
    }
  }
}

}  // namespace syrinx::gpu::emulated

namespace syrinx::gpu {

void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
              uint32_t b1) {
  struct Mine {
    uint32_t a[4], b[2];
  };
  const Mine mine{{a0, a1, a2, a3}, {b0, b1}};
  const unsigned char* room = emulated::exchange(&mine, sizeof(mine));
  const auto of = [&](int lane) { return reinterpret_cast<const Mine*>(room + 32 * lane); };
  const auto value = [](uint32_t word, int half) {
    return bf16_to_f32(static_cast<uint16_t>(word >> (16 * half)));
  };
  const int lane = emulated::lane(), row = lane / 4, column = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {  // c[i]: row + 8 * (i / 2), column + i % 2
    const int high = i / 2, n = column + i % 2;
    double sum = c[i];
    for (int t = 0; t < 4; ++t) {
      for (int part = 0; part < 2; ++part) {
        for (int half = 0; half < 2; ++half)
          sum += double{value(of(row * 4 + t)->a[2 * part + high], half)} *
                 value(of(n * 4 + t)->b[part], half);
      }
    }
    c[i] = static_cast<float>(sum);
  }
}

}  // namespace syrinx::gpu
