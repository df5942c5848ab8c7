use super::{
    STANDARD_INPUT, STANDARD_OUTPUT, expected, one_standard_input, open_secret, print_done,
    read_aad, read_aes_key, read_aes_keys, refuse_own_input, scan, write,
};
use crate::args::{Decrypt, is_stream, parse_expected_nonce};
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table;
use homaes::{
    Ciphertexts, DecryptOptions, DecryptReport, Error, ErrorKind, Expect, Meta, Numbers, Output,
    Scan, Set, Tag, describe,
};
use homaes_job::{Job, JobError, Location};
use serde_json::{Value, json};
use std::io::{self, BufReader};
use std::path::Path;

pub(crate) fn run(args: &Decrypt) -> Result<(), Failure> {
    if args.json || args.patterns.is_some() {
        check(args)?;
        return values(args);
    }
    let done = message(args);
    homaes::overwrite_stack();
    let (unchecked, summary) = done?;
    if let Some(unchecked) = unchecked {
        console::warn(&format!(
            "{}: the GCM {unchecked} NOT checked, so anybody may have changed the bytes; give the AES key with \
             --key-file, or a list of them with --keys",
            args.input.display()
        ));
    }
    print_done(args.out(), &summary);
    Ok(())
}

/// Refuses impossible inputs; returns the files that will be read.
fn check(args: &Decrypt) -> Result<Vec<&Path>, Failure> {
    let passphrase = args.passphrase_file.as_deref();
    let keys = args.key_file.as_deref().or(args.keys.as_deref());
    one_standard_input(&[Some(&args.input), keys, passphrase])?;
    let mut inputs = vec![args.secret.as_path(), &args.input];
    let others = [
        &args.key_file,
        &args.keys,
        &args.passphrase_file,
        &args.expect_aad,
        &args.expect,
        &args.patterns,
    ];
    inputs.extend(others.into_iter().flatten().map(|path| path.as_path()));
    refuse_own_input(args.out(), &inputs)?;
    Ok(inputs)
}

/// Decrypts a message; returns the unchecked tags, if any, and a summary. A separate function, so that its caller's
/// frame never holds a key.
#[inline(never)]
fn message(args: &Decrypt) -> Result<(Option<String>, String), Failure> {
    let nonce = args.expect_nonce.as_deref().map(parse_expected_nonce);
    let nonce = nonce
        .transpose()
        .map_err(|reason| Failure::Usage(format!("--expect-nonce: {reason}")))?;
    let inputs = check(args)?;
    let job = job_at(&args.input)?;
    if let Some(job) = &job
        && !is_stream(args.out())
    {
        job.refuse_output(args.out())?;
    }
    let ciphertexts = open(&args.input, job.as_ref())?;
    let into_folder = args.part.is_none() && asks_for_parts(args);
    let has_parts = match &ciphertexts {
        Some(ciphertexts) => Some(ciphertexts.meta().has_parts()),
        // an invalid file is reported by decryption
        None => describe(&args.input).ok().map(|meta| meta.has_parts()),
    };
    if into_folder && has_parts == Some(false) {
        return Err(Meta::no_parts(&args.input).into());
    }
    if into_folder && let (Some(job), Some(ciphertexts)) = (&job, &ciphertexts) {
        let parts = ciphertexts.meta().parts.iter();
        for name in parts.filter_map(|part| part.name.as_ref()) {
            job.refuse_output(&args.out().join(name))?;
        }
    }
    let output = (!into_folder).then(|| output(args)).transpose()?;
    let aad = args.expect_aad.as_deref().map(read_aad).transpose()?;
    let expected = args.expect.as_deref().map(expected::read).transpose()?;
    let expected = expected.as_ref().map(|parts| {
        let parts = parts.iter();
        let parts = parts.map(|(name, part)| (name.clone(), part.borrow()));
        parts.collect()
    });
    let secret = open_secret(&args.secret, args.passphrase_file.as_deref())?;
    let aes_key = args.key_file.as_deref().map(read_aes_key).transpose()?;
    let aes_keys = args.keys.as_deref().map(read_aes_keys).transpose()?;
    // first: a later value could carry copies of the keys off the stack
    homaes::overwrite_stack();
    let options = DecryptOptions {
        aes_key: aes_key.as_ref(),
        aes_keys: aes_keys.as_ref(),
        unauthenticated: args.unauthenticated,
        unpad: args.unpad,
        expect: Expect {
            mode: args.expect_mode,
            nonce: nonce.as_deref(),
            aad: aad.as_deref(),
            bytes: args.expect_bytes,
            key_name: None,
        },
        part: args.part.as_deref(),
        parts: expected.as_ref(),
        replay_log: args.seen.as_deref(),
        reads: &inputs,
    };
    let Some(output) = output else {
        let done = spin("decrypting", || match ciphertexts {
            Some(open) => secret.decrypt_parts_from(open, args.out(), args.force, options),
            None => secret.decrypt_parts(&args.input, args.out(), args.force, options),
        })?;
        return Ok(summary_of_parts(args, &done));
    };
    let report = spin("decrypting", || match ciphertexts {
        Some(open) => secret.decrypt_from(open, output, options),
        None => secret.decrypt_with(&args.input, output, options),
    })?;
    let unchecked = (report.tag == Tag::Unchecked).then(|| "tag was".to_owned());
    Ok((unchecked, summary(args, &report)))
}

/// The user, not the file, decides: otherwise a server could return parts instead of one message.
pub(crate) fn asks_for_parts(args: &Decrypt) -> bool {
    let out = args.out().as_os_str().as_encoded_bytes();
    let separator = |&byte: &u8| std::path::is_separator(char::from(byte));
    let is_folder = out.last().is_some_and(separator) || args.out().is_dir();
    !is_stream(args.out()) && (is_folder || args.expect.is_some())
}

fn values(args: &Decrypt) -> Result<(), Failure> {
    let patterns = args.patterns.as_deref().map(scan::patterns).transpose()?;
    let output = output(args)?;
    let secret = open_secret(&args.secret, args.passphrase_file.as_deref())?;
    let values = spin("decrypting", || match is_stream(&args.input) {
        true => secret.open_values_of(BufReader::new(io::stdin()), STANDARD_INPUT),
        false => secret.open_values(&args.input),
    })?;
    let set = secret.set();
    let found = match patterns {
        Some(patterns) => {
            json!({ "set": set.name(), "patterns": positions(set, patterns, &values)? })
        }
        None => {
            json!({ "set": set.name(), "values": values.iter().map(numbers).collect::<Vec<_>>() })
        }
    };
    // pretty-printing would give each of thousands of numbers a line
    let text = format!("{found}\n");
    if args.out.is_none() {
        return console::print(&text);
    }
    write(output, &text)?;
    let values = table::count(values.len() as u64, "value");
    print_done(args.out(), &values);
    Ok(())
}

fn numbers(value: &Numbers) -> Value {
    let signed = value.meta.is_signed().then(|| value.signed().collect());
    json!({
        "label": value.meta.label,
        "form": value.meta.form,
        "width": value.meta.width,
        "numbers": signed.map_or_else(|| json!(*value.numbers), |all: Vec<i64>| json!(all)),
    })
}

/// Where each pattern of a search begins.
fn positions(
    set: &Set,
    patterns: Vec<(String, Vec<u8>)>,
    answers: &[Numbers],
) -> Result<Vec<Value>, Failure> {
    let labels: Vec<_> = patterns.iter().map(|(label, _)| label.clone()).collect();
    let answers = answers.iter();
    let answers = answers.map(|value| (&*value.meta.label, &value.numbers[..]));
    let starts = Scan::new(set, patterns)?.starts(&answers.collect::<Vec<_>>())?;
    let found = labels.into_iter().zip(starts);
    let found = found.map(|(label, starts)| json!({ "label": label, "starts": starts }));
    Ok(found.collect())
}

/// The job at a folder or URI, if there is one.
pub(super) fn job_at(input: &Path) -> Result<Option<Job>, Failure> {
    let uri = |scheme| {
        input
            .to_str()
            .is_some_and(|input| input.starts_with(scheme))
    };
    let location = match uri("s3://") || uri("file://") {
        true => Location::parse(input).map_err(JobError::from)?,
        false => Location::Local(input.to_owned()),
    };
    Ok(match &location {
        Location::Local(path) if is_stream(input) || !path.join("job.json").is_file() => None,
        _ => Some(Job::open(location)?),
    })
}

/// Results of a job or on standard input; `None` for a file.
pub(super) fn open<'j>(
    input: &Path,
    job: Option<&'j Job>,
) -> Result<Option<Ciphertexts<'j>>, Failure> {
    Ok(match job {
        Some(job) => Some(Ciphertexts::of_read(job.results()?, input)?),
        None if is_stream(input) => {
            let read = BufReader::new(io::stdin());
            Some(Ciphertexts::of_read(read, STANDARD_INPUT)?)
        }
        None => None,
    })
}

/// Lists the unchecked tags and summarises the parts.
fn summary_of_parts(args: &Decrypt, done: &[(String, DecryptReport)]) -> (Option<String>, String) {
    let of = |tag| done.iter().filter(|(_, report)| report.tag == tag).count();
    let unchecked = of(Tag::Unchecked);
    let parts = table::count(done.len() as u64, "part");
    let bytes = done.iter().map(|(_, report)| report.bytes).sum();
    let bytes = table::count(bytes, "byte");
    let left = table::noise_left(done.first().and_then(|(_, report)| report.margin_bits));
    let wrong = table::wrong(done.first().and_then(|(_, report)| report.log2_p_fail));
    let last = done.last().and_then(|(_, report)| report.recorded);
    let recorded = match (&args.seen, last) {
        (Some(log), Some(number)) => {
            format!(", logged up to message {number} in {}", log.display())
        }
        _ => String::new(),
    };
    let (valid, without) = (of(Tag::Verified), of(Tag::None));
    let summary = format!(
        "{parts}, {bytes}, noise left: {left} above the largest measured noise{wrong}, {valid} with a valid tag, \
         {without} without one{recorded}"
    );
    let unchecked = (unchecked > 0).then(|| format!("tags of {unchecked} parts were"));
    (unchecked, summary)
}

/// Refuses the replay log as output, and checks that the log can be written.
fn output(args: &Decrypt) -> Result<Output, Failure> {
    let output = match is_stream(args.out()) {
        true => Output::held(STANDARD_OUTPUT, io::stdout()),
        false => Output::private(args.out(), args.force)?,
    };
    if let Some(log) = &args.seen
        && output.is_log(&Output::private(log, true)?)
    {
        let message = "is both the output and the replay log or its lock file";
        return Err(Error::refused(ErrorKind::OwnInput, message).at(log).into());
    }
    Ok(output)
}

fn summary(args: &Decrypt, report: &DecryptReport) -> String {
    let bytes = table::count(report.bytes, "byte");
    let left = table::noise_left(report.margin_bits);
    // measured noise, whereas estimates are standard deviations
    let what = report
        .margin_bits
        .map_or("", |_| " above the largest measured noise");
    let mode = report.mode.name();
    let wrong = table::wrong(report.log2_p_fail);
    let mut text = format!("{bytes}, noise left: {left}{what}{wrong}, ");
    text += &match report.tag {
        Tag::None => table::unauthenticated(mode),
        Tag::Unchecked => "unauthenticated: GCM tag not checked".to_owned(),
        Tag::Verified => "GCM tag valid".to_owned(),
    };
    if !report.mode.iv().is_empty() {
        let name = table::iv_name(report.mode);
        text += &format!(", {name} {}", table::hex(report.mode.iv()));
    }
    if report.tag != Tag::None {
        let data = table::associated_data(report.aad_bytes, &report.aad_sha256);
        text += &format!(", associated data {data}");
    }
    if let (Some(log), Some(number)) = (&args.seen, report.recorded) {
        text += &format!(", message {number} in {}", log.display());
    }
    text
}
