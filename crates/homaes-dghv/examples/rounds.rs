//! AES-128 on a full batch of a set whose keys fill a disk and whose rounds take long: it goes on where it was stopped.
//!
//! ```text
//! homaes keygen --set dghv/extra --accept-insecure --resume --out FOLDER
//! cargo run --release -p homaes-dghv --example rounds -- FOLDER
//! ```
//!
//! FOLDER contains `secret.hsk` and `eval.hek`. The example adds `key.hwk`, the wrapped key of the example in FIPS 197,
//! and `state-R`, the state after round R, the last one that was completed. For `dghv/extra` they take 0.7 and 0.6 GB.
//! After each round it decrypts all blocks, compares them, and prints wall and processor seconds, and the noise beside
//! that of the model. At the end it compares the blocks with the crate `aes` too, and prints passes over the key and key
//! bytes read.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use homaes_aes::{Block, Direction, RoundKeys, clear};
use homaes_dghv::{Aes, EvalKey, Params, SecretKey, State, WrappedKey, WrappedKeyFile, sets};
use homaes_scheme::bits::{BitScheme, BitSecret, SboxDepth, decode_batch, encode_batch};
use homaes_scheme::{Cancel, RunOptions};
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

/// FIPS 197, appendix C.1.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const DIRECTION: Direction = Direction::Encrypt;
const ROUNDS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.ok_or("expected the folder with secret.hsk and eval.hek")?;
    let folder = Path::new(&folder);
    let file = |name: &str, kind| Reader::open(folder.join(name), kind);

    let reader = file("secret.hsk", Kind::SecretKey)?;
    let name = reader.header().set().to_owned();
    let set = sets::by_name(&name).ok_or_else(|| format!("no set called {name}"))?;
    let params = Params::new(set)?;
    let secret = SecretKey::read(&params, reader)?;
    let eval = timed("evaluation key", || {
        Ok(EvalKey::open(&params, file("eval.hek", Kind::EvalKey)?)?)
    })?;
    let keys = RoundKeys::expand(&KEY)?;
    if !folder.join("key.hwk").exists() {
        timed("wrapped key", || wrap(&secret, &keys, folder))?;
    }
    let wrapped = WrappedKey::open(&params, file("key.hwk", Kind::WrappedKey)?)?;

    let blocks = (0..params.slots()).map(|i| (i as u128).wrapping_mul(u128::MAX / 1009));
    let blocks: Vec<Block> = blocks.map(u128::to_be_bytes).collect();
    let traces = blocks
        .iter()
        .map(|&block| clear::trace(DIRECTION, block, &keys));
    let traces: Vec<_> = traces.collect();
    let cancel = Cancel::new();
    let mut failed = None;
    let mut started = (Instant::now(), processor_seconds());
    let mut observe = |round: usize, state: &State| {
        let (wall, processor) = (started.0.elapsed().as_secs(), processor_seconds());
        let processor = processor - started.1;
        let found = check(state, round, &secret, &traces);
        let model = state.quality(&params).noise_bits;
        match found {
            Ok(noise) => println!(
                "round {round}: {} blocks right; {wall} s, {processor:.0} s of processors; noise 2^{noise:.2}, by the model 2^{model:.2}",
                traces.len()
            ),
            Err(error) => failed = Some(error),
        }
        if failed.is_none() {
            failed = save(folder, round, &eval, state).err();
        }
        if failed.is_some() {
            cancel.cancel();
        }
        started = (Instant::now(), processor_seconds());
    };
    let aes = Aes::new(&eval, &wrapped)?;
    let run = RunOptions::new(&cancel, &mut observe);
    let last = match saved(folder) {
        None => aes.evaluate_with(&blocks, run),
        Some((round, path)) => {
            println!("goes on after round {round}");
            let level = params.top_level() - SboxDepth::Four.levels() * round;
            let state = decode_batch(&*params, Some(secret.id()), level, &fs::read(path)?)?;
            aes.evaluate_from(round, state, run)
        }
    };
    if let Some(error) = failed {
        return Err(error);
    }
    let found = last?.decrypt(&secret)?.blocks;
    let cipher = aes::Aes128::new(&KEY.into());
    for (block, found) in blocks.iter().zip(found.iter()) {
        let mut expected = (*block).into();
        cipher.encrypt_block(&mut expected);
        if found[..] != expected[..] {
            return Err("a block differs from the crate aes".into());
        }
    }
    println!("all {} blocks as by the crate aes", blocks.len());
    let reading = aes.meter();
    for (what, number) in reading.counts {
        println!("{what}: {number}, rounds of this run");
    }
    for (kernel, seconds) in reading.seconds {
        println!("{kernel}: {seconds:.0} s of all threads, rounds of this run");
    }
    Ok(())
}

fn timed<T>(
    what: &str,
    work: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    let started = Instant::now();
    let done = work()?;
    println!("{what}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(done)
}

/// With a fixed seed: the sets of this scheme protect nothing.
fn wrap(secret: &SecretKey, keys: &RoundKeys, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let wrapped = WrappedKeyFile::generate(secret, keys, DIRECTION, 0, &mut rng)?;
    let unfinished = folder.join("key.hwk.unfinished");
    let mut writer = Writer::new(
        File::create(&unfinished)?,
        homaes_scheme::Records::header(&wrapped)?,
    )?;
    homaes_scheme::file::write(&wrapped, &mut writer)?;
    writer.finish()?.sync_all()?;
    Ok(fs::rename(unfinished, folder.join("key.hwk"))?)
}

/// The noise, as log2 of the root of the mean square over the slots of one ciphertext.
fn check(
    state: &State,
    round: usize,
    secret: &SecretKey,
    traces: &[Vec<Block>],
) -> Result<f64, Box<dyn Error>> {
    let found = state.decrypt(secret)?.blocks;
    for (trace, found) in traces.iter().zip(found.iter()) {
        let expected = match round {
            ROUNDS => trace[round],
            // between two rounds a state is in other coordinates
            _ => trace[round].map(|x| SboxDepth::Four.folding().state(DIRECTION, x)),
        };
        if *found != expected {
            return Err(format!("round {round}: a block is wrong").into());
        }
    }
    let noises = secret.measure_noise(&state.bits()[0]);
    let most = noises.iter().map(|(r, _)| *r).fold(0.0, f64::max);
    let squares = noises.iter().map(|(r, _)| (2.0 * (r - most)).exp2());
    Ok(most + 0.5 * (squares.sum::<f64>() / noises.len() as f64).log2())
}

fn save(folder: &Path, round: usize, eval: &EvalKey, state: &State) -> Result<(), Box<dyn Error>> {
    let unfinished = folder.join("state.unfinished");
    fs::write(&unfinished, encode_batch(eval, state)?)?;
    fs::rename(unfinished, folder.join(format!("state-{round}")))?;
    if let Some(before) = round.checked_sub(1) {
        fs::remove_file(folder.join(format!("state-{before}")))?;
    }
    Ok(())
}

fn saved(folder: &Path) -> Option<(usize, std::path::PathBuf)> {
    let states = (0..=ROUNDS).map(|round| (round, folder.join(format!("state-{round}"))));
    states.rev().find(|(_, path)| path.exists())
}

/// Processor time that this process has taken; 0 on systems without `/proc`.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // after the name: state, then eleven fields, then user and system time in hundredths
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    fields.sum::<f64>() / 100.0
}
