//! `homaes job`: workers that are killed, that meet, and that find no room; the bytes are those of one run.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{IV, Run, World};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Shards of the job; the last one is shorter.
const SHARDS: u64 = 40;

fn plan(more: &str) -> String {
    format!("job plan --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} {more}")
}

/// Keys, a job of [`SHARDS`] shards of 2 batches, and in `whole.hct` what one run makes of its message.
fn world() -> World {
    let world = World::new();
    world.message(SHARDS as usize * 2 * 256 - 300);
    let line = "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --reproducible";
    world.ok(&format!("{line} --iv {IV} c --out whole.hct"));
    let run = world.ok(&plan("--shard-batches 2 c -o job"));
    assert!(
        run.out
            .contains("79 batches (sliced) in 40 shards of up to 2"),
        "{}",
        run.out
    );
    world
}

fn status(world: &World) -> Value {
    serde_json::from_str(&world.ok("job status job --json").out).unwrap()
}

/// How often each shard was written, by the logs of all workers.
fn written(world: &World) -> Vec<u64> {
    let mut written = vec![0; SHARDS as usize];
    for log in fs::read_dir(world.at("job/log")).unwrap() {
        let text = fs::read_to_string(log.unwrap().path()).unwrap();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["outcome"] == "written" {
                written[line["shard"].as_u64().unwrap() as usize] += 1;
            }
        }
    }
    written
}

fn worker(world: &World) -> Child {
    let mut command = world.command("job run job --threads 1");
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().unwrap()
}

#[test]
fn kills_of_three_workers_cost_their_shards_at_most() {
    let world = world();
    let mut workers = [worker(&world), worker(&world), worker(&world)];
    let mut kills = 0;
    for i in 0_usize.. {
        sleep(Duration::from_millis(10 + i as u64 * 7 % 50));
        let victim = &mut workers[i % 3];
        if let Some(status) = victim.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        kills += 1;
        workers[i % 3] = worker(&world);
        if kills == 12 {
            break;
        }
    }
    assert!(kills >= 3, "{kills} kills");
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    // a worker that is killed between a shard and its line in the log leaves no line
    let written = written(&world);
    assert!(written.iter().all(|&times| times <= 1), "{written:?}");
    assert!(written.iter().sum::<u64>() + kills >= SHARDS);
    assert_eq!(status(&world)["complete"], true);
    world.ok("job merge job -o merged.hct");
    assert!(world.read("merged.hct") == world.read("whole.hct"));
    // nothing but shards is in their folder
    let names = fs::read_dir(world.at("job/shards")).unwrap();
    assert_eq!(names.count() as u64, SHARDS);
}

#[test]
fn a_signal_says_how_far_it_was_and_a_rerun_goes_on() {
    let world = world();
    let mut command = world.command("job run job --shards 0-9");
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = piped.spawn().unwrap();
    while status(&world)["done"].as_u64().unwrap() < 2 {
        sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("of 10 shards; run the same command to continue"),
        "{text}"
    );
    let run = world.ok("job run job --shards 0-9 --progress json");
    let lines: Vec<Value> = run
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["event"], last["shards"].as_u64()),
        (&Value::from("done"), Some(10))
    );
    assert!(last["there"].as_u64() >= Some(2) && last["by_others"] == 0);
    let rounds = lines.iter().filter(|line| line["event"] == "round");
    assert_eq!(rounds.clone().next_back().unwrap()["fraction"], 1.0);
    assert!(rounds.clone().all(|line| line["batches"] == 20));
    let shards = lines.iter().filter(|line| line["event"] == "shard").count() as u64;
    assert_eq!(shards, last["evaluated"].as_u64().unwrap());
    assert_eq!(status(&world)["missing"], serde_json::json!([[10, 39]]));
}

#[test]
fn a_full_disk_is_a_matter_of_time() {
    let world = world();
    let program = env!("CARGO_BIN_EXE_homaes");
    for line in ["job run job --threads 1", "job run-shard job 3"] {
        // a shard has 30 KB; a file of 16 KiB has no room for it
        let script = format!("ulimit -f 16; exec {program} {line}");
        let mut command = world.program("bash");
        command.args(["-c", &script]);
        let before = world.listing();
        let run = Run::of(&mut command);
        run.check_failure(75, "File too large", line);
        let more: Vec<_> = world.listing().difference(&before).cloned().collect();
        // folders of shards and claims, and nothing half written in them
        assert!(more.iter().all(|path| path.is_dir()), "{more:?}");
    }
    world.ok("job run job");
    world.ok("job merge job -o merged.hct");
    assert!(world.read("merged.hct") == world.read("whole.hct"));
}

#[test]
fn schedulers_give_numbers_and_get_codes() {
    let world = world();
    let run = world.ok("job run-shard job 7");
    assert_eq!(run.out, "job/shards/000007.hcs: evaluated\n");
    assert_eq!(
        world.ok("job run-shard job 7").out,
        "job/shards/000007.hcs: already there\n"
    );
    let by_env = |value: Option<&str>| {
        let mut command = world.command("job run-shard job --index-env TASK");
        match value {
            Some(value) => command.env("TASK", value),
            None => command.env_remove("TASK"),
        };
        Run::of(&mut command)
    };
    assert_eq!(by_env(Some("39")).out, "job/shards/000039.hcs: evaluated\n");
    by_env(Some("40")).check_failure(1, "there is no shard 40, expected 0 to 39", "40");
    by_env(Some("x")).check_failure(2, "found \"x\", expected the number of a shard", "x");
    by_env(None).check_failure(2, "found none, expected the number of a shard", "none");
    world.fails(2, "job run-shard job", "required");
    world.fails(1, "job run job --shards 0,40", "there is no shard 40");
    world.fails(2, "job run job --shards 3-1", "such as '0-99,200'");
    world.fails(1, "job run none", "not a job");
    world.fails(1, "job status keys", "not a job");
    world.fails(
        1,
        "job merge job -o o.hct --force",
        "38 of 40 shards are missing",
    );
    let text = world.ok("job status job").out;
    assert!(
        text.contains("2 of 40 complete") && text.contains("0-6,8-38"),
        "{text}"
    );
    // a shard that is not whole is named
    fs::write(world.at("job/shards/000001.hcs"), b"half").unwrap();
    world.fails(1, "job run job", "000001.hcs: truncated: found 4 bytes");
    world.fails(
        1,
        "job run-shard job 1",
        "000001.hcs: truncated: found 4 bytes",
    );
    let run = world.fails(1, "job verify job", "wrong shards: 1; first: ");
    assert!(
        run.err.contains("000001.hcs: truncated: found 4 bytes"),
        "{}",
        run.err
    );
}

#[test]
fn what_changed_is_named() {
    let world = world();
    let same = plan("--shard-batches 2 c -o job");
    world.ok(&same);
    world.fails(1, &plan("--shard-batches 3 c -o job"), "holds another job");
    let whole = world.read("c");
    let mut bytes = whole.clone();
    bytes[7_700] ^= 1;
    world.write("c", &bytes);
    world.fails(1, &same, "holds another job");
    // block 481 is in batch 30 of shard 15
    // a folder for claims comes
    let line = "job run-shard job 15";
    world
        .run(line)
        .check_failure(1, "c: changed since the job was planned", line);
    world.write("c", &whole);
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --out other.hwk");
    fs::rename(world.at("key.hwk"), world.at("kept.hwk")).unwrap();
    fs::rename(world.at("other.hwk"), world.at("key.hwk")).unwrap();
    // two files of one AES key are two keys
    world.fails(1, "job run job", "not those of the plan");
    fs::rename(world.at("kept.hwk"), world.at("key.hwk")).unwrap();
    world.ok("job run-shard job 15");
    // one flipped bit in one shard
    let path = "job/shards/000015.hcs";
    let mut shard = world.read(path);
    shard[20_000] ^= 4;
    world.write(path, &shard);
    let run = world.fails(1, "job verify job --sample 0.01", "wrong shards: 15; ");
    assert!(run.err.contains("000015.hcs: record"), "{}", run.err);
    shard[20_000] ^= 4;
    world.write(path, &shard);
    let run = world.ok("job verify job --sample 0.01");
    assert!(
        run.out
            .contains("1 shard has valid checksums, 1 evaluated again"),
        "{}",
        run.out
    );
    let mut text = String::from_utf8(world.read("job/job.json")).unwrap();
    text = text.replace("\"shard_batches\": 2", "\"shard_batches\": 3");
    world.write("job/job.json", text.as_bytes());
    world.fails(1, "job status job", "job.json");
    world.write("job/job.json", b"{");
    world.fails(1, "job run job", "job.json");
}

#[test]
fn wrong_shards_are_removed_and_made_again() {
    let world = world();
    world.ok("job run job");
    let path = "job/shards/000017.hcs";
    let mut shard = world.read(path);
    shard[20_000] ^= 0x55;
    world.write(path, &shard);
    assert_eq!(status(&world)["complete"], true);
    let words = "remove them and run 'homaes job run'";
    let run = world.fails(1, "job verify job", words);
    assert!(run.err.contains("wrong shards: 17; first: "), "{run:?}");
    world.fails(1, "job merge job -o merged.hct", "000017.hcs: record");
    fs::remove_file(world.at(path)).unwrap();
    let run = world.ok("job run job");
    assert!(run.out.contains("1 evaluated in "), "{run:?}");
    world.ok("job verify job");
    world.ok("job merge job -o merged.hct");
    assert!(world.read("merged.hct") == world.read("whole.hct"));
    // what has another name is not the job's
    world.write("job/shards/1.hcs", b"x");
    assert_eq!(
        status(&world)["others"],
        serde_json::json!(["shards/1.hcs"])
    );
    let run = world.ok("job status job");
    assert!(
        run.out.contains("shards/1.hcs: not a shard of this job"),
        "{run:?}"
    );
    world.ok("job verify job");
    // a link to nothing has the name of a shard, which cannot be written
    fs::remove_file(world.at(path)).unwrap();
    std::os::unix::fs::symlink("nothing", world.at(path)).unwrap();
    no_file_is_named(&world, path);
    fs::remove_file(world.at(path)).unwrap();
    // pipes and folders beside the shards harm nothing, and are named
    let pipe = world.at("job/shards/pipe").display().to_string();
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    fs::create_dir(world.at("job/shards/folder")).unwrap();
    world.ok("job run job");
    world.ok("job verify job");
    assert_eq!(
        status(&world)["others"],
        serde_json::json!(["shards/1.hcs", "shards/folder", "shards/pipe"])
    );
    // in the place of a shard they are wrong, whatever else is missing
    let pipe = world.at(path).display().to_string();
    fs::remove_file(world.at(path)).unwrap();
    fs::create_dir(world.at(path)).unwrap();
    no_file_is_named(&world, path);
    fs::remove_dir(world.at(path)).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    no_file_is_named(&world, path);
    fs::remove_file(world.at(path)).unwrap();
    world.ok("job run job");
}

/// What is in the place of a shard and is no file: status, run and verify name it, and say what to do.
fn no_file_is_named(world: &World, path: &str) {
    let found = status(world);
    assert_eq!(found["missing"], serde_json::json!([[17, 17]]));
    assert_eq!(
        found["wrong"],
        serde_json::json!([{ "shard": 17, "bytes": 0 }])
    );
    let run = world.ok("job status job");
    assert!(
        run.out.contains(&format!("{path}, 0 bytes: remove it")),
        "{run:?}"
    );
    let named = "000017.hcs: not a regular file; remove it";
    world
        .run("job run job")
        .check_failure(1, named, "job run job");
    world
        .run("job run-shard job 17")
        .check_failure(1, named, "job run-shard job 17");
    let verify = world.run("job verify job");
    verify.check_failure(1, "wrong shards: 17; first: ", "job verify job");
}

#[test]
fn a_merged_job_can_go() {
    let world = world();
    world.ok("job run job");
    world.ok("decrypt --secret keys/secret.hsk job -o from-job");
    assert!(world.read("from-job") == world.read("p"));
    // every checksum of it is verified before the message appears
    let path = "job/shards/000039.hcs";
    let right = world.read(path);
    let mut wrong = right.clone();
    *wrong.last_mut().unwrap() ^= 1;
    world.write(path, &wrong);
    let line = "decrypt --secret keys/secret.hsk job -o x";
    world.fails(1, line, "000039.hcs");
    fs::remove_file(world.at(path)).unwrap();
    world.fails(1, line, "1 of 40 shards are missing");
    world.write(path, &right);
    let run = world.ok("job merge job -o merged.hct --remove-shards");
    assert!(run.out.contains("from 40 shards"), "{}", run.out);
    assert!(world.read("merged.hct") == world.read("whole.hct"));
    assert!(!world.at("job/job.json").exists() && !world.at("job/shards").exists());
    world.fails(1, "job status job", "not a job");
    world.ok("decrypt --secret keys/secret.hsk merged.hct -o back");
    assert!(world.read("back") == world.read("p"));
}

#[test]
fn a_job_in_the_folder_that_it_reads_is_no_part_of_itself() {
    let world = world();
    fs::create_dir(world.at("in")).unwrap();
    for name in ["a", "b"] {
        world.write(&format!("in/{name}"), name.repeat(100).as_bytes());
    }
    let line = plan("in -o in/job");
    assert!(world.ok(&line).out.contains("2 parts"));
    world.ok("job run in/job");
    assert!(world.ok(&line).out.contains("2 parts"));
    world.fails(2, &plan("- -o other"), "standard input");
    world.fails(1, &plan("in/none -o other"), "No such file");
    world.fails(
        1,
        &plan("in -o in"),
        "is both an input and the folder of the job",
    );
    let uri = format!("file://{}", world.at("in/job").display());
    world.ok(&format!("decrypt --secret keys/secret.hsk {uri} -o parts/"));
    assert_eq!(fs::read_dir(world.at("parts")).unwrap().count(), 2);
    // a part that has grown, and keys for other levels
    world
        .ok("wrap-key --secret keys/secret.hsk --key-file k --levels-left 3 --out key.hwk --force");
    world.ok(&plan("in/a -o levels"));
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --out key.hwk --force");
    world.fails(1, "job run levels", "not those of the plan");
    world.ok(&plan("in/a -o grown"));
    world.write("in/a", &[7; 101]);
    let line = "job run grown";
    world
        .run(line)
        .check_failure(1, "in/a: changed since", line);
    world.fails(2, &plan("in -o http://x/y"), "expected a path");
    let line = plan("in/a -o s3://bucket/job");
    world.fails(1, &line, "this build has no object stores");
}

#[test]
fn nothing_but_the_job_is_touched() {
    let world = World::new();
    world.message(1000);
    for name in ["job", "other"] {
        world.ok(&plan(&format!("c --shard-batches 2 -o {name}")));
    }
    // files of somebody else's, beside claims and under the name of one
    fs::create_dir_all(world.at("job/claims")).unwrap();
    for name in ["job/claims/notes.txt", "job/claims/000000"] {
        world.write(name, b"precious");
    }
    world.ok("job run job");
    world.ok("job run other");
    // outputs in the job
    for out in [
        "job/job.json",
        "job/shards/000000.hcs",
        "job/claims/x",
        "job/x/y",
    ] {
        let words = "the output is inside the job's folder";
        world.fails(
            1,
            &format!("job merge job -o {out} --force --remove-shards"),
            words,
        );
        let line = format!("decrypt --secret keys/secret.hsk job -o {out} --force");
        world.fails(1, &line, words);
    }
    // what the job is made from
    for out in ["c", "./keys/eval.hek", "key.hwk"] {
        let (words, before) = ("is both an input and the output", world.read(out));
        world.fails(1, &format!("job merge job -o {out} --force"), words);
        let line = format!("decrypt --secret keys/secret.hsk job -o {out} --force");
        world.fails(1, &line, words);
        assert!(world.read(out) == before);
    }
    world.ok("job merge job -o job.hct --remove-shards");
    world.ok("job merge other -o other.hct --remove-shards");
    assert!(world.read("job.hct") == world.read("other.hct"));
    for name in ["job/claims/notes.txt", "job/claims/000000"] {
        assert_eq!(world.read(name), b"precious");
    }
    assert!(!world.at("job/shards").exists() && !world.at("other/shards").exists());
    // a folder that is called as standard input is
    world.ok(&plan("c -o ./-"));
    world.ok("job run ./-");
    let mut command = world.command("decrypt --secret keys/secret.hsk - -o x");
    Run::of(&mut command).check_failure(1, "standard input", "-");
    world.ok("decrypt --secret keys/secret.hsk ./- -o x");
    assert!(world.read("x") == world.read("p"));
}

#[test]
fn shards_of_another_job_and_absurd_numbers_are_refused_at_once() {
    let world = World::new();
    world.message(1000);
    world.ok(&plan("c --shard-batches 2 -o job"));
    world.ok("job run job");
    let mut other = world.read("c");
    other[0] ^= 1;
    world.write("c2", &other);
    world.ok(&plan("c2 --shard-batches 2 -o other"));
    fs::create_dir(world.at("other/shards")).unwrap();
    for name in ["000000.hcs", "000001.hcs"] {
        fs::copy(
            world.at(&format!("job/shards/{name}")),
            world.at(&format!("other/shards/{name}")),
        )
        .unwrap();
    }
    world.fails(1, "job run other", "its run or number does not match");
    world.fails(
        1,
        "job run-shard other 0",
        "its run or number does not match",
    );
    world.fails(
        1,
        "job run job --shards 0-99999999999",
        "there is no shard 99999999999",
    );
    // the plan is gone while a worker works
    world.ok(&plan("c --shard-batches 1 -o gone"));
    let mut command = world.command("job run gone --threads 1");
    let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = piped.spawn().unwrap();
    while !world.at("gone/shards/000000.hcs").exists() {
        sleep(Duration::from_millis(1));
    }
    fs::remove_file(world.at("gone/job.json")).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && text.contains("not a job"),
        "{text}"
    );
    // a pipe in the place of a part
    fs::remove_file(world.at("c2")).unwrap();
    fs::remove_dir_all(world.at("other/shards")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(world.at("c2"))
            .status()
            .unwrap()
            .success()
    );
    let line = "job run other";
    world.run(line).check_failure(1, "not a regular file", line);
}
