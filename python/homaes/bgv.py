"""Computing on results of BGV: vectors of bytes under encryption.

The bytes are elements of GF(2^8), the field of AES. ``^`` is the field's sum and ``*`` its product, with another vector, a byte, or a byte
for each slot.
"""

from __future__ import annotations

from ._homaes import Circuit, State, Vector

__all__ = ["Circuit", "State", "Vector"]
