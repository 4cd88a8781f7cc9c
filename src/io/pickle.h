// Reads pickles as data: a stack machine for containers, numbers, text, names of globals, calls and
// persistent ids. It builds a graph of values and executes nothing. The callers interpret calls and
// ids (io/torch_pickle.h, io/joblib_array.h). Supports protocols 2 to 5 and the opcodes that
// torch.save and joblib write; any other opcode is a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// The index of a value in Pickle::values. Values may be shared and may contain themselves.
using PickleId = uint32_t;

/// A value as data; opcodes that would execute code are refused.
struct PickleValue {
  enum Kind : uint8_t {
    kNone,
    kBool,    ///< `number` is 0 or 1
    kInt,     ///< `number` has the value
    kFloat,   ///< `real` has the value
    kText,    ///< text in UTF-8, unchanged
    kBytes,   ///< `text` has the bytes
    kGlobal,  ///< `text` is "module name"
    kTuple,   ///< `items` has the elements
    kList,    ///< `items` has the elements
    kDict,    ///< `items`: key, value, key, value, ...
    /// `items`: the global, its argument tuple and, if set, the attributes
    kCall,
    kRef,  ///< `items`: the persistent id, a tuple
  };
  Kind kind = kNone;
  int64_t number = 0;
  double real = 0;
  std::string text = {};
  std::vector<PickleId> items = {};
};

/// All values of a pickle, which refer to each other by index.
struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
};

/// Checks the name of every global. If it returns false, the file is refused.
using GlobalFilter = std::function<bool(std::string_view name)>;

/// Called after attributes were set on a value, with the values so far and the offset after that
/// opcode. Returns how many bytes from this offset on are the value's own data, not part of the
/// pickle.
using OwnBytes = std::function<size_t(const Pickle& so_far, PickleId value, size_t at)>;

/// Reads a pickle. Throws LoadError with `path` in the message. A call of the global `dict_type`
/// ("collections OrderedDict") without arguments becomes a dict; the dict's attributes are dropped.
/// Items that are set on the result of another call are dropped, too, because an object that is a
/// mapping has its contents also as attributes.
Pickle read_pickle(std::string_view bytes, const std::string& path, GlobalFilter allowed,
                   std::string_view dict_type, OwnBytes own_bytes = {});

}  // namespace syrinx
