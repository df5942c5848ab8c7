//! Runs that go on where they were stopped.
//!
//! Beside the output are two files while it is made: the part, which is the `.hct` file so far, and the journal, which says what of it was on the disk at the end of each batch:
//!
//! ```text
//! {"format":"homaes journal 1","job":"<64 hex>","layout":"sliced","batches":489,"file_bytes":1858870000} <16 hex>
//! {"batches":17,"records":17,"chain":"<32 hex>","steps":"<hex>"} <16 hex>
//! ```
//!
//! Each line ends with the first 8 bytes of the BLAKE3 of what is before. The order is: records of a batch, the part to the disk, a line, the journal to the disk. `job` is the
//! [`RunId`]: over keys, layout and message. `chain` is the checksum of the last record in the part, which covers everything before it. So the next run takes the part up to
//! a line whose checksum it finds there, and nothing that another run wrote. `steps` is the record of steps so far.

use crate::error::At;
use crate::machine::disk;
use crate::machine::memory;
use crate::output::{DONE, JOURNAL, PART, folder_of, refuse_own_input, spare_secret_key};
use crate::results::meta::encode_steps;
use crate::results::report::worst;
use crate::run::plan::{Plan, Results, RunId};
use crate::{AesInput, Error, ErrorKind, Output, Report, Result, Step, Transcipher};
use homaes_wire::{Front, Reader, hex, unhex};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// What stands in the first line of a journal.
const FORMAT: &str = "homaes journal 1";

/// Separates checksums of lines from others.
const LINE_CONTEXT: &str = "homaes journal 1 line";

/// Bytes of the checksum of a line.
const LINE_CHECKSUM_BYTES: usize = 8;

/// How much more room on the disk than the file takes is asked for: 2 in 100.
const DISK_MARGIN: (u64, u64) = (2, 100);

/// Where a run that can go on keeps what there is of its output.
#[must_use]
pub fn part_path(target: &Path) -> PathBuf {
    hidden(target, PART)
}

/// Where it keeps its journal.
#[must_use]
pub fn journal_path(target: &Path) -> PathBuf {
    hidden(target, JOURNAL)
}

/// The journal that a run that was stopped has left of the output `target`, if there is one.
#[must_use]
pub fn unfinished(target: &Path) -> Option<PathBuf> {
    Some(journal_path(target)).filter(|journal| journal.is_file())
}

/// What says of which run a complete output is: its journal.
#[must_use]
pub fn done_path(target: &Path) -> PathBuf {
    hidden(target, DONE)
}

fn hidden(target: &Path, end: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(end);
    target.with_file_name(name)
}

/// How a run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resume {
    /// Replace an output that is there, and give up what another run has left.
    pub force: bool,
    /// Begin although the disk has no room for the file.
    pub ignore_space: bool,
}

/// What is on the disk: at the start of a run, and after every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Batches that are done.
    pub batches: u64,
    /// All batches.
    pub of: u64,
    /// Batches that earlier runs had done, as far as that can be told, and whose records in the part or lines in the journal are damaged or gone: they are evaluated again.
    pub lost: u64,
}

impl Transcipher<'_> {
    /// As [`run`](Self::run) into the file `path`, [`reproducible`](Self::reproducible) always, with files beside it by which the same call goes on after a run that was stopped:
    /// [`part_path`] and [`journal_path`]. After each batch they are on the disk, and `kept` is called. The file is the same, byte for byte, as that of a run without a stop.
    ///
    /// A complete output stays, and the report counts all batches as [`resumed`](Report::resumed). [`done_path`] says of
    /// which run it is.
    ///
    /// # Errors
    /// As [`run`](Self::run); `ErrorKind::OtherRun` if what is beside the output is of another message, other keys or
    /// another layout, or damaged. The files stay in all cases.
    pub fn resume(
        &self,
        message: impl Into<AesInput>,
        path: impl AsRef<Path>,
        how: Resume,
        kept: &mut (dyn FnMut(Kept) + Send),
    ) -> Result<Report> {
        let plan = self.plan(message)?;
        let path = path.as_ref();
        refuse_own_input(path, self.inputs(&plan))?;
        // to begin anew takes the place of what is there
        for beside in [part_path(path), journal_path(path)] {
            refuse_own_input(&beside, self.inputs(&plan))?;
            spare_secret_key(&beside, true)?;
        }
        let id = plan.id()?;
        if self.finished(path, &plan, id, how)? {
            let mut report = self.report(&plan);
            (report.batches, report.resumed) = (plan.split.batches(), plan.split.batches());
            return Ok(report);
        }
        let part = Output::resumed_as(path, how.force, false, part_path)?;
        let journal = Output::resumed_as(path, how.force, false, journal_path)?;
        let (mut journal, state) = Journal::open(journal, part, &plan, (id, how))?;
        let State {
            mut results,
            mut steps,
            batches,
            lost,
        } = state;
        let of = plan.split.batches();
        memory::check(self.set().params().memory_of_run(plan.layout))?;
        kept(Kept { batches, of, lost });
        let mut done = batches;
        let mut report = self.evaluate(&plan, batches..of, &mut |batch| {
            worst(&mut steps, &batch.steps);
            results.batch(batch)?;
            results.file.sync_data()?;
            done += 1;
            journal.add(&entry(done, &results, &steps))?;
            kept(Kept {
                batches: done,
                of,
                lost: 0,
            });
            Ok(())
        })?;
        results.steps(&steps, false)?;
        let mut file = results.file;
        file.sync_data()?;
        journal.add(&json!({ "done": hex(&file.checksum()) }))?;
        file.commit()?;
        journal.keep(path);
        for (step, timed) in steps.iter_mut().zip(&report.steps) {
            step.seconds = timed.seconds;
        }
        (report.steps, report.resumed, report.batches) = (steps, batches, of);
        Ok(report)
    }

    /// Whether `lines`, a journal or what is kept of one, says that the file is the complete output of this run.
    fn is_done(&self, lines: &Path, path: &Path, plan: &Plan, id: RunId) -> bool {
        // opening a pipe would wait for its writer
        if !fs::symlink_metadata(lines).is_ok_and(|found| found.is_file()) {
            return false;
        }
        let Ok(text) = fs::read(lines) else {
            return false;
        };
        let lines = Lines::read(&text);
        let done = lines.all.last().and_then(|(line, _)| line["done"].as_str());
        let done = done.filter(|_| lines.is_of(id));
        done.is_some_and(|done| is_whole(path, plan, done))
    }

    /// Whether the file is the complete output of this run. Keeps the journal of a run that was stopped just after it had
    /// named its file.
    fn finished(&self, path: &Path, plan: &Plan, id: RunId, how: Resume) -> Result<bool> {
        let journal = journal_path(path);
        if !self.is_done(&journal, path, plan, id) {
            return Ok(!how.force && self.is_done(&done_path(path), path, plan, id));
        }
        fs::rename(&journal, done_path(path)).at(&journal)?;
        Ok(true)
    }
}

/// Whether the file has this header, this last checksum, and no checksum that is wrong.
fn is_whole(path: &Path, plan: &Plan, done: &str) -> bool {
    let open = || {
        let reader = Reader::open(path, plan.header.kind()).ok()?;
        let last = reader.last_checksum().ok()?;
        let same = *reader.header() == plan.header && hex(&last) == done;
        (same && reader.verify().is_ok()).then_some(())
    };
    open().is_some()
}

/// The line after a batch.
fn entry(batches: u64, results: &Results, steps: &[Step]) -> Value {
    json!({
        "batches": batches,
        "records": results.next,
        "chain": hex(&results.file.checksum()),
        "steps": hex(&encode_steps(steps, false)),
    })
}

/// Where a run begins.
struct State {
    results: Results,
    steps: Vec<Step>,
    batches: u64,
    lost: u64,
}

/// The journal, open for further lines.
struct Journal {
    output: Output,
    path: PathBuf,
}

impl Journal {
    /// Takes what earlier runs left in both files, or begins them.
    fn open(
        journal: Output,
        part: Output,
        plan: &Plan,
        (id, how): (RunId, Resume),
    ) -> Result<(Self, State)> {
        let path = journal_path(journal.path());
        let mut text = Vec::new();
        journal.written()?.read_to_end(&mut text).at(&path)?;
        let lines = Lines::read(&text);
        let part_bytes = part.written()?.metadata().at(part.path())?.len();
        let foreign = match lines.all.first() {
            _ if lines.is_of(id) => None,
            Some((first, _)) if first["format"] == FORMAT => {
                let (found, expected) = (first["job"].as_str().unwrap_or_default(), id.to_string());
                let message = format!(
                    "belongs to a run with another message, key or layout: found run {found}, expected {expected}"
                );
                let error = Error::refused(ErrorKind::OtherRun, message);
                Some(error.with(found, expected).at(&path))
            }
            // a run that was stopped in its first line has left nothing to go on with: the part begins after it
            None if !text.contains(&b'\n') && part_bytes == 0 => None,
            _ => {
                let message = "the journal of this unfinished output is missing, or its first line is damaged";
                Some(Error::refused(ErrorKind::OtherRun, message).at(&path))
            }
        };
        if let Some(error) = foreign
            && !how.force
        {
            return Err(error);
        }
        let (mut last, mut lost) = (None, 0);
        if lines.is_of(id) {
            let whole;
            (last, whole) = Last::find(&lines, &part, plan)?;
            lost = lines.lost(last.as_ref().map_or(0, |last| last.batches), whole);
        }
        if !how.ignore_space {
            let (more, of) = DISK_MARGIN;
            let bytes = plan.file_bytes();
            let wanted = bytes.saturating_add(bytes / of * more);
            let there = last.as_ref().map_or(0, |last| last.front.bytes());
            disk::check(folder_of(part.path()), wanted, there)?;
        }
        let mut own = Self {
            output: journal,
            path,
        };
        let (results, steps, batches) = match last {
            Some(last) => {
                own.output.cut(last.journal_bytes)?;
                let file = part.rest_of(plan.header.clone(), Some(&last.front))?;
                let next = last.front.records() - plan.front_records();
                (Results { file, next }, last.steps, last.batches)
            }
            None => {
                own.output.cut(0)?;
                own.add(&first_line(plan, id))?;
                (plan.begin(part)?, Vec::new(), 0)
            }
        };
        let state = State {
            results,
            steps,
            batches,
            lost,
        };
        Ok((own, state))
    }

    /// Adds a line, which is on the disk then.
    fn add(&mut self, line: &Value) -> Result<()> {
        let text = line.to_string();
        let text = format!("{text} {}\n", hex(&line_checksum(text.as_bytes())));
        self.output.write_all(text.as_bytes()).at(&self.path)?;
        self.output.sync_data()
    }

    /// Keeps it beside the output `path`, which is complete, for runs that would make it again.
    fn keep(self, path: &Path) {
        let Self {
            output,
            path: journal,
        } = self;
        drop(output);
        // A run that finds it under this name sees that the output is complete.
        let _ = fs::rename(journal, done_path(path));
    }
}

fn first_line(plan: &Plan, id: RunId) -> Value {
    json!({
        "format": FORMAT,
        "job": id.to_string(),
        "layout": plan.layout.name(),
        "batches": plan.split.batches(),
        "file_bytes": plan.file_bytes(),
    })
}

/// What is right of a journal.
struct Lines {
    /// Lines up to the first one that is wrong, and where each ends.
    all: Vec<(Value, u64)>,
    /// Lines after these; of one that is not whole, which a killed run leaves, nothing was to be known.
    wrong: u64,
}

impl Lines {
    fn read(text: &[u8]) -> Self {
        let (mut all, mut end) = (Vec::new(), 0);
        let mut lines = text.split_inclusive(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.peek() {
            let Some(value) = checked(line) else {
                break;
            };
            end += line.len() as u64;
            all.push((value, end));
            lines.next();
        }
        let wrong = lines.filter(|line| line.ends_with(b"\n")).count() as u64;
        Self { all, wrong }
    }

    /// Whether it is of this run.
    fn is_of(&self, id: RunId) -> bool {
        let first = self.all.first().map(|(line, _)| line);
        first.is_some_and(|line| line["format"] == FORMAT && line["job"] == id.to_string())
    }

    /// Of batches that were done, those after the first `done`: by the lines, right or wrong, or by the `whole` ones in the part. A run that is killed leaves one there without
    /// its line.
    fn lost(&self, done: u64, whole: u64) -> u64 {
        let told = self.batches().saturating_sub(done) + self.wrong;
        let there = whole.saturating_sub(done);
        if there > 1 { told.max(there) } else { told }
    }

    /// Batches that it says are done.
    fn batches(&self) -> u64 {
        // the first line has the number of all
        let lines = self.all.iter().skip(1);
        let batches = lines.filter_map(|(line, _)| line["batches"].as_u64());
        batches.max().unwrap_or(0)
    }
}

/// A line without its checksum, if that is right.
fn checked(line: &[u8]) -> Option<Value> {
    let line = line.strip_suffix(b"\n")?;
    let digits = 2 * LINE_CHECKSUM_BYTES;
    let (text, sum) = line.split_at_checked(line.len().checked_sub(digits + 1)?)?;
    let right = sum == format!(" {}", hex(&line_checksum(text))).as_bytes();
    right.then(|| serde_json::from_slice(text).ok())?
}

fn line_checksum(text: &[u8]) -> [u8; LINE_CHECKSUM_BYTES] {
    let digest = blake3::derive_key(LINE_CONTEXT, text);
    std::array::from_fn(|i| digest[i])
}

/// The last line whose records are in the part.
struct Last {
    front: Front,
    batches: u64,
    steps: Vec<Step>,
    /// Length of the journal up to the end of the line.
    journal_bytes: u64,
}

impl Last {
    /// It, and the batches in the part, every checksum of which is verified on the way.
    fn find(lines: &Lines, part: &Output, plan: &Plan) -> Result<(Option<Self>, u64)> {
        let mut left = lines.all[1..].iter().peekable();
        let mut last = None;
        let before = plan.front_records();
        let mut each = |front: &Front| {
            let records = |line: &Value| line["records"].as_u64().map(|own| own + before);
            while let Some((line, end)) =
                left.next_if(|(line, _)| records(line).is_some_and(|own| own <= front.records()))
            {
                let same = records(line) == Some(front.records())
                    && line["chain"] == hex(&front.checksum());
                let steps = line["steps"].as_str().and_then(unhex);
                let steps = steps.and_then(|body| plan.meta.decode_steps(&body).ok());
                if let (true, Some(batches), Some(steps)) = (same, line["batches"].as_u64(), steps)
                {
                    last = Some(Self {
                        front: front.clone(),
                        batches,
                        steps,
                        journal_bytes: *end,
                    });
                }
            }
        };
        let whole = Front::walk(part.written()?, &plan.header, &mut each);
        let records = whole.map_or(0, |front| front.records().saturating_sub(before));
        let of = plan.split.batches();
        // more than one record a batch where results cross a bridge
        let a_batch = plan.meta.split.batches().div_ceil(of.max(1)).max(1);
        let whole = (records / a_batch).min(of);
        Ok((last.filter(|last| last.batches <= of), whole))
    }
}
