use crate::args;
use crate::console::{self, Failure};
use crate::table;
use homaes::{Gpu, Layout, Set, gpus};
use serde_json::{Value, json};

/// The sets that a GPU may be too small for, in layout sliced.
const SETS: [&str; 2] = ["bgv/aes128", "bgv/aes256"];

pub(crate) fn run(args: &args::Devices) -> Result<(), Failure> {
    let found = gpus();
    let document = || match &found {
        Ok(gpus) => json!({ "gpus": gpus.iter().map(gpu_json).collect::<Vec<_>>() }),
        Err(why) => json!({ "gpus": [], "why": why.to_string() }),
    };
    let text = || match &found {
        Ok(gpus) => {
            let rows: Vec<_> = gpus.iter().map(row).collect();
            let head = "device|name|memory|arithmetic|fits";
            table::columns(head, &rows)
        }
        Err(why) => format!("no GPU: {why}\n"),
    };
    console::print_either(args.json, document, text)
}

fn row(gpu: &Gpu) -> [String; 5] {
    let fits = fits(gpu);
    [
        format!("cuda:{}", gpu.number),
        gpu.name.clone(),
        table::bytes(gpu.memory_bytes),
        gpu.arithmetic.clone(),
        match fits.is_empty() {
            true => "none".to_owned(),
            false => fits.join(", "),
        },
    ]
}

fn gpu_json(gpu: &Gpu) -> Value {
    json!({
        "device": format!("cuda:{}", gpu.number),
        "name": gpu.name,
        "memory_bytes": gpu.memory_bytes,
        "arithmetic": gpu.arithmetic,
        "fits": fits(gpu),
    })
}

fn fits(gpu: &Gpu) -> Vec<&'static str> {
    let fits = |set: &&str| {
        let needs = Set::named(set).map(|set| set.gpu_memory(Layout::Sliced));
        matches!(needs, Ok(Some(needs)) if needs <= gpu.memory_bytes)
    };
    SETS.into_iter().filter(fits).collect()
}
