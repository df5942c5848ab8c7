"""Computing on results of BGV: vectors of bytes and integers under encryption.

Bytes are elements of GF(2^8), the field of AES. ``^`` is the sum in the field and ``*`` the product, with a vector, a
byte, or one byte per slot. ``Circuit.integers`` lifts bytes to integers modulo a power of 2, with ``+``, ``-`` and
``*``.
"""

from __future__ import annotations

from ._homaes import Circuit, Integers, State, Vector

__all__ = ["Circuit", "Integers", "State", "Vector"]
