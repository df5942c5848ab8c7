use super::{input, interrupted_after, keep, print_done};
use crate::args::{JobCommand, JobMerge, JobPlan, JobRun, JobRunShard, JobVerify, is_stream};
use crate::console::{self, Failure, fail, refuse};
use crate::progress::{Follower, spin};
use crate::remedy::remedy;
use crate::table::{self, Rows};
use homaes::{Cancel, Devices, ErrorKind, Output, SECRET_KEY_FILE, Set};
use homaes_job::{Done, Job, Keys, Location, Outcome, Planning, Status, Worker};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) fn run(command: JobCommand) -> Result<(), Failure> {
    match command {
        JobCommand::Plan(args) => plan(&args),
        JobCommand::Run(args) => run_job(&args),
        JobCommand::RunShard(args) => run_shard(&args),
        JobCommand::Status(args) => show(args.job, args.json),
        JobCommand::Verify(args) => verify(&args),
        JobCommand::Merge(args) => merge(args),
    }
}

pub(crate) fn keeps(command: &JobCommand) -> Option<fn() -> String> {
    let resumable = matches!(command, JobCommand::Run(_) | JobCommand::RunShard(_));
    resumable.then_some(|| interrupted_after("shards"))
}

fn plan(args: &JobPlan) -> Result<(), Failure> {
    if args.message.inputs.iter().any(|input| is_stream(input)) {
        return refuse("other workers cannot read standard input; give a file");
    }
    let mut own = Vec::new();
    if let Location::Local(folder) = &args.out {
        let is_job = |path: PathBuf| folder.canonicalize().is_ok_and(|folder| folder == path);
        let mut inputs = args.message.inputs.iter();
        if let Some(input) = inputs.find(|input| input.canonicalize().is_ok_and(is_job)) {
            return fail(format!(
                "{}: is both an input and the folder of the job; choose another folder for the job",
                input.display()
            ));
        }
        // workers may read and write the folder of a job
        if folder.join(SECRET_KEY_FILE).exists() {
            return fail(format!(
                "{}: holds a secret key; choose another folder for the job, which workers share",
                folder.display()
            ));
        }
        own.push(folder.clone());
    }
    let message = input::message(&args.message, &own)?;
    input::warn_of_shared_counters(&message, false);
    let planning = Planning {
        layout: args.layout,
        shard_batches: args.shard_batches,
        ignore_space: args.ignore_space,
        ..Planning::new(args.eval.clone(), args.wrapped_key.clone())
    };
    let job = spin("planning", || {
        Job::plan(args.out.clone(), message, &planning)
    })?;
    warn_insecure(&job)?;
    console::print_done(&format!("{}: {}", job.location(), summary(&job)));
    Ok(())
}

fn warn_insecure(job: &Job) -> Result<(), Failure> {
    console::warn_insecure(&Set::named(job.set())?);
    Ok(())
}

fn summary(job: &Job) -> String {
    let (parts, bytes) = job.parts();
    let parts = table::count(parts, "part");
    let bytes = table::count(bytes, "byte");
    let batches = table::count(job.batches(), "batch");
    let shards = table::count(job.shards(), "shard");
    let (set, layout, each) = (job.set(), job.layout(), job.shard_batches());
    format!(
        "set {set}, {parts}, {bytes}, {batches} ({layout}) in {shards} of up to {each}{}",
        results(job)
    )
}

fn results(job: &Job) -> String {
    let scheme = Set::named(job.set()).ok().map(|set| set.scheme());
    let results = scheme.and_then(|scheme| table::results(scheme, job.level()));
    results.map_or_else(String::new, |results| format!(", {results}"))
}

fn open(location: &Location, devices: &Devices) -> Result<(Job, Keys), Failure> {
    let job = Job::open(location.clone())?;
    devices.check(&Set::named(job.set())?, Some(job.layout()))?;
    warn_insecure(&job)?;
    let keys = spin("loading keys", || job.keys(None))?;
    Ok((job, keys))
}

fn run_job(args: &JobRun) -> Result<(), Failure> {
    let devices = args.workers.devices()?;
    let (job, keys) = open(&args.job, &devices)?;
    if !args.ignore_space {
        job.check_space()?;
    }
    let all = 0..job.shards();
    let ranges = args.shards.as_ref().map(|shards| &shards.0[..]);
    let ranges = ranges.unwrap_or(std::slice::from_ref(&all));
    job.check_ranges(ranges)?;
    let before = job.status()?;
    let numbers = || ranges.iter().cloned().flatten();
    let done = || numbers().filter(|&number| before.has(number));
    let (wanted, there) = (numbers().count() as u64, done().count() as u64);
    let batches = |number| shard_batches(&job, number);
    let of_batches = numbers().map(batches).sum();
    keep(there, wanted);
    let follower = Follower::new(args.progress);
    follower.kept(done().map(batches).sum());
    let worker = Worker::new(&job, &keys, args.workers.threads)?.watch(|mut event| {
        event.batches = of_batches;
        follower.event(event);
    });
    let worker = worker.on(devices).warn(console::warn);
    let start = Instant::now();
    let (mut own, mut finished) = (0, there);
    worker.run(ranges, &mut |done: &Done| {
        finished += 1;
        keep(finished, wanted);
        match done.outcome {
            Outcome::There => follower.others(batches(done.number)),
            Outcome::Written | Outcome::Same => own += 1,
        }
        let (shard, outcome) = (done.number, done.outcome.name());
        follower.tell(&json!({ "event": "shard", "shard": shard, "outcome": outcome }));
    })?;
    let seconds = start.elapsed().as_secs_f64();
    drop(worker);
    let others = wanted - there - own;
    if follower.is_json() {
        follower.tell(&json!({
            "event": "done",
            "shards": wanted,
            "evaluated": own,
            "there": there,
            "by_others": others,
            "seconds": seconds,
        }));
        return Ok(());
    }
    drop(follower);
    let shards = table::count(wanted, "shard");
    console::print_done(&format!(
        "{}: {shards}, {own} evaluated in {}, {there} already there, {others} by other workers",
        job.location(),
        table::seconds(seconds)
    ));
    Ok(())
}

fn shard_batches(job: &Job, number: u64) -> u64 {
    let first = number.saturating_mul(job.shard_batches());
    let left = job.batches().saturating_sub(first);
    left.min(job.shard_batches())
}

fn run_shard(args: &JobRunShard) -> Result<(), Failure> {
    let devices = args.workers.devices()?;
    let number = match (&args.index_env, args.number) {
        (Some(name), _) => {
            let wrong = |found: &str| {
                Failure::Usage(format!(
                    "environment variable {name}: found {found}, expected the number of a shard"
                ))
            };
            let value = std::env::var(name).map_err(|_| wrong("none"))?;
            value.parse().map_err(|_| wrong(&format!("{value:?}")))?
        }
        (None, number) => number.unwrap_or_default(),
    };
    let job = Job::open(args.job.clone())?;
    // an existing shard needs no keys
    if number < job.shards() && job.has(number)? {
        warn_insecure(&job)?;
        return said(&job, number, Outcome::There);
    }
    drop(job);
    let (job, keys) = open(&args.job, &devices)?;
    let worker = Worker::new(&job, &keys, args.workers.threads)?.on(devices);
    let done = worker.warn(console::warn).shard(number)?;
    said(&job, number, done.outcome)
}

fn said(job: &Job, number: u64, outcome: Outcome) -> Result<(), Failure> {
    let done = match outcome {
        Outcome::There => "already there",
        Outcome::Written | Outcome::Same => "evaluated",
    };
    console::print_done(&format!("{}: {done}", job.describe(number)));
    Ok(())
}

pub(crate) fn show(location: Location, json: bool) -> Result<(), Failure> {
    let job = Job::open(location)?;
    let status = job.status()?;
    if !json {
        warn_insecure(&job)?;
    }
    console::print_either(
        json,
        || status_json(&job, &status),
        || status_text(&job, &status),
    )
}

fn status_json(job: &Job, status: &Status) -> Value {
    let (parts, bytes) = job.parts();
    let ranges = |ranges: &[Range<u64>]| -> Vec<[u64; 2]> {
        ranges.iter().map(|r| [r.start, r.end - 1]).collect()
    };
    let wrong = status.wrong.iter();
    let wrong = wrong.map(|&(number, bytes)| json!({ "shard": number, "bytes": bytes }));
    json!({
        "job": job.location().to_string(),
        "id": job.id().to_string(),
        "set": job.set(),
        "layout": job.layout().name(),
        "parts": parts,
        "bytes": bytes,
        "batches": job.batches(),
        "shard_batches": job.shard_batches(),
        "shards": status.shards,
        "done": status.done(),
        "complete": status.missing() == 0,
        "present": ranges(&status.present),
        "missing": ranges(&missing(status)),
        "wrong": wrong.collect::<Vec<_>>(),
        "others": status.others,
        "claimed": status.claimed,
        "shard_file_bytes": status.bytes,
        "output_bytes": job.output_bytes(),
    })
}

fn status_text(job: &Job, status: &Status) -> String {
    let mut rows = Rows::default();
    let (done, missing) = (status.done(), missing(status));
    rows.add("job", job.location().to_string());
    rows.add("id", job.id().to_string());
    rows.add("work", summary(job));
    let bytes = table::bytes(status.bytes);
    let of = status.shards;
    rows.add("shards", format!("{done} of {of} complete, {bytes}"));
    if !missing.is_empty() {
        rows.add("missing", list(&missing));
    }
    if status.claimed > 0 {
        rows.add("being evaluated", status.claimed.to_string());
    }
    for &(number, found) in &status.wrong {
        let shard = job.describe(number);
        rows.add("truncated", format!("{shard}, {found} bytes: remove it"));
    }
    for name in &status.others {
        rows.add("unknown", format!("{name}: not a shard of this job"));
    }
    let file = table::bytes(job.output_bytes());
    let next = match status.missing() {
        0 => {
            format!("complete: 'homaes job merge' writes {file}, or 'homaes decrypt' reads the job")
        }
        _ => "incomplete: run 'homaes job run'".to_owned(),
    };
    rows.add("results", next);
    rows.text()
}

fn missing(status: &Status) -> Vec<Range<u64>> {
    let ends = status.present.iter().map(|range| range.end);
    let starts = status.present.iter().map(|range| range.start);
    let gaps = std::iter::once(0)
        .chain(ends)
        .zip(starts.chain([status.shards]));
    gaps.map(|(start, end)| start..end)
        .filter(|gap| !gap.is_empty())
        .collect()
}

fn list(ranges: &[Range<u64>]) -> String {
    let texts = ranges.iter().map(|range| match range.end - range.start {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn verify(args: &JobVerify) -> Result<(), Failure> {
    let verified = match args.sample {
        None => {
            let job = Job::open(args.job.clone())?;
            warn_insecure(&job)?;
            spin("verifying", || job.verify(&Cancel::new()))?
        }
        Some(share) => {
            let (job, keys) = open(&args.job, &Devices::Cpu)?;
            let worker = Worker::new(&job, &keys, args.threads)?.on(Devices::Cpu);
            spin("verifying and evaluating", || worker.verify(share))?
        }
    };
    if let Some((_, first)) = verified.wrong.first() {
        let what_to_do = match first.kind() {
            // either result may be the wrong one
            kind @ ErrorKind::Differs => remedy(kind),
            _ => "remove them and run 'homaes job run'",
        };
        let numbers = verified.wrong.iter().map(|&(number, _)| number..number + 1);
        return fail(format!(
            "{}: wrong shards: {}; first: {first}; {what_to_do}",
            args.job,
            list(&numbers.collect::<Vec<_>>()),
        ));
    }
    let again = verified.evaluated;
    let evaluated = match args.sample {
        None => String::new(),
        Some(_) => format!(", {again} evaluated again with the same result"),
    };
    let missing = match verified.missing {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    let shards = table::count(verified.shards, "shard");
    let have = if verified.shards == 1 { "has" } else { "have" };
    console::print(&format!(
        "{}: {shards} {have} valid checksums{evaluated}{missing}\n",
        args.job
    ))
}

fn merge(args: JobMerge) -> Result<(), Failure> {
    let job = Job::open(args.job)?;
    job.refuse_output(&args.out)?;
    let output = Output::create(&args.out, args.force)?;
    spin("merging", || job.merge(output, &Cancel::new()))?;
    let bytes = table::count(job.output_bytes(), "byte");
    let shards = table::count(job.shards(), "shard");
    let results = results(&job);
    if args.remove_shards {
        let (location, out) = (job.location().to_string(), args.out.display());
        job.remove().map_err(|error| {
            Failure::Work(format!(
                "{location}: {error}; {out} is complete; remove the job by hand"
            ))
        })?;
    }
    print_done(&args.out, &format!("{bytes} from {shards}{results}"));
    Ok(())
}
