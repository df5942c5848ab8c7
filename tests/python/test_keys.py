"""Keys: files, bytes, pickling, and damage."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import random
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import homaes
import pytest
from conftest import AES_KEY, CTR, World, ctr, python, refused, world_of
from homaes import modes

E = TypeVar("E", bound=Exception)


def test_files_and_bytes(world: World, tmp_path: Path) -> None:
    keys, folder = world.keys, tmp_path / "new" / "keys"
    keys.save(folder)
    assert {path.name for path in folder.iterdir()} == {"secret.hsk", "eval.hek"}
    path, eval_path = folder / "secret.hsk", folder / "eval.hek"
    assert path.stat().st_mode & 0o777 == 0o600
    secret = homaes.SecretKey.load(path)
    assert secret.key_id == keys.secret.key_id and not secret.is_exposed
    assert secret.to_bytes() == path.read_bytes() == keys.secret.to_bytes()
    for given in (str(path), path, path.read_bytes(), bytearray(path.read_bytes())):
        assert homaes.SecretKey.load(given).key_id == secret.key_id
    opened = homaes.EvalKey.load(eval_path)
    assert keys.eval.to_bytes() == opened.to_bytes() == eval_path.read_bytes()
    assert opened.path == eval_path and opened.file_bytes == eval_path.stat().st_size
    opened.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == opened.to_bytes()
    world.wrapped.save(tmp_path / "w")
    again = homaes.WrappedKey.load(tmp_path / "w")
    assert (again.to_bytes(), again.key_bits, again.direction) == (world.wrapped.to_bytes(), 128, "encrypt")
    mixed = homaes.KeySet(homaes.keygen(world.set, accept_insecure=True).secret, keys.eval)
    refused(
        (FileExistsError, "never replaced.*move or delete the old folder", lambda: keys.save(folder, force=True)),
        (homaes.KeyMismatchError, "", lambda: mixed.save(tmp_path / "mixed")),
    )
    assert not (tmp_path / "mixed").exists()


def test_an_evaluation_key_for_one_layout(world: World) -> None:
    keys = homaes.keygen("bgv/toy-21845", layouts=["sliced"], accept_insecure=True)
    assert (keys.eval.layouts, world.keys.eval.layouts) == (["sliced"], ["sliced", "bits"])
    data, wrapped = bytes(40), keys.secret.wrap(AES_KEY)
    with homaes.Transcipher(keys.eval, wrapped) as transcipher:
        ct = transcipher.run(data, CTR)
        assert ct.layout == "sliced" and wrapped.layouts == ["sliced", "packed"]
        assert keys.secret.decrypt(ct) == world.keys.secret.decrypt(world.run(data))
    packed = keys.secret.wrap(AES_KEY, layouts=["packed"])
    make = partial(homaes.keygen, world.set, accept_insecure=True)
    with homaes.Transcipher(keys.eval, packed) as transcipher:
        run = partial(transcipher.run, data, CTR)
        refused(
            (homaes.ParametersError, "no layout packed, expected sliced; .* new keys", run),
            (homaes.ParametersError, "as large as one for all its layouts", lambda: make(layouts=["sliced"])),
            (ValueError, "layouts: found none", lambda: make(layouts=[])),
        )


def test_passphrases(world: World, tmp_path: Path) -> None:
    secret, path = world.keys.secret, tmp_path / "s"
    secret.save(path, passphrase="correct horse")
    assert homaes.SecretKey.load(path, passphrase=b"correct horse").is_protected
    load = partial(homaes.SecretKey.load, path)
    refused(*((homaes.KeyMismatchError, "passphrase", partial(load, passphrase=no)) for no in (None, "wrong")))
    assert homaes.SecretKey.load(secret.to_bytes(passphrase="x"), passphrase="x").key_id == secret.key_id


def test_nothing_secret_is_shown(world: World) -> None:
    secret = world.keys.secret
    for shown in (secret, world.keys.eval, world.wrapped, world.keys):
        assert world.set in repr(shown) and secret.key_id in repr(shown)
        assert AES_KEY.hex() not in repr(shown)
    assert len(repr(secret)) < 100
    assert copy.copy(secret) is secret and copy.deepcopy(secret) is secret
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for shown in (secret, world.keys):
            refused((TypeError, "SecretKey.save", lambda: pickle.dumps(shown, protocol)))


CHILD = """
import pickle, sys
import homaes
pickled = sys.stdin.buffer.read()
first, second = pickle.loads(pickled), pickle.loads(pickled)
for a, b in zip(first, second):
    assert a is b, a
evaluation, wrapped, ciphertexts = first
with homaes.Transcipher(evaluation, wrapped) as t:
    assert t.run(b"abc", homaes.modes.CTR(bytes(16))).bytes == 3
print(evaluation.key_id, ciphertexts.bytes)
"""


def test_pickling_by_path_in_another_process(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, b"")
    evaluation = homaes.EvalKey.load(tmp_path / "eval.hek")
    wrapped = homaes.WrappedKey.load(tmp_path / "key.hwk")
    ct = world.run(ctr(b"x" * 20), CTR, tmp_path / "o")
    pickled = pickle.dumps((evaluation, wrapped, ct))
    assert len(pickled) < 2000
    assert pickle.loads(pickled)[0] is evaluation
    child = python(CHILD, input=pickled)
    assert child.returncode == 0, child.stderr.decode()
    assert child.stdout.decode().split() == [evaluation.key_id, "20"]
    # another file under the same name is not taken
    del evaluation
    other = homaes.keygen(world.set, accept_insecure=True)
    other.eval.save(tmp_path / "eval.hek", force=True)
    assert b"the file has changed" in python(CHILD, input=pickled).stderr


def test_pickling_by_value(world: World) -> None:
    ct = world.run(ctr(b"y" * 20))
    for shared in (world.keys.eval, world.wrapped, ct):
        for protocol in (2, 5):
            again = pickle.loads(pickle.dumps(shared, protocol))
            assert again.to_bytes() == shared.to_bytes()
        buffers: list[pickle.PickleBuffer] = []
        small = pickle.dumps(shared, 5, buffer_callback=buffers.append)
        assert len(small) < 500 and len(buffers) == 1
        assert pickle.loads(small, buffers=buffers).to_bytes() == shared.to_bytes()
        assert copy.deepcopy(shared) is shared


def test_damaged_bytes(world: World) -> None:
    """Every damaged buffer is a typed error; nothing ends the process."""
    ct, secret = world.run(ctr(bytes(40))).to_bytes(), world.keys.secret
    targets: list[tuple[bytes, Callable[[bytes], object]]] = [
        (secret.to_bytes(), homaes.SecretKey.load),
        (world.keys.eval.to_bytes(), homaes.EvalKey.load),
        (world.wrapped.to_bytes(), homaes.WrappedKey.load),
        (ct, secret.decrypt),
        (ct, homaes.Ciphertexts.open),
    ]
    draw, found, peaks, count = random.Random(1), 0, [], 1_000
    for round in range(count):
        if round % (count // 2) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        good, load = targets[round % len(targets)]
        bad = bytearray(good)
        # most damage is near the front, where there is something to say
        at = draw.randrange(min(len(bad), 200) if draw.random() < 0.7 else len(bad))
        # other bytes, none, or more
        end, new = draw.choice([(at + 8, 8), (at + 1, 1), (len(bad), 0), (at, draw.randrange(1, 9))])
        bad[at:end] = draw.randbytes(new)
        if bad == good:
            continue
        try:
            load(bytes(bad))
        except homaes.HomaesError as error:
            assert isinstance(error, (homaes.FileFormatError, homaes.KeyMismatchError)), repr(error)
            assert error.remedy and str(error).endswith(f"; {error.remedy}")
            found += 1
        else:
            # the ciphertexts themselves are looked at later
            assert load is homaes.Ciphertexts.open
    assert found > count // 2
    # what a refused buffer took is given back
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peaks[1] < 16 << 10


def test_exceptions(world: World, tmp_path: Path) -> None:
    path, none = tmp_path / "x", tmp_path / "none"
    path.write_bytes(b"not one of ours, but long enough to have a header of one of ours" * 9)
    other, secret = world_of("bgv/toy-4369").wrapped, world.keys.secret

    def error_of(kind: type[E], call: Callable[[], object]) -> E:
        with pytest.raises(kind) as caught:
            call()
        return caught.value

    missing = error_of(FileNotFoundError, lambda: homaes.EvalKey.load(none))
    assert (missing.errno, missing.filename) == (errno.ENOENT, os.fspath(none))
    format = error_of(homaes.FileFormatError, lambda: homaes.EvalKey.load(path))
    assert "not a homaes file" in str(format) and os.fspath(format.path or "") == os.fspath(path)
    assert isinstance(format, ValueError)
    kind = error_of(homaes.FileFormatError, lambda: homaes.EvalKey.load(secret.to_bytes()))
    assert "secret key" in str(kind.found) and "evaluation key" in str(kind.expected)
    mismatch = error_of(homaes.KeyMismatchError, lambda: homaes.Transcipher(world.keys.eval, other))
    assert (mismatch.found, mismatch.expected) == ("bgv/toy-4369", world.set)
    direction = error_of(homaes.KeyMismatchError, lambda: world.run(bytes(16), modes.ECB()))
    assert "direction" in str(direction) and 'direction="decrypt"' in (direction.remedy or "")
    unknown = error_of(homaes.ParametersError, lambda: homaes.keygen("bgv/ase128"))
    assert "did you mean bgv/aes128" in str(unknown) and "bgv/aes256" in str(unknown.expected)
    assert error_of(homaes.ParametersError, lambda: secret.wrap(bytes(17))).found == 17
    refused(
        (IsADirectoryError, "", lambda: homaes.EvalKey.load(tmp_path)),
        (ValueError, "encrypt, decrypt or both", lambda: secret.wrap(AES_KEY, direction="up")),
        (ValueError, "threads", lambda: homaes.Transcipher(world.keys.eval, world.wrapped, threads=0)),
    )
    assert issubclass(homaes.NoiseError, ArithmeticError)
    assert issubclass(homaes.ShardMismatchError, homaes.JobError)
