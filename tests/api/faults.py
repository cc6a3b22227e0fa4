"""Faults on demand (tests/faults/faults.c): one process under test, and the file it shares with
the test."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Iterator

from support import BINARY

LIBRARY = Path(BINARY).parent / "tests" / "libfaults.so"  # before all libraries
WRAPPED = Path(BINARY).parent / "tests" / "bakehouse_faults"  # our own calls alone

FIELDS = ("left", "run", "failed", "seen", "disk", "clock_ms")


class Faults:
    """Attributes are the fields of the struct; `environment` is for the process."""

    def __init__(self) -> None:
        handle, self._path = tempfile.mkstemp(prefix="bakehouse-faults-")
        os.write(handle, bytes(8 * len(FIELDS)))
        self._map = mmap.mmap(handle, 8 * len(FIELDS))
        os.close(handle)
        self.environment = {"BAKEHOUSE_FAULTS": self._path}

    def preload(self) -> "Faults":
        self.environment["LD_PRELOAD"] = str(LIBRARY)
        return self

    def close(self) -> None:
        self._map.close()
        os.unlink(self._path)

    def __getitem__(self, name: str) -> int:
        return int(struct.unpack_from("q", self._map, 8 * FIELDS.index(name))[0])

    def __setitem__(self, name: str, value: int) -> None:
        struct.pack_into("q", self._map, 8 * FIELDS.index(name), value)

    def fail_allocation(self, number: int, more: int = 0) -> None:
        """The number-th from now fails, and so many behind it."""
        self["left"], self["failed"], self["run"] = 0, 0, more
        self["left"] = number

    def allow_allocations(self) -> int:
        """No more failures; how many there were."""
        self["left"] = self["run"] = 0
        return self["failed"]


def rising(last: int, ratio: float) -> Iterator[int]:
    """1, 2, 3, ... then by the ratio."""
    number = 1.0
    while number <= last:
        yield int(number)
        number = max(number + 1, number * ratio)
