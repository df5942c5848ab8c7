"""What is refused, or warned of, and that nothing is lost by it."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import homaes
import pytest
from conftest import AES_KEY, World, ctr, encrypt
from cryptography.hazmat.primitives.ciphers import modes as aes_modes
from homaes import modes

CTR = modes.CTR(bytes(16))


def kept(path: Path, call: Any, word: str = "is both an input and the output") -> None:
    """The call is refused, and the file stays as it is."""
    before = path.read_bytes()
    with pytest.raises(homaes.ParametersError, match=word):
        call()
    assert path.read_bytes() == before


def files_of(world: World, folder: Path) -> tuple[Path, Path, Path]:
    """A message and keys in files."""
    data, eval_key, wrapped = folder / "m", folder / "keys" / "eval.hek", folder / "key.hwk"
    world.keys.save(folder / "keys")
    world.wrapped.save(wrapped)
    data.write_bytes(ctr(b"of the client" * 100))
    return data, eval_key, wrapped


def test_what_is_read_is_not_replaced(world: World, tmp_path: Path) -> None:
    data, eval_key, wrapped = files_of(world, tmp_path)
    secret = world.keys.secret
    with homaes.Transcipher(
        homaes.EvalKey.load(eval_key), homaes.WrappedKey.load(wrapped)
    ) as t:
        for path in (data, eval_key, wrapped):
            for resume in (False, True):
                kept(path, lambda: t.run(data, CTR, path, force=True, resume=resume))
        part = homaes.Message.of_files([(data, CTR)])
        kept(data, lambda: t.run(part, out=data, force=True))
        out = tmp_path / "o.hct"
        ct = t.run(data, CTR, out)
    kept(out, lambda: secret.decrypt_to(out, out, force=True))
    kept(out, lambda: secret.decrypt_to(ct, out, force=True))
    kept(out, lambda: ct.save(out, force=True))
    circuit = homaes.bgv.Circuit(homaes.EvalKey.load(eval_key))
    kept(eval_key, lambda: homaes.save_values(eval_key, {}, circuit, force=True))
    # a part with the name of the results
    named = homaes.Message.of_parts([("o.hct", data, CTR)])
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        t.run(named, out=out, force=True)
    kept(out, lambda: secret.decrypt_parts(out, tmp_path, force=True))
    assert secret.decrypt_parts(out, tmp_path / "parts")["o.hct"].bytes == 1300
    assert (tmp_path / "parts" / "o.hct").read_bytes() == b"of the client" * 100


def test_what_a_job_needs_is_not_replaced(world: World, tmp_path: Path) -> None:
    data, eval_key, wrapped = files_of(world, tmp_path)
    job = homaes.Job.plan(
        data, CTR, eval_key=eval_key, wrapped_key=wrapped, out=tmp_path / "job"
    )
    job.run()
    for path in (data, eval_key, wrapped):
        kept(path, lambda: job.merge(path, force=True))
        kept(path, lambda: job.results().save(path, force=True))
        kept(path, lambda: world.keys.secret.decrypt_to(job.results(), path, force=True))
    inside = "the output is inside the job's folder"
    shard = next((tmp_path / "job" / "shards").iterdir())
    for path in (shard, tmp_path / "job" / "job.json"):
        kept(path, lambda: job.merge(path, force=True), inside)
        kept(path, lambda: world.keys.secret.decrypt_to(tmp_path / "job", path, force=True), inside)
    # what has the name of a shard and is none
    shard.unlink()
    shard.mkdir()
    assert job.status().wrong == {0: 0} and not job.status().is_complete
    for call in (job.run, lambda: job.run_shard(0)):
        with pytest.raises(homaes.ShardMismatchError, match="not a regular file") as caught:
            call()
        assert caught.value.remedy == "remove it, and evaluate it again with Job.run"
    assert "not a regular file" in job.verify().wrong[0]


def test_parts_have_other_names_than_unfinished_outputs(world: World) -> None:
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        for name in (".p.homaes-tmp-0123456789abcdef", "a/.o.hct.homaes-part", ".o.hct.homaes-journal"):
            with pytest.raises(homaes.ParametersError, match="no unfinished output"):
                t.run(homaes.Message.of_parts([(name, ctr(b"text"), CTR)]))
        with pytest.raises(homaes.ParametersError, match="expected at least one part") as caught:
            t.run(homaes.Message.of_files([]))
    assert caught.value.remedy == "pass what is expected"


def test_messages_say_what_to_do_and_hide_nothing(world: World, tmp_path: Path) -> None:
    path = tmp_path / "eval.hek"
    world.keys.eval.save(path)
    with pytest.raises(FileExistsError, match="file already exists; .*force=True") as there:
        world.keys.eval.save(path)
    assert str(path) in str(there.value)
    with pytest.raises(FileNotFoundError, match="; check the path"):
        homaes.EvalKey.load(tmp_path / "none")
    with pytest.raises(homaes.InsecureParametersError, match="accept_insecure=True"):
        homaes.keygen(world.set)
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        parts = [("a\u202etxt.exe", ctr(b"text") + bytes(16), modes.GCM(bytes(12)))]
        ct = t.run(homaes.Message.of_parts(parts))
    with pytest.raises(homaes.AuthenticationError) as caught:
        world.keys.secret.decrypt_parts(ct, tmp_path / "parts", aes_key=AES_KEY)
    text = str(caught.value)
    assert r"part a\u{202e}txt.exe: " in text and "\u202e" not in text
    assert caught.value.remedy and text.endswith(f"; {caught.value.remedy}")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.remedy) == (text, caught.value.remedy)


def test_a_complete_output_is_done(world: World, tmp_path: Path) -> None:
    data, eval_key, wrapped = files_of(world, tmp_path)
    out, keys = tmp_path / "o.hct", (homaes.EvalKey.load(eval_key), homaes.WrappedKey.load(wrapped))
    with homaes.Transcipher(*keys) as t:
        first, again = (t.run(data, CTR, out, resume=True) for _ in range(2))
        assert (first.report.resumed, again.report.resumed) == (0, again.report.batches)
        assert first.to_bytes() == again.to_bytes()
        same = t.run(data.read_bytes(), CTR, out, resume=True)
        assert same.report.resumed == same.report.batches
        with pytest.raises(FileExistsError):
            t.run(bytes(len(data.read_bytes())), CTR, out, resume=True)


def test_keys_are_not_saved_onto_themselves(world: World, tmp_path: Path) -> None:
    _, eval_key, wrapped = files_of(world, tmp_path)
    loaded, other = homaes.EvalKey.load(eval_key), homaes.WrappedKey.load(wrapped)
    kept(eval_key, lambda: loaded.save(eval_key, force=True))
    kept(wrapped, lambda: other.save(wrapped, force=True))
    loaded.save(tmp_path / "copy.hek")
    assert (tmp_path / "copy.hek").read_bytes() == eval_key.read_bytes()


def test_python_does_not_look_into_vectors(world: World) -> None:
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(ctr(bytes(16)), CTR)
    state = homaes.bgv.Circuit(world.keys.eval).load(ct)
    v, w = state[0], state[1]
    for wrong in (
        lambda: v and w,
        lambda: not v,
        lambda: v == w,
        lambda: v != 1,
        lambda: v < w,
        lambda: all([v, w]),
        lambda: v in [w],
    ):
        with pytest.raises(TypeError, match="encrypted vector"):
            wrong()


def test_closing_while_it_works(world: World) -> None:
    data = ctr(bytes(3000))
    t = homaes.Transcipher(world.keys.eval, world.wrapped)
    done: list[object] = []

    def run() -> None:
        done.append(t.run(data, CTR, progress=lambda p: t.close()))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert len(done) == 1
    with pytest.raises(ValueError, match="is closed"):
        t.run(data, CTR)
    # from another thread it waits
    t = homaes.Transcipher(world.keys.eval, world.wrapped)
    begun = threading.Event()
    ended: list[float] = []
    thread = threading.Thread(
        target=lambda: ended.append(t.run(data, CTR, progress=lambda p: begun.set()).bytes)
    )
    thread.start()
    assert begun.wait(60)
    t.close()
    thread.join(60)
    assert ended == [3000]


def test_keys_are_bytes(world: World) -> None:
    secret = world.keys.secret
    for key in (AES_KEY, bytes(24), bytes(32)):
        with pytest.raises(homaes.ParametersError, match=f"found {2 * len(key)} hex digits") as caught:
            secret.wrap(key.hex().encode())
        assert "bytes.fromhex" in str(caught.value.remedy)
    for length in (0, 15, 33, 48, 64):
        with pytest.raises(homaes.ParametersError, match=f"found {length} bytes, expected its 16"):
            secret.wrap(bytes(range(128, 128 + length)))
    # digits that are not all hex are a key
    assert secret.wrap(b"g" * 32).key_bits == 256


def test_counters_that_are_shared(world: World, tmp_path: Path) -> None:
    data = ctr(b"one")
    shared = homaes.Message.of_parts([("a", data, CTR), ("b", data, CTR)])
    own = homaes.Message.of_parts([("a", data, CTR), ("b", data, modes.CTR(bytes([1]) * 16))])
    same_iv = homaes.Message.of_parts([("a", data, modes.CFB(bytes(16))), ("b", data, modes.CFB(bytes(16)))])
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        with pytest.warns(UserWarning, match="same counter block") as caught:
            t.run(shared)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            t.run(own)
        # closer than they are long; the IV of CFB enters the cipher too
        near = homaes.Message.of_parts(
            [(str(i), ctr(bytes(40)), modes.CTR(i.to_bytes(16, "big"))) for i in range(2)]
        )
        for message in (near, same_iv):
            with pytest.warns(UserWarning, match="same counter block"):
                t.run(message)
    path, eval_key, wrapped = files_of(world, tmp_path)
    files = homaes.Message.of_parts([("a", path, CTR), ("b", path, CTR)])
    with pytest.warns(UserWarning, match="same counter block"):
        homaes.Job.plan(files, eval_key=eval_key, wrapped_key=wrapped, out=tmp_path / "job")


def test_expectations(world: World, tmp_path: Path) -> None:
    secret, nonce = world.keys.secret, bytes(range(12))
    data, tag = encrypt(aes_modes.GCM(nonce), b"authentic", b"header")
    right = modes.GCM(nonce, aad=b"header")
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(data + tag, right)
        plain = t.run(data, CTR)
    log = tmp_path / "log"
    how: dict[str, Any] = {"aes_key": AES_KEY, "expect": right}
    assert secret.decrypt(ct, **how, expect_bytes=9) == b"authentic"
    assert secret.decrypt_to(ct, tmp_path / "p", **how, seen=log).bytes == 9
    with pytest.raises(homaes.AuthenticationError, match="was already accepted"):
        secret.decrypt(ct, **how, seen=log)
    for other, word in [
        (modes.GCM(bytes(12), aad=b"header"), "nonce or IV"),
        (modes.GCM(nonce, aad=b"other"), "associated data"),
        (modes.GCM(nonce), "associated data"),
        (CTR, "mode"),
        (modes.ECB(), "mode"),
        (aes_modes.CTR(bytes(16)), "mode"),
    ]:
        with pytest.raises(homaes.AuthenticationError, match=f"{word}: found"):
            secret.decrypt_to(ct, tmp_path / "q", aes_key=AES_KEY, expect=other)
        assert not (tmp_path / "q").exists()
    with pytest.raises(homaes.AuthenticationError, match="length of the message"):
        secret.decrypt(plain, expect_bytes=8)
    with pytest.raises(homaes.AuthenticationError, match="with a checked tag") as caught:
        secret.decrypt(plain, seen=log)
    assert "--" not in str(caught.value.remedy)
    with pytest.raises(ValueError, match="expected one without"):
        secret.decrypt(ct, aes_key=AES_KEY, expect=modes.GCM(nonce, tag, b"header"))


def test_arguments_of_a_wrong_kind(world: World) -> None:
    secret, data = world.keys.secret, ctr(b"x")
    calls: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "levels_left: found -1", lambda: secret.wrap(AES_KEY, levels_left=-1)),
        (ValueError, "levels_left: found", lambda: secret.wrap(AES_KEY, levels_left=2**200)),
        (ValueError, "expect_bytes: found -1", lambda: secret.decrypt(b"", expect_bytes=-1)),
        (ValueError, "threads: found", lambda: homaes.Transcipher(world.keys.eval, world.wrapped, threads=2**70)),
        (homaes.ParametersError, "expected a set of BGV", lambda: homaes.matches({}, {"a": b"b"}, "tfhe/toy")),
        (TypeError, "layouts: expected a list", lambda: secret.wrap(AES_KEY, layouts="sliced")),  # type: ignore[arg-type]
        (ValueError, "layouts: found none", lambda: secret.wrap(AES_KEY, layouts=[])),
        (TypeError, r"expected \(path, mode\)", lambda: homaes.Message.of_files(["x"])),  # type: ignore[list-item]
        (TypeError, "expected a str or an os", lambda: homaes.Message.of_files([(5, CTR)])),  # type: ignore[list-item]
        (TypeError, r"expected \(name", lambda: homaes.Message.of_parts([("a", data)])),  # type: ignore[list-item]
        (TypeError, "dict of labels", lambda: homaes.matches({}, [b"x"], world.set)),  # type: ignore[arg-type]
        (homaes.ParametersError, "at least one pattern", lambda: homaes.matches({}, {}, world.set)),
        (TypeError, "expected a str as label", lambda: homaes.matches({}, {"a": "text"}, world.set)),  # type: ignore[dict-item]
    ]
    for mode in (modes.CTR, modes.CTR32_LE, modes.CBC, modes.CFB):
        calls.append((ValueError, "found 12 bytes of", lambda mode=mode: mode(bytes(12))))
        calls.append((TypeError, "found str, expected bytes", lambda mode=mode: mode("0" * 16)))
    class Own(modes.CTR):
        pass

    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        assert secret.decrypt(t.run(data, Own(bytes(16)))) == b"x"
    calls.append((ValueError, "found 16 bytes of nonce, expected 12", lambda: modes.GCM(bytes(16))))
    calls.append((ValueError, "found 4 bytes of tag, expected 16", lambda: modes.GCM(bytes(12), bytes(4))))
    for kind, word, call in calls:
        with pytest.raises(kind, match=word):
            call()
    with pytest.raises(homaes.FileFormatError) as caught:
        homaes.EvalKey.load(world.wrapped.to_bytes())
    assert caught.value.remedy == "WrappedKey.load reads it"
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(data, CTR)
    with pytest.raises(TypeError):
        ct.lwe("a")  # type: ignore[arg-type]


def test_what_a_stopped_run_left(world: World, tmp_path: Path) -> None:
    data, out = ctr(bytes(5000)), tmp_path / "o.hct"
    path = tmp_path / "m"
    path.write_bytes(data)

    class Stop(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.batch:
            raise Stop

    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        with pytest.raises(Stop):
            t.run(path, CTR, out, resume=True, progress=stop)
        with pytest.warns(UserWarning, match="pass resume=True to continue"):
            t.run(path, CTR, out)
        # as long as one run is at work, another one on its output is told so
        out.unlink()
        found: list[OSError] = []

        def again(progress: Any) -> None:
            if not found:
                with homaes.Transcipher(world.keys.eval, world.wrapped) as other:
                    with pytest.raises(OSError) as caught:
                        other.run(path, CTR, out, resume=True)
                    found.append(caught.value)

        t.run(path, CTR, out, resume=True, progress=again)
    assert found[0].errno == errno.EBUSY
    assert world.keys.secret.decrypt(out) == bytes(5000)


def parts_of(world: World, nonces: dict[str, int]) -> tuple[homaes.Ciphertexts, dict[str, modes.Mode]]:
    """Results of GCM parts with these first bytes of their nonces, and what each must be."""
    parts, expected = [], {}
    for name, first in nonces.items():
        nonce = bytes([first]) * 12
        text, tag = encrypt(aes_modes.GCM(nonce), b"of " + name.encode())
        expected[name] = modes.GCM(nonce)
        parts.append((name, text + tag, expected[name]))
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        return t.run(homaes.Message.of_parts(parts)), expected


def test_what_parts_must_be(world: World, tmp_path: Path) -> None:
    secret, log = world.keys.secret, tmp_path / "log"
    ct, expected = parts_of(world, {"a": 1, "in/b": 2})
    exchanged, _ = parts_of(world, {"a": 2, "in/b": 1})
    lengths = {"a": 4, "in/b": 7}

    def decrypt(ct: homaes.Ciphertexts, folder: str, **how: Any) -> dict[str, Any]:
        return secret.decrypt_parts(ct, tmp_path / folder, aes_key=AES_KEY, **how)

    def refused(word: str, ct: homaes.Ciphertexts, **how: Any) -> None:
        with pytest.raises(homaes.AuthenticationError, match=word):
            decrypt(ct, "refused", **how)
        assert not (tmp_path / "refused").exists()

    done = decrypt(ct, "right", expect=expected, expect_bytes=lengths, seen=log)
    assert {name: report.bytes for name, report in done.items()} == lengths
    assert (tmp_path / "right" / "in" / "b").read_bytes() == b"of in/b"
    refused("part a: this message was already accepted on", ct, seen=log)
    # recorded one by one
    one, _ = parts_of(world, {"in/b": 2})
    refused("was already accepted", one, seen=log)
    assert len(log.read_text().splitlines()) == 3
    refused("part a: nonce or IV", exchanged, expect=expected)
    decrypt(exchanged, "exchanged")
    refused('found "in/b", expected no part of this name', ct, expect={"a": expected["a"]})
    refused('found no part "c", expected one', ct, expect_bytes=lengths | {"c": 1})
    refused("part in/b: length of the message", ct, expect=expected, expect_bytes={"a": 4, "in/b": 8})
    refused("part a: mode", ct, expect=expected | {"a": CTR})
    for wrong in ([], "a", CTR):
        with pytest.raises(TypeError, match="expect: expected a mapping by names of parts"):
            decrypt(ct, "refused", expect=wrong)
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        plain = t.run(ctr(b"one"), CTR)
    with pytest.raises(homaes.ParametersError):
        secret.decrypt_parts(plain, tmp_path / "refused", expect={})


@pytest.mark.parametrize("mode", ["CTR", "CFB", "CTR64", "CBC", "ECB"])
def test_a_part_without_a_tag_is_refused(world: World, tmp_path: Path, mode: str) -> None:
    """The server may call a part one of a mode without tags."""
    secret, folder = world.keys.secret, tmp_path / "parts"
    back = mode in ("CBC", "ECB")
    wrapped = secret.wrap(AES_KEY, direction="decrypt") if back else world.wrapped
    forged = ("a", b"forged: 16 bytes", modes.ECB() if mode == "ECB" else getattr(modes, mode)(bytes(16)))
    nonce = bytes([9]) * 12
    text, tag = encrypt(aes_modes.GCM(nonce), b"right")
    messages = [[forged]] if back else [[forged], [("right", text + tag, modes.GCM(nonce)), forged]]
    for parts in messages:
        with homaes.Transcipher(world.keys.eval, wrapped) as t:
            ct = t.run(homaes.Message.of_parts(parts))
        ways: list[dict[str, Any]] = [{}, {"force": True}, {"seen": tmp_path / "log"}]
        for how in ways:
            with pytest.raises(homaes.HomaesError, match=f"part a: mode {mode.lower()} has no tag"):
                secret.decrypt_parts(ct, folder, aes_key=AES_KEY, **how)
        with pytest.raises(homaes.HomaesError, match="has no tag to check"):
            secret.decrypt(ct, part="a", aes_key=AES_KEY)
        with pytest.raises(homaes.HomaesError, match="choose one with part"):
            secret.decrypt_to(ct, folder, aes_key=AES_KEY)
        assert not folder.exists() and not (tmp_path / "log").exists()
    assert secret.decrypt_parts(ct, folder, aes_key=AES_KEY, unauthenticated=True)["a"].tag == "none"


def test_what_changes_in_the_run(world: World, tmp_path: Path) -> None:
    """What is read must be what the run began with."""
    text = ctr(bytes(4096))
    data, out = tmp_path / "data", tmp_path / "o.hct"
    data.write_bytes(text)

    def change(progress: Any) -> None:
        if progress.batch == 1:
            with data.open("r+b") as file:
                file.seek(4000)
                file.write(b"changed")

    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        for place in (out, None):
            data.write_bytes(text)
            with pytest.raises(OSError, match="changed while it was read"):
                t.run(data, CTR, place, progress=change)
            assert not out.exists()
        # a run that goes on took the first batches of the right bytes
        data.write_bytes(text)
        with pytest.raises(OSError, match="changed while it was read"):
            t.run(data, CTR, out, resume=True, progress=change)
        data.write_bytes(text)
        t.run(data, CTR, out, resume=True)
    assert world.keys.secret.decrypt(out) == bytes(4096)


def test_a_secret_key_that_comes_in_the_run_stays(world: World, tmp_path: Path) -> None:
    out = tmp_path / "o.hct"

    def put(_: Any) -> None:
        if not out.exists():
            world.keys.secret.save(out)

    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        with pytest.raises(FileExistsError, match="holds a secret key"):
            t.run(ctr(b"one"), CTR, out, force=True, progress=put)
    assert homaes.SecretKey.load(out).key_id == world.keys.secret.key_id
    assert [entry.name for entry in tmp_path.iterdir()] == ["o.hct"]


def job_of(world: World, folder: Path) -> homaes.Job:
    folder.mkdir(exist_ok=True)
    data, eval_key, wrapped = files_of(world, folder)
    how: dict[str, Any] = {"eval_key": eval_key, "wrapped_key": wrapped, "shard_batches": 1}
    job = homaes.Job.plan(data, CTR, **how, out=folder / "job")
    job.run()
    return job


def test_wrong_shards_are_to_be_removed(world: World, tmp_path: Path) -> None:
    job = job_of(world, tmp_path)
    shard = tmp_path / "job" / "shards" / "000001.hcs"
    whole = shard.read_bytes()
    for wrong in (bytes(len(whole)), whole[:-1] + bytes([whole[-1] ^ 1]), whole[:-1]):
        shard.write_bytes(wrong)
        for call in (
            lambda: job.merge(tmp_path / "o"),
            lambda: job.results().save(tmp_path / "o"),
            lambda: world.keys.secret.decrypt(tmp_path / "job"),
        ):
            with pytest.raises(homaes.HomaesError) as error:
                call()
            assert "000001.hcs" in str(error.value)
            assert error.value.remedy == "remove it, and evaluate it again with Job.run"
    shard.unlink()
    (shard / "in").mkdir(parents=True)
    (shard / "in" / "x").write_bytes(b"x")
    assert job.status().wrong == {1: 0}
    with pytest.raises(homaes.JobError, match="000001.hcs: not a regular file"):
        job.run()


def test_jobs_are_removed_whole_and_nothing_else(world: World, tmp_path: Path) -> None:
    job = job_of(world, tmp_path)
    folder = tmp_path / "job"
    elsewhere = tmp_path / "elsewhere"
    (folder / "shards").rename(elsewhere)
    (folder / "shards").symlink_to(elsewhere)
    with pytest.raises(homaes.JobError, match="shards: is a symbolic link"):
        job.remove()
    assert job.status().is_complete
    (folder / "shards").unlink()
    elsewhere.rename(folder / "shards")
    (folder / "mine").write_bytes(b"x")
    job.remove()
    assert [entry.name for entry in folder.iterdir()] == ["mine"]
    (folder / "mine").unlink()
    folder.rmdir()
    job_of(world, tmp_path / "again").remove()
    assert not (tmp_path / "again" / "job").exists()


def test_arguments_of_other_kinds(world: World, tmp_path: Path) -> None:
    job = job_of(world, tmp_path)
    secret = world.keys.secret
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(ctr(b"one"), CTR)
        calls: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "found int, expected a str or an os.PathLike", lambda: t.run(b"", CTR, 1)),
            (TypeError, "found bytes, expected a str or an os.PathLike", lambda: t.run(b"", CTR, b"o")),
            (TypeError, "found bytes, expected a str or an os.PathLike", lambda: ct.save(b"o")),
            (TypeError, "found int, expected a str or an os.PathLike", lambda: secret.decrypt_to(ct, 1)),
            (TypeError, "found list, expected a str or an os.PathLike", lambda: secret.decrypt(ct, seen=[])),
            (TypeError, "'bool' object cannot be interpreted", lambda: secret.decrypt(ct, expect_bytes=True)),
            (TypeError, "a Job is made by Job.plan, or opened by Job.open", lambda: homaes.Job("x")),
            (TypeError, "shards: found str, expected numbers of shards", lambda: job.run(shards="")),
            (ValueError, "sample: found 0, expected a share above 0", lambda: job.verify(sample=0)),
        ]
        for kind, word, call in calls:
            with pytest.raises(kind, match=word):
                call()
    secret_names = [".k.homaes-part", "a/.k.homaes-part", "ab"]
    for name in secret_names:
        with pytest.raises(homaes.ParametersError) as error:
            homaes.Message.of_parts([(name, b"", CTR)])
            with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
                t.run(homaes.Message.of_parts([(name, b"", CTR)]))
        word = "control characters" if "" in name else "no unfinished output"
        assert word in str(error.value)
    for pattern, found in ((b"", "found 0 bytes, expected 1 to"), (bytes(1 << 20), "found 1048576 bytes")):
        with pytest.raises(homaes.ParametersError, match=f'pattern "p": {found}'):
            homaes.scan(ctr(b"one"), CTR, world.keys.eval, world.wrapped, {"p": pattern})


UNFINISHED = (".k.homaes-tmp-0123456789abcdef", ".k.homaes-part", ".k.homaes-journal")


def test_outputs_and_messages_have_other_names_than_unfinished_ones(
    world: World, tmp_path: Path
) -> None:
    secret = world.keys.secret
    data = tmp_path / "data"
    data.write_bytes(ctr(b"one"))
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        ct = t.run(data, CTR)
        for name in UNFINISHED:
            path = tmp_path / name
            for call in (
                lambda: t.run(data, CTR, path),
                lambda: t.run(data, CTR, path, resume=True),
                lambda: secret.save(path),
                lambda: secret.decrypt_to(ct, path),
                lambda: ct.save(path),
            ):
                with pytest.raises(OSError, match="name of an unfinished output"):
                    call()
            assert not path.exists()
            path.write_bytes(ctr(b"one"))
            with pytest.raises(OSError, match="name of an unfinished output"):
                t.run(path, CTR)
            assert path.exists()
            path.unlink()


def test_beginning_anew_spares_what_is_read(world: World, tmp_path: Path) -> None:
    """What has the place of a part or of a journal is replaced with ``force``, but no key and no message."""
    data, eval_key, wrapped = files_of(world, tmp_path)
    out = tmp_path / "o.hct"
    for ending in ("part", "journal"):
        beside = tmp_path / f".o.hct.homaes-{ending}"
        os.rename(wrapped, beside)
        key = beside.read_bytes()
        with homaes.Transcipher(homaes.EvalKey.load(eval_key), homaes.WrappedKey.load(beside)) as t:
            kept(beside, lambda: t.run(data, CTR, out, force=True, resume=True))
        assert beside.read_bytes() == key
        beside.unlink()
        beside.write_bytes((tmp_path / "keys" / "secret.hsk").read_bytes())
        with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
            with pytest.raises(FileExistsError, match="holds a secret key"):
                t.run(data, CTR, out, force=True, resume=True)
        assert homaes.SecretKey.load(beside).key_id == world.keys.secret.key_id
        beside.unlink()
        wrapped.write_bytes(key)


def test_a_pipe_that_takes_the_place_of_a_file(world: World, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(ctr(bytes(4096)))

    def change(_: Any) -> None:
        if data.is_file():
            data.unlink()
            os.mkfifo(data)

    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        with pytest.raises(OSError, match="not a regular file"):
            t.run(homaes.Message.of_files([(data, CTR)]), progress=change)
    world.keys.eval.save(tmp_path / "e")
    loaded = homaes.EvalKey.load(tmp_path / "e")
    (tmp_path / "e").unlink()
    os.mkfifo(tmp_path / "e")
    with pytest.raises(homaes.HomaesError):
        loaded.to_bytes()
    ct, _ = parts_of(world, {"a": 1})
    os.mkfifo(tmp_path / "log.lock")
    with pytest.raises(OSError, match="not a regular file"):
        world.keys.secret.decrypt_parts(ct, tmp_path / "p", aes_key=AES_KEY, seen=tmp_path / "log")


def test_parts_stop_before_the_first_one(world: World, tmp_path: Path) -> None:
    secret, log, out = world.keys.secret, tmp_path / "log", tmp_path / "parts"
    ct, _ = parts_of(world, {"a": 1, "b": 2})
    old, _ = parts_of(world, {"b": 2})
    out.mkdir()
    (out / "b").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        secret.decrypt_parts(ct, out, aes_key=AES_KEY, seen=log)
    assert [entry.name for entry in out.iterdir()] == ["b"] and not log.exists()
    secret.decrypt(old, part="b", aes_key=AES_KEY, seen=log)
    with pytest.raises(homaes.AuthenticationError, match="part b: this message was already"):
        secret.decrypt_parts(ct, tmp_path / "other", aes_key=AES_KEY, seen=log)
    assert not (tmp_path / "other").exists()
    with pytest.raises(OSError):
        secret.decrypt_parts(ct, "", aes_key=AES_KEY)


def test_what_a_job_reads_is_not_among_its_files(world: World, tmp_path: Path) -> None:
    data, eval_key, wrapped = files_of(world, tmp_path)
    how: dict[str, Any] = {"eval_key": eval_key, "wrapped_key": wrapped}
    for folder, name in (("shards", "000000.hcs"), ("log", "m.ndjson")):
        inside = tmp_path / "job" / folder / name
        inside.parent.mkdir(parents=True)
        inside.write_bytes(data.read_bytes())
        with pytest.raises(homaes.ParametersError, match="inside the job's folder"):
            homaes.Job.plan(inside, CTR, out=tmp_path / "job", **how)
        inside.write_bytes(wrapped.read_bytes())
        with pytest.raises(homaes.ParametersError, match="inside the job's folder"):
            homaes.Job.plan(data, CTR, out=tmp_path / "job", eval_key=eval_key, wrapped_key=inside)


def test_a_job_that_was_replaced_is_named(world: World, tmp_path: Path) -> None:
    job = job_of(world, tmp_path)
    again = pickle.dumps(job)
    job.remove()
    how: dict[str, Any] = {"eval_key": tmp_path / "keys" / "eval.hek", "wrapped_key": tmp_path / "key.hwk"}
    other = homaes.Job.plan(tmp_path / "m", CTR, out=tmp_path / "job", shard_batches=2, **how)
    other.run()
    for call in (
        job.status,
        job.run,
        job.results,
        job.remove,
        lambda: job.run_shard(0),
        lambda: job.merge(tmp_path / "o"),
        lambda: pickle.loads(again),
    ):
        with pytest.raises(homaes.JobError, match="holds another job"):
            call()
    assert other.status().is_complete
    other.remove()
    with pytest.raises(homaes.JobError, match="not a job"):
        other.status()


def test_paths_are_not_bytes(world: World, tmp_path: Path) -> None:
    for path in (b"m.aes", 1):
        with pytest.raises(TypeError, match="expected a str or an os.PathLike"):
            homaes.Message.of_files([(path, CTR)])
    job = job_of(world, tmp_path)
    calls: list[tuple[str, Any]] = [
        ("shards: found int, expected numbers", lambda: job.run(shards=1)),
        ("shards: found bool, expected numbers", lambda: job.run(shards=[True])),
        ("sample: found str, expected a number", lambda: job.verify(sample="0.5")),
    ]
    for word, call in calls:
        with pytest.raises(TypeError, match=word):
            call()


def test_ciphertext_in_another_format_is_refused(world: World, tmp_path: Path) -> None:
    data, eval_key, wrapped = files_of(world, tmp_path)
    salted = b"Salted__12345678" + data.read_bytes()
    data.write_bytes(salted)
    plan = {"eval_key": eval_key, "wrapped_key": wrapped, "out": tmp_path / "job"}
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        for given in (salted, data):
            with pytest.raises(homaes.ParametersError, match="starts like") as caught:
                t.run(given, CTR)
            assert caught.value.expected == "bare AES ciphertext"
            assert "openssl enc -P -S SALT" in (caught.value.remedy or "")
            assert t.run(given, CTR, raw=True).report.bytes == len(salted)
    with pytest.raises(homaes.ParametersError, match="starts like"):
        homaes.Job.plan(data, CTR, **plan)
    homaes.Job.plan(data, CTR, **plan, raw=True)
