#include "text/tokens/bpe.h"

#include <algorithm>
#include <queue>

#include "base/check.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

uint64_t scramble(uint64_t key) {
  key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

}  // namespace

Bpe::Bpe(BpeTables tables) : tables_(std::move(tables)) {
  SYRINX_CHECK(tables_.reachable.size() == tables_.bytes.size(), "[bpe] tables differ in size");
  ids_.reserve(tables_.bytes.size());
  for (int32_t id = 0; id < size(); ++id)
    if (tables_.reachable[id] && !tables_.bytes[id].empty()) ids_.emplace(tables_.bytes[id], id);
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = find(std::string_view(&c, 1));
  }
  size_t room = 16;
  while (room < tables_.merges.size() * 2) room *= 2;
  entries_.resize(room);
  int32_t rank = 0;
  for (const BpeMerge& merge : tables_.merges) {
    const uint64_t pair = pair_of(merge.left, merge.right);
    size_t slot = scramble(pair) & (room - 1);
    while (entries_[slot].pair != ~0ull && entries_[slot].pair != pair)
      slot = (slot + 1) & (room - 1);
    entries_[slot] = {pair, tables_.rank_is_result ? merge.result : rank++, merge.result};
  }
  tables_.merges.clear();
  tables_.merges.shrink_to_fit();
}

const Bpe::Entry* Bpe::merge_of(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t slot = scramble(pair);; ++slot) {
    const Entry& entry = entries_[slot & (entries_.size() - 1)];
    if (entry.pair == pair) return &entry;
    if (entry.pair == ~0ull) return nullptr;
  }
}

std::string_view Bpe::bytes(int32_t id) const {
  return id >= 0 && id < size() ? std::string_view(tables_.bytes[id]) : std::string_view();
}

int32_t Bpe::find(std::string_view bytes) const {
  const auto found = ids_.find(bytes);
  return found == ids_.end() ? -1 : found->second;
}

/// Makes the first symbols. As in Hugging Face's tokenizers, adds tokens for bytes at once, but the
/// unknown token only before the next known token or at the end.
void Bpe::start(std::string_view piece, std::vector<Symbol>& symbols) const {
  bool unknown = false;  // whether an unknown token has not been added yet
  for (size_t at = 0, size = 1; at < piece.size(); at += size) {
    if (tables_.characters) size = utf8_at(piece, at).size;
    const std::string_view part = piece.substr(at, size);
    const int32_t id = tables_.characters ? find(part) : byte_ids_[static_cast<uint8_t>(part[0])];
    if (id >= 0) {
      if (unknown) add_symbol(tables_.unknown, symbols);
      add_symbol(id, symbols);
      unknown = false;
    } else if (!(tables_.characters && add_bytes(part, symbols)) && tables_.unknown >= 0) {
      if (unknown && !tables_.fuse_unknown) add_symbol(tables_.unknown, symbols);
      unknown = true;
    }
  }
  if (unknown) add_symbol(tables_.unknown, symbols);
  if (!symbols.empty()) symbols.back().after = -1;
}

void Bpe::add_symbol(int32_t id, std::vector<Symbol>& symbols) {
  const auto at = static_cast<int32_t>(symbols.size());
  symbols.push_back({id, at - 1, at + 1});
}

bool Bpe::add_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const {
  for (const char c : bytes)
    if (tables_.byte_tokens[static_cast<uint8_t>(c)] < 0) return false;
  for (const char c : bytes) add_symbol(tables_.byte_tokens[static_cast<uint8_t>(c)], symbols);
  return true;
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
  struct Candidate {
    int32_t rank, at, result;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](int32_t at) {
    const int32_t next = symbols[at].after;
    if (next < 0) return;
    if (const Entry* entry = merge_of(symbols[at].id, symbols[next].id))
      queue.push({entry->rank, at, entry->result});
  };
  for (int32_t at = 0; at < static_cast<int32_t>(symbols.size()); ++at) consider(at);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.id < 0 || left.after < 0) continue;  // left was merged, or has no neighbour
    Symbol& right = symbols[left.after];
    const Entry* entry = merge_of(left.id, right.id);
    if (!entry || entry->result != best.result) continue;  // the symbols have changed since
    left.id = best.result;
    right.id = -1;
    left.after = right.after;
    if (left.after >= 0) symbols[left.after].before = best.at;
    if (left.before >= 0) consider(left.before);
    consider(best.at);
  }
}

void Bpe::encode(std::string_view piece, std::vector<int32_t>& out) const {
  if (tables_.ignore_merges) {
    if (const int32_t id = find(piece); id >= 0) {
      out.push_back(id);
      return;
    }
  }
  SYRINX_CHECK(piece.size() < (1u << 31), "a piece must have less than 2^31 bytes, got ",
               piece.size());
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  start(piece, symbols);
  merge(symbols);
  for (const Symbol& symbol : symbols)
    if (symbol.id >= 0) out.push_back(symbol.id);
}

std::vector<char32_t> byte_alphabet() {
  // In GPT-2's alphabet, bytes that are printable in Latin-1 keep their code point. All other bytes
  // get code points from U+0100 on.
  std::vector<char32_t> out(256);
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    out[byte] = prints ? byte : next++;
  }
  return out;
}

}  // namespace syrinx
