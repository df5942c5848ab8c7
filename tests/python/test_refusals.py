"""What is refused, or warned of, and that nothing is lost by it."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import homaes
import pytest
from conftest import AES_KEY, CTR, World, at_once, ctr, encrypt, plan, refused
from cryptography.hazmat.primitives.ciphers import modes as aes_modes
from homaes import modes

TEXT = b"of the client" * 100


def test_what_is_read_is_not_replaced(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, ctr(TEXT))
    data, eval_key, wrapped = (tmp_path / name for name in ("c", "eval.hek", "key.hwk"))
    secret, out = world.keys.secret, tmp_path / "o.hct"
    evaluation, key = homaes.EvalKey.load(eval_key), homaes.WrappedKey.load(wrapped)
    t = homaes.Transcipher(evaluation, key)
    # a part with the name of the results
    ct = t.run(homaes.Message.of_parts([("o.hct", data, CTR)]), out=out)
    job = plan(tmp_path)
    job.run()
    shard, manifest = tmp_path / "job/shards/000000.hcs", tmp_path / "job/job.json"
    circuit = homaes.bgv.Circuit(evaluation)
    how: dict[str, Any] = {"force": True}
    calls: list[tuple[Path, Callable[[], object]]] = [
        *((path, partial(t.run, data, CTR, path, **how)) for path in (data, eval_key, wrapped)),
        *((path, partial(t.run, data, CTR, path, **how, resume=True)) for path in (data, eval_key, wrapped)),
        (data, lambda: t.run(homaes.Message.of_files([(data, CTR)]), out=data, **how)),
        (out, lambda: secret.decrypt_to(out, out, **how)),
        (out, lambda: secret.decrypt_to(ct, out, **how)),
        (out, lambda: secret.decrypt_parts(out, tmp_path, **how)),
        (out, lambda: ct.save(out, **how)),
        (eval_key, lambda: homaes.save_values(eval_key, {}, circuit, **how)),
        (eval_key, lambda: evaluation.save(eval_key, **how)),
        (wrapped, lambda: key.save(wrapped, **how)),
        *((path, partial(job.merge, path, **how)) for path in (data, eval_key, wrapped, shard, manifest)),
        (data, lambda: job.results().save(data, **how)),
        (data, lambda: secret.decrypt_to(job.results(), data, **how)),
        (manifest, lambda: secret.decrypt_to(tmp_path / "job", manifest, **how)),
    ]
    for path, call in calls:
        before = path.read_bytes()
        with pytest.raises(homaes.ParametersError, match="both an input and the output|inside the job's folder"):
            call()
        assert path.read_bytes() == before
    assert secret.decrypt_parts(out, tmp_path / "parts")["o.hct"].bytes == 1300
    assert (tmp_path / "parts" / "o.hct").read_bytes() == TEXT


def test_names_of_parts_and_outputs(world: World, tmp_path: Path) -> None:
    data = ctr(b"one")

    def run(*names: str) -> homaes.Ciphertexts:
        return world.run(homaes.Message.of_parts([(name, data, CTR) for name in names]))

    with pytest.raises(homaes.ParametersError, match="expected at least one part") as caught:
        run()
    assert caught.value.remedy == "pass what is expected"
    refused((homaes.ParametersError, "control characters", lambda: run("a\x7fb")))
    ct = world.run(data)
    (tmp_path / "a").mkdir()
    for name in (".k.homaes-tmp-0123456789abcdef", "a/.k.homaes-part", ".k.homaes-journal"):
        path, unfinished = tmp_path / name, "name of an unfinished output"
        refused(
            (homaes.ParametersError, "no unfinished output", lambda: run(name)),
            *((OSError, unfinished, partial(world.run, data, CTR, path, resume=again)) for again in (False, True)),
            (OSError, unfinished, lambda: world.keys.secret.save(path)),
            (OSError, unfinished, lambda: world.keys.secret.decrypt_to(ct, path)),
            (OSError, unfinished, lambda: ct.save(path)),
        )
        assert not path.exists()
        path.write_bytes(data)
        refused((OSError, unfinished, lambda: world.run(path)))
        assert path.exists()


def test_messages_say_what_to_do_and_hide_nothing(world: World, tmp_path: Path) -> None:
    path = tmp_path / "eval.hek"
    world.keys.eval.save(path)
    with pytest.raises(FileExistsError, match="file already exists; .*force=True") as there:
        world.keys.eval.save(path)
    assert str(path) in str(there.value)
    refused(
        (FileNotFoundError, "; check the path", lambda: homaes.EvalKey.load(tmp_path / "none")),
        (homaes.InsecureParametersError, "no security.*accept_insecure=True", lambda: homaes.keygen(world.set)),
    )
    parts = [("a\u202etxt.exe", ctr(b"text") + bytes(16), modes.GCM(bytes(12)))]
    ct = world.run(homaes.Message.of_parts(parts))
    with pytest.raises(homaes.AuthenticationError) as caught:
        world.keys.secret.decrypt_parts(ct, tmp_path / "parts", aes_key=AES_KEY)
    text = str(caught.value)
    assert r"part a\u{202e}txt.exe: " in text and "\u202e" not in text
    assert caught.value.remedy and text.endswith(f"; {caught.value.remedy}")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.remedy) == (text, caught.value.remedy)


def test_closing_while_it_works(world: World) -> None:
    data = ctr(bytes(3000))
    t = homaes.Transcipher(world.keys.eval, world.wrapped)
    # in its own callback it does not wait
    assert t.run(data, CTR, progress=lambda p: t.close()).bytes == 3000
    refused((ValueError, "is closed", lambda: t.run(data, CTR)))
    # from another thread it waits
    t = homaes.Transcipher(world.keys.eval, world.wrapped)
    begun = threading.Event()

    def close() -> None:
        assert begun.wait(60)
        t.close()

    assert 3000 in at_once(lambda: t.run(data, CTR, progress=lambda p: begun.set()).bytes, close)


def test_keys_are_bytes(world: World) -> None:
    secret = world.keys.secret
    with pytest.raises(homaes.ParametersError, match="found 32 hex digits") as caught:
        secret.wrap(AES_KEY.hex().encode())
    assert "bytes.fromhex" in str(caught.value.remedy)
    refused(
        *((homaes.ParametersError, f"{2 * n} hex", partial(secret.wrap, b"0" * 2 * n)) for n in (24, 32)),
        *(
            (homaes.ParametersError, f"found {n} bytes, expected its 16", partial(secret.wrap, bytes(n)))
            for n in (0, 15, 33, 48, 64)
        ),
    )
    # digits that are not all hex are a key
    assert secret.wrap(b"g" * 32).key_bits == 256


def test_counters_that_are_shared(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, ctr(b"one"))
    place = tmp_path / "c"
    message = homaes.Message.of_parts([("a", place, CTR), ("b", place, CTR)])
    how: dict[str, Any] = {"eval_key": tmp_path / "eval.hek", "wrapped_key": tmp_path / "key.hwk"}
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        for call in (lambda: t.run(message), lambda: homaes.Job.plan(message, **how, out=tmp_path / "job")):
            with pytest.warns(UserWarning, match="same counter block") as caught:
                call()
            assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            t.run(homaes.Message.of_parts([("a", place, CTR), ("b", place, modes.CTR(bytes([1]) * 16))]))


def test_expectations(world: World, tmp_path: Path) -> None:
    secret, nonce = world.keys.secret, bytes(range(12))
    data, tag = encrypt(aes_modes.GCM(nonce), b"authentic", b"header")
    right = modes.GCM(nonce, aad=b"header")
    ct, plain, log = world.run(data + tag, right), world.run(data), tmp_path / "log"
    how: dict[str, Any] = {"aes_key": AES_KEY, "expect": right}
    assert secret.decrypt(ct, **how, expect_bytes=9) == b"authentic"
    assert secret.decrypt_to(ct, tmp_path / "p", **how, seen=log).bytes == 9
    tagged, decrypt = modes.GCM(nonce, tag, b"header"), partial(secret.decrypt_to, ct, tmp_path / "q", aes_key=AES_KEY)
    refused(
        (homaes.AuthenticationError, "nonce or IV: found", lambda: decrypt(expect=modes.GCM(bytes(12), aad=b"header"))),
        (homaes.AuthenticationError, "associated data: found", lambda: decrypt(expect=modes.GCM(nonce))),
        (homaes.AuthenticationError, "mode: found", lambda: decrypt(expect=aes_modes.CTR(bytes(16)))),
        (homaes.AuthenticationError, "was already accepted", lambda: decrypt(expect=right, seen=log)),
        (homaes.AuthenticationError, "length of the message", lambda: secret.decrypt(plain, expect_bytes=8)),
        (homaes.AuthenticationError, "with a checked tag(?!.*--)", lambda: secret.decrypt(plain, seen=log)),
        (ValueError, "expected one without", lambda: decrypt(expect=tagged)),
    )
    assert not (tmp_path / "q").exists()


def test_arguments_of_a_wrong_kind(world: World, tmp_path: Path) -> None:
    secret, data, ct = world.keys.secret, ctr(b"x"), world.run(ctr(b"x"))
    world.save(tmp_path, data)
    job = plan(tmp_path)
    path = "expected a str or an os.PathLike"
    # Python calls these without a type checker
    calls: list[tuple[type[BaseException], str, Any]] = [
        (ValueError, "levels_left: found -1", lambda: secret.wrap(AES_KEY, levels_left=-1)),
        (ValueError, "levels_left: found", lambda: secret.wrap(AES_KEY, levels_left=2**200)),
        (ValueError, "expect_bytes: found -1", lambda: secret.decrypt(b"", expect_bytes=-1)),
        (TypeError, "'bool' object cannot be interpreted", lambda: secret.decrypt(ct, expect_bytes=True)),
        (ValueError, "threads: found", lambda: homaes.Transcipher(world.keys.eval, world.wrapped, threads=2**70)),
        (TypeError, "layouts: expected a list", lambda: secret.wrap(AES_KEY, layouts="sliced")),
        (ValueError, "layouts: found none", lambda: secret.wrap(AES_KEY, layouts=[])),
        (TypeError, r"expected \(path, mode\)", lambda: homaes.Message.of_files(["x"])),  # type: ignore[list-item]
        (TypeError, "expected a str or an os", lambda: homaes.Message.of_files([(5, CTR)])),  # type: ignore[list-item]
        (TypeError, path, lambda: homaes.Message.of_files([(b"m.aes", CTR)])),  # type: ignore[list-item]
        (TypeError, r"expected \(name", lambda: homaes.Message.of_parts([("a", data)])),  # type: ignore[list-item]
        (TypeError, "dict of labels", lambda: homaes.matches({}, [b"x"], world.set)),  # type: ignore[arg-type]
        (TypeError, "expected a str as label", lambda: homaes.matches({}, {"a": "text"}, world.set)),
        (TypeError, f"found int, {path}", lambda: world.run(b"", CTR, 1)),  # type: ignore[arg-type]
        (TypeError, f"found bytes, {path}", lambda: ct.save(b"o")),  # type: ignore[arg-type]
        (TypeError, f"found int, {path}", lambda: secret.decrypt_to(ct, 1)),  # type: ignore[arg-type]
        (TypeError, f"found list, {path}", lambda: secret.decrypt(ct, seen=[])),  # type: ignore[arg-type]
        (TypeError, "a Job is made by Job.plan, or opened by Job.open", lambda: homaes.Job("x")),
        (TypeError, "shards: found str, expected numbers of", lambda: job.run(shards="")),  # type: ignore[arg-type]
        (TypeError, "shards: found int, expected numbers", lambda: job.run(shards=1)),  # type: ignore[arg-type]
        (TypeError, "shards: found bool, expected numbers", lambda: job.run(shards=[True])),
        (TypeError, "sample: found str, expected a number", lambda: job.verify(sample="0.5")),  # type: ignore[arg-type]
        (ValueError, "sample: found 0, expected a share above 0", lambda: job.verify(sample=0)),
        (ValueError, "found 16 bytes of nonce, expected 12", lambda: modes.GCM(bytes(16))),
        (ValueError, "found 4 bytes of tag, expected 16", lambda: modes.GCM(bytes(12), bytes(4))),
        (TypeError, "", lambda: ct.lwe("a")),  # type: ignore[arg-type]
    ]
    for mode in (modes.CTR, modes.CTR32_LE, modes.CBC, modes.CFB):
        calls.append((ValueError, "found 12 bytes of", partial(mode, bytes(12))))
        calls.append((TypeError, "found str, expected bytes", partial(mode, "0" * 16)))
    refused(*calls)
    with pytest.raises(homaes.FileFormatError) as caught:
        homaes.EvalKey.load(world.wrapped.to_bytes())
    assert caught.value.remedy == "WrappedKey.load reads it"

    class Own(modes.CTR):
        pass

    assert secret.decrypt(world.run(data, Own(bytes(16)))) == b"x"


def test_what_a_stopped_run_left(world: World, tmp_path: Path) -> None:
    data, out, found = ctr(bytes(2000)), tmp_path / "o.hct", []

    def stop(progress: Any) -> None:
        if progress.batch:
            raise InterruptedError

    refused((InterruptedError, "", lambda: world.run(data, CTR, out, resume=True, progress=stop)))
    with pytest.warns(UserWarning, match="pass resume=True to continue"):
        world.run(data, CTR, out)
    # as long as one run is at work, another one on its output is told so
    out.unlink()

    def again(progress: Any) -> None:
        if not found:
            with pytest.raises(OSError) as caught:
                world.run(data, CTR, out, resume=True)
            found.append(caught.value.errno)

    world.run(data, CTR, out, resume=True, progress=again)
    assert found == [errno.EBUSY] and world.keys.secret.decrypt(out) == bytes(2000)


def parts_of(world: World, nonces: dict[str, int]) -> tuple[homaes.Ciphertexts, dict[str, modes.Mode]]:
    """Results of GCM parts with these first bytes of their nonces, and what each must be."""
    parts, expected = [], {}
    for name, first in nonces.items():
        nonce = bytes([first]) * 12
        text, tag = encrypt(aes_modes.GCM(nonce), b"of " + name.encode())
        expected[name] = modes.GCM(nonce)
        parts.append((name, text + tag, expected[name]))
    return world.run(homaes.Message.of_parts(parts)), expected


def test_what_parts_must_be(world: World, tmp_path: Path) -> None:
    secret, log = world.keys.secret, tmp_path / "log"
    ct, expected = parts_of(world, {"a": 1, "in/b": 2})
    exchanged, _ = parts_of(world, {"a": 2, "in/b": 1})
    plain, lengths = world.run(homaes.Message.of_parts([("a", ctr(b"one"), CTR)])), {"a": 4, "in/b": 7}

    def decrypt(ct: homaes.Ciphertexts, folder: str = "refused", **how: Any) -> dict[str, Any]:
        return secret.decrypt_parts(ct, tmp_path / folder, aes_key=AES_KEY, **how)

    done = decrypt(ct, "right", expect=expected, expect_bytes=lengths, seen=log)
    assert {name: report.bytes for name, report in done.items()} == lengths
    assert (tmp_path / "right" / "in" / "b").read_bytes() == b"of in/b"
    wrong, mapping = homaes.AuthenticationError, "expect: expected a mapping by names of parts"
    refused(
        (wrong, "part a: this message was already accepted on", lambda: decrypt(ct, seen=log)),
        # recorded one by one
        (wrong, "was already accepted", lambda: decrypt(parts_of(world, {"in/b": 2})[0], seen=log)),
        (wrong, "part a: nonce or IV", lambda: decrypt(exchanged, expect=expected)),
        (wrong, 'found "in/b", expected no part', lambda: decrypt(ct, expect={"a": expected["a"]})),
        (wrong, "part in/b: length of", lambda: decrypt(ct, expect=expected, expect_bytes=lengths | {"in/b": 8})),
        *((TypeError, mapping, partial(decrypt, ct, expect=other)) for other in ([], "a", CTR)),
        (homaes.ParametersError, "", lambda: secret.decrypt_parts(world.run(b""), tmp_path / "refused", expect={})),
        # the server may call a part one of a mode without tags
        (homaes.HomaesError, "part a: mode ctr has no tag", lambda: decrypt(plain)),
        (homaes.HomaesError, "has no tag to check", lambda: secret.decrypt(plain, part="a", aes_key=AES_KEY)),
    )
    assert len(log.read_text().splitlines()) == 3 and not (tmp_path / "refused").exists()
    assert decrypt(plain, "plain", unauthenticated=True)["a"].tag == "none"


def test_what_changes_in_the_run(world: World, tmp_path: Path) -> None:
    """What is read must be what the run began with."""
    data, out, text = tmp_path / "data", tmp_path / "o.hct", ctr(bytes(2048))

    def change(progress: Any) -> None:
        if progress.batch == 1:
            with data.open("r+b") as file:
                file.seek(2000)
                file.write(b"changed")

    def replace(_: Any) -> None:
        if data.is_file():
            data.unlink()
            os.mkfifo(data)

    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        for follow, what, how in ((change, "changed while it was read", True), (replace, "not a regular file", False)):
            data.unlink(missing_ok=True)
            data.write_bytes(text)
            to = out if how else None
            refused((OSError, what, lambda: t.run(data, CTR, to, progress=follow, resume=how)))
            assert not out.exists()
        data.unlink()
        data.write_bytes(text)
        # the first batches were of the right bytes
        t.run(data, CTR, out, resume=True)
    assert world.keys.secret.decrypt(out) == bytes(2048)


def test_a_secret_key_that_comes_in_the_run_stays(world: World, tmp_path: Path) -> None:
    out = tmp_path / "o.hct"

    def put(_: Any) -> None:
        if not out.exists():
            world.keys.secret.save(out)

    refused(
        (FileExistsError, "holds a secret key", lambda: world.run(ctr(b"one"), CTR, out, force=True, progress=put))
    )
    assert homaes.SecretKey.load(out).key_id == world.keys.secret.key_id
    assert [entry.name for entry in tmp_path.iterdir()] == ["o.hct"]


def test_jobs_are_removed_whole_and_nothing_else(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, ctr(TEXT))
    job, folder, elsewhere = plan(tmp_path), tmp_path / "job", tmp_path / "elsewhere"
    job.run()
    (folder / "shards").rename(elsewhere)
    (folder / "shards").symlink_to(elsewhere)
    refused((homaes.JobError, "shards: is a symbolic link", job.remove))
    assert job.status().is_complete
    (folder / "shards").unlink()
    elsewhere.rename(folder / "shards")
    (folder / "mine").write_bytes(b"x")
    job.remove()
    assert [entry.name for entry in folder.iterdir()] == ["mine"]
    plan(tmp_path, "again").remove()
    assert not (tmp_path / "again").exists()


def test_beginning_anew_spares_what_is_read(world: World, tmp_path: Path) -> None:
    """What has the place of a part or of a journal is replaced with ``force``, but no key and no message."""
    data, out, secret = ctr(TEXT), tmp_path / "o.hct", world.keys.secret
    for beside in (tmp_path / ".o.hct.homaes-part", tmp_path / ".o.hct.homaes-journal"):
        beside.write_bytes(world.wrapped.to_bytes())
        with homaes.Transcipher(world.keys.eval, homaes.WrappedKey.load(beside)) as t:
            with pytest.raises(homaes.ParametersError, match="is both an input and the output"):
                t.run(data, CTR, out, force=True, resume=True)
        assert beside.read_bytes() == world.wrapped.to_bytes()
        beside.unlink()
        beside.write_bytes(secret.to_bytes())
        with pytest.raises(FileExistsError, match="holds a secret key"):
            world.run(data, CTR, out, force=True, resume=True)
        assert beside.read_bytes() == secret.to_bytes()
        beside.unlink()


def test_a_pipe_that_takes_the_place_of_a_file(world: World, tmp_path: Path) -> None:
    key, log = tmp_path / "e", tmp_path / "log"
    world.keys.eval.save(key)
    loaded = homaes.EvalKey.load(key)
    key.unlink()
    os.mkfifo(key)
    os.mkfifo(tmp_path / "log.lock")
    ct, _ = parts_of(world, {"a": 1})
    how: dict[str, Any] = {"aes_key": AES_KEY, "seen": log}
    refused(
        (homaes.HomaesError, "", loaded.to_bytes),
        (OSError, "not a regular file", lambda: world.keys.secret.decrypt_parts(ct, tmp_path / "p", **how)),
    )


def test_parts_stop_before_the_first_one(world: World, tmp_path: Path) -> None:
    secret, log, out, other = world.keys.secret, *(tmp_path / name for name in ("log", "parts", "other"))
    ct, _ = parts_of(world, {"a": 1, "b": 2})
    out.mkdir()
    (out / "b").write_bytes(b"mine")
    how: dict[str, Any] = {"aes_key": AES_KEY, "seen": log}
    refused((FileExistsError, "", lambda: secret.decrypt_parts(ct, out, **how)))
    assert [entry.name for entry in out.iterdir()] == ["b"] and not log.exists()
    secret.decrypt(parts_of(world, {"b": 2})[0], part="b", **how)
    refused(
        (homaes.AuthenticationError, "part b: this message was", lambda: secret.decrypt_parts(ct, other, **how)),
        (OSError, "", lambda: secret.decrypt_parts(ct, "", aes_key=AES_KEY)),
    )
    assert not other.exists()


def test_what_a_job_reads_is_not_among_its_files(world: World, tmp_path: Path) -> None:
    inside = tmp_path / "job" / "shards"
    inside.mkdir(parents=True)
    world.save(inside, ctr(TEXT))
    world.save(tmp_path, ctr(TEXT))
    how: dict[str, Any] = {"eval_key": tmp_path / "eval.hek", "out": tmp_path / "job"}
    for data, key in ((inside / "c", tmp_path / "key.hwk"), (tmp_path / "c", inside / "key.hwk")):
        with pytest.raises(homaes.ParametersError, match="inside the job's folder"):
            homaes.Job.plan(data, CTR, **how, wrapped_key=key)


def test_a_job_that_was_replaced_is_named(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, ctr(TEXT))
    job = plan(tmp_path, shard_batches=1)
    job.remove()
    other = plan(tmp_path, shard_batches=2)
    other.run()
    rest = (partial(job.run_shard, 0), partial(job.merge, tmp_path / "o"))
    for call in (job.status, job.run, job.results, job.remove, *rest):
        refused((homaes.JobError, "holds another job", call))
    assert other.status().is_complete
    other.remove()
    refused((homaes.JobError, "not a job", other.status))


def test_ciphertext_in_another_format_is_refused(world: World, tmp_path: Path) -> None:
    salted = b"Salted__12345678" + ctr(TEXT)
    world.save(tmp_path, salted)
    for given in (salted, tmp_path / "c"):
        with pytest.raises(homaes.ParametersError, match="starts like") as caught:
            world.run(given)
        assert caught.value.expected == "bare AES ciphertext"
        assert "openssl enc -P -S SALT" in (caught.value.remedy or "")
        assert world.run(given, raw=True).report.bytes == len(salted)
    refused((homaes.ParametersError, "starts like", lambda: plan(tmp_path)))
    plan(tmp_path, raw=True)
