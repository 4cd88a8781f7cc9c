#include "io/pickle.h"

#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr size_t kMaxValues = 2u << 20;  // most values of one pickle; a tensor takes about fifteen
constexpr size_t kMaxText = 1u << 16;    // most bytes of one text
constexpr size_t kMaxGlobal = 1024;      // most bytes of a global: module and name
constexpr size_t kMaxItems = 8u << 20;   // most items of all containers together

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& path, GlobalFilter allowed,
          std::string_view dict_type, OwnBytes own_bytes)
      : bytes_(bytes),
        path_(path),
        allowed_(std::move(allowed)),
        dict_type_(dict_type),
        own_bytes_(std::move(own_bytes)) {}

  Pickle run() {
    while (step()) {
    }
    return std::move(out_);
  }

 private:
  using Kind = PickleValue::Kind;

  [[noreturn]] void fail(const std::string& what) const {
    load_fault(path_, concat("pickle, byte ", op_at_), what);
  }

  template <typename T>
  T take() {
    T value;
    if (bytes_.size() - at_ < sizeof value) fail("ends in the middle");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view take_text(uint64_t size) {
    if (size > kMaxText)
      fail(concat("a text of ", size, " bytes, at most ", kMaxText, " expected"));
    if (size > bytes_.size() - at_) fail("ends in the middle");
    const auto text = bytes_.substr(at_, size);
    at_ += size;
    return text;
  }
  std::string_view take_line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos || end - at_ > kMaxText) fail("expected a line");
    const auto line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  PickleId add(PickleValue value) {
    if (out_.values.size() >= kMaxValues) fail("too many values");
    out_.values.push_back(std::move(value));
    return static_cast<PickleId>(out_.values.size() - 1);
  }
  void push(PickleValue value) { stack_.push_back(add(std::move(value))); }
  PickleId pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("reads an empty stack");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleId top() {
    const PickleId id = pop();
    stack_.push_back(id);
    return id;
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) fail("expected a mark");
    std::vector<PickleId> items(stack_.begin() + static_cast<int64_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_number(Kind kind, int64_t number) { push({kind, number}); }
  void push_text(Kind kind, std::string_view text) { push({kind, 0, 0, std::string(text)}); }
  void push_tuple(std::vector<PickleId> items) {
    count_items(items.size());
    push({Kind::kTuple, 0, 0, {}, std::move(items)});
  }
  void count_items(size_t more) {
    items_ += more;
    if (items_ > kMaxItems) fail("too many items");
  }
  PickleValue& container(Kind kind, const char* what) {
    PickleValue& value = out_.values[top()];
    if (value.kind != kind) fail(concat("expected ", what));
    return value;
  }
  void extend(Kind kind, const char* what, const std::vector<PickleId>& items) {
    if (kind == Kind::kDict && items.size() % 2) fail("a dict has a key without a value");
    count_items(items.size());
    if (kind == Kind::kDict && out_.values[top()].kind == Kind::kCall) return;
    auto& to = container(kind, what).items;
    to.insert(to.end(), items.begin(), items.end());
  }

  void put(uint64_t key) {
    if (key > kMaxValues) fail(concat("memo ", key, " is out of range"));
    memo_[key] = top();
  }
  void get(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail(concat("memo ", key, " was never set"));
    stack_.push_back(found->second);
    if (stack_.size() > kMaxValues) fail("too many values");
  }

  void push_global(std::string_view module, std::string_view name) {
    // Two bytes of a file can refer to an existing text, but each global is a new text. Without a
    // limit, a small file of globals could fill the memory.
    if (module.size() + name.size() > kMaxGlobal) fail("the name of a global is too long");
    const std::string whole = concat(module, " ", name);
    if (!allowed_(whole))
      fail(concat("refers to ", shown(whole),
                  ", which does not belong in a tensor file and is not run"));
    push_text(Kind::kGlobal, whole);
  }
  void stack_global() {
    const PickleId name = pop(), module = pop();
    if (out_.values[name].kind != Kind::kText || out_.values[module].kind != Kind::kText)
      fail("expected the text of a global");
    push_global(out_.values[module].text, out_.values[name].text);
  }
  void call() {
    const PickleId arguments = pop(), function = pop();
    if (out_.values[function].kind != Kind::kGlobal || out_.values[arguments].kind != Kind::kTuple)
      fail("expected a global and a tuple of arguments");
    if (out_.values[function].text == dict_type_ && out_.values[arguments].items.empty()) {
      push({Kind::kDict});
    } else {
      count_items(2);
      push({Kind::kCall, 0, 0, {}, {function, arguments}});
    }
  }
  /// Sets attributes. Drops the attributes of dicts ("_metadata"), as they contain no tensors.
  void build() {
    const PickleId attributes = pop(), id = top();
    PickleValue& value = out_.values[id];
    if (value.kind == Kind::kCall) {
      count_items(1);
      value.items.resize(2);
      value.items.push_back(attributes);
    } else if (value.kind != Kind::kDict) {
      fail("sets attributes of an unsupported value");
    }
    const size_t own = own_bytes_ ? own_bytes_(out_, id, at_) : 0;
    if (own > bytes_.size() - at_) fail("ends in the middle");
    at_ += own;
  }
  void long_int(uint64_t size) {
    if (size > 8) fail(concat("an integer of ", size, " bytes; at most 8 are supported"));
    const auto bytes = take_text(size);
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    if (size > 0 && size < 8 && (bytes[size - 1] & 0x80)) value |= ~uint64_t{0} << (8 * size);
    push_number(Kind::kInt, static_cast<int64_t>(value));
  }
  void big_float() {
    auto bits = __builtin_bswap64(take<uint64_t>());
    PickleValue value{Kind::kFloat};
    std::memcpy(&value.real, &bits, sizeof bits);
    push(std::move(value));
  }

  bool step();
  bool step_container(char op);
  bool step_scalar(char op);

  std::string_view bytes_;
  const std::string& path_;
  GlobalFilter allowed_;
  std::string_view dict_type_;
  OwnBytes own_bytes_;
  size_t at_ = 0, op_at_ = 0, items_ = 0;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleId> memo_;
  Pickle out_;
};

// Opcodes are written as letters, as in CPython's pickletools.

bool Machine::step_scalar(char op) {
  switch (op) {
    case 'N':
      push({Kind::kNone});
      return true;
    case '\x88':
    case '\x89':
      push_number(Kind::kBool, op == '\x88');
      return true;
    case 'J':
      push_number(Kind::kInt, take<int32_t>());
      return true;
    case 'K':
      push_number(Kind::kInt, take<uint8_t>());
      return true;
    case 'M':
      push_number(Kind::kInt, take<uint16_t>());
      return true;
    case '\x8a':
      long_int(take<uint8_t>());
      return true;
    case 'G':
      big_float();
      return true;
    case 'X':
      push_text(Kind::kText, take_text(take<uint32_t>()));
      return true;
    case '\x8c':
      push_text(Kind::kText, take_text(take<uint8_t>()));
      return true;
    case '\x8d':
      push_text(Kind::kText, take_text(take<uint64_t>()));
      return true;
    case 'U':
    case 'C':
      push_text(Kind::kBytes, take_text(take<uint8_t>()));
      return true;
    case 'T':
    case 'B':
      push_text(Kind::kBytes, take_text(take<uint32_t>()));
      return true;
    default:
      return false;
  }
}

bool Machine::step_container(char op) {
  switch (op) {
    case '(':
      marks_.push_back(stack_.size());
      if (marks_.size() > kMaxValues) fail("too many marks");
      return true;
    case ')':
      push_tuple({});
      return true;
    case '\x85':
      push_tuple({pop()});
      return true;
    case '\x86': {
      const PickleId b = pop(), a = pop();
      push_tuple({a, b});
      return true;
    }
    case '\x87': {
      const PickleId c = pop(), b = pop(), a = pop();
      push_tuple({a, b, c});
      return true;
    }
    case 't':
      push_tuple(pop_to_mark());
      return true;
    case ']':
      push({Kind::kList});
      return true;
    case '}':
      push({Kind::kDict});
      return true;
    case 'a': {
      const PickleId item = pop();
      extend(Kind::kList, "a list", {item});
      return true;
    }
    case 'e': {
      const std::vector<PickleId> items = pop_to_mark();
      extend(Kind::kList, "a list", items);
      return true;
    }
    case 's': {
      const PickleId value = pop(), key = pop();
      extend(Kind::kDict, "a dict", {key, value});
      return true;
    }
    case 'u': {
      const std::vector<PickleId> items = pop_to_mark();
      extend(Kind::kDict, "a dict", items);
      return true;
    }
    default:
      return false;
  }
}

bool Machine::step() {
  op_at_ = at_;
  const char op = take<char>();
  if (step_scalar(op) || step_container(op)) return true;
  switch (op) {
    case '\x80':
      if (const int protocol = take<uint8_t>(); protocol < 2 || protocol > 5)
        fail(concat("protocol ", protocol, ", expected 2 to 5"));
      return true;
    case '\x95':  // a frame; only streams need its size
      take<uint64_t>();
      return true;
    case 'q':
      put(take<uint8_t>());
      return true;
    case 'r':
      put(take<uint32_t>());
      return true;
    case '\x94':
      put(memo_.size());
      return true;
    case 'h':
      get(take<uint8_t>());
      return true;
    case 'j':
      get(take<uint32_t>());
      return true;
    case 'c': {
      const auto module = take_line(), name = take_line();
      push_global(module, name);
      return true;
    }
    case '\x93':
      stack_global();
      return true;
    case 'Q': {
      const PickleId id = pop();
      count_items(1);
      push({Kind::kRef, 0, 0, {}, {id}});
      return true;
    }
    case 'R':
    case '\x81':  // creates an object of a class from arguments
      call();
      return true;
    case 'b':
      build();
      return true;
    case '.':
      out_.root = pop();
      return false;
    default:
      fail(
          concat("opcode ", static_cast<int>(static_cast<unsigned char>(op)), " is not supported"));
  }
}

}  // namespace

Pickle read_pickle(std::string_view bytes, const std::string& path, GlobalFilter allowed,
                   std::string_view dict_type, OwnBytes own_bytes) {
  return Machine(bytes, path, std::move(allowed), dict_type, std::move(own_bytes)).run();
}

}  // namespace syrinx
