use super::sample::{AES_FILE, Sample};
use super::{layout_of_set, named_set, set_of_scheme};
use crate::args::{self, Demo};
use crate::console::{self, Failure, fail};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesKey, Devices, Direction, EvalKey, Expansion, KeySet, KeySize, Layout, Output, Report,
    Scheme, SecretKey, Set, Transcipher, WrapOptions, WrappedKey,
};
use std::time::Instant;

const TEXT: &str = "It was encrypted with AES before it came here, and whoever computes on it sees neither key \
                    nor text. ";

const SECRET: &str = "keys/secret.hsk";
const EVAL: &str = "keys/eval.hek";
const WRAPPED: &str = "key.hwk";
const FHE: &str = "text.hct";
const PLAIN: &str = "text";

pub(crate) fn run(args: &Demo) -> Result<(), Failure> {
    let scheme = match (&args.scheme, &args.set) {
        (Some(scheme), _) => *scheme,
        (None, Some(name)) => named_set(name)?.scheme(),
        (None, None) => Scheme::ALL[0],
    };
    let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
    console::warn_insecure(&set);
    let devices = args::Workers::default().devices()?;
    let default = set.default_blocks(layout_of_set(&set, args.layout)?);
    // two blocks show that one follows the other
    let blocks = args.blocks.unwrap_or(default.max(2));
    // not whole blocks: any length is allowed
    let bytes = (16 * blocks - 5) as usize;
    let text = TEXT.bytes().cycle().take(bytes).collect();
    let sample = Sample::new(text, KeySize::Aes128, Direction::Encrypt)?;
    let scratch = Scratch::new()?;
    let rows = whole_way(&set, (args.layout, devices), &sample, &scratch)?;
    console::print(&rows.text())
}

fn whole_way(
    set: &Set,
    (layout, devices): (Option<Layout>, Devices),
    sample: &Sample,
    scratch: &Scratch,
) -> Result<Rows, Failure> {
    let message = sample.file(scratch)?;
    let [fhe, wrapped] = [FHE, WRAPPED].map(|name| scratch.file(name));
    let (mut clock, mut times) = (Instant::now(), Vec::new());
    let mut lap = |what: &'static str| {
        let begin = std::mem::replace(&mut clock, Instant::now());
        times.push((what, begin.elapsed().as_secs_f64()));
    };

    spin("client: making keys", || {
        KeySet::create(set, scratch.file("keys"))
    })?;
    lap("keygen");
    let secret = SecretKey::open(scratch.file(SECRET))?;
    let aes_key = AesKey::from_bytes(&sample.key)?;
    spin("client: wrapping the AES key", || {
        let wrapping = WrapOptions {
            layouts: layout.into_iter().collect(),
            ..WrapOptions::default()
        };
        WrappedKey::create(&secret, &aes_key, &wrapping, &wrapped, false)
    })?;
    lap("wrap-key");

    // the server holds the evaluation key, the wrapped key and the AES ciphertext
    let output = Output::create(&fhe, false)?;
    let (eval, wrapped) = spin("server: loading keys", || {
        let eval = EvalKey::open(scratch.file(EVAL))?;
        let wrapped = WrappedKey::open(&wrapped, &eval)?;
        Ok::<_, homaes::Error>((eval, wrapped))
    })?;
    lap("load keys");
    let follower = Follower::new(args::Progress::Auto);
    let transcipher = Transcipher::new(&eval, &wrapped)?
        .on(devices)
        .warn(console::warn);
    let report = follower.run(transcipher, message, output)?;
    lap("transcipher");

    let output = Output::private(scratch.file(PLAIN), false)?;
    let decrypted = spin("client: decrypting", || secret.decrypt(&fhe, output))?;
    lap("decrypt");
    if scratch.read(PLAIN)? != sample.message {
        return fail("the decrypted text differs from the original; please report this");
    }
    let mut rows = about(set, scratch, &report)?;
    for (name, time) in times {
        rows.add(&format!("time of {name}"), table::seconds(time));
    }
    if wrapped.expansion() == Expansion::Server || wrapped.is_compact() {
        let time = table::seconds(report.setup_seconds) + ", part of transcipher";
        rows.add("time of key expansion", time);
    }
    rows.add("threads", report.threads.to_string());
    let per_block = report.seconds / report.blocks as f64;
    rows.add("time per block", table::seconds(per_block));
    let estimated = table::quality_left(report.quality);
    let measured = table::noise_left(decrypted.margin_bits);
    let left = format!(
        "{estimated} above the standard deviation of the noise, {measured} above the largest measured noise"
    );
    rows.add("noise left", left);
    let bytes = sample.message.len();
    rows.add("result", format!("all {bytes} bytes decrypt to the text"));
    Ok(rows)
}

/// The set, the text and the sizes of all files.
fn about(set: &Set, scratch: &Scratch, report: &Report) -> Result<Rows, Failure> {
    let card = set.card();
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
    Ok(rows)
}
