"""Pickles of PyTorch, read by a machine that can make nothing but data.

Python's own unpickler calls what a pickle names, and sets attributes of what it finds. This one
knows the names of PyTorch that describe tensors. Keys of dictionaries are texts and numbers, since
the hash of tuples in tuples can take forever.
"""

from __future__ import annotations

import pickle
import pickletools
from dataclasses import dataclass
from typing import Any, BinaryIO

STORAGES = {
    "DoubleStorage": ("F64", 8),
    "FloatStorage": ("F32", 4),
    "HalfStorage": ("F16", 2),
    "BFloat16Storage": ("BF16", 2),
    "LongStorage": ("I64", 8),
    "IntStorage": ("I32", 4),
    "ShortStorage": ("I16", 2),
    "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1),
    "BoolStorage": ("BOOL", 1),
}
"""Types of numbers: their names here, and their sizes in bytes."""

_NAMES = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    *(f"torch {name}" for name in STORAGES),
}
_TEXTS = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_BYTES = ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES")
_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_SILENT = ("PROTO", "FRAME")


@dataclass(frozen=True)
class Storage:
    """Numbers in a file, by their key."""

    key: str
    code: str
    count: int

    @property
    def size(self) -> int:
        """Bytes of all numbers."""
        return self.count * next(size for code, size in STORAGES.values() if code == self.code)


@dataclass(frozen=True)
class Tensor:
    """A tensor as a pickle describes it."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Name:
    """A name that a pickle may ask for: its module, a space, and itself."""

    text: str


class Machine:
    """What the opcodes of a pickle do to a stack, to lists before marks, and to a memory."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memory: dict[int, Any] = {}

    def load(self, stream: BinaryIO) -> Any:
        """The value that the next pickle of a stream describes."""
        for opcode, argument, _ in pickletools.genops(stream):
            if opcode.name == "STOP":
                return self._stack.pop()
            self._step(opcode.name, argument)
        raise pickle.UnpicklingError("it ends too early")

    def _step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _TEXTS or name in _BYTES or name in _NUMBERS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            items = [stack.pop() for _ in range(_TUPLES[name])]
            stack.append(tuple(reversed(items)))
        elif name not in _SILENT:
            action = getattr(self, f"_{name.lower()}", None)
            if action is None:
                raise pickle.UnpicklingError(f"it has the opcode {name}, which no tensor needs")
            action(argument)

    def _mark(self, _: Any) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._marked.pop()
        return items

    def _tuple(self, _: Any) -> None:
        items = tuple(self._since_mark())
        self._stack.append(items)

    def _empty_tuple(self, _: Any) -> None:
        self._stack.append(())

    def _empty_list(self, _: Any) -> None:
        self._stack.append([])

    def _append(self, _: Any) -> None:
        item = self._stack.pop()
        _plain(self._stack[-1], list).append(item)

    def _appends(self, _: Any) -> None:
        items = self._since_mark()
        _plain(self._stack[-1], list).extend(items)

    def _empty_dict(self, _: Any) -> None:
        self._stack.append({})

    def _setitem(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        _plain(self._stack[-1], dict)[_key(key)] = value

    def _setitems(self, _: Any) -> None:
        items = self._since_mark()
        target = _plain(self._stack[-1], dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_key(key)] = value

    def _binput(self, place: int) -> None:
        self._memory[place] = self._stack[-1]

    _put = _long_binput = _binput

    def _memoize(self, _: Any) -> None:
        self._memory[len(self._memory)] = self._stack[-1]

    def _binget(self, place: int) -> None:
        self._stack.append(self._memory[place])

    _get = _long_binget = _binget

    def _global(self, text: str) -> None:
        if text not in _NAMES:
            asked = text.replace(" ", ".")
            raise pickle.UnpicklingError(f"it asks for {asked}, which is not a tensor")
        self._stack.append(_Name(text))

    def _stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._global(f"{_plain(module, str)} {_plain(name, str)}")

    def _reduce(self, _: Any) -> None:
        arguments, function = _plain(self._stack.pop(), tuple), _plain(self._stack.pop(), _Name)
        match function.text, arguments:
            case "collections OrderedDict", ():
                self._stack.append({})
            case "collections OrderedDict", (list() as items,):  # as Python 2 wrote it
                self._stack.append({_key(key): value for key, value in items})
            case "torch._utils _rebuild_tensor_v2", (storage, offset, shape, strides, *_):
                self._stack.append(_tensor(storage, offset, shape, strides))
            case "torch._utils _rebuild_parameter", (Tensor() as tensor, *_):
                self._stack.append(tensor)
            case _:
                raise pickle.UnpicklingError("it calls what no tensor needs")

    def _build(self, _: Any) -> None:
        """The attributes of a dictionary, such as versions of layers, are not needed."""
        self._stack.pop()
        _plain(self._stack[-1], dict)

    def _binpersid(self, _: Any) -> None:
        match self._stack.pop():
            case ("storage", _Name(text=kind), str(key), _, int(count), *_) if (
                kind.startswith("torch ") and 0 <= count < 2**62
            ):
                storage = Storage(key, STORAGES[kind.removeprefix("torch ")][0], count)
                self._stack.append(self.storages.setdefault(key, storage))
            case _:
                raise pickle.UnpicklingError("it has numbers of an unknown kind")


def _plain(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise pickle.UnpicklingError(f"it uses a {type(value).__name__} as a {kind.__name__}")
    return value


def _key(value: Any) -> str | int:
    if not isinstance(value, (str, int)):
        raise pickle.UnpicklingError(f"it has a {type(value).__name__} as a key")
    return value


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> Tensor:
    whole = isinstance(shape, tuple) and isinstance(strides, tuple)
    if whole:
        whole = all(type(x) is int and 0 <= x < 2**62 for x in (*shape, *strides, offset))
    if not isinstance(storage, Storage) or not whole or len(shape) != len(strides):
        raise pickle.UnpicklingError("a tensor in it is not one")
    return Tensor(storage, offset, shape, strides)
