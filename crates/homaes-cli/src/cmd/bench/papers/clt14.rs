//! CLT14's Table 1.

use super::{pool, seed};
use crate::args::Papers;
use crate::cmd::named_set;
use crate::console::{self, Failure};
use crate::progress::spin;
use homaes_dghv::paper::{INSTANCES, Row, measure};
use homaes_dghv::sets::ParamSet;
use homaes_lab::Cells;
use homaes_lab::units::{bytes, digits};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Columns of the second table after the instance.
const HEAD: [&str; 15] = [
    "instance",
    "",
    "ℓ",
    "pk size",
    "KeyGen",
    "Encrypt",
    "Decrypt",
    "Mult",
    "Convert",
    "AddRoundKey",
    "SubBytes",
    "ShiftRows",
    "MixColumns",
    "Total time",
    "Time/AES block",
];

/// What the paper prints after ℓ.
const TIMES: [[&str; 12]; 5] = [
    [
        "3.2 MB", "0.5s", "0.0s", "0.0s", "0.0s", "0.1s", "0.0s", "1.5s", "0.0s", "0.0s", "15.1s",
        "1.7s",
    ],
    [
        "45 MB", "11s", "0.2s", "0.0s", "0.0s", "0.3s", "0.1s", "9.9s", "0.0s", "0.0s", "1min 40s",
        "2.9s",
    ],
    [
        "704 MB",
        "5min",
        "3s",
        "0.2s",
        "0.0s",
        "2.8s",
        "0.3s",
        "80.5s",
        "0.0s",
        "0.1s",
        "13min 29s",
        "5.8s",
    ],
    [
        "11 GB", "2h 50min", "45s", "3.3s", "0.1s", "33s", "2.1s", "21min", "0.0s", "0.6s",
        "3h 35min", "23s",
    ],
    [
        "100 GB", "213h", "5min", "24s", "0.3s", "277s", "6.9s", "10h 9min", "0.1s", "1.6s",
        "102h", "195s",
    ],
];

/// What it prints of parameters: λ, ℓ, ρ, η, γ · 10^-6, τ and Θ.
const PARAMETERS: [[&str; 6]; 5] = [
    ["42", "9", "42", "971", "0.27", "135"],
    ["52", "35", "52", "976", "1.1", "525"],
    ["62", "140", "62", "981", "4.2", "2100"],
    ["72", "569", "72", "986", "15.8", "8535"],
    ["80", "1875", "86", "993", "35.9", "28125"],
];

pub(super) fn text(args: &Papers) -> Result<String, Failure> {
    named_set(&args.set)?;
    let of_table = |set: &&ParamSet| set.name.as_str() == args.set;
    let Some(last) = INSTANCES.iter().position(of_table) else {
        let names: Vec<_> = INSTANCES.iter().map(|set| set.name.as_str()).collect();
        let message = format!(
            "--set {} is not in CLT14's Table 1: {}",
            args.set,
            names.join(", ")
        );
        return Err(Failure::Usage(message));
    };
    let threads = args
        .threads
        .or(available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let pool = pool(threads)?;
    let (mut parameters, mut rows) = (Vec::new(), Vec::new());
    for (number, set) in INSTANCES.into_iter().enumerate() {
        let words = |printed: &[&str]| {
            printed
                .iter()
                .map(|&cell| cell.to_owned())
                .collect::<Vec<_>>()
        };
        let front = |what: &str| vec![format!("`{}`", set.name), what.to_owned()];
        parameters.push([front("printed"), words(&PARAMETERS[number])].concat());
        parameters.push([front("here"), of_set(set)].concat());
        let slots = vec![set.slots.to_string()];
        rows.push([front("printed"), slots.clone(), words(&TIMES[number])].concat());
        if number <= last && !args.quick {
            console::warn_insecure(&named_set(set.name.as_str())?);
            let measured = spin("measuring", || {
                let mut rng = ChaCha20Rng::from_seed(seed()?);
                let row = pool.install(|| measure(set, &mut rng));
                row.map_err(|error| Failure::Work(error.to_string()))
            })?;
            rows.push([front("here"), slots, times(set, &measured)].concat());
        }
    }
    let head = ["instance", "", "λ", "ℓ", "ρ", "η", "γ · 10^-6", "τ, Θ"];
    Ok(format!(
        "Printed: Table 1, on 16 cores of an Intel Xeon E5-2690, 2.9 GHz, with GMP; here on {threads} threads, by this command. Θ: here of a conversion; the public key of this measurement has another τ ([clt14.md](clt14.md)).\n\n{}\n\
         Size: here the evaluation key and a public key, which only this measurement makes. Convert: one of a pass of 128. SubBytes: here a whole round but AddRoundKey, as its linear layer is merged into \
         sums of products; MixColumns: those sums; ShiftRows: renumbering, no work. Whole runs up to Extra, and remarks: [clt14.md](clt14.md).\n\n{}",
        Cells::new(&head, parameters).markdown(),
        Cells::new(&HEAD, rows).markdown()
    ))
}

/// The parameters of a set, in the order of [`PARAMETERS`].
fn of_set(set: &ParamSet) -> Vec<String> {
    let ParamSet {
        lambda,
        slots,
        rho,
        eta,
        gamma,
        theta,
        ..
    } = set;
    let lambda = lambda.map_or("–".to_owned(), |bits| bits.to_string());
    let gamma = digits(*gamma as f64 / 1e6);
    let others = [slots, rho, eta].map(ToString::to_string);
    let mut row = vec![lambda];
    row.extend(others);
    row.extend([gamma, theta.to_string()]);
    row
}

/// A measured row, in the order of [`TIMES`].
fn times(set: &ParamSet, row: &Row) -> Vec<String> {
    let s = |seconds: f64| format!("{}s", digits(seconds));
    let times = [
        row.encrypt,
        row.decrypt,
        row.multiply,
        row.convert,
        row.add_round_key,
        row.sub_bytes,
        0.0,
        row.mix_columns,
        row.total,
        row.total / set.slots as f64,
    ];
    let mut cells = vec![bytes(row.key_bytes as u64), s(row.keygen)];
    cells.extend(times.map(s));
    cells
}
