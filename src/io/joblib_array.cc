#include "io/joblib_array.h"

#include <cmath>
#include <cstring>
#include <map>

#include "base/check.h"
#include "io/file.h"
#include "io/pickle.h"

namespace syrinx {
namespace {

using Kind = PickleValue::Kind;

constexpr const char* kWrapper = "joblib.numpy_pickle NumpyArrayWrapper";
constexpr int64_t kMostElements = int64_t{1} << 31;

/// An array's description and the position of its bytes in the file.
struct StoredArray {
  std::string type;  // element type in numpy's notation, e.g. "f4"
  bool c_order = true;
  std::vector<int64_t> sizes;
  size_t begin = 0, bytes = 0;
};

class JoblibFile {
 public:
  explicit JoblibFile(const std::string& path) : file_(MappedFile::open(path)) {
    const std::span<const std::byte> bytes = file_->bytes();
    text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    // Globals are not executed, so every name is allowed.
    pickle_ = read_pickle(
        text_, path, [](std::string_view) { return true; }, "collections OrderedDict",
        [this](const Pickle& so_far, PickleId built, size_t at) {
          return skip(so_far, built, at);
        });
  }

  Tensor array(const std::string& name) const {
    const PickleValue& root = pickle_.values[pickle_.root];
    const PickleId* found = root.kind == Kind::kCall && root.items.size() > 2
                                ? entry(pickle_, root.items[2], name)
                                : nullptr;
    const auto stored = found ? arrays_.find(*found) : arrays_.end();
    if (stored == arrays_.end()) fail(concat("has no array \"", name, "\""));
    return as_floats(stored->second, name);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    load_fault(file_->path(), "joblib", what);
  }

  static const PickleId* entry(const Pickle& pickle, PickleId dict, const std::string& name) {
    const PickleValue& value = pickle.values[dict];
    if (value.kind != Kind::kDict) return nullptr;
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const PickleValue& key = pickle.values[value.items[i]];
      if (key.kind == Kind::kText && key.text == name) return &value.items[i + 1];
    }
    return nullptr;
  }

  const PickleValue& wanted(const Pickle& pickle, PickleId dict, const char* name,
                            Kind kind) const {
    const PickleId* found = entry(pickle, dict, name);
    if (!found || pickle.values[*found].kind != kind) fail(concat("an array lacks its ", name));
    return pickle.values[*found];
  }

  /// Returns numpy's name of the element type, which is the argument of its constructor.
  std::string type_of(const Pickle& pickle, PickleId dict) const {
    const PickleValue& dtype = wanted(pickle, dict, "dtype", Kind::kCall);
    const PickleValue& arguments = pickle.values[dtype.items[1]];
    if (pickle.values[dtype.items[0]].text != "numpy dtype" || arguments.items.empty() ||
        pickle.values[arguments.items[0]].kind != Kind::kText)
      fail("an array lacks its dtype");
    return pickle.values[arguments.items[0]].text;
  }

  /// Returns how many bytes after the value `built` are the data of its array.
  size_t skip(const Pickle& pickle, PickleId built, size_t at) {
    const PickleValue& value = pickle.values[built];
    if (value.kind != Kind::kCall || pickle.values[value.items[0]].text != kWrapper) return 0;
    const PickleId state = value.items[2];
    StoredArray array;
    array.type = type_of(pickle, state);
    const size_t digits = array.type.find_first_of("0123456789");
    const size_t width = digits == 1 && array.type.size() == 2 ? array.type[1] - '0' : 0;
    if (width == 0 || array.type[0] == 'O' || array.type[0] == 'V')
      fail("unsupported type of an array: " + shown(array.type));
    array.c_order = wanted(pickle, state, "order", Kind::kText).text == "C";
    int64_t count = 1;
    for (const PickleId item : wanted(pickle, state, "shape", Kind::kTuple).items) {
      const PickleValue& size = pickle.values[item];
      if (size.kind != Kind::kInt || size.number < 0 || size.number > kMostElements ||
          (size.number > 0 && count > kMostElements / size.number))
        fail("an array has a size out of range");
      array.sizes.push_back(size.number);
      count *= size.number;
    }
    size_t padding = 0;
    if (const PickleId* align = entry(pickle, state, "numpy_array_alignment_bytes");
        align && pickle.values[*align].kind == Kind::kInt) {
      if (at >= text_.size()) fail("ends before an array");
      padding = 1 + static_cast<unsigned char>(text_[at]);
    }
    array.begin = at + padding;
    array.bytes = static_cast<size_t>(count) * width;
    arrays_[built] = array;
    return padding + array.bytes;
  }

  Tensor as_floats(const StoredArray& array, const std::string& name) const {
    const bool wide = array.type == "f8";
    if ((!wide && array.type != "f4") || !array.c_order || array.sizes.empty() ||
        array.sizes.size() > 2)
      fail(concat("\"", name, "\" is not a matrix of floats in C's order"));
    Shape shape{array.sizes[0]};
    if (array.sizes.size() == 2) shape = {array.sizes[0], array.sizes[1]};
    Tensor out(shape, DType::kF32);
    const char* from = text_.data() + array.begin;
    for (int64_t i = 0; i < shape.count(); ++i) {
      double value = 0;
      if (wide) {
        std::memcpy(&value, from + i * 8, 8);
        out.f32()[i] = static_cast<float>(value);
      } else {
        std::memcpy(out.f32() + i, from + i * 4, 4);
      }
      if (!std::isfinite(out.f32()[i])) fail(concat("\"", name, "\" has NaN or infinity"));
    }
    return out;
  }

  std::shared_ptr<const MappedFile> file_;
  std::string_view text_;
  Pickle pickle_;
  std::map<PickleId, StoredArray> arrays_;
};

}  // namespace

Tensor read_joblib_array(const std::string& path, const std::string& name) {
  return JoblibFile(path).array(name);
}

}  // namespace syrinx
