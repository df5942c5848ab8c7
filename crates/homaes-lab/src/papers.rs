//! Tables of docs/papers.md: figures printed in the papers, and runs of a document.

use crate::cells::{Cells, or_dash};
use crate::document::{Lab, Run};
use crate::units::{rough, short_seconds};
use std::cmp::Reverse;

/// Paper, system, printed seconds per block, and the set and layout that reproduce it.
const SYSTEMS: [&str; 20] = [
    "GHS12 | packed | 2220 | bgv/aes128 packed",
    "GHS12 | byte-sliced | 300 | bgv/aes128 sliced",
    "GHS12 | bit-sliced, S-boxes by norms instead of Boyar and Peralta's circuit | – | bgv/bits128 bits",
    "DHS14 | n = 32768, q = p^41, digits of one bit | 55 | ntru/paper bits",
    "DHS14 | the same, digits of 16 bits | 55 | ntru/paper16 bits",
    "DHS14 | residues, a digit for each prime | 55 | ntru/rns bits",
    "DHS14 | residues, S-boxes of depth 3 | 55 | ntru/rns-depth3 bits",
    "DHS14 | special modulus, three digits | 55 | ntru/hybrid bits",
    "CLT14 | Toy | 1.7 | dghv/toy bits",
    "CLT14 | Small | 2.9 | dghv/small bits",
    "CLT14 | Medium | 5.8 | dghv/medium bits",
    "CLT14 | Large | 23 | dghv/large bits",
    "CLT14 | Extra | 195 | dghv/extra bits",
    "CLT14 | Toy, digits of the paper | 1.7 | dghv/toy-paper bits",
    "CLT14 | Small, digits of the paper | 2.9 | dghv/small-paper bits",
    "CLT14 | Medium, digits of the paper | 5.8 | dghv/medium-paper bits",
    "TBCS23 | trees in base 16, secure parameters | 270 | tfhe/nibble128 sliced",
    "TBCS23 | trees in base 16, the poster's parameters | 270 | tfhe/nibble-paper sliced",
    "later | circuit bootstrapping, failure 2^-64 | 270 | tfhe/p64 bits",
    "later | circuit bootstrapping, failure 2^-128 | 270 | tfhe/p128 bits",
];

/// The runs of AES-128 of a set and layout.
fn runs<'l>(lab: &'l Lab, set: &str, layout: &str) -> impl Iterator<Item = &'l Run> {
    let wanted = move |run: &&Run| (&*run.set, &*run.layout, run.key_bits) == (set, layout, 128);
    lab.runs.iter().filter(wanted)
}

/// Every system of the papers: time per block as printed, and here on most threads.
#[must_use]
pub fn systems(lab: &Lab) -> Cells {
    let row = |system: &&str| {
        let mut cells = system.split(" | ");
        let mut next = || cells.next().unwrap_or_default();
        let (paper, what, printed, place) = (next(), next(), next(), next());
        let printed: Option<f64> = printed.parse().ok();
        let (set, layout) = place.split_once(' ').unwrap_or_default();
        let found = runs(lab, set, layout).max_by_key(|run| (run.threads, Reverse(run.blocks)));
        let here = found.map(Run::seconds_per_block);
        let ratio = printed.zip(here).map(|(printed, here)| printed / here);
        vec![
            paper.to_owned(),
            what.to_owned(),
            format!("`{set}` {layout}"),
            or_dash(printed.map(short_seconds)),
            or_dash(here.map(short_seconds)),
            or_dash(ratio.map(rough)),
        ]
    };
    let head = "paper|system|set|printed|here|ratio";
    Cells::of(head, SYSTEMS.iter().map(row).collect())
}

/// GHS12's three implementations, printed and here on one thread.
#[must_use]
pub fn ghs12(lab: &Lab) -> Cells {
    let ours = [
        ("bgv/aes128", "packed"),
        ("bgv/aes128", "sliced"),
        ("bgv/bits128", "bits"),
    ];
    let ours = ours.map(|(set, layout)| runs(lab, set, layout).find(|run| run.threads == 1));
    let time = |seconds: Option<f64>| seconds.map(short_seconds);
    let round = |run: &Run, number: usize| time(run.rounds.get(number).map(|round| round.seconds));
    let row = |name: &str, printed: [&str; 3], figure: &dyn Fn(&Run) -> Option<String>| {
        let pairs = printed.into_iter().zip(ours);
        let cells =
            pairs.flat_map(|(printed, run)| [printed.to_owned(), or_dash(run.and_then(figure))]);
        [name.to_owned()].into_iter().chain(cells).collect()
    };
    let rows = vec![
        row("Number Levels Needed", ["60", "50", "60"], &|run| {
            Some(run.rounds.first()?.level.to_string())
        }),
        row("Key Generation", ["43mn", "22mn", "20mn"], &|run| {
            time(run.keygen_seconds)
        }),
        row("FHE Encrypt AES State", ["2mn", "25mn", "1h"], &|_| {
            Some("public".into())
        }),
        row(
            "FHE Encrypt AES Key Schedule",
            ["23mn", "4h", "150h"],
            &|run| time(run.wrap_seconds),
        ),
        row("Evaluate AES Round 1", ["7h", "12h", "–"], &|run| {
            round(run, 1)
        }),
        row("Evaluate AES Round 9", ["2h", "5h", "–"], &|run| {
            round(run, 9)
        }),
        row("Evaluate AES Round 10", ["28mn", "4h", "–"], &|run| {
            round(run, 10)
        }),
        row("Evaluate AES Encrypt", ["34h", "65h", "–"], &|run| {
            time(Some(run.seconds))
        }),
        row("Number SIMD Blocks", ["54", "720", "1056"], &|run| {
            Some(run.blocks_per_batch.to_string())
        }),
        row("Time Per Block", ["37mn", "5mn", "–"], &|run| {
            time(Some(run.seconds_per_block()))
        }),
    ];
    let head = "|packed, printed|here|byte-sliced, printed|here|bit-sliced, printed|here";
    Cells::of(head, rows)
}
