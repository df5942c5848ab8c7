use super::lines::{bytes_of, each_object, not_null};
use super::{input, print_done, refuse_own_input};
use crate::args;
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table;
use homaes::{Cancel, Error, EvalKey, Output, Pool, Scan, WrappedKey};
use serde::Deserialize;
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(args: &args::Scan) -> Result<(), Failure> {
    let mut inputs = vec![args.eval.as_path(), &args.wrapped_key, &args.patterns];
    inputs.extend(args.message.aad.as_deref());
    inputs.extend(args.message.files_from.as_deref());
    inputs.extend(args.message.inputs.iter().map(|path| path.as_path()));
    refuse_own_input(&args.out, &inputs)?;
    let patterns = patterns(&args.patterns)?;
    let message = input::message(&args.message, &[])?;
    if args.message.mode == "gcm" && args.message.iv.is_none() && args.message.files_from.is_none()
    {
        console::warn(
            "the first 12 bytes of the file are taken as its nonce; under a wrong one nothing is found",
        );
    }
    let (searched, bytes) = (patterns.len() as u64, message.bytes());
    let output = Output::create(&args.out, args.force)?;
    homaes::check_memory(&[&args.eval, &args.wrapped_key])?;
    let (eval, wrapped) = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, Error>((eval, wrapped))
    })?;
    console::warn_insecure(eval.set());
    let scan = Scan::new(eval.set(), patterns)?;
    let pool = Pool::new(args.threads.map_or(0, |threads| threads.get()));
    let start = Instant::now();
    let answers = spin("searching", || {
        scan.run(&eval, &wrapped, message, &pool, &Cancel::new())
    })?;
    answers.write(output)?;
    let (bytes, patterns) = (
        table::count(bytes, "byte"),
        table::count(searched, "pattern"),
    );
    let time = table::seconds(start.elapsed().as_secs_f64());
    print_done(
        &args.out,
        &format!(
            "{bytes} searched for {patterns} in {time}; print positions with 'homaes decrypt --patterns'"
        ),
    );
    Ok(())
}

/// Shown in errors.
const EXAMPLE: &str = r#"{"label": "macro", "text": "Sub AutoOpen()"}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    label: String,
    #[serde(default, deserialize_with = "not_null")]
    text: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    hex: Option<String>,
}

/// The labelled patterns of a list.
pub(super) fn patterns(list: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut all = Vec::new();
    each_object(list, EXAMPLE, |line: Line, wrong| {
        let bytes = match (line.text, line.hex) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, hex) => bytes_of(hex.as_deref(), "hex", wrong)?,
            (Some(_), Some(_)) => None,
        };
        let bytes = bytes.ok_or_else(|| wrong("expected a pattern as text or as hex"))?;
        all.push((line.label, bytes));
        Ok(())
    })?;
    Ok(all)
}
