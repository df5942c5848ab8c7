//! `homaes transcipher --resume`: runs that go on where they were stopped.

use crate::args;
use crate::console::{self, Failure};
use crate::remedy::remedy;
use homaes::{AesInput, Error, ErrorKind, Kept, Report, Resume, Transcipher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Batches that are on the disk, and all of them, of the run of this process; 0 of 0 before it starts.
static KEPT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Runs, and says what earlier runs left.
pub(super) fn run(
    transcipher: &Transcipher<'_>,
    message: AesInput,
    args: &args::Transcipher,
    started: &mut (dyn FnMut(Kept) + Send),
) -> Result<Report, Error> {
    let how = Resume {
        force: args.force,
        ignore_space: args.ignore_space,
    };
    let mut first = true;
    let mut kept = |kept: Kept| {
        KEPT[1].store(kept.of, Ordering::Relaxed);
        KEPT[0].store(kept.batches, Ordering::Relaxed);
        if std::mem::take(&mut first) {
            say(kept);
            started(kept);
        }
    };
    transcipher.resume(message, &args.out, how, &mut kept)
}

/// What to say of an error, after which the same command may go on later.
pub(super) fn failure(error: Error) -> Failure {
    match error.is_temporary() {
        true => {
            let what_to_do = match error.kind() {
                ErrorKind::Disk => "free space, or start anyway with --ignore-space",
                kind => remedy(kind),
            };
            Failure::Temporary(format!(
                "{error}; {what_to_do}, then run the same command again"
            ))
        }
        false => error.into(),
    }
}

/// What there is at the start.
fn say(
    Kept {
        batches, of, lost, ..
    }: Kept,
) {
    if lost > 0 {
        console::warn(&format!(
            "the unfinished output or its journal is damaged; evaluating {lost} batches again"
        ));
    }
    if batches > 0 {
        console::tell(&format!("continuing after {batches} of {of} batches\n"));
    }
}

/// What is said when a signal stops the program during such a run.
pub(crate) fn interrupted() -> String {
    let [done, of] = [&KEPT[0], &KEPT[1]].map(|count| count.load(Ordering::Relaxed));
    match of {
        0 => "interrupted; run the same command to continue".to_owned(),
        of => format!("interrupted after {done} of {of} batches; run the same command to continue"),
    }
}
