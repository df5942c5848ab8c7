"""Messages come back, in every scheme, mode and kind of buffer."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

import homaes
import numpy as np
import pytest
from conftest import AES_KEY, BGV, CTR, TOYS, World, at_once, ctr, encrypt, refused, world_of
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import modes as aes_modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from homaes import modes

MESSAGE = b"a message of some blocks, the last of which is partial"


def test_cards() -> None:
    assert {card.scheme for card in homaes.sets()} == set(TOYS)
    told = {card.name: card.assumptions for card in homaes.sets() if card.assumptions}
    assert set(told) == {"tfhe/p64-blocks", "bgv/aes256+8", "bgv/aes256+17"}
    assert "150 bits" in told["tfhe/p64-blocks"][0]


@pytest.mark.parametrize("name", TOYS.values())
def test_every_scheme(name: str, tmp_path: Path) -> None:
    world = world_of(name)
    # of the one batch
    p_fail = next(card.log2_p_fail for card in homaes.sets() if card.name == name)
    data = ctr(MESSAGE[:20])
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(data, CTR)
        assert (ct.bytes, ct.blocks, ct.set) == (20, 2, name)
        assert ct.key_id == world.keys.secret.key_id
        assert ct.layout in world.wrapped.layouts and ct.path is None
        assert len(ct.report.steps) == 11 and len(ct.steps) == 11
        assert (ct.report.steps["capacity_bits"] > 0).all()
        assert ct.capacity_bits is not None and ct.capacity_bits > 0
        assert ct.report.log2_p_fail == p_fail
        assert world.keys.secret.decrypt(ct) == MESSAGE[:20]
        # the same by files
        (tmp_path / "c").write_bytes(data)
        out = tmp_path / "o.hct"
        by_file = t.run(tmp_path / "c", CTR, out)
        assert by_file.path == out and os.fspath(out) in repr(by_file)
    report = world.keys.secret.decrypt_to(homaes.Ciphertexts.open(out), tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == MESSAGE[:20]
    assert (report.bytes, report.tag, report.mode) == (20, "none", "ctr")
    assert report.log2_p_fail == p_fail
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o600
    assert world.keys.secret.decrypt(out.read_bytes()) == MESSAGE[:20]
    found = homaes.inspect(out)
    assert found.set == name and found.parts[0].bytes == 20
    assert found.details["log2_p_fail"] == p_fail
    assert (found.steps == by_file.steps).all()


@BGV
def test_modes(name: str) -> None:
    world = world_of(name)
    iv, secret = bytes(range(16)), world.keys.secret
    padded = MESSAGE + bytes([10]) * 10
    for own, other, key, message in [
        (modes.CTR(iv), aes_modes.CTR(iv), world.wrapped, MESSAGE),
        (modes.CFB(iv), CFB(iv), world.wrapped, MESSAGE),
        (modes.CBC(iv), aes_modes.CBC(iv), world.reverse, padded),
        (modes.ECB(), aes_modes.ECB(), world.reverse, padded),
    ]:
        data, _ = encrypt(other, message)
        with homaes.Transcipher(world.keys.eval, key) as t:
            # a mode of cryptography in its place
            for mode in (own, other):
                ct = t.run(data, mode)
                assert secret.decrypt(ct) == message and ct.parts[0].mode == own
        if key is world.reverse:
            assert secret.decrypt(ct, unpad=True) == MESSAGE


def test_counters(world: World) -> None:
    """Away from where they wrap around, counters from a block of zeros differ in their order of bytes alone."""
    little = b"".join(ctr(MESSAGE[16 * i : 16 * i + 16], i.to_bytes(16, "little")) for i in range(4))
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        for kind in (modes.CTR, modes.CTR64, modes.CTR32, modes.CTR_LE, modes.CTR64_LE, modes.CTR32_LE):
            ct = t.run(little if kind.__name__.endswith("LE") else ctr(MESSAGE), kind(bytes(16)))
            assert world.keys.secret.decrypt(ct) == MESSAGE
            assert type(ct.parts[0].mode) is kind


def test_gcm(world: World, tmp_path: Path) -> None:
    nonce, secret = bytes(12), world.keys.secret
    data, tag = encrypt(aes_modes.GCM(nonce), MESSAGE, b"about it")
    (tmp_path / "c").write_bytes(data)
    apart = modes.GCM(nonce, tag, b"about it")
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        for given, mode in [(data, apart), (tmp_path / "c", apart), (data + tag, modes.GCM(nonce, aad=b"about it"))]:
            ct = t.run(given, mode)
            assert secret.decrypt(ct, aes_key=AES_KEY) == MESSAGE
            assert ct.parts[0].mode == apart
        wrong = t.run(data, modes.GCM(nonce, bytes(16)))
    decrypt_to = partial(secret.decrypt_to, wrong, tmp_path / "p", aes_key=AES_KEY)
    refused(
        (homaes.AuthenticationError, "tag does not match", lambda: secret.decrypt(wrong, aes_key=AES_KEY)),
        (homaes.AuthenticationError, "needs the AES key", lambda: secret.decrypt(wrong)),
        (homaes.AuthenticationError, "tag does not match", decrypt_to),
    )
    assert secret.decrypt(wrong, unauthenticated=True) == MESSAGE
    assert not (tmp_path / "p").exists()


def test_buffers(world: World) -> None:
    data, mode = ctr(MESSAGE), CTR
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        array = np.frombuffer(data, dtype=np.uint8)
        with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
            for given in (data, bytearray(data), memoryview(data), mapped, array):
                assert world.keys.secret.decrypt(t.run(given, mode)) == MESSAGE
            assert world.keys.secret.decrypt(t.run(b"", mode)) == b""
            refused(
                (BufferError, "contiguous", lambda: t.run(np.zeros(8, dtype=np.uint8)[::2], mode)),
                (BufferError, "dimensions", lambda: t.run(np.zeros((2, 8), dtype=np.uint8), mode)),
                (TypeError, "found int", lambda: t.run(7, mode)),  # type: ignore[arg-type]
                (TypeError, "expected one of homaes.modes", lambda: t.run(data)),
            )
        mapped.close()


def test_parts(world: World, tmp_path: Path) -> None:
    texts = {"a": b"first", "b": MESSAGE, "empty": b""}
    files: list[tuple[Path, modes.Mode]] = []
    for number, (name, text) in enumerate(texts.items()):
        nonce = bytes([number + 1] + 15 * [0])
        (tmp_path / name).write_bytes(ctr(text, nonce))
        files.append((tmp_path / name, modes.CTR(nonce)))
    message, secret = homaes.Message.of_files(files), world.keys.secret
    world.save(tmp_path, b"")
    keys: dict[str, Any] = {
        "eval_key": homaes.EvalKey.load(tmp_path / "eval.hek"),
        "wrapped_key": homaes.WrappedKey.load(tmp_path / "key.hwk"),
    }
    ct = world.run(message, reproducible=True)
    assert ct.batches == 1
    assert [part.name for part in ct.parts] == list(texts)
    for name, text in texts.items():
        assert secret.decrypt(ct, part=name) == text
    refused(
        (TypeError, "the mode of each part", lambda: homaes.Job.plan(message, CTR, **keys, out=tmp_path / "job")),
        (homaes.ParametersError, "has no part", lambda: secret.decrypt(ct, part="c")),
        (homaes.ParametersError, "3 parts", lambda: secret.decrypt(ct)),
    )
    job = homaes.Job.plan(message, **keys, out=tmp_path / "job")
    job.run()
    assert job.part_count == 3 and job.results().to_bytes() == ct.to_bytes()


def test_resume(world: World, tmp_path: Path) -> None:
    data, out = ctr(bytes(2000)), tmp_path / "o.hct"

    def stop(progress: homaes.Progress) -> None:
        if progress.batch == 3:
            raise InterruptedError

    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        refused((InterruptedError, "", lambda: t.run(data, CTR, out, resume=True, progress=stop)))
        assert not out.exists() and len(list(tmp_path.iterdir())) == 2
        refused((homaes.JobError, "another message, key or", lambda: t.run(data[:-1], CTR, out, resume=True)))
        ct = t.run(data, CTR, out, resume=True)
        assert ct.report.resumed >= 3
        assert {path.name for path in tmp_path.iterdir()} == {"o.hct", ".o.hct.homaes-done"}
        # a complete output is done
        again = t.run(data, CTR, out, resume=True)
        assert again.report.resumed == again.report.batches and again.to_bytes() == ct.to_bytes()
        refused(
            (FileExistsError, "", lambda: t.run(bytes(2000), CTR, out, resume=True)),
            (ValueError, "no file to continue", lambda: t.run(data, CTR, resume=True)),
        )
    # the same bytes with another number of threads
    assert ct.to_bytes() == world.run(data, reproducible=True).to_bytes()
    assert world.keys.secret.decrypt(ct) == bytes(2000)


def test_progress(world: World) -> None:
    events, here = [], threading.get_ident()

    def follow(event: homaes.Progress) -> None:
        assert threading.get_ident() == here
        events.append(event)

    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        t.run(ctr(bytes(600)), CTR, progress=follow)
        t.run(ctr(bytes(600)), CTR, progress=True)
    # three batches of sixteen blocks
    assert len(events) == 3 * 11
    assert (events[-1].batch, events[-1].round, events[-1].fraction) == (2, 10, 1.0)


def test_an_exception_in_progress_ends_the_run(world: World, tmp_path: Path) -> None:
    def fail(event: homaes.Progress) -> None:
        raise ZeroDivisionError

    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        refused((ZeroDivisionError, "", lambda: t.run(ctr(bytes(10**6)), CTR, tmp_path / "o", progress=fail)))
        assert list(tmp_path.iterdir()) == []
        # and the next one goes on
        assert t.run(b"", CTR).bytes == 0
    refused((ValueError, "closed", lambda: t.run(b"", CTR)))


def test_several_threads_share_one(world: World) -> None:
    texts = [bytes([number]) * 300 for number in range(5)]
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        found = at_once(*(partial(t.run, ctr(text), CTR) for text in texts))
    assert sorted(map(world.keys.secret.decrypt, found)) == texts


def test_a_notebook_shows_a_table(world: World) -> None:
    shown = world.run(ctr(MESSAGE))._repr_html_()
    assert f"<td>{world.set}</td>" in shown and shown.count(",") >= 11
    assert "none" in world.run(b"")._repr_html_()


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    homaes.demo(set="bgv/toy-255")
    assert "SP 800-38A" in capsys.readouterr().out


def test_parts_under_keys_of_their_own() -> None:
    world = world_of("bgv/toy-255")
    keys = {f"meter-{number}": bytes([number]) * 16 for number in range(3)}
    wrapped = world.keys.secret.wrap(keys)
    assert wrapped.names == list(keys) and wrapped.compact
    nonce = bytes(12)
    sent = {f"{name}/{day}": AESGCM(keys[name]).encrypt(nonce, MESSAGE, None) for name in keys for day in "ab"}
    with homaes.Transcipher(world.keys.eval, wrapped) as t:
        with pytest.warns(UserWarning, match="same counter"):
            ct = t.run(homaes.Message.of_parts([(name, data, modes.GCM(nonce)) for name, data in sent.items()]))
        for name in sent:
            assert world.keys.secret.decrypt(ct, part=name, aes_key=keys) == MESSAGE
        swapped = dict(zip(keys, reversed(keys.values()), strict=True))
        wrap, decrypt = world.keys.secret.wrap, world.keys.secret.decrypt
        refused(
            (homaes.AuthenticationError, "tag", lambda: decrypt(ct, part="meter-0/a", aes_key=swapped)),
            (homaes.KeyMismatchError, "one of the 3 names", lambda: t.run(homaes.Message.of_parts([("x/a", MESSAGE, CTR)]))),
            (homaes.ParametersError, "name of AES key 1", lambda: wrap({"a b": AES_KEY})),
            (ValueError, "only levels_left", lambda: wrap(keys, direction="decrypt")),
        )
