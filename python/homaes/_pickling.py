"""Pickling: files by path and digest; results of a job by the job; objects in memory by their bytes.

A process opens each file once and shares the object.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any, Union

from ._homaes import Ciphertexts, EvalKey, Job, SecretKey, WrappedKey
from .errors import FileFormatError, JobError

_Shared = Union[EvalKey, WrappedKey, Ciphertexts]

_LOADERS: dict[str, Callable[[Any], _Shared]] = {
    "EvalKey": EvalKey.load,
    "WrappedKey": WrappedKey.load,
    "Ciphertexts": Ciphertexts.open,
}

# by kind, path and digest
_OPEN: weakref.WeakValueDictionary[tuple[str, str, bytes], _Shared] = (
    weakref.WeakValueDictionary()
)
_LOCK = Lock()


def _digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def reduce(shared: _Shared | SecretKey, protocol: int) -> tuple[Any, ...]:
    if isinstance(shared, SecretKey):
        raise TypeError(
            "a SecretKey cannot be pickled: save it with SecretKey.save, and load it where you need it"
        )
    if isinstance(shared, Ciphertexts) and shared.job is not None:
        return Job.results, (Job.open(shared.job),)
    kind = type(shared).__name__
    path = shared.path
    if path is None:
        data: Any = shared.to_bytes()
        if protocol >= 5:
            data = pickle.PickleBuffer(data)
        return _of_bytes, (kind, data)
    place = os.fspath(path)
    found = _digest(place)
    # the digest must be of the file that was opened
    shared._check_file()
    with _LOCK:
        _OPEN.setdefault((kind, place, found), shared)
    return _of_path, (kind, place, found)


def _of_bytes(kind: str, data: Any) -> _Shared:
    return _LOADERS[kind](bytes(data))


def _of_path(kind: str, path: str, expected: bytes) -> _Shared:
    place = (kind, path, expected)
    with _LOCK:
        shared = _OPEN.get(place)
        if shared is not None:
            return shared
        found = _digest(path)
        if found != expected:
            raise FileFormatError(
                f"{path}: the file has changed since it was pickled:"
                f" found {found.hex()}, expected {expected.hex()}",
                path=path,
                found=found.hex(),
                expected=expected.hex(),
                remedy="load the file and pickle it again",
            )
        shared = _OPEN[place] = _LOADERS[kind](path)
        return shared


def reopen(place: str, id: str, shard_batches: int) -> Job:
    """The job at ``place``, which must still be the one that was pickled."""
    job = Job.open(place)
    found, expected = (
        f"{id}, {count} batches a shard"
        for id, count in ((job.id, job.shard_batches), (id, shard_batches))
    )
    if found != expected:
        raise JobError(
            f"{place}: holds another job than when it was pickled: found {found}, expected {expected}",
            path=place,
            found=found,
            expected=expected,
            remedy="pickle the job again",
        )
    return job
