use super::sample::{AES_FILE, Sample};
use super::{layout_of_set, named_set, set_of_scheme};
use crate::args::{self, Demo};
use crate::console::{self, Failure};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesKey, Direction, EvalKey, Expansion, KeySet, KeySize, Layout, Output, Report, Scheme,
    SecretKey, Set, Transcipher, WrapOptions, WrappedKey,
};
use std::time::{Duration, Instant};

const TEXT: &str = "It was encrypted with AES before it came here, and whoever computes on it sees neither key \
                    nor text. ";

const SECRET: &str = "keys/secret.hsk";
const EVAL: &str = "keys/eval.hek";
const WRAPPED: &str = "key.hwk";
const FHE: &str = "text.hct";
const PLAIN: &str = "text";

struct Outcome {
    times: [(&'static str, Duration); 5],
    expansion: Expansion,
    report: Report,
    margin_bits: Option<f64>,
}

pub(crate) fn run(args: &Demo) -> Result<(), Failure> {
    let scheme = match (&args.scheme, &args.set) {
        (Some(scheme), _) => *scheme,
        (None, Some(name)) => named_set(name)?.scheme(),
        (None, None) => Scheme::ALL[0],
    };
    let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
    console::warn_insecure(&set);
    let default = set.default_blocks(layout_of_set(&set, args.layout)?);
    // two blocks show that one follows the other
    let blocks = args.blocks.unwrap_or(default.max(2));
    // not whole blocks: any length is allowed
    let bytes = (16 * blocks - 5) as usize;
    let text = TEXT.bytes().cycle().take(bytes).collect();
    let sample = Sample::new(text, KeySize::Aes128, Direction::Encrypt)?;
    let scratch = Scratch::new()?;
    let outcome = whole_way(&set, args.layout, &sample, &scratch)?;
    if scratch.read(PLAIN)? != sample.message {
        return Err(Failure::Work(
            "the decrypted text differs from the original; please report this".into(),
        ));
    }
    console::print(&rows(&set, &sample, &scratch, &outcome)?.text())
}

fn whole_way(
    set: &Set,
    layout: Option<Layout>,
    sample: &Sample,
    scratch: &Scratch,
) -> Result<Outcome, Failure> {
    let message = sample.file(scratch)?;
    let [fhe, wrapped] = [FHE, WRAPPED].map(|name| scratch.file(name));
    let mut clock = Instant::now();
    let mut lap = || {
        let now = Instant::now();
        now - std::mem::replace(&mut clock, now)
    };

    spin("client: making keys", || {
        KeySet::create(set, scratch.file("keys"))
    })?;
    let keygen = lap();
    let secret = SecretKey::open(scratch.file(SECRET))?;
    let aes_key = AesKey::from_bytes(&sample.key)?;
    spin("client: wrapping the AES key", || {
        let wrapping = WrapOptions {
            layouts: layout.into_iter().collect(),
            ..WrapOptions::default()
        };
        WrappedKey::create(&secret, &aes_key, &wrapping, &wrapped, false)
    })?;
    let wrap = lap();

    // the server holds the evaluation key, the wrapped key and the AES ciphertext
    let output = Output::create(&fhe, false)?;
    let (eval, wrapped) = spin("server: loading keys", || {
        let eval = EvalKey::open(scratch.file(EVAL))?;
        let wrapped = WrappedKey::open(&wrapped, &eval)?;
        Ok::<_, homaes::Error>((eval, wrapped))
    })?;
    let load = lap();
    let mut follower = Follower::new(args::Progress::Auto);
    let report = Transcipher::new(&eval, &wrapped)?
        .watch(|event| follower.event(event))
        .run(message, output)?;
    follower.finish(&report);
    let run = lap();

    let output = Output::private(scratch.file(PLAIN), false)?;
    let decrypted = spin("client: decrypting", || secret.decrypt(&fhe, output))?;
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

fn rows(set: &Set, sample: &Sample, scratch: &Scratch, outcome: &Outcome) -> Result<Rows, Failure> {
    let (card, report) = (set.card(), &outcome.report);
    let mut rows = Rows::default();
    rows.add("set", set.name());
    rows.add("security", table::security(card));
    rows.add("p_fail", format!("2^{:.1} per batch", card.log2_p_fail));
    rows.add("cipher", format!("AES-128-CTR, layout {}", report.layout));
    let blocks = table::blocks(report.blocks, report.batches);
    let (bytes, each) = (report.bytes, set.blocks_per_batch(report.layout));
    rows.add("text", format!("{bytes} bytes, {blocks} of {each}"));
    for (name, file) in [
        ("size of secret key", SECRET),
        ("size of evaluation key", EVAL),
        ("size of wrapped AES key", WRAPPED),
        ("size of AES ciphertext", AES_FILE),
        ("size of FHE ciphertexts", FHE),
    ] {
        rows.add(name, table::bytes(scratch.bytes(file)?));
    }
    for (name, time) in outcome.times {
        let time = table::seconds(time.as_secs_f64());
        rows.add(&format!("time of {name}"), time);
    }
    if outcome.expansion == Expansion::Server {
        let time = table::seconds(report.setup_seconds) + ", part of transcipher";
        rows.add("time of key expansion", time);
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
    let bytes = sample.message.len();
    rows.add("result", format!("all {bytes} bytes decrypt to the text"));
    Ok(rows)
}
