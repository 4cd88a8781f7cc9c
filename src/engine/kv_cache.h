// The contents of the KV cache's pages: pages of running sequences, shared prefixes, and an LRU
// list of prefixes that no sequence uses. The class has no memory for rows: a page is a number, and
// the caller copies pages. Engine thread only.
//
// A page with more than one holder is never written again: a sequence that must append rows to it
// gets a copy first (reserve()). So a prefix may end in the middle of a page.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/step.h"

namespace syrinx {

/// The cached rows of one sequence: positions [0, rows) are stored in `pages`, in order. `pages`
/// may have more pages than these rows need.
struct KvHold {
  std::vector<int32_t> pages;
  int rows = 0;
};

/// The pages of one AR node's cache, each of which is free, held by a sequence or shared.
class KvCache {
 public:
  KvCache(int pages, int page_rows);

  int total() const { return static_cast<int>(holders_.size()); }
  /// Returns the number of pages that sequences can get: free pages and pages of unused prefixes.
  int available() const { return static_cast<int>(free_.size()) + idle_; }
  /// Returns the number of pages of known prefixes, used or not.
  int prefix_pages() const { return static_cast<int>(lru_.size()); }

  /// Returns the number of pages that reserve(hold, rows) would add.
  int wanted(const KvHold& hold, int rows) const;
  /// Makes room for `rows` positions; removes unused prefixes if needed. Appends the pages that
  /// must be copied first to `copies`. Returns false, without changes, if pages are too few.
  bool reserve(KvHold& hold, int rows, std::vector<PageCopy>& copies);
  void release(KvHold& hold);

  /// Makes `to` a second hold of the positions of `from` (a draft, a branch); both share every
  /// page.
  void fork(const KvHold& from, KvHold& to);
  /// Drops the positions from `rows` on.
  void truncate(KvHold& hold, int rows);

  /// Lets the empty `hold` share the longest known prefix of `keys` (see Sequence::prefix_keys), at
  /// most `most_rows` rows. Returns the number of shared rows.
  int adopt(std::span<const uint64_t> keys, int most_rows, KvHold& hold);
  /// Registers the rows of `keys`, which `hold` has computed, as a prefix. If another sequence has
  /// registered equal rows before, `hold` changes to the pages of that sequence.
  void publish(std::span<const uint64_t> keys, KvHold& hold);
  /// Returns a number that changes whenever adopt() might find a longer prefix than before.
  uint64_t published() const { return published_; }

 private:
  using NodeId = int64_t;  ///< 64 bits, because ids are never reused
  /// A page of a known prefix, with the keys of its rows. Only a leaf may be partly filled.
  struct Node {
    int32_t page = -1;
    NodeId parent = -1;
    std::vector<uint64_t> keys;
    std::vector<NodeId> children;  ///< the latest child is last
    std::list<NodeId>::iterator age;
  };
  struct Match {
    NodeId node = -1;
    int rows = 0;
  };

  Match best_child(const std::vector<NodeId>& children, std::span<const uint64_t> keys) const;
  std::vector<NodeId>& children_of(NodeId node) {
    return node < 0 ? roots_ : nodes_.at(node).children;
  }
  void touch(NodeId node);
  int32_t take_page();
  void forget_oldest();
  void hold_page(int32_t page);
  void leave_page(int32_t page);

  const int page_rows_;
  std::vector<int32_t> free_;
  std::vector<int32_t> holders_;  ///< for each page: sequences that hold it, plus 1 for a prefix
  std::vector<char> is_prefix_;   ///< for each page: whether a prefix has it
  int idle_ = 0;                  ///< prefix pages that no sequence uses
  std::unordered_map<NodeId, Node> nodes_;
  std::vector<NodeId> roots_;
  std::list<NodeId> lru_;  ///< least recently used first; a parent comes after its children
  NodeId next_node_ = 0;
  uint64_t published_ = 0;
};

}  // namespace syrinx
