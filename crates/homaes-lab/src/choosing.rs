//! docs/choosing.md: which set for which need, with what was measured.

use crate::cells::Cells;
use crate::document::{Lab, Run};
use crate::units::{bytes, digits, short_seconds};

/// A need and the set for it.
struct Choice {
    need: &'static str,
    set: &'static str,
    layout: &'static str,
}

const fn choice(need: &'static str, set: &'static str, layout: &'static str) -> Choice {
    Choice { need, set, layout }
}

const CHOICES: [Choice; 6] = [
    choice(
        "files of some kilobytes and more, at the highest speed",
        "bgv/aes128",
        "sliced",
    ),
    choice("messages of up to 2 KiB, soon", "bgv/aes128", "packed"),
    choice(
        "to multiply on the result: search, comparison, statistics",
        "bgv/aes128+8",
        "sliced",
    ),
    choice("AES-256", "bgv/aes256", "sliced"),
    choice(
        "to compute on the result without an end",
        "tfhe/p64",
        "bits",
    ),
    choice(
        "the same, failing with probability 2^-128 at most",
        "tfhe/p128",
        "bits",
    ),
];

const COMPARISONS: [Choice; 5] = [
    choice("BGV bit by bit, as in GHS12", "bgv/bits128", "bits"),
    choice(
        "TFHE by trees of tables, as in TBCS23",
        "tfhe/nibble128",
        "sliced",
    ),
    choice(
        "NTRU (DHS14), which plain LLL breaks",
        "ntru/hybrid",
        "bits",
    ),
    choice(
        "DGHV (CLT14), the paper's smallest instance",
        "dghv/toy",
        "bits",
    ),
    choice("DGHV (CLT14), the next one", "dghv/small", "bits"),
];

/// The page, with the figures of a document.
#[must_use]
pub fn choosing(lab: &Lab) -> String {
    let head = [
        "you want",
        "take",
        "ready",
        "one block",
        "per block, full message",
        "on one thread",
        "full message",
        "keys for the server, once",
        "results per byte",
        "memory",
    ];
    let table = |choices: &[Choice]| {
        let rows = choices.iter().map(|choice| row(lab, choice));
        Cells::new(&head, rows.collect()).markdown()
    };
    let machine = &lab.machine;
    format!(
        "\
# Choosing a set

Measured on: {}, {} cores, all of them in use where the table does not say otherwise; {}. Every figure, with its spread and its command, is in [BENCHMARKS.md](../BENCHMARKS.md); every set with its
security is in [PARAMETERS.md](../PARAMETERS.md). This page is generated: `UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::`.

## For data that matter

All of these sets are estimated at more than 128 bits of security, attacks with rotations included.

{}
*Ready*: reading the keys and expanding the AES key, once for each run of `transcipher`. *One block*: evaluating a message of 16 bytes, after that. *Keys for the server*: evaluation key and wrapped AES key of the layout. *Results per byte*: FHE bytes for each byte of a full message.
A dash: this measurement had no time for it; `homaes bench` has.

- **BGV or TFHE?** BGV evaluates up to 2048 blocks at once, at milliseconds for each; a single block takes as long as all of its batch. What is left to compute afterwards is fixed by the set: `+k` in its name means that k multiplications, one after the
  other, are left. TFHE takes seconds for each block, and its results are fresh: any program of TFHE can go on with them, as long as it likes.
- **Sliced or packed?** `wrap-key` makes keys for both, and `transcipher` takes the cheaper one for the length of the file. Packed batches hold 128 blocks.
- **Many short messages?** Each file is evaluated by itself, in batches of its own. Put records into one file, under one counter or nonce, where you can: 10,000 records of 100 bytes are one file of 62,500 blocks, 31 sliced batches.
- **How long is the AES key?** Sets are named after the AES key that they are made for; most carry longer ones with fewer levels left, and shorter ones with more. AES-192 and AES-256 take 12 and 14 rounds in place of 10, from a longer chain of moduli.
- **How rarely may it fail?** Every secure set decrypts a batch wrongly with probability 2^-64 or less; `tfhe/p128` with 2^-128 or less. Who shows decryptions to others needs more care than that: [security.md](security.md).

## To compare with the papers

{}
Sets of NTRU and DGHV protect nothing, and say so each time they are used. The papers' figures stand beside ours in [tables.md](tables.md).
",
        machine.processor,
        machine.cores,
        lab.date.split('T').next().unwrap_or_default(),
        table(&CHOICES),
        table(&COMPARISONS),
    )
}

fn row(lab: &Lab, choice: &Choice) -> Vec<String> {
    let Choice { need, set, layout } = choice;
    let runs = || {
        lab.runs
            .iter()
            .filter(|run| run.set == *set && run.layout == *layout)
    };
    let most = runs().max_by_key(|run| (run.threads, std::cmp::Reverse(run.blocks)));
    let one = runs().find(|run| run.threads == 1);
    let of =
        |run: Option<&Run>, figure: &dyn Fn(&Run) -> String| run.map_or_else(|| "–".into(), figure);
    vec![
        (*need).to_owned(),
        format!("`{set}`, {layout}"),
        of(most, &|run| {
            run.ready_seconds()
                .map_or_else(|| "–".into(), short_seconds)
        }),
        of(most, &|run| {
            short_seconds(run.latency_seconds.unwrap_or(run.seconds))
        }),
        of(most, &|run| short_seconds(run.seconds_per_block())),
        of(one, &|run| short_seconds(run.seconds_per_block())),
        of(most, &|run| bytes(16 * run.blocks)),
        of(most, &|run| {
            bytes(run.eval_key_bytes + run.wrapped_key_bytes)
        }),
        of(most, &|run| digits(run.ciphertext_bytes_per_byte)),
        of(most, &|run| {
            run.peak_rss_bytes.map_or_else(|| "–".into(), bytes)
        }),
    ]
}
