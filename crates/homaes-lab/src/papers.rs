//! What the papers print, with the places where they print it.

use crate::cells::Cells;
use crate::document::{Lab, Run};
use crate::units::{rough, short_seconds};

/// A published measurement of AES-128 under FHE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Short name of the paper.
    pub paper: &'static str,
    /// Which of its measurements.
    pub what: &'static str,
    /// As the first part of our sets' names.
    pub scheme: &'static str,
    /// Time of one evaluation.
    pub latency_seconds: f64,
    /// The same over its blocks, as printed where it is.
    pub seconds_per_block: f64,
    /// Where it was measured.
    pub machine: &'static str,
    /// Where it is printed.
    pub source: &'static str,
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;

const GHS12: Point = Point {
    paper: "GHS12",
    what: "",
    scheme: "bgv",
    latency_seconds: 0.0,
    seconds_per_block: 0.0,
    machine: "one core, 256 GB",
    source: "slides, Results",
};

const DHS14: Point = Point {
    paper: "DHS14",
    scheme: "ntru",
    machine: "Intel Xeon, 2.9 GHz",
    source: "Table 3",
    ..GHS12
};

const CLT14: Point = Point {
    paper: "CLT14",
    scheme: "dghv",
    machine: "Intel Xeon E5-2690, 2.9 GHz, 16 cores",
    source: "Table 1",
    ..GHS12
};

const TBCS23: Point = Point {
    paper: "TBCS23",
    scheme: "tfhe",
    source: "Results",
    ..GHS12
};

/// A message of one block.
const fn single(what: &'static str, machine: &'static str, seconds: f64) -> Point {
    Point {
        what,
        machine,
        latency_seconds: seconds,
        seconds_per_block: seconds,
        ..TBCS23
    }
}

const fn batch(
    of: Point,
    what: &'static str,
    latency_seconds: f64,
    seconds_per_block: f64,
) -> Point {
    Point {
        what,
        latency_seconds,
        seconds_per_block,
        ..of
    }
}

/// The published points.
pub const POINTS: [Point; 16] = [
    batch(GHS12, "packed", 34.0 * HOUR, 37.0 * MINUTE),
    batch(GHS12, "byte-sliced", 65.0 * HOUR, 5.0 * MINUTE),
    batch(DHS14, "n=27000", 27.0 * HOUR, 54.0),
    batch(DHS14, "n=32768", 31.0 * HOUR, 55.0),
    batch(CLT14, "Toy", 15.1, 1.7),
    batch(CLT14, "Small", 100.0, 2.9),
    batch(CLT14, "Medium", 13.0 * MINUTE + 29.0, 5.8),
    batch(CLT14, "Large", 3.0 * HOUR + 35.0 * MINUTE, 23.0),
    batch(CLT14, "Extra", 102.0 * HOUR, 195.0),
    single("laptop 1 thread", "i7 laptop, 1 thread", 270.0),
    single("laptop 6 threads", "i7 laptop, 6 threads", 54.31),
    single("AMD 1 thread", "AMD server, 1 thread", 342.0),
    single("AMD 16 threads", "AMD server, 16 threads", 36.39),
    single("i7 16 threads", "\"i7-server\", 16 threads", 28.73),
    Point {
        paper: "Mella, Susella",
        scheme: "bgv",
        ..single("2013", "1 thread", 22.0 * MINUTE)
    },
    Point {
        paper: "Stracovsky et al.",
        ..single("2022", "16 threads", 252.0)
    },
];

/// The run of a set and layout on this many threads, or else on any.
fn run<'l>(lab: &'l Lab, set: &str, layout: &str, threads: usize) -> Option<&'l Run> {
    let of = |run: &&Run| run.set == set && run.layout == layout && run.key_bits == 128;
    let mut runs = lab.runs.iter().filter(of);
    let exact = runs
        .clone()
        .find(|run| run.threads == threads && run.blocks < 32);
    exact
        .or_else(|| runs.clone().find(|run| run.threads == threads))
        .or_else(|| runs.next())
}

/// GHS12's three implementations, as printed and as run here.
#[must_use]
pub fn ghs12(lab: &Lab) -> Cells {
    let ours = [
        run(lab, "bgv/aes128", "packed", 1),
        run(lab, "bgv/aes128", "sliced", 1),
        run(lab, "bgv/bits128", "bits", 1),
    ];
    let round =
        |number: usize| move |run: &Run| Some(short_seconds(run.rounds.get(number)?.seconds));
    let seconds = |value: Option<f64>| value.map(short_seconds);
    type Figure = Box<dyn Fn(&Run) -> Option<String>>;
    let rows: [(&str, [&str; 3], Figure); 10] = [
        (
            "Number Levels Needed",
            ["60", "50", "60"],
            Box::new(|run| Some(run.rounds.first()?.level.to_string())),
        ),
        (
            "Key Generation",
            ["43mn", "22mn", "20mn"],
            Box::new(move |run| seconds(run.keygen_seconds)),
        ),
        (
            "FHE Encrypt AES State",
            ["2mn", "25mn", "1h"],
            Box::new(|_| Some("public".into())),
        ),
        (
            "FHE Encrypt AES Key Schedule",
            ["23mn", "4h", "150h"],
            Box::new(move |run| seconds(run.wrap_seconds)),
        ),
        (
            "Evaluate AES Round 1",
            ["7h", "12h", ""],
            Box::new(round(1)),
        ),
        ("Evaluate AES Round 9", ["2h", "5h", ""], Box::new(round(9))),
        (
            "Evaluate AES Round 10",
            ["28mn", "4h", ""],
            Box::new(round(10)),
        ),
        (
            "Evaluate AES Encrypt",
            ["34h", "65h", ""],
            Box::new(|run| Some(short_seconds(run.seconds))),
        ),
        (
            "Number SIMD Blocks",
            ["54", "720", "1056"],
            Box::new(|run| Some(run.blocks_per_batch.to_string())),
        ),
        (
            "Time Per Block",
            ["37mn", "5mn", ""],
            Box::new(|run| Some(short_seconds(run.seconds_per_block()))),
        ),
    ];
    let rows = rows.into_iter().map(|(name, printed, figure)| {
        let mut row = vec![name.to_owned()];
        for (printed, run) in printed.into_iter().zip(ours) {
            row.push(if printed.is_empty() {
                "not printed".into()
            } else {
                printed.into()
            });
            row.push(run.and_then(&figure).unwrap_or_else(|| "–".into()));
        }
        row
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let source = |run: Option<&Run>| run.map_or_else(|| "not in the document".into(), source);
    let mut last = vec!["source".to_owned()];
    for run in ours {
        last.extend(["slides, Results".to_owned(), source(run)]);
    }
    rows.push(last);
    Cells::new(
        &[
            "",
            "packed, printed",
            "here",
            "byte-sliced, printed",
            "here",
            "bit-sliced, printed",
            "here",
        ],
        rows,
    )
}

/// The command that repeats a run.
fn source(run: &Run) -> String {
    format!("`{}`", run.command())
}

/// TBCS23's times of one block, printed and here, with the ratio to the fastest printed one.
#[must_use]
pub fn tbcs23(lab: &Lab) -> Cells {
    const FASTEST: f64 = 28.73;
    let printed = [
        ["i7-laptop (1 thread)", "4.5 mins = 270 secs", "9.4"],
        ["i7-laptop (6 threads)", "54.31 secs", "1.9"],
        ["AMD-server (1 thread)", "5.7 mins = 342 secs", "11.9"],
        ["AMD-server (16 threads)", "36.39 secs", "1.3"],
        ["\"i7-server\" (16 threads)", "28.73 secs", "1"],
        ["Gentry et al. (1 thread)", "18 mins", "37.6"],
        ["Mella and Susella (1 thread)", "22 mins", "45.9"],
        [
            "Stracovsky et al. (16 threads)",
            "4.2 mins = 252 secs",
            "8.8",
        ],
    ];
    let row = |cells: [&str; 3]| {
        let source = ["poster, Results"];
        cells.into_iter().chain(source).map(str::to_owned).collect()
    };
    let mut rows: Vec<Vec<String>> = printed.into_iter().map(row).collect();
    for (set, layout) in [
        ("tfhe/nibble128", "sliced"),
        ("tfhe/nibble-paper", "sliced"),
        ("tfhe/p64", "bits"),
        ("tfhe/p128", "bits"),
    ] {
        let most = lab.machine.cores.max(1);
        let mut threads = vec![1, most];
        threads.dedup();
        for threads in threads {
            let found = run(lab, set, layout, threads).filter(|run| run.threads == threads);
            let name = format!(
                "here: {set}, {threads} thread{}",
                if threads == 1 { "" } else { "s" }
            );
            rows.push(match found {
                Some(run) => vec![
                    name,
                    short_seconds(run.seconds),
                    format!("{:.2}", run.seconds / FASTEST),
                    source(run),
                ],
                None => vec![name, "–".into(), "–".into(), "not in the document".into()],
            });
        }
    }
    Cells::new(&["", "time of a block", "ratio", "source"], rows)
}

/// A system of one of the papers, with the set that runs it.
struct System {
    paper: &'static str,
    what: &'static str,
    set: &'static str,
    layout: &'static str,
    /// Whether the set protects nothing.
    insecure: bool,
}

const SYSTEMS: [System; 20] = {
    const fn system(
        paper: &'static str,
        what: &'static str,
        set: &'static str,
        layout: &'static str,
        insecure: bool,
    ) -> System {
        System {
            paper,
            what,
            set,
            layout,
            insecure,
        }
    }
    [
        system("GHS12", "packed", "bgv/aes128", "packed", false),
        system("GHS12", "byte-sliced", "bgv/aes128", "sliced", false),
        system(
            "GHS12",
            "bit-sliced, norm of S-boxes in place of Boyar and Peralta's circuit",
            "bgv/bits128",
            "bits",
            false,
        ),
        system(
            "DHS14",
            "n = 32768, q = p^41, digits of one bit",
            "ntru/paper",
            "bits",
            true,
        ),
        system(
            "DHS14",
            "the same, digits of 16 bits",
            "ntru/paper16",
            "bits",
            true,
        ),
        system(
            "DHS14",
            "in residues, a digit for each prime",
            "ntru/rns",
            "bits",
            true,
        ),
        system(
            "DHS14",
            "in residues, S-boxes of depth 3",
            "ntru/rns-depth3",
            "bits",
            true,
        ),
        system(
            "DHS14",
            "special modulus, three digits",
            "ntru/hybrid",
            "bits",
            true,
        ),
        system("CLT14", "Toy", "dghv/toy", "bits", true),
        system("CLT14", "Small", "dghv/small", "bits", true),
        system("CLT14", "Medium", "dghv/medium", "bits", true),
        system("CLT14", "Large", "dghv/large", "bits", true),
        system("CLT14", "Extra", "dghv/extra", "bits", true),
        system(
            "CLT14",
            "Toy, digits of the paper",
            "dghv/toy-paper",
            "bits",
            true,
        ),
        system(
            "CLT14",
            "Small, digits of the paper",
            "dghv/small-paper",
            "bits",
            true,
        ),
        system(
            "CLT14",
            "Medium, digits of the paper",
            "dghv/medium-paper",
            "bits",
            true,
        ),
        system(
            "TBCS23",
            "trees in base 16, secure parameters",
            "tfhe/nibble128",
            "sliced",
            false,
        ),
        system(
            "TBCS23",
            "trees in base 16, the poster's parameters",
            "tfhe/nibble-paper",
            "sliced",
            true,
        ),
        system(
            "since TBCS23",
            "circuit bootstrapping, failure 2^-64",
            "tfhe/p64",
            "bits",
            false,
        ),
        system(
            "since TBCS23",
            "circuit bootstrapping, failure 2^-128",
            "tfhe/p128",
            "bits",
            false,
        ),
    ]
};

impl System {
    /// What its paper prints for it, or for the system that it is a form of.
    fn printed(&self) -> Option<&'static Point> {
        let first = self.what.split(',').next().unwrap_or_default();
        let what = match self.paper {
            "DHS14" => "n=32768",
            "TBCS23" | "since TBCS23" => "laptop 1 thread",
            _ => first,
        };
        let mut points = POINTS.iter();
        points.find(|point| self.paper.ends_with(point.paper) && point.what == what)
    }
}

/// Every system and variant of the papers: time per block, printed and here, and a command that runs it.
#[must_use]
pub fn systems(lab: &Lab) -> Cells {
    let row = |system: &System| {
        let System {
            paper,
            what,
            set,
            layout,
            insecure,
        } = system;
        let found = run(lab, set, layout, lab.machine.cores);
        let printed = system.printed().map(|point| point.seconds_per_block);
        let here = found.map(Run::seconds_per_block);
        let ratio = printed
            .zip(here)
            .map(|(printed, here)| rough(printed / here));
        let scheme = set.split('/').next().unwrap_or_default();
        let command = found.map_or_else(
            || format!("`homaes bench {scheme} --set {set} --layout {layout} --json`"),
            source,
        );
        let security = if *insecure { "not secure" } else { "secure" };
        let time = |seconds: Option<f64>| seconds.map_or_else(|| "–".into(), short_seconds);
        vec![
            (*paper).to_owned(),
            (*what).to_owned(),
            security.to_owned(),
            time(printed),
            found.map_or_else(|| "not in the document".into(), |_| time(here)),
            ratio.unwrap_or_else(|| "–".into()),
            command,
        ]
    };
    Cells::new(
        &[
            "paper",
            "system",
            "",
            "per block, printed",
            "per block, here",
            "ratio",
            "command",
        ],
        SYSTEMS.iter().map(row).collect(),
    )
}
