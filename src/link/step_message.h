// The messages of a link for AR nodes. The process that holds an AR node has its cache, whose pages
// the server numbers. It also has a copy of each sequence, which receives the same calls in the
// same order. So a step sends only rows and pages, and its answer only codes.
//
//   server                                 stages
//   Cache (node, pages)              ->    before the first step
//   Open (stream, request)           ->    see message.h, also for Close
//   Call (stream, call)              ->    frames, text, results of steps
//   Step (batch: rows, their pages)  ->
//                                    <-    Stepped (batch: codes and other requested results)
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

/// The size of a node's cache.
struct CacheMessage {
  uint16_t node = 0;  ///< index into Hello's list of nodes
  uint32_t pages = 0;
};

/// A call of a sequence between steps.
struct CallMessage {
  uint64_t stream = 0;
  std::string_view call;  ///< a call in the form of link/calls.h
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
  std::string fault;  ///< fault of the whole step; empty without a fault
  StepResults
      /// Results of the sequences without a fault. `faults` is empty or has one entry per sequence.
      results;
};

/// Makes a node's cache of this size, in place of an earlier one.
void append_cache(std::string& out, const CacheMessage& message);
/// Sends a call for the sequence of one stream.
void append_call(std::string& out, const CallMessage& message);
/// Sends a step.
void append_step(std::string& out, const StepMessage& message);
/// Answers a step.
void append_stepped(std::string& out, const SteppedMessage& message);

/// Reads append_cache()'s message. Throws LoadError.
CacheMessage read_cache(std::string_view body);
/// Reads append_call()'s message; views into `body`. Throws LoadError.
CallMessage read_call(std::string_view body);
/// Reads append_step()'s message; views into `body`. Throws LoadError.
StepMessage read_step(std::string_view body);
/// Reads append_stepped()'s message; views into `body`. Throws LoadError.
SteppedMessage read_stepped(std::string_view body);

}  // namespace syrinx
