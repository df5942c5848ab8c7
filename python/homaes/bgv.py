"""Computing on results of BGV: vectors of bytes under encryption.

Bytes are elements of GF(2^8), the field of AES. ``^`` is the sum in the field and ``*`` the product, with a vector, a
byte, or one byte per slot.
"""

from __future__ import annotations

from ._homaes import Circuit, State, Vector

__all__ = ["Circuit", "State", "Vector"]
