// Pickles as data: a stack machine that knows containers, numbers, text, names of globals, calls
// and persistent ids, and turns them into a graph of values without running anything. What a call
// or an id means is the reader's business (io/torch_pickle.h, io/joblib_array.h). Protocols 2 to 5,
// the opcodes that torch.save and joblib write; any other is a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A value by its index in Pickle::values. Values may be shared and may contain themselves.
using PickleId = uint32_t;

/// A value as data; what would run code is refused.
struct PickleValue {
  enum Kind : uint8_t {
    kNone,
    kBool,    ///< number
    kInt,     ///< number
    kFloat,   ///< real
    kText,    ///< text, UTF-8 as written
    kBytes,   ///< text
    kGlobal,  ///< text: "module name"
    kTuple,   ///< items
    kList,    ///< items
    kDict,    ///< items: key, value, key, value, ...
    kCall,    ///< items: the global, its argument tuple and, where attributes were set, those
    kRef,     ///< items: the persistent id, a tuple
  };
  Kind kind = kNone;
  int64_t number = 0;
  double real = 0;
  std::string text = {};
  std::vector<PickleId> items = {};
};

/// All values of a pickle, which refer to each other by number.
struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
};

/// Called for every global before it is kept: false refuses the file.
using GlobalFilter = bool (*)(std::string_view name);

/// Called when attributes were set on a value, with the values so far and the place behind that:
/// how many bytes there are its own and no part of the pickle.
using OwnBytes = std::function<size_t(const Pickle& so_far, PickleId value, size_t at)>;

/// Throws LoadError, with `path` in the message. Calls of a `dict_type` global ("collections
/// OrderedDict") without arguments become dicts, whose attributes are dropped.
Pickle read_pickle(std::string_view bytes, const std::string& path, GlobalFilter allowed,
                   std::string_view dict_type, OwnBytes own_bytes = {});

}  // namespace syrinx
