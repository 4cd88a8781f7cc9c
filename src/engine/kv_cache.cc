#include "engine/kv_cache.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {
namespace {

/// A part of a page with fewer rows than this is neither shared nor published as a prefix.
constexpr int kLeastRows = 8;
/// A search compares at most this many children of a node, newest first; this bounds its time.
constexpr size_t kMostCompared = 32;

int common(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  const size_t most = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < most && a[n] == b[n]) ++n;
  return static_cast<int>(n);
}

}  // namespace

KvCache::KvCache(int pages, int page_rows)
    : page_rows_(page_rows), holders_(pages, 0), is_prefix_(pages, 0) {
  free_.reserve(pages);
  for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
}

void KvCache::hold_page(int32_t page) {
  if (is_prefix_[page] && holders_[page] == 1) --idle_;
  ++holders_[page];
}

void KvCache::leave_page(int32_t page) {
  --holders_[page];
  if (holders_[page] == 0) free_.push_back(page);
  if (is_prefix_[page] && holders_[page] == 1) ++idle_;
}

int32_t KvCache::take_page() {
  if (free_.empty()) forget_oldest();
  const int32_t page = free_.back();
  free_.pop_back();
  holders_[page] = 1;
  return page;
}

void KvCache::forget_oldest() {
  for (const NodeId id : lru_) {
    Node& node = nodes_.at(id);
    if (holders_[node.page] > 1) continue;
    SYRINX_CHECK(node.children.empty(),
                 "a prefix page was used less recently than a page behind it");
    std::erase(children_of(node.parent), id);
    is_prefix_[node.page] = 0;
    --idle_;
    leave_page(node.page);
    lru_.erase(node.age);
    nodes_.erase(id);
    return;
  }
  SYRINX_CHECK(false, "no page of the KV cache is left");
}

int KvCache::wanted(const KvHold& hold, int rows) const {
  const int pages = (rows + page_rows_ - 1) / page_rows_;
  int count = std::max(0, pages - static_cast<int>(hold.pages.size()));
  if (rows > hold.rows && hold.rows % page_rows_ != 0 &&
      holders_[hold.pages[hold.rows / page_rows_]] > 1) {
    ++count;  // counts a copy of the last page, which is partly filled and shared
  }
  return count;
}

bool KvCache::reserve(KvHold& hold, int rows, std::vector<PageCopy>& copies) {
  if (wanted(hold, rows) > available()) return false;
  const auto pages = static_cast<size_t>((rows + page_rows_ - 1) / page_rows_);
  hold.pages.reserve(pages),
      copies.reserve(copies.size() + 1);  // may throw, so it comes before pages are taken
  if (rows > hold.rows && hold.rows % page_rows_ != 0) {
    int32_t& begun = hold.pages[hold.rows / page_rows_];
    if (holders_[begun] > 1) {
      const int32_t own = take_page();
      copies.push_back({begun, own});
      leave_page(begun);
      begun = own;
    }
  }
  while (hold.pages.size() < pages) hold.pages.push_back(take_page());
  return true;
}

void KvCache::release(KvHold& hold) {
  for (size_t i = hold.pages.size(); i-- > 0;) leave_page(hold.pages[i]);
  hold.pages.clear();
  hold.rows = 0;
}

void KvCache::fork(const KvHold& from, KvHold& to) {
  release(to);
  truncate(to, 0);
  const size_t pages = static_cast<size_t>((from.rows + page_rows_ - 1) / page_rows_);
  to.pages.reserve(pages);
  for (size_t i = 0; i < pages; ++i) {
    hold_page(from.pages[i]);
    to.pages.push_back(from.pages[i]);
  }
  to.rows = from.rows;
}

void KvCache::truncate(KvHold& hold, int rows) {
  const size_t pages = static_cast<size_t>((rows + page_rows_ - 1) / page_rows_);
  while (hold.pages.size() > pages) {
    leave_page(hold.pages.back());
    hold.pages.pop_back();
  }
  hold.rows = std::min(hold.rows, rows);
}

KvCache::Match KvCache::best_child(const std::vector<NodeId>& children,
                                   std::span<const uint64_t> keys) const {
  Match best;
  const size_t count = std::min(children.size(), kMostCompared);
  for (size_t i = 0; i < count; ++i) {
    const NodeId id = children[children.size() - 1 - i];
    const int rows = common(nodes_.at(id).keys, keys);
    if (rows > best.rows) best = {id, rows};
  }
  return best;
}

/// Moves a node, then its ancestors, to the most recent end of the LRU list. So each parent stays
/// more recent than its children.
void KvCache::touch(NodeId id) {
  while (id >= 0) {
    Node& node = nodes_.at(id);
    lru_.splice(lru_.end(), lru_, node.age);
    std::vector<NodeId>& siblings = children_of(node.parent);
    if (siblings.back() != id) {
      siblings.erase(std::find(siblings.begin(), siblings.end(), id));
      siblings.push_back(id);
    }
    id = node.parent;
  }
}

int KvCache::adopt(std::span<const uint64_t> keys, int most_rows, KvHold& hold) {
  SYRINX_CHECK(hold.pages.empty() && hold.rows == 0,
               "a sequence that has rows cannot share a prefix");
  keys = keys.first(std::min(keys.size(), static_cast<size_t>(std::max(0, most_rows))));
  hold.pages.reserve(keys.size() / static_cast<size_t>(page_rows_) + 1);
  NodeId at = -1;
  while (!keys.empty()) {
    const Match match = best_child(children_of(at), keys);
    if (match.rows < std::min(kLeastRows, page_rows_)) break;
    at = match.node;
    const int32_t page = nodes_.at(at).page;
    hold_page(page);
    hold.pages.push_back(page);
    hold.rows += match.rows;
    keys = keys.subspan(match.rows);
    if (match.rows < page_rows_) break;
  }
  touch(at);
  return hold.rows;
}

void KvCache::publish(std::span<const uint64_t> keys, KvHold& hold) {
  keys = keys.first(std::min(keys.size(), static_cast<size_t>(hold.rows)));
  NodeId at = -1;
  for (size_t i = 0; !keys.empty(); ++i) {
    const auto part = keys.first(std::min(keys.size(), static_cast<size_t>(page_rows_)));
    const bool whole = part.size() == static_cast<size_t>(page_rows_);
    const Match known = best_child(children_of(at), part);
    int32_t& page = hold.pages[i];
    if (known.rows == static_cast<int>(part.size())) {
      at = known.node;
      if (!whole) break;
      const int32_t theirs = nodes_.at(at).page;
      hold_page(theirs);
      leave_page(page);
      page = theirs;
    } else {
      if (is_prefix_[page] || (!whole && part.size() < size_t{kLeastRows})) break;
      const NodeId id = next_node_++;
      std::vector<NodeId>& siblings = children_of(at);
      siblings.reserve(siblings.size() + 1);  // may throw, so it comes before the node is added
      lru_.push_back(id);
      try {
        nodes_[id] = {page, at, {part.begin(), part.end()}, {}, std::prev(lru_.end())};
      } catch (...) {
        nodes_.erase(id), lru_.pop_back();
        throw;
      }
      children_of(at).push_back(id);
      hold_page(page);
      is_prefix_[page] = 1;
      ++published_;
      at = id;
      if (!whole) break;
    }
    keys = keys.subspan(part.size());
  }
  touch(at);
}

}  // namespace syrinx
