//! `deploy/`: the command lines of schedulers, and what they make of exit codes.

#![cfg(target_os = "linux")]

use crate::common::{Run, World, assert_fields, file, has, root};
use serde_json::{Value, json};
use std::process::Command;

/// `completions` of `job.yaml`; the last shard is shorter.
const SHARDS: usize = 12;

/// A world with a job of [`SHARDS`] shards of so many batches.
fn world(batches: usize) -> World {
    let world = World::with_whole(SHARDS * batches);
    world.ok(&format!("$plan c --shard-batches {batches} -o job"));
    world
}

/// A program of lines of a shell, which has the command as `$HOMAES`.
fn script(world: &World, name: &str, lines: &str) {
    let homaes = env!("CARGO_BIN_EXE_homaes");
    world.write(name, format!("#!/bin/bash\nHOMAES={homaes}\n{lines}\n"));
    world.step(&format!("chmod 755 {name}"));
}

/// The lines of a program that has no room for shard 3, until it ended for that reason.
fn no_room_at_first(number: &str) -> String {
    format!(
        r#"if [ "{number}" = 3 ] && [ ! -e met ]; then
    (ulimit -f 4; exec $HOMAES "$@")
    code=$?
    [ $code != 75 ] || touch met
    exit $code
fi
exec $HOMAES "$@""#
    )
}

/// Runs `job.yaml` with the program `homaes` of the world.
fn simulate(world: &World, more: &str) -> Run {
    let mut command = world.program("python3");
    command.args(["simulate", "job.yaml"].map(|name| root().join("deploy/k8s").join(name)));
    command.args("--place job --seconds 300 --program ./homaes".split(' '));
    Run::of(command.args(more.split_whitespace()))
}

#[test]
fn an_indexed_job_outlives_kills_and_full_disks() {
    if !has(Command::new("python3").arg("--version")) {
        return;
    }
    let world = world(2);
    script(&world, "homaes", &no_room_at_first("$JOB_COMPLETION_INDEX"));
    let run = simulate(&world, "--kills 8").ends(0);
    run.warns("index 3: exit code 75, Ignore … exit code 137, Count");
    let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_fields(&last, json!({ "completions": SHARDS, "ignored": 1 }));
    world.table("job merge job -o merged.hct\n same merged.hct whole.hct");
}

#[test]
fn an_indexed_job_ends_where_an_index_cannot_succeed() {
    if !has(Command::new("python3").arg("--version")) {
        return;
    }
    let world = world(1);
    let mut bytes = world.read("c");
    bytes[5 * 256] ^= 1;
    world.write("c", &bytes);
    // of the four at a time, three would not end: 5 starts when 0 and 1 are done
    let waits =
        "[ $JOB_COMPLETION_INDEX = 5 ] || [ $JOB_COMPLETION_INDEX -lt 2 ] || exec sleep 1000";
    script(&world, "homaes", &format!("{waits}\nexec $HOMAES \"$@\""));
    let run = simulate(&world, "").ends(1);
    run.warns("c: changed since the job was planned … job failed: index 5, exit code 1");
    let status = world.json("job status job --json");
    assert_eq!(status["missing"], json!([[2, 11]]));
    for (lines, more, code, words) in [
        // a command line that is wrong, as one of another version of the command
        ("exec $HOMAES \"$@\" --none", "", 1, ", exit code 2"),
        // an index that is killed again and again
        ("kill -9 $$", "", 1, "failed too often"),
        // trouble without an end
        ("exit 75", "--seconds 1", 3, ""),
    ] {
        script(&world, "homaes", lines);
        let run = simulate(&world, more).ends(code);
        run.warns(words);
    }
}

#[test]
fn a_task_of_an_array_is_put_back_or_ends_its_array() {
    let world = world(1);
    // what is put back is ended
    let end = "echo scontrol \"$@\" >> said\nkill $PPID";
    script(&world, "scontrol", end);
    script(&world, "scancel", "echo scancel \"$@\" >> said");
    let task = |number: &str, restarts: &str, code: Option<i32>, said: &str| {
        world.write("said", "");
        let mut command = world.program("bash");
        command.arg(root().join("deploy/slurm/job.sh")).arg("job");
        command.env("PATH", format!(".:{}", std::env::var("PATH").unwrap()));
        let array = [("ARRAY_JOB_ID", "9"), ("CPUS_PER_TASK", "2")];
        let task = [("ARRAY_TASK_ID", number), ("RESTART_COUNT", restarts)];
        command.envs(
            [array, task]
                .concat()
                .into_iter()
                .map(|(name, value)| (format!("SLURM_{name}"), value)),
        );
        let run = Run::of(&mut command);
        assert_eq!((run.code, &world.text("said")[..]), (code, said), "{run:?}");
        run
    };
    script(&world, "homaes", &no_room_at_first("$SLURM_ARRAY_TASK_ID"));
    task("3", "7", None, "scontrol requeue 9_3\n").warns("File too large");
    let run = task("3", "8", Some(0), "");
    assert_eq!(run.out, "job/shards/000003.hcs: evaluated\n");
    // no such shard, and no number
    task("12", "0", Some(1), "scancel --state=PENDING 9\n");
    task("x", "0", Some(2), "scancel --state=PENDING 9\n");
    script(&world, "homaes", "kill -9 $$");
    task("1", "2", None, "scontrol requeue 9_1\n");
    task("1", "3", Some(137), "");
    // what Slurm cancels it does not want again
    script(&world, "homaes", "exit 130");
    task("1", "0", Some(130), "");
}

#[test]
fn the_manifest_has_a_command_line_of_this_version() {
    let world = World::new();
    let manifest = file("deploy/k8s/job.yaml");
    let mut lines = manifest.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix("command: "));
    let words: Vec<String> = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(words[0], "homaes");
    let mut command = world.command(&words[1..].join(" "));
    let run = Run::of(command.env("JOB_COMPLETION_INDEX", "0"));
    // only a command line that is right gets there
    run.check_failure(1, "this build has no object stores", "job.yaml");
    let help = world.ok("job run-shard --help");
    for option in words.iter().filter(|word| word.starts_with('-')) {
        help.says(&format!("{option} "));
    }
    help.says("JOB_COMPLETION_INDEX … SLURM_ARRAY_TASK_ID");
}
