//! `homaes bench dghv --table`: the paper's Table 1, printed and measured.

use super::named_set;
use crate::args::{Bench, Target};
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table;
use homaes::Scheme;
use homaes_dghv::paper::{PRINTED, Row, measure};
use homaes_dghv::sets::ParamSet;
use rand_core::SeedableRng;
use std::fmt::Write as _;
use std::thread::available_parallelism;

/// The largest instance that is measured if none is named.
const DEFAULT: &str = "dghv/small";

pub(super) fn run(args: &Bench) -> Result<(), Failure> {
    if args.target != Target::Scheme(Scheme::Dghv) {
        return Err(Failure::Usage("--table is of 'bench dghv'".into()));
    }
    let largest = args.set.as_deref().unwrap_or(DEFAULT);
    named_set(largest)?;
    let of_table = |(set, _): &(&ParamSet, Row)| set.name.as_str() == largest;
    let Some(last) = PRINTED.iter().position(of_table) else {
        let names: Vec<_> = PRINTED.iter().map(|(set, _)| set.name.as_str()).collect();
        let message = format!("--set {largest} is not in Table 1: {}", names.join(", "));
        return Err(Failure::Usage(message));
    };
    let pool = rayon_pool(args)?;
    let threads = pool.current_num_threads();
    let mut text = format!(
        "Table 1 of Coron, Lepoint, Tibouchi (2014), on 16 cores of 2.9 GHz, and this machine on {}. Times in seconds.\n\n",
        table::count(threads as u64, "thread", "threads")
    );
    text += "| instance | | blocks | keys | KeyGen | Encrypt | Decrypt | Mult | Convert | AddRoundKey | SubBytes | MixColumns | AES | per block |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (number, (set, printed)) in PRINTED.iter().enumerate() {
        add_row(&mut text, set, "paper", printed);
        if number <= last {
            let name = set.name.as_str();
            console::warn_insecure(&named_set(name)?);
            let measured = spin("measuring", || {
                let mut rng = seeded()?;
                let row = pool.install(|| measure(set, &mut rng));
                row.map_err(|error| Failure::Work(error.to_string()))
            })?;
            add_row(&mut text, set, "here", &measured);
        }
    }
    text += "\nKeys: here with the whole public key. SubBytes: here of a whole round but AddRoundKey, as its linear layer is merged into sums of products; MixColumns: those sums.\n";
    console::print(&text)
}

fn rayon_pool(args: &Bench) -> Result<rayon::ThreadPool, Failure> {
    let threads = args.threads.or(available_parallelism().ok());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(1, Into::into));
    pool.build()
        .map_err(|error| Failure::Work(format!("threads: {error}")))
}

fn seeded() -> Result<rand_chacha::ChaCha20Rng, Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Failure::Work(format!("random source: {error}")))?;
    Ok(rand_chacha::ChaCha20Rng::from_seed(seed))
}

fn add_row(text: &mut String, set: &ParamSet, what: &str, row: &Row) {
    let s = |seconds: f64| match seconds {
        s if s >= 100.0 => format!("{s:.0}"),
        s if s >= 1.0 => format!("{s:.1}"),
        0.0 => "0.0".to_owned(),
        s => {
            let digits = format!("{s:.4}");
            digits.trim_end_matches('0').to_owned()
        }
    };
    let times = [
        row.encrypt,
        row.decrypt,
        row.multiply,
        row.convert,
        row.add_round_key,
        row.sub_bytes,
        row.mix_columns,
        row.total,
        row.total / set.slots as f64,
    ];
    let keygen = row.keygen.map_or("-".to_owned(), s);
    let bytes = table::bytes(row.key_bytes as u64);
    let _ = write!(
        text,
        "| {} | {what} | {} | {bytes} | {keygen} |",
        set.name, set.slots
    );
    for time in times {
        let _ = write!(text, " {} |", s(time));
    }
    text.push('\n');
}
