//! CLT14's Table 1.

use crate::args::Papers;
use crate::cmd::sample::random;
use crate::cmd::{cores, named_set};
use crate::console::{self, Failure, refuse};
use crate::progress::spin;
use homaes_dghv::paper::{INSTANCES, Row, measure};
use homaes_dghv::sets::ParamSet;
use homaes_lab::Cells;
use homaes_lab::units::{bytes, digits};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rayon::ThreadPoolBuilder;

/// Columns after the instance. ShiftRows is left out: it takes no time.
const HEAD: &str = "instance||ℓ|pk size|KeyGen|Encrypt|Decrypt|Mult|Convert|\
    AddRoundKey|SubBytes|MixColumns|Total time|Time/AES block";

/// Printed figures of each instance, from column ℓ on.
const PRINTED: [&str; 5] = [
    "9|3.2 MB|0.5s|0.0s|0.0s|0.0s|0.1s|0.0s|1.5s|0.0s|15.1s|1.7s",
    "35|45 MB|11s|0.2s|0.0s|0.0s|0.3s|0.1s|9.9s|0.0s|1min 40s|2.9s",
    "140|704 MB|5min|3s|0.2s|0.0s|2.8s|0.3s|80.5s|0.1s|13min 29s|5.8s",
    "569|11 GB|2h 50min|45s|3.3s|0.1s|33s|2.1s|21min|0.6s|3h 35min|23s",
    "1875|100 GB|213h|5min|24s|0.3s|277s|6.9s|10h 9min|1.6s|102h|195s",
];

/// The printed table, with measured rows up to `args.set`.
pub(super) fn table(args: &Papers) -> Result<Cells, Failure> {
    named_set(&args.set)?;
    let of_table = |set: &&ParamSet| set.name.as_str() == args.set;
    let Some(last) = INSTANCES.iter().position(of_table) else {
        let names: Vec<_> = INSTANCES.iter().map(|set| set.name.as_str()).collect();
        let message = format!(
            "--set {} is not in CLT14's Table 1: {}",
            args.set,
            names.join(", ")
        );
        return refuse(message);
    };
    let threads = args.threads.unwrap_or_else(cores).get();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::system("threads", error))?;
    let mut rows = Vec::new();
    for (number, set) in INSTANCES.into_iter().enumerate() {
        let row = |what: &str, cells: Vec<String>| {
            let front = vec![format!("`{}`", set.name), what.to_owned()];
            [front, cells].concat()
        };
        let printed = PRINTED[number].split('|').map(str::to_owned);
        rows.push(row("printed", printed.collect()));
        if number <= last && !args.quick {
            console::warn_insecure(&named_set(set.name.as_str())?);
            let measured = spin("measuring", || {
                let mut seed = [0; 32];
                random(&mut seed)?;
                let mut rng = ChaCha20Rng::from_seed(seed);
                let row = pool.install(|| measure(set, &mut rng));
                row.map_err(|error| Failure::Work(error.to_string()))
            })?;
            rows.push(row("here", figures(set, &measured)));
        }
    }
    Ok(Cells::of(HEAD, rows))
}

/// Measured figures, from column ℓ on.
fn figures(set: &ParamSet, row: &Row) -> Vec<String> {
    let times = [
        row.keygen,
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
    let mut cells = vec![set.slots.to_string(), bytes(row.key_bytes as u64)];
    cells.extend(times.map(|seconds| format!("{}s", digits(seconds))));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_printed_parameters() {
        // λ, ℓ, ρ, η, γ, Θ
        let printed = [
            [42, 9, 42, 971, 270_000, 135],
            [52, 35, 52, 976, 1_100_000, 525],
            [62, 140, 62, 981, 4_200_000, 2100],
            [72, 569, 72, 986, 15_800_000, 8535],
            [80, 1875, 86, 993, 35_900_000, 28125],
        ];
        for (set, printed) in INSTANCES.into_iter().zip(printed) {
            let lambda = set.lambda.unwrap() as usize;
            let ours = [lambda, set.slots, set.rho, set.eta, set.gamma, set.theta];
            assert_eq!(ours, printed, "{}", set.name);
        }
    }
}
