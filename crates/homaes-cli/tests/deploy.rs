//! `deploy/`: the command lines of schedulers, and what they make of exit codes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{IV, Run, World};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `completions` of `job.yaml`; the last shard is shorter.
const SHARDS: u64 = 12;

/// A file of `deploy/`.
fn deployed(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    root.join(name)
}

/// Keys, a job of [`SHARDS`] shards, and in `whole.hct` what one run makes of its message.
fn world() -> World {
    let world = World::new();
    world.message(SHARDS as usize * 4 * 256 - 300);
    let keys = format!("--eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c");
    world.ok(&format!("transcipher {keys} --reproducible -o whole.hct"));
    world.ok(&format!("job plan {keys} --shard-batches 4 -o job"));
    world
}

fn check_merged(world: &World) {
    world.ok("job merge job -o merged.hct");
    assert!(world.read("merged.hct") == world.read("whole.hct"));
}

/// A program of lines of a shell, which has the command as `$HOMAES`.
fn script(world: &World, name: &str, lines: &str) {
    let homaes = env!("CARGO_BIN_EXE_homaes");
    world.write(
        name,
        format!("#!/bin/bash\nHOMAES={homaes}\n{lines}\n").as_bytes(),
    );
    fs::set_permissions(world.at(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The lines of a program that has no room for shard 3, until it ended for that reason.
fn no_room_at_first(number: &str) -> String {
    format!(
        r#"if [ "{number}" = 3 ] && [ ! -e met ]; then
    (ulimit -f 8; exec $HOMAES "$@")
    code=$?
    [ $code != 75 ] || touch met
    exit $code
fi
exec $HOMAES "$@""#
    )
}

fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        eprintln!("skipped: python3 is not installed");
    }
    has
}

/// Runs `job.yaml` with a program in place of `homaes`.
fn simulate(world: &World, program: &str, more: &[&str]) -> Run {
    let mut command = world.program("python3");
    command.arg(deployed("k8s/simulate"));
    command.arg(deployed("k8s/job.yaml"));
    command.args(["--place", "job", "--seconds", "300", "--program", program]);
    Run::of(command.args(more))
}

#[test]
fn an_indexed_job_outlives_kills_and_full_disks() {
    if !has_python() {
        return;
    }
    let world = world();
    script(&world, "homaes", &no_room_at_first("$JOB_COMPLETION_INDEX"));
    let run = simulate(&world, "./homaes", &["--kills", "8"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("index 3: exit code 75, Ignore"), "{run:?}");
    assert!(run.err.contains("exit code 137, Count"), "{run:?}");
    let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["completions"], json!(SHARDS), "{run:?}");
    assert_eq!(last["ignored"], json!(1), "{run:?}");
    check_merged(&world);
}

#[test]
fn an_indexed_job_ends_where_an_index_cannot_succeed() {
    if !has_python() {
        return;
    }
    let world = world();
    let mut bytes = world.read("c");
    bytes[5 * 4 * 256] ^= 1;
    world.write("c", &bytes);
    // of the four at a time, three would not end: 5 starts when 0 and 1 are done
    script(
        &world,
        "homaes",
        "[ $JOB_COMPLETION_INDEX = 5 ] || [ $JOB_COMPLETION_INDEX -lt 2 ] || exec sleep 1000\nexec $HOMAES \"$@\"",
    );
    let run = simulate(&world, "./homaes", &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.err.contains("c: changed since the job was planned"),
        "{run:?}"
    );
    assert!(
        run.err.contains("job failed: index 5, exit code 1"),
        "{run:?}"
    );
    let status: Value = serde_json::from_str(&world.ok("job status job --json").out).unwrap();
    assert_eq!(status["missing"], json!([[2, 11]]));
    // a command line that is wrong, as one of another version of the command
    script(&world, "homaes", "exec $HOMAES \"$@\" --none");
    let run = simulate(&world, "./homaes", &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains(", exit code 2"), "{run:?}");
    // an index that is killed again and again
    script(&world, "homaes", "kill -9 $$");
    let run = simulate(&world, "./homaes", &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("failed too often"), "{run:?}");
    // trouble without an end
    script(&world, "homaes", "exit 75");
    let run = simulate(&world, "./homaes", &["--seconds", "1"]);
    assert_eq!(run.code, Some(3), "{run:?}");
}

#[test]
fn a_task_of_an_array_is_put_back_or_ends_its_array() {
    let world = world();
    for name in ["scontrol", "scancel"] {
        let lines = format!("echo {name} \"$@\" >> said");
        // what is put back is ended
        let lines = lines
            + if name == "scontrol" {
                "\nkill $PPID"
            } else {
                ""
            };
        script(&world, name, &lines);
    }
    script(&world, "homaes", &no_room_at_first("$SLURM_ARRAY_TASK_ID"));
    let task = |number: &str, restarts: &str| {
        let path = format!(".:{}", std::env::var("PATH").unwrap());
        world.write("said", b"");
        let mut command = world.program("bash");
        command.arg(deployed("slurm/job.sh")).arg("job");
        command.env("PATH", path);
        command
            .env("SLURM_ARRAY_JOB_ID", "9")
            .env("SLURM_ARRAY_TASK_ID", number);
        command
            .env("SLURM_CPUS_PER_TASK", "2")
            .env("SLURM_RESTART_COUNT", restarts);
        let run = Run::of(&mut command);
        let said = String::from_utf8(world.read("said")).unwrap();
        (run, said)
    };
    let (run, said) = task("3", "7");
    assert!(run.err.contains("File too large"), "{run:?}");
    assert_eq!((run.code, &said[..]), (None, "scontrol requeue 9_3\n"));
    let (run, said) = task("3", "8");
    assert_eq!((run.code, &said[..]), (Some(0), ""), "{run:?}");
    assert_eq!(run.out, "job/shards/000003.hcs: evaluated\n");
    // no such shard, and no number
    for (number, code) in [("12", 1), ("x", 2)] {
        let (run, said) = task(number, "0");
        let ended = (Some(code), "scancel --state=PENDING 9\n");
        assert_eq!((run.code, &said[..]), ended, "{run:?}");
    }
    script(&world, "homaes", "kill -9 $$");
    let (run, said) = task("1", "2");
    assert_eq!(
        (run.code, &said[..]),
        (None, "scontrol requeue 9_1\n"),
        "{run:?}"
    );
    let (run, said) = task("1", "3");
    assert_eq!((run.code, &said[..]), (Some(137), ""), "{run:?}");
    // what Slurm cancels it does not want again
    script(&world, "homaes", "exit 130");
    let (run, said) = task("1", "0");
    assert_eq!((run.code, &said[..]), (Some(130), ""), "{run:?}");
}

#[test]
fn the_manifest_has_a_command_line_of_this_version() {
    let world = World::new();
    let manifest = fs::read_to_string(deployed("k8s/job.yaml")).unwrap();
    let lines = manifest.lines().map(str::trim);
    let line = lines
        .filter_map(|line| line.strip_prefix("command: "))
        .next();
    let words: Vec<String> = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(words[0], "homaes");
    let mut command = world.command(&words[1..].join(" "));
    let run = Run::of(command.env("JOB_COMPLETION_INDEX", "0"));
    // what only a command line that is right gets to
    run.check_failure(1, "this build has no object stores", "job.yaml");
    let help = world.ok("job run-shard --help").out;
    for option in words.iter().filter(|word| word.starts_with('-')) {
        assert!(help.contains(&format!("{option} ")), "{option}");
    }
    assert!(
        help.contains("JOB_COMPLETION_INDEX") && help.contains("SLURM_ARRAY_TASK_ID"),
        "{help}"
    );
}
