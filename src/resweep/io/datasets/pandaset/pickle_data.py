"""Pickles as plain data: what a file asks to import or to call is written down, and never done.

A pickle is a program for a small stack machine (PEP 307, PEP 3154, PEP 574; `pickletools` documents each opcode). The
opcodes that build numbers, texts, bytes, tuples, lists and dicts are followed. A name to import becomes a `PickleName`,
a call or a new object becomes a `PickleCall`. Who knows what a file should hold can recognise it among them.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from typing import Any

from resweep.errors import InputError

# A table of pandas takes a few hundred opcodes, and two more for each text in it: the largest of PandaSet, thousands.
MAX_OPCODES = 200_000
_VALUES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_OLD_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}


@dataclass(frozen=True)
class PickleName:
    """A name that the pickle would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False)
class PickleCall:
    """What calling ``maker`` with ``arguments`` would give, and the state that it would then be given."""

    maker: PickleName
    arguments: tuple[Any, ...]
    state: Any = None


class _Mark:
    """Where a row of items on the stack begins."""


_MARK = _Mark()


def read_pickle(data: bytes, where: str) -> Any:
    """The plain data in a pickle of protocol 2 or later, with `PickleName` and `PickleCall` for objects."""
    machine = _Machine()
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if count >= MAX_OPCODES:
            raise InputError(f"{where}: a pickle of more than {MAX_OPCODES} steps; no table of points needs as many")
        if opcode.name == "STOP":
            break
        machine.step(opcode.name, argument)
    return machine.result()


class _Machine:
    """The stack and the memo, and what each opcode does to them; a wrong stack is a ValueError."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        """The one item that is left at the end."""
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            raise ValueError(f"{len(self._stack)} items are left at the end of the pickle")
        return self._stack[0]

    def step(self, opcode: str, argument: Any) -> None:
        """Execute one opcode."""
        if opcode in _VALUES:
            self._stack.append(argument)
        elif opcode in _CONSTANTS:
            self._stack.append(_CONSTANTS[opcode])
        elif opcode in _TUPLES:
            self._stack.append(tuple(self._take(_TUPLES[opcode])))
        elif opcode not in _STEPS:
            raise ValueError(f"opcode {opcode} is not one that pickles of tables have")
        else:
            _STEPS[opcode](self, argument)

    def _take(self, count: int) -> list[Any]:
        items = self._stack[-count:]
        if len(items) < count or any(item is _MARK for item in items):
            raise ValueError("the pickle takes more items than there are")
        del self._stack[-count:]
        return items

    def _take_to_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while at >= 0 and self._stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise ValueError("the pickle takes items from a mark that is not there")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def _top(self, kind: type) -> Any:
        if not self._stack or not isinstance(self._stack[-1], kind):
            raise ValueError(f"the pickle fills a {kind.__name__} that is not there")
        return self._stack[-1]

    def _remember(self, key: int) -> None:
        if not self._stack or self._stack[-1] is _MARK:
            raise ValueError("the pickle remembers what is not there")
        self._memo[key] = self._stack[-1]

    def _recall(self, key: int) -> None:
        if key not in self._memo:
            raise ValueError(f"the pickle recalls item {key}, which it never stored")
        self._stack.append(self._memo[key])

    def _extend(self, items: list[Any]) -> None:
        self._top(list).extend(items)

    def _update(self, items: list[Any]) -> None:
        keys = items[::2]
        if len(items) % 2 or not all(isinstance(key, str | int) for key in keys):
            raise ValueError("a dict of the pickle has keys that are no text")
        self._top(dict).update(zip(keys, items[1::2], strict=True))

    def _name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("the pickle names a module that is no text")
        self._stack.append(PickleName(_OLD_MODULES.get(module, module), name))

    def _make(self) -> None:
        maker, arguments = self._take(2)
        if not isinstance(maker, PickleName) or not isinstance(arguments, tuple):
            raise ValueError("the pickle calls what is no name")
        self._stack.append(PickleCall(maker, arguments))

    def _build(self) -> None:
        (state,) = self._take(1)
        call = self._top(PickleCall)
        if call.state is not None:
            raise ValueError("the pickle gives an object two states")
        call.state = state


_STEPS: dict[str, Any] = {
    "PROTO": lambda machine, argument: None,
    "FRAME": lambda machine, argument: None,
    "MARK": lambda machine, argument: machine._stack.append(_MARK),
    "TUPLE": lambda machine, argument: machine._stack.append(tuple(machine._take_to_mark())),
    "EMPTY_LIST": lambda machine, argument: machine._stack.append([]),
    "EMPTY_DICT": lambda machine, argument: machine._stack.append({}),
    "APPEND": lambda machine, argument: machine._extend(machine._take(1)),
    "APPENDS": lambda machine, argument: machine._extend(machine._take_to_mark()),
    "SETITEM": lambda machine, argument: machine._update(machine._take(2)),
    "SETITEMS": lambda machine, argument: machine._update(machine._take_to_mark()),
    # genops gives the two lines of a GLOBAL with a space between.
    "GLOBAL": lambda machine, argument: machine._name(*str(argument).split(" ", 1)),
    "STACK_GLOBAL": lambda machine, argument: machine._name(*machine._take(2)),
    "REDUCE": lambda machine, argument: machine._make(),
    "NEWOBJ": lambda machine, argument: machine._make(),
    "BUILD": lambda machine, argument: machine._build(),
    "BINPUT": lambda machine, argument: machine._remember(argument),
    "LONG_BINPUT": lambda machine, argument: machine._remember(argument),
    "MEMOIZE": lambda machine, argument: machine._remember(len(machine._memo)),
    "BINGET": lambda machine, argument: machine._recall(argument),
    "LONG_BINGET": lambda machine, argument: machine._recall(argument),
}
