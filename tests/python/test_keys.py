"""Keys: files, bytes, pickling, and damage."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import random
import resource
import subprocess
import sys
from pathlib import Path

import homaes
import pytest
from conftest import AES_KEY, CTR, World, ctr, refused, world_of
from homaes import modes


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
    assert again.to_bytes() == world.wrapped.to_bytes()
    assert (again.key_bits, again.direction) == (128, "encrypt")
    with pytest.raises(FileExistsError, match="never replaced.*move or delete the old folder") as error:
        keys.save(folder, force=True)
    assert error.value.errno == errno.EEXIST
    new = homaes.keygen(world.set, accept_insecure=True)
    mixed = homaes.KeySet(new.secret, keys.eval)
    refused((homaes.KeyMismatchError, "", lambda: mixed.save(tmp_path / "mixed")))
    assert not (tmp_path / "mixed").exists()


def test_passphrases(world: World, tmp_path: Path) -> None:
    secret = world.keys.secret
    secret.save(tmp_path / "s", passphrase="correct horse")
    assert homaes.SecretKey.load(tmp_path / "s", passphrase=b"correct horse").is_protected
    for wrong in (None, "wrong"):
        with pytest.raises(homaes.KeyMismatchError, match="passphrase"):
            homaes.SecretKey.load(tmp_path / "s", passphrase=wrong)
    sealed = secret.to_bytes(passphrase="x")
    assert homaes.SecretKey.load(sealed, passphrase="x").key_id == secret.key_id


def test_nothing_secret_is_shown(world: World) -> None:
    secret = world.keys.secret
    for shown in (secret, world.keys.eval, world.wrapped, world.keys):
        assert world.set in repr(shown) and secret.key_id in repr(shown)
        assert AES_KEY.hex() not in repr(shown)
    assert len(repr(secret)) < 100
    assert copy.copy(secret) is secret and copy.deepcopy(secret) is secret


def test_a_secret_key_is_not_pickled(world: World) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for shown in (world.keys.secret, world.keys):
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
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=pickled, capture_output=True
    )
    assert child.returncode == 0, child.stderr.decode()
    assert child.stdout.decode().split() == [evaluation.key_id, "20"]
    # another file under the same name is not taken
    del evaluation
    other = homaes.keygen(world.set, accept_insecure=True)
    other.eval.save(tmp_path / "eval.hek", force=True)
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
    child = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True)
    assert b"the file has changed" in child.stderr


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


def peak_kib() -> int:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_damaged_bytes(world: World) -> None:
    """Every damaged buffer is a typed error; nothing ends the process."""
    ct = world.run(ctr(bytes(40)))
    secret = world.keys.secret
    targets = [
        (secret.to_bytes(), homaes.SecretKey.load),
        (world.keys.eval.to_bytes(), homaes.EvalKey.load),
        (world.wrapped.to_bytes(), homaes.WrappedKey.load),
        (ct.to_bytes(), secret.decrypt),
        (ct.to_bytes(), homaes.Ciphertexts.open),
    ]
    draw = random.Random(1)
    found, peak, count = 0, 0, 1_000
    for round in range(count):
        if round == count // 2:
            peak = peak_kib()
        good, load = targets[round % len(targets)]
        bad = bytearray(good)
        # most damage is near the front, where there is something to say
        at = draw.randrange(min(len(bad), 200) if draw.random() < 0.7 else len(bad))
        kind = draw.randrange(4)
        if kind == 0:
            bad[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del bad[at:]
        elif kind == 2:
            bad[at:at] = draw.randbytes(draw.randrange(1, 9))
        else:
            bad[at : at + 8] = draw.randbytes(8)
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
    assert peak_kib() - peak < 16 << 10


def test_exceptions(world: World, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        homaes.EvalKey.load(tmp_path / "none")
    assert missing.value.errno == errno.ENOENT
    assert missing.value.filename == os.fspath(tmp_path / "none")
    path = tmp_path / "x"
    path.write_bytes(b"not one of ours, but long enough to have a header of one of ours" * 9)
    with pytest.raises(homaes.FileFormatError, match="not a homaes file") as format:
        homaes.EvalKey.load(path)
    assert os.fspath(format.value.path or "") == os.fspath(path)
    assert isinstance(format.value, ValueError)
    with pytest.raises(homaes.FileFormatError) as kind:
        homaes.EvalKey.load(world.keys.secret.to_bytes())
    assert "secret key" in str(kind.value.found) and "evaluation key" in str(kind.value.expected)
    with pytest.raises(homaes.KeyMismatchError) as mismatch:
        homaes.Transcipher(world.keys.eval, world_of("bgv/toy-4369").wrapped)
    assert (mismatch.value.found, mismatch.value.expected) == ("bgv/toy-4369", world.set)
    with pytest.raises(homaes.KeyMismatchError, match="direction") as direction:
        world.run(bytes(16), modes.ECB())
    assert 'direction="decrypt"' in (direction.value.remedy or "")
    with pytest.raises(homaes.ParametersError, match="did you mean bgv/aes128") as unknown:
        homaes.keygen("bgv/ase128")
    assert "bgv/aes256" in str(unknown.value.expected)
    with pytest.raises(homaes.ParametersError, match="not an AES key") as key:
        world.keys.secret.wrap(bytes(17))
    assert key.value.found == 17
    refused(
        (IsADirectoryError, "", lambda: homaes.EvalKey.load(tmp_path)),
        (homaes.InsecureParametersError, "offers no security", lambda: homaes.keygen("bgv/toy-255")),
        (ValueError, "encrypt or decrypt", lambda: world.keys.secret.wrap(AES_KEY, direction="up")),
        (ValueError, "threads", lambda: homaes.Transcipher(world.keys.eval, world.wrapped, threads=0)),
    )
    assert issubclass(homaes.NoiseError, ArithmeticError)
    assert issubclass(homaes.ShardMismatchError, homaes.JobError)
