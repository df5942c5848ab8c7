"""Homomorphic AES: turns AES ciphertext into FHE ciphertexts without seeing the key or the data.

>>> import homaes
>>> from homaes import modes
>>> keys = homaes.keygen("bgv/toy-255", accept_insecure=True)  # for real data: "bgv/aes128"
>>> wrapped = keys.secret.wrap(bytes(16))
>>> with homaes.Transcipher(keys.eval, wrapped) as t:
...     ct = t.run(b"AES ciphertext", modes.CTR(bytes(16)))
>>> len(keys.secret.decrypt(ct))
14
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from . import bgv, errors, modes
from ._demo import demo
from ._devices import find_nvrtc
from ._homaes import (
    Batch,
    Ciphertexts,
    EvalKey,
    Job,
    JobWorker,
    SecretKey,
    Transcipher,
    Values,
    WrappedKey,
    devices,
    inspect,
    matches,
    save_values,
    scan,
    sets,
    totals,
)
from ._homaes import card as _card
from ._homaes import keygen as _keygen
from ._homaes import version as _version
from ._message import Message
from ._report import (
    STEP_DTYPE,
    DecryptReport,
    DeviceInfo,
    Inspection,
    JobProgress,
    JobReport,
    JobStatus,
    JobVerified,
    PartInfo,
    Progress,
    Report,
    SetCard,
)
from .errors import *

__all__ = [
    "STEP_DTYPE",
    "AuthenticationError",
    "Batch",
    "Cancelled",
    "Ciphertexts",
    "DecryptReport",
    "DeviceInfo",
    "EvalKey",
    "FileFormatError",
    "HomaesError",
    "InsecureParametersError",
    "Inspection",
    "Job",
    "JobError",
    "JobProgress",
    "JobReport",
    "JobStatus",
    "JobVerified",
    "JobWorker",
    "KeyMismatchError",
    "KeySet",
    "Message",
    "NoiseError",
    "PaddingError",
    "ParametersError",
    "PartInfo",
    "Progress",
    "Report",
    "SecretKey",
    "SetCard",
    "ShardMismatchError",
    "StoreError",
    "Transcipher",
    "Values",
    "WrappedKey",
    "bgv",
    "demo",
    "devices",
    "errors",
    "inspect",
    "keygen",
    "matches",
    "modes",
    "save_values",
    "scan",
    "sets",
    "totals",
]

__version__ = _version()

find_nvrtc()


@dataclass(frozen=True)
class KeySet:
    """A secret key for the client, and its evaluation key for the server."""

    secret: SecretKey
    eval: EvalKey

    def save(
        self,
        folder: str | os.PathLike[str],
        /,
        *,
        passphrase: str | bytes | None = None,
        force: bool = False,
    ) -> None:
        """Write ``secret.hsk``, which only the owner can read, and ``eval.hek`` into a folder: both or neither.

        Creates the folder if it is missing. A folder that holds keys is refused, also with ``force``: move or delete it.
        """
        self.secret._save_with(folder, self.eval, passphrase=passphrase)


def keygen(
    set: str, *, layouts: Sequence[str] | None = None, accept_insecure: bool = False
) -> KeySet:
    """Make keys of the parameter set ``set``, in memory.

    ``layouts``: those that the evaluation key is for, by default all of the set. In BGV, ``["sliced"]`` leaves out the
    keys of packed columns, two fifths of the file; a short message then costs a whole sliced batch.
    ``accept_insecure``: allow a set that protects nothing, for tests.
    """
    card = _card(set)
    if card.purpose != "secure" and not accept_insecure:
        remedy = "choose a set whose purpose is secure, or pass accept_insecure=True for tests"
        raise InsecureParametersError(
            f"set {set} offers no security ({card.purpose})",
            found=card.purpose,
            expected="secure",
            remedy=remedy,
        )
    return KeySet(*_keygen(set, layouts))
