"""Pickling: files by path, digest and key id; results of a job by the job; objects in memory by their bytes.

A process opens each file once and shares the object.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any, Union

from ._homaes import Ciphertexts, EvalKey, Job, WrappedKey, digest
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


def reduce(shared: _Shared, protocol: int) -> tuple[Any, ...]:
    job = getattr(shared, "job", None)
    if job is not None:
        return Job.results, (Job.open(job),)
    kind = type(shared).__name__
    path = shared.path
    if path is None:
        data: Any = shared.to_bytes()
        if protocol >= 5:
            data = pickle.PickleBuffer(data)
        return _of_bytes, (kind, data)
    place = os.fspath(path)
    found = digest(place)
    # the digest must be of the file that was opened
    shared._check_file()
    with _LOCK:
        _OPEN.setdefault((kind, place, found), shared)
    return _of_path, (kind, place, found, shared.key_id)


def _of_bytes(kind: str, data: Any) -> _Shared:
    return _LOADERS[kind](bytes(data))


def _of_path(kind: str, path: str, expected: bytes, key_id: str) -> _Shared:
    place = (kind, path, expected)
    with _LOCK:
        shared = _OPEN.get(place)
        if shared is not None:
            return shared
        found = digest(path)
        if found != expected:
            raise _changed(path, found.hex(), expected.hex())
        shared = _LOADERS[kind](path)
        if shared.key_id != key_id:
            raise _changed(path, shared.key_id, key_id)
        _OPEN[place] = shared
        return shared


def _changed(path: str, found: str, expected: str) -> FileFormatError:
    return FileFormatError(
        f"{path}: the file has changed since it was pickled: found {found}, expected {expected}",
        path=path,
        found=found,
        expected=expected,
        remedy="load the file and pickle it again",
    )


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
