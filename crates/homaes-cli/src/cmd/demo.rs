//! `homaes demo`: the whole way, through real files.

use super::sample::Sample;
use super::{layout_of_set, named_set, set_of_scheme};
use crate::args::{self, Demo};
use crate::console::{self, Failure};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesFile, AesKey, Direction, EvalKey, Expansion, KeySet, KeySize, Layout, Output, Report,
    SecretKey, Set, Transcipher, WrapOptions, WrappedKey,
};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TEXT: &str = "It was encrypted with AES before it came here, and whoever computes on it sees neither key nor text. ";

/// The files of a demonstration, in the order in which they appear.
struct Files {
    aes: PathBuf,
    keys: PathBuf,
    secret: PathBuf,
    eval: PathBuf,
    wrapped: PathBuf,
    fhe: PathBuf,
    plain: PathBuf,
}

/// What happened, and how long each part took.
struct Outcome {
    times: [(&'static str, Duration); 5],
    expansion: Expansion,
    report: Report,
    margin_bits: Option<f64>,
}

pub(crate) fn run(args: &Demo) -> Result<(), Failure> {
    let scheme = match (&args.scheme, &args.set) {
        (Some(scheme), _) => scheme.0,
        (None, Some(name)) => named_set(name)?.scheme(),
        (None, None) => args::default_scheme().0,
    };
    let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
    console::warn_insecure(&set);
    let layout = args.layout.get();
    let default = set.default_blocks(layout_of_set(&set, layout)?);
    // One block alone would not show that the text goes on.
    let blocks = args.blocks.unwrap_or(default.max(2));
    // A few bytes less than full blocks, to show that any length will do.
    let bytes = (16 * blocks - 5) as usize;
    let text = TEXT.bytes().cycle().take(bytes).collect();
    let sample = Sample::new(text, KeySize::Aes128, Direction::Encrypt)?;
    let scratch = Scratch::new()?;
    let keys = scratch.file("keys");
    let files = Files {
        aes: scratch.file("text.aes"),
        secret: keys.join(homaes::SECRET_KEY_FILE),
        eval: keys.join(homaes::EVAL_KEY_FILE),
        keys,
        wrapped: scratch.file("key.hwk"),
        fhe: scratch.file("text.hct"),
        plain: scratch.file("text"),
    };
    let outcome = whole_way(&set, layout, &sample, &files)?;
    let found = fs::read(&files.plain).map_err(|error| Failure::system("temporary file", error))?;
    if found != sample.message {
        return Err(Failure::Work(
            "the decrypted text differs from the original; please report this".into(),
        ));
    }
    console::print(&rows(&set, &sample, &files, &outcome)?.text())
}

fn whole_way(
    set: &Set,
    layout: Option<Layout>,
    sample: &Sample,
    files: &Files,
) -> Result<Outcome, Failure> {
    fs::write(&files.aes, sample.ciphertext())
        .map_err(|error| Failure::system("temporary file", error))?;
    let mut clock = Instant::now();
    let mut lap = || {
        let now = Instant::now();
        now - std::mem::replace(&mut clock, now)
    };

    // The client makes its keys and wraps the AES key, once.
    spin("client: making keys", || KeySet::create(set, &files.keys))?;
    let keygen = lap();
    let secret = SecretKey::open(&files.secret)?;
    let aes_key = AesKey::from_bytes(&sample.key)?;
    spin("client: wrapping the AES key", || {
        let wrapping = WrapOptions {
            layouts: layout.into_iter().collect(),
            ..WrapOptions::default()
        };
        WrappedKey::create(&secret, &aes_key, &wrapping, &files.wrapped, false)
    })?;
    let wrap = lap();

    // The server has the evaluation key, the wrapped key and the AES ciphertext.
    let job = AesFile::open(&files.aes, sample.mode)?;
    let output = Output::create(&files.fhe, false)?;
    let (eval, wrapped) = spin("server: loading keys", || {
        let eval = EvalKey::open(&files.eval)?;
        let wrapped = WrappedKey::open(&files.wrapped, &eval)?;
        Ok::<_, homaes::Error>((eval, wrapped))
    })?;
    let load = lap();
    let mut follower = Follower::new(args::Progress::Auto);
    let report = Transcipher::new(&eval, &wrapped)?
        .watch(|event| follower.event(event))
        .run(job, output)?;
    follower.finish(&report);
    let run = lap();

    // The client decrypts what the server computed; here, the text itself.
    let output = Output::private(&files.plain, false)?;
    let decrypted = spin("client: decrypting", || secret.decrypt(&files.fhe, output))?;
    let times = [
        ("keygen", keygen),
        ("wrap-key", wrap),
        ("load keys", load),
        ("transcipher", run),
        ("decrypt", lap()),
    ];
    Ok(Outcome {
        times,
        expansion: wrapped.expansion(),
        report,
        margin_bits: decrypted.margin_bits,
    })
}

fn rows(set: &Set, sample: &Sample, files: &Files, outcome: &Outcome) -> Result<Rows, Failure> {
    let size = |path| match fs::metadata(path) {
        Ok(data) => Ok(table::bytes(data.len())),
        Err(error) => Err(Failure::system("temporary file", error)),
    };
    let (card, report) = (set.card(), &outcome.report);
    let mut rows = Rows::default();
    rows.add("set", set.name());
    rows.add("security", table::security(card));
    rows.add("p_fail", format!("2^{:.1} per batch", card.log2_p_fail));
    rows.add("cipher", format!("AES-128-CTR, layout {}", report.layout));
    let blocks = table::blocks(report.blocks, report.batches);
    rows.add(
        "text",
        format!(
            "{} bytes, {blocks} of {}",
            report.bytes,
            set.blocks_per_batch(report.layout)
        ),
    );
    for (name, path) in [
        ("size of secret key", &files.secret),
        ("size of evaluation key", &files.eval),
        ("size of wrapped AES key", &files.wrapped),
        ("size of AES ciphertext", &files.aes),
        ("size of FHE ciphertexts", &files.fhe),
    ] {
        rows.add(name, size(path)?);
    }
    for (name, time) in outcome.times {
        rows.add(
            &format!("time of {name}"),
            table::seconds(time.as_secs_f64()),
        );
    }
    if outcome.expansion == Expansion::Server {
        let time = table::seconds(report.setup_seconds);
        rows.add(
            "time of key expansion",
            format!("{time}, part of transcipher"),
        );
    }
    rows.add("threads", report.threads.to_string());
    let per_block = report.seconds / report.blocks as f64;
    rows.add("time per block", table::seconds(per_block));
    rows.add(
        "noise left",
        format!(
            "{} above the standard deviation of the noise, {} above the largest measured noise",
            table::quality_left(report.quality),
            table::noise_left(outcome.margin_bits)
        ),
    );
    rows.add(
        "result",
        format!("all {} bytes decrypt to the text", sample.message.len()),
    );
    Ok(rows)
}
