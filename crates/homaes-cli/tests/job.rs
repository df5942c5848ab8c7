//! `homaes job`: workers that are killed, that meet, and that find no room; the bytes are those of one run.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{Run, World, end, fields, signal, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Keys, a job of so many shards of 2 batches, the last one shorter, and in `whole.hct` what one run makes of its
/// message.
fn world(shards: usize) -> World {
    let world = World::new();
    world.message(shards * 2 * 256 - 300);
    let batches = 2 * shards - 1;
    world.table(&format!(
        "$transcipher c --out whole.hct --reproducible
        $plan c -o job --shard-batches 2 => {batches} batches (sliced) in {shards} shards of up to 2"
    ));
    world
}

fn check_merged(world: &World, more: &str) {
    world.ok(&format!("job merge job -o merged.hct {more}"));
    assert!(world.read("merged.hct") == world.read("whole.hct"));
}

/// How often each shard was written, by the logs of all workers.
fn written(world: &World, shards: usize) -> Vec<usize> {
    let mut written = vec![0; shards];
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
    let shards = 24;
    let world = world(shards);
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
    assert!(kills > 0);
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    // a worker that is killed between a shard and its line in the log leaves no line
    let written = written(&world, shards);
    assert!(written.iter().all(|&times| times <= 1), "{written:?}");
    assert!(written.iter().sum::<usize>() + kills >= shards);
    assert_eq!(world.json("job status job --json")["complete"], true);
    check_merged(&world, "");
    // nothing but shards is in their folder
    let names = fs::read_dir(world.at("job/shards")).unwrap();
    assert_eq!(names.count(), shards);
}

#[test]
fn a_signal_says_how_far_it_was_and_a_rerun_goes_on() {
    let world = world(24);
    let child = world.spawn("job run job --shards 0-19");
    wait_until("two shards", || {
        let shards = fs::read_dir(world.at("job/shards"));
        shards.is_ok_and(|shards| shards.count() >= 2)
    });
    signal(&child, "-INT");
    let run = end(child).ends(130);
    run.warns("of 20 shards; run the same command to continue");
    let out = world.ok("job run job --shards 0-19 --progress json").out;
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let last = lines.last().unwrap();
    let found = fields(last, ["event", "shards", "by_others"]);
    assert_eq!(found, json!(["done", 20, 0]));
    assert!(last["there"].as_u64() >= Some(2));
    let of = |event: &'static str| lines.iter().filter(move |line| line["event"] == event);
    assert_eq!(of("round").next_back().unwrap()["fraction"], 1.0);
    assert!(of("round").all(|line| line["batches"] == 40));
    assert_eq!(last["evaluated"], of("shard").count());
    let status = world.json("job status job --json");
    assert_eq!(status["missing"], json!([[20, 23]]));
}

#[test]
fn a_full_disk_is_a_matter_of_time() {
    let world = world(5);
    for line in ["job run job --threads 1", "job run-shard job 3"] {
        // a shard has 30 KB; a file of 16 KiB has no room for it
        let before = world.listing();
        let run = Run::of(&mut world.shell(&format!("ulimit -f 16; exec $homaes {line}")));
        run.check_failure(75, "File too large", line);
        let more: Vec<_> = world.listing().difference(&before).cloned().collect();
        // folders of shards and claims, and nothing half written in them
        assert!(more.iter().all(|path| path.is_dir()), "{more:?}");
    }
    world.ok("job run job");
    check_merged(&world, "");
}

#[test]
fn schedulers_give_numbers_and_get_codes() {
    let world = world(9);
    world.table(
        "job run-shard job 7 => job/shards/000007.hcs: evaluated
        job run-shard job 7 => job/shards/000007.hcs: already there",
    );
    let by_env = |value: &str| {
        let mut command = world.command("job run-shard job --index-env TASK");
        Run::of(command.env("TASK", value))
    };
    by_env("8").says("job/shards/000008.hcs: evaluated\n");
    by_env("9").check_failure(1, "there is no shard 9, expected 0 to 8", "9");
    by_env("x").check_failure(2, "found \"x\", expected the number of a shard", "x");
    world.table(
        "job run-shard job --index-env NONE =2 found none, expected the number of a shard
        job run-shard job =2 required
        job run job --shards 3-1 =2 such as '0-99,200'
        job run job --shards 0,9 =1 there is no shard 9
        job run job --shards 0-99999999999 =1 there is no shard 99999999999
        $plan c -o job --shard-batches 3 =1 holds another job
        job run none =1 not a job
        job status keys =1 not a job
        job status job => 2 of 9 complete … 0-6
        job merge job -o o.hct --force =1 7 of 9 shards are missing
        $decrypt job -o x =1 7 of 9 shards are missing",
    );
    // a shard that is not whole is named
    world.write("job/shards/000001.hcs", "half");
    world.table(
        "job run job =1 000001.hcs: truncated: found 4 bytes
        job run-shard job 1 =1 000001.hcs: truncated: found 4 bytes
        job verify job =1 wrong shards: 1; first: … 000001.hcs: truncated: found 4 bytes",
    );
}

#[test]
fn wrong_shards_are_removed_and_made_again() {
    let world = world(5);
    world.ok("job run job");
    let path = "job/shards/000004.hcs";
    let right = world.read(path);
    let mut wrong = right.clone();
    wrong[10_000] ^= 4;
    world.write(path, &wrong);
    assert_eq!(world.json("job status job --json")["complete"], true);
    let words =
        "wrong shards: 4; first: … 000004.hcs: record … remove them and run 'homaes job run'";
    world.table(&format!(
        "job verify job =1 {words}
        job verify job --sample 0.01 =1 {words}
        job merge job -o merged.hct =1 000004.hcs: record
        $decrypt job -o x =1 000004.hcs"
    ));
    fs::remove_file(world.at(path)).unwrap();
    world.table(
        "job run job => 1 evaluated in
        job verify job
        job verify job --sample 0.01 => 5 shards have valid checksums, 1 evaluated again",
    );
    // what has another name is not the job's
    world.write("job/shards/1.hcs", "x");
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(world.at(name)).status();
        assert!(made.unwrap().success());
    };
    pipe("job/shards/pipe");
    fs::create_dir(world.at("job/shards/folder")).unwrap();
    world.table(
        "job run job
        job verify job
        job status job => shards/1.hcs: not a shard of this job",
    );
    let others = &world.json("job status job --json")["others"];
    let expected = json!(["shards/1.hcs", "shards/folder", "shards/pipe"]);
    assert_eq!(*others, expected);
    // a link to nothing, a folder and a pipe in the place of a shard are wrong
    let place = world.at(path);
    fs::remove_file(&place).unwrap();
    symlink("nothing", &place).unwrap();
    no_file_is_named(&world, path);
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    no_file_is_named(&world, path);
    fs::remove_dir(&place).unwrap();
    pipe(path);
    no_file_is_named(&world, path);
    fs::remove_file(&place).unwrap();
    // a merged job can go
    world.table("job run job\n $decrypt job -o from-job");
    assert!(world.read("from-job") == world.read("p"));
    for name in ["1.hcs", "pipe"] {
        fs::remove_file(world.at("job/shards").join(name)).unwrap();
    }
    fs::remove_dir(world.at("job/shards/folder")).unwrap();
    check_merged(&world, "--remove-shards");
    assert!(!world.at("job/job.json").exists() && !world.at("job/shards").exists());
    world.fails(1, "job status job", "not a job");
}

/// What is in the place of a shard and is no file: status, run and verify name it, and say what to do.
fn no_file_is_named(world: &World, path: &str) {
    let found = world.json("job status job --json");
    let expected = json!([[[4, 4]], [{ "shard": 4, "bytes": 0 }]]);
    assert_eq!(fields(&found, ["missing", "wrong"]), expected);
    let status = world.ok("job status job");
    status.says(&format!("{path}, 0 bytes: remove it"));
    for line in ["job run job", "job run-shard job 4"] {
        let words = "000004.hcs: not a regular file; remove it";
        world.run(line).check_failure(1, words, line);
    }
    world.fails(1, "job verify job", "wrong shards: 4; first: ");
}

#[test]
fn a_job_in_the_folder_that_it_reads_is_no_part_of_itself() {
    let world = World::new();
    fs::create_dir(world.at("in")).unwrap();
    for name in ["a", "b"] {
        world.write(&format!("in/{name}"), format!("{name} ").repeat(50));
    }
    let uri = format!("file://{}", world.at("in/job").display());
    world.table(&format!(
        "$plan in -o in/job => 2 parts
        job run in/job
        $plan in -o in/job => 2 parts
        $decrypt {uri} -o parts/"
    ));
    assert_eq!(fs::read_dir(world.at("parts")).unwrap().count(), 2);
    world.table(
        "$plan - -o other =2 standard input
        $plan in -o http://x/y =2 expected a path
        $plan in/none -o other =1 No such file
        $plan in -o in =1 is both an input and the folder of the job
        $plan in/a -o s3://bucket/job =1 this build has no object stores
        $plan in/a -o grown",
    );
    // a part that has grown, or is no file any more
    world.write("in/a", [7; 101]);
    let line = "job run grown";
    let run = world.run(line);
    run.check_failure(1, "in/a: changed since", line);
    fs::remove_file(world.at("in/a")).unwrap();
    let made = Command::new("mkfifo").arg(world.at("in/a")).status();
    assert!(made.unwrap().success());
    world.run(line).check_failure(1, "not a regular file", line);
}

#[test]
fn nothing_but_the_job_is_touched() {
    let world = World::new();
    world.message(1000);
    for name in ["job", "other"] {
        world.ok(&format!("$plan c --shard-batches 2 -o {name}"));
    }
    // files of somebody else's, beside claims and under the name of one
    let precious = ["job/claims/notes.txt", "job/claims/000000"];
    fs::create_dir_all(world.at("job/claims")).unwrap();
    for name in precious {
        world.write(name, "precious");
    }
    world.table("job run job\n job run other");
    // outputs in the job, and what the job is made from
    let inside = "the output is inside the job's folder";
    let input = "is both an input and the output";
    for (out, words) in [
        ("job/job.json", inside),
        ("job/shards/000000.hcs", inside),
        ("job/x/y", inside),
        ("c", input),
        ("./keys/eval.hek", input),
        ("key.hwk", input),
    ] {
        let read = || fs::read(world.at(out)).ok();
        let before = read();
        world.table(&format!(
            "job merge job -o {out} --force --remove-shards =1 {words}
            $decrypt job -o {out} --force =1 {words}"
        ));
        assert!(read() == before);
    }
    world.table(
        "job merge job -o job.hct --remove-shards
        job merge other -o other.hct --remove-shards",
    );
    assert!(world.read("job.hct") == world.read("other.hct"));
    for name in precious {
        assert_eq!(world.read(name), b"precious");
    }
    assert!(!world.at("job/shards").exists() && !world.at("other/shards").exists());
    // a folder that is called as standard input is
    world.table(
        "$plan c -o ./-
        job run ./-
        $decrypt ./- -o x
        $decrypt - -o y =1 standard input",
    );
    assert!(world.read("x") == world.read("p"));
}
