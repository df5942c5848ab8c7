//! Resumable runs.
//!
//! Two files beside the unfinished output are the part, which is the `.hct` file so far, and the journal, which records
//! how much of the part was on the disk at the end of each batch:
//!
//! ```text
//! {"format":"homaes journal 1","job":"<64 hex>","layout":"sliced","batches":489,"file_bytes":1858870000} <16 hex>
//! {"batches":17,"records":17,"chain":"<32 hex>","steps":"<hex>"} <16 hex>
//! ```
//!
//! Each line ends with the first 8 bytes of the BLAKE3 of the text before them. A run writes a batch, syncs the part,
//! adds a line, syncs the journal. `job` is the [`RunId`] of keys, layout and message. `chain` is the checksum of the
//! part's last record, which covers everything before it. The next run therefore takes the part up to a line whose
//! checksum matches, and nothing that another run wrote. `steps` is the record of steps so far.

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

const FORMAT: &str = "homaes journal 1";

/// Separates these checksums from others.
const LINE_CONTEXT: &str = "homaes journal 1 line";

const LINE_CHECKSUM_BYTES: usize = 8;

/// Required disk space beyond the file's size: 2 in 100.
const DISK_MARGIN: (u64, u64) = (2, 100);

/// The unfinished output of a resumable run.
#[must_use]
pub fn part_path(target: &Path) -> PathBuf {
    hidden(target, PART)
}

/// Its journal.
#[must_use]
pub fn journal_path(target: &Path) -> PathBuf {
    hidden(target, JOURNAL)
}

/// The journal that a stopped run left for the output `target`, if any.
#[must_use]
pub fn unfinished(target: &Path) -> Option<PathBuf> {
    Some(journal_path(target)).filter(|journal| journal.is_file())
}

/// The journal of a complete output, which identifies its run.
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

/// Options of a resumable run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resume {
    /// Replace an existing output, and discard the files of another run.
    pub force: bool,
    /// Start even if the disk has no room for the file.
    pub ignore_space: bool,
}

/// Progress on the disk, at the start of a run and after every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Finished batches.
    pub batches: u64,
    /// All batches.
    pub of: u64,
    /// Batches known to be finished earlier whose records or journal lines are damaged or missing: they are evaluated
    /// again.
    pub lost: u64,
}

impl Transcipher<'_> {
    /// As [`run`](Self::run) into the file `path`, always [`reproducible`](Self::reproducible). Two files beside it,
    /// [`part_path`] and [`journal_path`], let the same call continue after a stop. Both are on the disk after each
    /// batch, when `kept` is called. The output has the same bytes as without a stop.
    ///
    /// A complete output stays, and the report counts all batches as [`resumed`](Report::resumed). [`done_path`]
    /// identifies its run.
    ///
    /// # Errors
    /// As [`run`](Self::run); `ErrorKind::OtherRun` if the files beside the output are damaged, or belong to another
    /// message, other keys or another layout. The files stay in all cases.
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
        // starting again would replace these files
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
        let mut run = Journal::open(journal, part, &plan, (id, how))?;
        let (batches, of) = (run.kept.batches, plan.split.batches());
        memory::check(self.set().params().memory_of_run(plan.layout))?;
        kept(run.kept);
        run.kept.lost = 0;
        let mut report = self.evaluate(&plan, batches..of, &mut |batch| {
            worst(&mut run.steps, &batch.steps);
            run.results.batch(batch)?;
            run.results.file.sync_data()?;
            run.kept.batches += 1;
            run.add(&run.entry())?;
            kept(run.kept);
            Ok(())
        })?;
        run.results.steps(&run.steps, false)?;
        run.results.file.sync_data()?;
        run.add(&json!({ "done": hex(&run.results.file.checksum()) }))?;
        run.results.file.commit()?;
        drop(run.output);
        // this name tells later runs that the output is complete
        let _ = fs::rename(run.path, done_path(path));
        let mut steps = run.steps;
        for (step, timed) in steps.iter_mut().zip(&report.steps) {
            step.seconds = timed.seconds;
        }
        (report.steps, report.resumed, report.batches) = (steps, batches, of);
        Ok(report)
    }

    /// Whether `lines`, a journal, shows that the file is the complete output of this run.
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

    /// Whether the file is the complete output of this run. Keeps the journal of a run that was stopped right after
    /// naming its file.
    fn finished(&self, path: &Path, plan: &Plan, id: RunId, how: Resume) -> Result<bool> {
        let journal = journal_path(path);
        if !self.is_done(&journal, path, plan, id) {
            return Ok(!how.force && self.is_done(&done_path(path), path, plan, id));
        }
        fs::rename(&journal, done_path(path)).at(&journal)?;
        Ok(true)
    }
}

/// Whether the file has this header and last checksum, and only valid checksums.
fn is_whole(path: &Path, plan: &Plan, done: &str) -> bool {
    let open = || {
        let reader = Reader::open(path, plan.header.kind()).ok()?;
        let last = reader.last_checksum().ok()?;
        let same = *reader.header() == plan.header && hex(&last) == done;
        (same && reader.verify().is_ok()).then_some(())
    };
    open().is_some()
}

/// The journal, open for further lines, and what it is about.
struct Journal {
    output: Output,
    path: PathBuf,
    results: Results,
    steps: Vec<Step>,
    kept: Kept,
}

impl Journal {
    /// Continues or begins both files.
    fn open(
        mut output: Output,
        part: Output,
        plan: &Plan,
        (id, how): (RunId, Resume),
    ) -> Result<Self> {
        let path = journal_path(output.path());
        let mut text = Vec::new();
        output.written()?.read_to_end(&mut text).at(&path)?;
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
            // a run stopped in its first line has written no part: the part starts after that line
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
            disk::check(folder_of(part.path()), wanted.saturating_sub(there))?;
        }
        let (results, steps, batches) = match last {
            Some(last) => {
                output.cut(last.journal_bytes)?;
                let file = part.rest_of(plan.header.clone(), Some(&last.front))?;
                let next = last.front.records() - plan.front_records();
                (Results { file, next }, last.steps, last.batches)
            }
            None => {
                output.cut(0)?;
                add_line(&mut output, &path, &first_line(plan, id))?;
                (plan.begin(part)?, Vec::new(), 0)
            }
        };
        let of = plan.split.batches();
        Ok(Self {
            output,
            path,
            results,
            steps,
            kept: Kept { batches, of, lost },
        })
    }

    /// The line after a batch.
    fn entry(&self) -> Value {
        json!({
            "batches": self.kept.batches,
            "records": self.results.next,
            "chain": hex(&self.results.file.checksum()),
            "steps": hex(&encode_steps(&self.steps, false)),
        })
    }

    fn add(&mut self, line: &Value) -> Result<()> {
        add_line(&mut self.output, &self.path, line)
    }
}

/// Appends a line to the journal at `path` and writes it to the disk.
fn add_line(journal: &mut Output, path: &Path, line: &Value) -> Result<()> {
    let text = line.to_string();
    let text = format!("{text} {}\n", hex(&line_checksum(text.as_bytes())));
    journal.write_all(text.as_bytes()).at(path)?;
    journal.sync_data()
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

/// The valid part of a journal.
struct Lines {
    /// Lines up to the first invalid one, with the offset where each ends.
    all: Vec<(Value, u64)>,
    /// Number of whole lines after these. A killed run can also leave an incomplete line, which counts for nothing.
    wrong: u64,
}

impl Lines {
    fn read(text: &[u8]) -> Self {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let ends = lines.iter().scan(0, |end, line| {
            *end += line.len() as u64;
            Some(*end)
        });
        let values = lines.iter().map_while(|line| checked(line));
        let all: Vec<_> = values.zip(ends).collect();
        let rest = lines[all.len()..].iter();
        let wrong = rest.filter(|line| line.ends_with(b"\n")).count() as u64;
        Self { all, wrong }
    }

    fn is_of(&self, id: RunId) -> bool {
        let first = self.all.first().map(|(line, _)| line);
        first.is_some_and(|line| line["format"] == FORMAT && line["job"] == id.to_string())
    }

    /// Number of finished batches after the first `done`, known from the journal's lines, valid or not, or from the
    /// `whole` batches in the part, of which a killed run leaves one without a line.
    fn lost(&self, done: u64, whole: u64) -> u64 {
        let told = self.batches().saturating_sub(done) + self.wrong;
        let there = whole.saturating_sub(done);
        if there > 1 { told.max(there) } else { told }
    }

    fn batches(&self) -> u64 {
        // `batches` in the first line is the number of all
        let lines = self.all.iter().skip(1);
        let batches = lines.filter_map(|(line, _)| line["batches"].as_u64());
        batches.max().unwrap_or(0)
    }
}

/// A line without its checksum, if that is valid.
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
    /// Length of the journal up to the end of this line.
    journal_bytes: u64,
}

impl Last {
    /// Returns that line and the number of whole batches in the part, and verifies every checksum on the way.
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
        // results that cross a bridge or leave another ring have several records per batch
        let a_batch = plan.meta.split.batches().div_ceil(of.max(1)).max(1);
        let whole = (records / a_batch).min(of);
        Ok((last.filter(|last| last.batches <= of), whole))
    }
}
