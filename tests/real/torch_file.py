"""Writes files like torch.save(), from nested dicts of float32 arrays, without torch."""
import collections
import io
import pickle
import sys
import types
import zipfile

import numpy as np


class _Storage:
    def __init__(self, number, array):
        self.number, self.array = number, array


def _modules():
    """Makes modules with the two names of torch that such a pickle contains."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2():
        raise NotImplementedError

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    return {"torch": torch, "torch._utils": utils}


class _Pickler(pickle.Pickler):
    def __init__(self, file, modules):
        super().__init__(file, protocol=2)
        self.modules, self.arrays = modules, []

    def persistent_id(self, obj):
        if isinstance(obj, _Storage):
            return "storage", self.modules["torch"].FloatStorage, str(obj.number), "cpu", obj.array.size
        return None

    def reducer_override(self, obj):
        if not isinstance(obj, np.ndarray):
            return NotImplemented
        array = np.ascontiguousarray(obj, np.float32)
        self.arrays.append(array)
        strides = tuple(step // 4 for step in array.strides)
        return self.modules["torch._utils"]._rebuild_tensor_v2, (
            _Storage(len(self.arrays) - 1, array), 0, array.shape, strides, False, collections.OrderedDict())


def save(value, path):
    modules, body = _modules(), io.BytesIO()
    known = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        pickler = _Pickler(body, modules)
        pickler.dump(value)
    finally:
        for name, module in known.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", body.getvalue())
        for number, array in enumerate(pickler.arrays):
            archive.writestr(f"archive/data/{number}", array.tobytes())
        archive.writestr("archive/version", "3\n")
