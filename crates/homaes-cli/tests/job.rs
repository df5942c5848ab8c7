//! `homaes job`: workers that are killed, that meet, and that find no room; the bytes are those of one run.

#![cfg(target_os = "linux")]

use crate::common::{Run, World, assert_fields, end, signal, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// A world with a job of so many shards of 2 batches.
fn world(shards: usize) -> World {
    let world = World::with_whole(2 * shards);
    let batches = 2 * shards;
    world.table(&format!(
        "$plan c -o job --shard-batches 2 => {batches} batches (sliced) in {shards} shards of up to 2"
    ));
    world
}

fn check_merged(world: &World, more: &str) {
    world.table(&format!(
        "job merge job -o merged.hct {more}\n same merged.hct whole.hct"
    ));
}

/// How often each shard was written, by the logs of all workers.
fn written(world: &World, shards: usize) -> Vec<usize> {
    let mut written = vec![0; shards];
    for log in world.names("job/log") {
        for line in world.text(&format!("job/log/{log}")).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["outcome"] == "written" {
                written[line["shard"].as_u64().unwrap() as usize] += 1;
            }
        }
    }
    written
}

#[test]
fn kills_of_three_workers_cost_their_shards_at_most() {
    let shards = 12;
    let world = world(shards);
    let worker = || world.spawn("job run job --threads 1");
    let mut workers = [worker(), worker(), worker()];
    let mut kills = 0;
    while kills < 12 {
        sleep(Duration::from_millis(10 + kills as u64 * 7 % 50));
        let victim = &mut workers[kills % 3];
        if let Some(status) = victim.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        *victim = worker();
        kills += 1;
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
    assert_eq!(world.names("job/shards").len(), shards);
}

#[test]
fn a_signal_says_how_far_it_was_and_a_rerun_goes_on() {
    let world = world(12);
    let child = world.spawn("job run job --shards 0-9");
    wait_until("two shards", || {
        let shards = fs::read_dir(world.at("job/shards"));
        shards.is_ok_and(|shards| shards.count() >= 2)
    });
    signal(&child, "-INT");
    let run = end(child).ends(130);
    run.warns("of 10 shards; run the same command to continue");
    let rerun = world.ok("job run job --shards 0-9 --progress json");
    let lines = rerun.events();
    let last = lines.last().unwrap();
    let expected = json!({ "event": "done", "shards": 10, "by_others": 0 });
    assert_fields(last, expected);
    assert!(last["there"].as_u64() >= Some(2));
    let of = |event: &'static str| lines.iter().filter(move |line| line["event"] == event);
    assert_eq!(of("round").next_back().unwrap()["fraction"], 1.0);
    assert!(of("round").all(|line| line["batches"] == 20));
    assert_eq!(last["evaluated"], of("shard").count());
    let status = world.json("job status job --json");
    assert_eq!(status["missing"], json!([[10, 11]]));
}

#[test]
fn a_full_disk_is_a_matter_of_time() {
    let world = world(5);
    for line in ["job run job --threads 1", "job run-shard job 3"] {
        // a shard has 5 KB and more; a file of 4 KiB has no room for it
        let before = world.files();
        let run = Run::of(&mut world.shell(&format!("ulimit -f 4; exec $homaes {line}")));
        run.check_failure(75, "File too large", line);
        let mut more = world.files().into_keys();
        // folders of shards and claims, and nothing half written in them
        let other = more.find(|path| !before.contains_key(path) && !path.is_dir());
        assert_eq!(other, None);
    }
    world.ok("job run job");
    check_merged(&world, "");
}

#[test]
fn schedulers_give_numbers_and_get_codes() {
    let world = world(12);
    world.table(
        "job run-shard job 7 => job/shards/000007.hcs: evaluated
        job run-shard job 7 => job/shards/000007.hcs: already there",
    );
    let by_env = |value: &str| {
        let mut command = world.command("job run-shard job --index-env TASK");
        Run::of(command.env("TASK", value))
    };
    by_env("8").says("job/shards/000008.hcs: evaluated\n");
    by_env("12").check_failure(1, "there is no shard 12, expected 0 to 11", "12");
    by_env("x").check_failure(2, "found \"x\", expected the number of a shard", "x");
    world.table(
        "job run-shard job --index-env NONE =2 found none, expected the number of a shard
        job run-shard job =2 required
        job run job --shards 3-1 =2 such as '0-99,200'
        job run job --shards 0,12 =1 there is no shard 12
        job run job --shards 0-99999999999 =1 there is no shard 99999999999
        $plan c -o job --shard-batches 3 =1 holds another job
        job run none =1 not a job
        job status keys =1 not a job
        job status job => 2 of 12 complete … 0-6,9-11
        job merge job -o o.hct --force =1 10 of 12 shards are missing
        $decrypt job -o x =1 10 of 12 shards are missing
        write job/shards/000001.hcs half
        job run job =1 000001.hcs: truncated: found 4 bytes
        job run-shard job 1 =1 000001.hcs: truncated: found 4 bytes
        job verify job =1 wrong shards: 1; first: … 000001.hcs: truncated: found 4 bytes",
    );
}

#[test]
fn wrong_shards_are_removed_and_made_again() {
    let world = world(5);
    world.ok("job run job");
    let path = "job/shards/000004.hcs";
    let mut wrong = world.read(path);
    wrong[10_000] ^= 4;
    world.write(path, &wrong);
    assert_eq!(world.json("job status job --json")["complete"], true);
    let words =
        "wrong shards: 4; first: … 000004.hcs: record … remove them and run 'homaes job run'";
    // what has another name is not the job's
    world.table(&format!(
        "job verify job =1 {words}
        job verify job --sample 0.01 =1 {words}
        job merge job -o merged.hct =1 000004.hcs: record
        $decrypt job -o x =1 000004.hcs
        rm {path}
        job run job => 1 evaluated in
        job verify job
        job verify job --sample 0.01 => 5 shards have valid checksums, 1 evaluated again
        cp c job/shards/1.hcs
        mkfifo job/shards/pipe
        mkdir job/shards/folder
        job run job
        job verify job
        job status job => shards/1.hcs: not a shard of this job"
    ));
    let others = json!(["shards/1.hcs", "shards/folder", "shards/pipe"]);
    let found = world.json("job status job --json");
    assert_fields(&found, json!({ "others": others }));
    // a link to nothing, a folder and a pipe in the place of a shard are wrong
    world.step(&format!("rm {path}"));
    for make in ["ln nothing", "mkdir", "mkfifo"] {
        world.step(&format!("{make} {path}"));
        let found = world.json("job status job --json");
        let expected = json!({ "missing": [[4, 4]], "wrong": [{ "shard": 4, "bytes": 0 }] });
        assert_fields(&found, expected);
        let words = "000004.hcs: not a regular file; remove it";
        world.table(&format!(
            "job status job => {path}, 0 bytes: remove it
            job run job =1 {words}
            job run-shard job 4 =1 {words}
            job verify job =1 wrong shards: 4; first:
            rm {path}"
        ));
    }
    // a merged job can go
    world.table(
        "job run job
        $decrypt job -o from-job
        same from-job p
        rm job/shards/1.hcs
        rm job/shards/pipe
        rm job/shards/folder",
    );
    check_merged(&world, "--remove-shards");
    assert!(!world.at("job/job.json").exists() && !world.at("job/shards").exists());
    world.fails(1, "job status job", "not a job");
}

#[test]
fn a_job_in_the_folder_that_it_reads_is_no_part_of_itself() {
    let world = World::new();
    let uri = format!("file://{}", world.at("in/job").display());
    world.table(&format!(
        "mkdir in
        cp c in/a
        cp p in/b
        $plan in -o in/job => 2 parts
        job run in/job
        $plan in -o in/job => 2 parts
        $decrypt {uri} -o parts/"
    ));
    assert_eq!(world.names("parts").len(), 2);
    world.table(
        "$plan - -o other =2 standard input
        $plan in -o http://x/y =2 expected a path
        $plan in/none -o other =1 No such file
        $plan in -o in =1 is both an input and the folder of the job
        $plan in/a -o s3://bucket/job =1 this build has no object stores
        $plan in/a -o grown",
    );
    // a part that has grown, or is no file any more
    world.write("in/a", [7; 301]);
    let line = "job run grown";
    let run = world.run(line);
    run.check_failure(1, "in/a: changed since", line);
    world.table("rm in/a\n mkfifo in/a");
    world.run(line).check_failure(1, "not a regular file", line);
}

#[test]
fn nothing_but_the_job_is_touched() {
    let world = World::new();
    world.message(1000);
    // files of somebody else's, beside claims and under the name of one
    world.table(
        "$plan c --shard-batches 2 -o job
        $plan c --shard-batches 2 -o other
        mkdir job/claims
        cp p job/claims/notes.txt
        cp p job/claims/000000
        job run job
        job run other",
    );
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
        world.table(&format!(
            "job merge job -o {out} --force --remove-shards =1 {words}
            $decrypt job -o {out} --force =1 {words}"
        ));
    }
    // in the end, a folder that is called as standard input is
    world.table(
        "job merge job -o job.hct --remove-shards
        job merge other -o other.hct --remove-shards
        same job.hct other.hct
        same job/claims/notes.txt p
        same job/claims/000000 p
        $plan c -o ./-
        job run ./-
        $decrypt ./- -o x
        same x p
        $decrypt - -o y =1 standard input",
    );
    assert!(!world.at("job/shards").exists() && !world.at("other/shards").exists());
}
