//! A mail of readings under AES-GCM becomes numbers that an ordinary `tfhe` program computes with.
//!
//! A station measures eight quantities and mails a day of records, 32 KiB under AES-128-GCM; it knows nothing of FHE. A
//! client has given a server the AES key under BGV, a bridge key, and the server key of an ordinary `tfhe` program. The
//! server transciphers the mail in one batch, crosses to `tfhe`, and computes on a selection of readings: their
//! maximum, their mean, and whether one is above a threshold. It sees neither readings nor results.
//! ```text
//! record: 8 readings, u16, big-endian = one AES block        mail: 2,048 records = one batch of bgv/bridge128
//!
//! AES-GCM ─► AES under BGV ─► lifted and read ─► mail.hlw ─► 2 FheUint8 a reading ─► FheUint16 ─► maximum, mean, alarm
//!            homaes::Transcipher across a BridgeKey          homaes::read_fheuint8      the API of tfhe
//! ```
//!
//! ```text
//! cargo run --release -p homaes --features tfhe-rs --example fheuint8_mail
//! ```
//!
//! It takes a minute or two, 3 GiB of memory and 1.3 GB of disk in the folder for temporary files. The keys of `tfhe`
//! have its default parameters. The program prints the wall time of every stage, and fails if a result differs from
//! that in the clear.
//!
//! Nobody checks the GCM tag, because that takes the AES key and the message in the clear. The client could check it
//! with `homaes decrypt --key-file` on results that stay in BGV. The choice of records is public.

use aes_gcm::aead::Aead;
use aes_gcm::{Aes128Gcm, KeyInit};
use homaes::{
    AesFile, AesKey, BridgeKey, KeySet, Output, Set, Transcipher, WrapOptions, WrappedKey,
    read_fheuint8,
};
use homaes_tfhe::interop::join_be;
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use tfhe::prelude::{CastFrom, FheDecrypt, FheMax, FheOrd};
use tfhe::{ConfigBuilder, FheBool, FheUint16, FheUint32, generate_keys, set_server_key};

const SET: &str = "bgv/bridge128";
/// One AES block each.
const RECORDS: usize = 2048;
const QUANTITIES: usize = 8;
/// The selected quantity.
const QUANTITY: usize = 3;
/// The selected records, from the afternoon. Their number is a power of two, so that the mean is a shift.
const SELECTED: Range<usize> = 1200..1216;
/// A higher reading raises the alarm.
const THRESHOLD: u16 = 61_000;

type Record = [u16; QUANTITIES];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let mut aes_key = [0; 16];
    getrandom::fill(&mut aes_key)?;

    println!("station");
    let records = measured()?;
    stage("AES-128-GCM", || mail(&aes_key, &records, &at("mail")))?;

    println!("\nclient, once");
    let set = Set::named(SET)?;
    let (client, server) = stage("keys of tfhe", || {
        generate_keys(ConfigBuilder::default().build())
    });
    // one BGV key in five does not fit and is drawn again
    let (keys, bridge) = stage("keys of BGV and the bridge", || {
        let mut bridge = None;
        let keys = KeySet::generate_fit(&set, &mut |key| {
            bridge = Some(BridgeKey::to_client(key, &client)?);
            Ok(())
        });
        keys.map(|keys| (keys, bridge))
    })?;
    let bridge = bridge.ok_or("no bridge key was made")?;
    let aes_key = AesKey::from_bytes(&aes_key)?;
    let wrapped = stage("AES key under BGV", || {
        WrappedKey::encrypt(&keys.secret, &aes_key, &WrapOptions::default())
    })?;

    println!("\nserver");
    let mail = AesFile::open_with_nonce(at("mail"))?;
    let run = Transcipher::new(&keys.eval, &wrapped)?.via_bridge(&bridge)?;
    let report = stage("AES and crossing", || {
        run.run(mail, Output::create(at("mail.hlw"), false)?)
    })?;
    let (bytes, batches) = (report.bytes, report.batches);
    println!(
        "    {bytes} bytes, {} blocks in {batches} batch",
        report.blocks
    );
    let selected = stage("selection as FheUint16", || selection(&at("mail.hlw")))?;
    set_server_key(server);
    let values = selected.iter().cloned();
    let maximum = stage("maximum", || values.reduce(|a, b| a.max(&b)));
    let maximum = maximum.ok_or("no readings")?;
    let mean = stage("mean", || mean(&selected));
    let alarm: FheBool = stage("alarm", || maximum.gt(THRESHOLD));

    println!("\nclient");
    let (maximum, mean, alarm): (u16, u16, bool) = stage("decryption", || {
        (
            maximum.decrypt(&client),
            mean.decrypt(&client),
            alarm.decrypt(&client),
        )
    });

    let clear: Vec<u16> = records[SELECTED]
        .iter()
        .map(|record| record[QUANTITY])
        .collect();
    let most = clear.iter().copied().max().ok_or("no readings")?;
    let sum: u32 = clear.iter().copied().map(u32::from).sum();
    let wanted = (most, (sum / clear.len() as u32) as u16, most > THRESHOLD);
    println!("\n{:<9} {:>8} {:>14}", "", "found", "in the clear");
    println!("{:<9} {maximum:>8} {:>14}", "maximum", wanted.0);
    println!("{:<9} {mean:>8} {:>14}", "mean", wanted.1);
    println!("{:<9} {alarm:>8} {:>14}\n", "alarm", wanted.2);
    match (maximum, mean, alarm) == wanted {
        true => Ok(()),
        false => Err("the results are wrong".into()),
    }
}

/// Readings wander around 40,000; in half of the runs the selection has a peak.
fn measured() -> Result<Vec<Record>, getrandom::Error> {
    let mut noise = vec![0; 2 * RECORDS * QUANTITIES + 1];
    getrandom::fill(&mut noise)?;
    let (peak, noise) = noise.split_at(1);
    let mut last: Record = [40_000; QUANTITIES];
    let mut records: Vec<Record> = Vec::with_capacity(RECORDS);
    for bytes in noise.chunks_exact(2 * QUANTITIES) {
        for (x, step) in last.iter_mut().zip(bytes.chunks_exact(2)) {
            let step = i32::from(step[0]) - i32::from(step[1]);
            *x = (i32::from(*x) + step).clamp(20_000, 60_000) as u16;
        }
        records.push(last);
    }
    if peak[0] % 2 == 1 {
        records[SELECTED.start + 5][QUANTITY] = THRESHOLD + 321;
    }
    Ok(records)
}

/// The file of the station: nonce, records under AES-128-GCM, tag.
fn mail(key: &[u8; 16], records: &[Record], path: &Path) -> Result<(), Box<dyn Error>> {
    let mut nonce = [0; 12];
    getrandom::fill(&mut nonce)?;
    let message: Vec<u8> = records
        .as_flattened()
        .iter()
        .flat_map(|x| x.to_be_bytes())
        .collect();
    let sealed = Aes128Gcm::new(key.into()).encrypt(&nonce.into(), &message[..]);
    let sealed = sealed.map_err(|error| error.to_string())?;
    std::fs::write(path, [&nonce[..], &sealed].concat())?;
    Ok(())
}

/// Two bytes per reading.
fn selection(values: &Path) -> Result<Vec<FheUint16>, homaes::Error> {
    let mut out = Vec::new();
    let record = 2 * QUANTITIES;
    let bytes = record * SELECTED.start..record * SELECTED.end;
    let mut bytes = read_fheuint8(values, None, bytes.start as u64..bytes.end as u64)?.into_iter();
    while let Some(high) = bytes.next() {
        out.extend(bytes.next().map(|low| join_be(high, low)));
    }
    Ok(out.into_iter().skip(QUANTITY).step_by(QUANTITIES).collect())
}

/// The number of values must be a power of two, at most 65,536.
fn mean(values: &[FheUint16]) -> FheUint16 {
    let wide: Vec<FheUint32> = values.iter().cloned().map(FheUint32::cast_from).collect();
    let sum: FheUint32 = wide.iter().sum();
    FheUint16::cast_from(sum >> values.len().ilog2())
}

/// Runs a stage and prints its time.
fn stage<T>(name: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    println!("  {name}: {:.3} s", start.elapsed().as_secs_f64());
    out
}
