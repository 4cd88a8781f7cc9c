// Runs AMX instructions on a processor without AMX. Each instruction raises SIGILL; the signal
// handler executes it on the registers of tile_model.h. This tests the code of gemm_amx.cc itself,
// with the operands that the assembler wrote. Only included by tests.
#pragma once

#if defined(__x86_64__) && defined(__linux__)

#include <signal.h>
#include <ucontext.h>

#include <cstdlib>

#include "kernels/cpu/tile_model.h"

namespace syrinx::cpu {

/// An instruction with a VEX prefix of three bytes.
class TileInstruction {
 public:
  explicit TileInstruction(const ucontext_t& at)
      : registers_(at.uc_mcontext.gregs),
        code_(reinterpret_cast<const uint8_t*>(registers_[REG_RIP])) {
    if (mod() == 3) return;
    length_ += sib() + (mod() == 1 ? 1 : mod() == 2 || from_rip() || no_base() ? 4 : 0);
  }
  /// Returns whether it is a tile instruction: in opcode map 0F38, without W, with a tile opcode.
  bool known() const {
    return code_[0] == 0xc4 && (code_[1] & 31) == 2 && (code_[2] & 0x84) == 0 &&
           (code_[3] == 0x49 || code_[3] == 0x4b || code_[3] == 0x5c || code_[3] == 0x5e);
  }
  /// Returns the opcode and the prefix that VEX implies: 0 for none, 1 for 66, 2 for F3, 3 for F2.
  int operation() const { return code_[3] << 4 | (code_[2] & 3); }
  bool names_registers() const { return mod() == 3; }
  int reg() const { return code_[4] >> 3 & 7; }
  int rm() const { return code_[4] & 7; }
  int vvvv() const { return ~code_[2] >> 3 & 15; }
  int length() const { return length_; }

  /// Returns the address of the operand in memory, without the index register.
  const char* address() const {
    const uint8_t* after = code_ + 5 + sib();
    int64_t moved = 0;
    if (mod() == 1) {
      moved = static_cast<int8_t>(*after);
    } else if (mod() == 2 || from_rip() || no_base()) {
      int32_t four;
      std::memcpy(&four, after, sizeof four);
      moved = four;
    }
    if (from_rip()) return reinterpret_cast<const char*>(code_) + length_ + moved;
    const int number = (sib() ? code_[5] & 7 : rm()) | (code_[1] & 0x20 ? 0 : 8);
    return reinterpret_cast<const char*>(no_base() ? 0 : general(number)) + moved;
  }
  /// Returns the distance in bytes between the rows of a tile in memory.
  int64_t step() const {
    const int number = (code_[5] >> 3 & 7) | (code_[1] & 0x40 ? 0 : 8);
    return number == 4 ? 0 : general(number) << (code_[5] >> 6);
  }

 private:
  int mod() const { return code_[4] >> 6; }
  int sib() const { return mod() != 3 && rm() == 4 ? 1 : 0; }
  bool from_rip() const { return mod() == 0 && rm() == 5; }
  bool no_base() const { return mod() == 0 && sib() && (code_[5] & 7) == 5; }
  int64_t general(int number) const {
    static constexpr int kPlace[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
    return registers_[kPlace[number]];
  }

  const greg_t* registers_;
  const uint8_t* code_;
  int length_ = 5;
};

/// Executes an instruction; returns false if it is not a tile instruction.
inline bool emulate(TileRegisters& tiles, const TileInstruction& i) {
  if (!i.known()) return false;
  switch (i.operation()) {
    case 0x490:
      if (i.names_registers()) {
        tiles.release();
      } else {
        TileConfig config;
        std::memcpy(&config, i.address(), sizeof config);
        tiles.configure(config);
      }
      return true;
    case 0x493:
      tiles.zero(i.reg());
      return true;
    case 0x4b3:
      tiles.load(i.reg(), i.address(), i.step());
      return true;
    case 0x4b2:
      tiles.store(i.reg(), const_cast<char*>(i.address()), i.step());
      return true;
    case 0x5e3:
      tiles.dot_bytes(i.reg(), i.rm(), i.vvvv(), false);
      return true;
    case 0x5e1:
      tiles.dot_bytes(i.reg(), i.rm(), i.vvvv(), true);
      return true;
    case 0x5c2:
      tiles.dot_bf16(i.reg(), i.rm(), i.vvvv());
      return true;
    default:
      return false;
  }
}

/// Installs the signal handler. Every thread has its own registers.
inline void emulate_tiles() {
  struct sigaction act = {};
  act.sa_flags = SA_SIGINFO;
  act.sa_sigaction = [](int, siginfo_t*, void* context) {
    thread_local TileRegisters tiles;
    auto* at = static_cast<ucontext_t*>(context);
    const TileInstruction instruction(*at);
    if (!emulate(tiles, instruction)) {
      signal(SIGILL, SIG_DFL);  // the instruction then runs again and ends the program
      return;
    }
    at->uc_mcontext.gregs[REG_RIP] += instruction.length();
  };
  sigaction(SIGILL, &act, nullptr);
}

}  // namespace syrinx::cpu

#endif
