// What goes over a link for nodes that step. The process that holds such a node has its cache, in
// pages that the server numbers, and of each request a sequence made of the same bytes that
// received the same, in order. So a step is a list of rows and pages one way, and codes the other.
//
//   server                                 stages
//   Cache (node, pages)              ->    once a connection
//   Open (stream, request)           ->    message.h; Close too
//   Call (stream, call)  ->    frames, text, steps that were taken
//   Step (batch: rows, their pages)  ->
//                                    <-    Stepped (batch: codes and what was asked for)
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/message.h"
#include "model/step.h"

namespace syrinx {

/// How many pages a node's cache is to have.
struct CacheMessage {
  uint16_t node = 0;  ///< of Hello's list
  uint32_t pages = 0;
};

/// Calls of a sequence between steps.
struct CallMessage {
  uint64_t stream = 0;
  std::string_view call;  ///< link/calls.h
};

/// A StepSequence of a step, and its pages (i32 each).
struct PushedSequence {
  uint64_t stream = 0;
  int32_t first_pos = 0, rows = 1, drafts = 0;
  bool emits = false, companion = false, guided = false, taps = false;
  uint64_t seed = 0;
  uint32_t step = 0;
  int32_t scores = -1;
  std::string_view pages;
};

/// A step: pages to copy before it, and the rows of its sequences.
struct StepMessage {
  uint64_t batch = 0;
  uint16_t node = 0;
  std::vector<PageCopy> copies;
  std::vector<PushedSequence> sequences;
};

/// The answer to a StepMessage.
struct SteppedMessage {
  uint64_t batch = 0;
  std::string fault;  ///< not empty: of all
  StepResults
      results;  ///< results of the sequences without a fault; [sequences] of `faults`, or none
};

/// Sets the size of a node's cache; once a connection.
void append_cache(std::string& out, const CacheMessage& message);
/// Sends a call of Sequence for one stream.
void append_call(std::string& out, const CallMessage& message);
/// Sends a step.
void append_step(std::string& out, const StepMessage& message);
/// Answers a step.
void append_stepped(std::string& out, const SteppedMessage& message);

// Views are into `body`. They throw LoadError for anything that the functions above do not write.
CacheMessage read_cache(std::string_view body);
/// Reads append_call()'s message; views into `body`. Throws LoadError.
CallMessage read_call(std::string_view body);
/// Reads append_step()'s message; views into `body`. Throws LoadError.
StepMessage read_step(std::string_view body);
/// Reads append_stepped()'s message; views into `body`. Throws LoadError.
SteppedMessage read_stepped(std::string_view body);

}  // namespace syrinx
