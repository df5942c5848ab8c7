use super::named_set;
use crate::args::Params;
use crate::console::{self, Failure};
use crate::table;
use homaes::{Estimate, KeySize, Layout, Published, Scheme, Set, SetCard};
use serde_json::{Map, Value, json};

pub(crate) fn run(args: &Params) -> Result<(), Failure> {
    let sets = Set::names().into_iter().map(named_set);
    let sets: Vec<Set> = sets.collect::<Result<_, Failure>>()?;
    if args.json {
        return console::print_json(&sets.iter().map(set_json).collect());
    }
    let shown = sets.iter().filter(|set| args.all || set.is_secure());
    let shown: Vec<_> = shown.collect();
    let rows: Vec<_> = shown.iter().map(|set| row(set.card())).collect();
    let head = "set|purpose|claimed|estimated|rotations|log2 p_fail|blocks|eval key|wrapped key|ciphertexts";
    let mut text = table::columns(head, &rows);
    text += "\nclaimed, estimated: bits of security; sets of purpose 'paper' show the paper's claim. rotations: \
             including attacks that rotate the secret. log2 p_fail: probability that a batch decrypts wrongly.\n\
             blocks, ciphertexts: per batch. wrapped key: for the largest AES key, in the first layout. ~: order of \
             magnitude. Only sets of purpose 'secure' protect data.\n\n";
    text.extend(sets.iter().map(assumptions));
    let rows: Vec<_> = shown.iter().flat_map(|set| layout_rows(set)).collect();
    let head = "set|layout|blocks|eval key|GPU|AES-128|AES-192|AES-256";
    text += &table::columns(head, &rows);
    text += "\nblocks: per batch. eval key: the smallest with this layout. GPU: memory of a run on a GPU, - if it \
             needs the processor.\n\
             AES-128 to AES-256: most multiplications that the results can still allow, - if the set does not take \
             this key size,\n\
             'no levels' if results are bootstrapped instead.\n";
    if !args.all {
        text += "\n'homaes params --all' also lists the papers' sets and toy sets, which protect nothing.\n";
    }
    console::print(&text)
}

fn row(card: &SetCard) -> [String; 10] {
    let none = || "none".to_owned();
    let figure = |bits: Option<f64>| bits.map_or_else(none, |bits| table::bits(card, bits));
    [
        card.name.to_string(),
        card.purpose.to_string(),
        card.security_bits_claimed
            .map_or_else(none, |bits| bits.to_string()),
        figure(card.security_bits_estimated()),
        figure(card.security_bits_with_rotations()),
        format!("{:.1}", card.log2_p_fail),
        card.blocks_per_batch.to_string(),
        table::bytes(card.eval_key_bytes),
        table::bytes(card.wrapped_key_bytes),
        table::bytes(card.ciphertext_bytes_per_batch),
    ]
}

/// The special assumptions of a set, with a blank line after each.
fn assumptions(set: &Set) -> String {
    let lines = set.card().assumptions.iter();
    lines
        .map(|assumption| format!("{} assumes: {assumption}.\n\n", set.name()))
        .collect()
}

fn layout_rows(set: &Set) -> Vec<[String; 8]> {
    let row = |&layout: &Layout| {
        let [a, b, c] = KeySize::ALL.map(|size| {
            let left = set.levels_left(layout, size);
            left.map_or_else(|| "-".into(), |left| levels(set.scheme(), left))
        });
        let blocks = set.blocks_per_batch(layout).to_string();
        let gpu = set
            .gpu_memory(layout)
            .map_or_else(|| "-".into(), table::bytes);
        let eval = table::bytes(eval_key_bytes(set, layout));
        let name = set.name().into();
        [name, layout.to_string(), blocks, eval, gpu, a, b, c]
    };
    set.layouts().iter().map(row).collect()
}

/// The smallest evaluation key with a layout.
fn eval_key_bytes(set: &Set, layout: Layout) -> u64 {
    let keys = set.eval_keys().into_iter();
    let with = keys.filter(|(layouts, _)| layouts.contains(&layout));
    with.map(|(_, bytes)| bytes).min().unwrap_or_default()
}

fn levels(scheme: Scheme, left: usize) -> String {
    match scheme.multiplications_left(left + 1) {
        Some(left) => left.to_string(),
        None => "no levels".into(),
    }
}

fn layout_json(set: &Set, layout: Layout) -> Value {
    let left = KeySize::ALL.map(|size| {
        let bits = 8 * size.key_bytes();
        // every level is one multiplication; null without levels
        let left = set.levels_left(layout, size);
        let left = left.filter(|left| set.scheme().multiplications_left(left + 1).is_some());
        (bits.to_string(), json!(left))
    });
    json!({
        "layout": layout.name(),
        "blocks_per_batch": set.blocks_per_batch(layout),
        "eval_key_bytes": eval_key_bytes(set, layout),
        "gpu_bytes": set.gpu_memory(layout),
        "levels_left_by_key_bits": Map::from_iter(left),
    })
}

fn set_json(set: &Set) -> Value {
    let layouts = set.layouts().iter();
    let layouts = layouts.map(|&layout| layout_json(set, layout));
    let mut document = card_json(set.card());
    document["layouts"] = layouts.collect();
    document
}

fn card_json(card: &SetCard) -> Value {
    json!({
        "name": card.name.as_str(),
        "scheme": card.name.scheme(),
        "paper": card.paper,
        "purpose": card.purpose.as_str(),
        "security_bits_claimed": card.security_bits_claimed,
        "security_bits_estimated": card.security_bits_estimated(),
        "security_bits_with_rotations": card.security_bits_with_rotations(),
        "security_bits_without_tables": card.least(|e| e.without_tables),
        "security_bits_with_rotations_without_tables": card.least(|e| e.with_rotations_without_tables),
        "security_bits_core_svp": card.least(|e| e.core_svp),
        "security_bits_core_svp_quantum": card.least(|e| e.core_svp_quantum),
        "security_bits_quantum": card.least(|e| e.quantum),
        "log2_p_fail": card.log2_p_fail,
        "log2_p_fail_per_million_batches": card.log2_p_fail + 1e6f64.log2(),
        "slots": card.slots,
        "blocks_per_batch": card.blocks_per_batch,
        "eval_key_bytes": card.eval_key_bytes,
        "wrapped_key_bytes": card.wrapped_key_bytes,
        "ciphertext_bytes_per_batch": card.ciphertext_bytes_per_batch,
        "secret_key_bytes": card.secret_key_bytes,
        "ring": card.ring.map(|ring| json!({ "m": ring.m, "n": ring.n })),
        "secret_weight": card.secret_weight.map(|weight| weight.to_string()),
        "sigma": card.sigma,
        "log2_qp": card.log2_qp,
        "assumptions": card.assumptions,
        "published": card.published.iter().map(published_json).collect::<Vec<_>>(),
    })
}

fn published_json(line: &Published) -> Value {
    json!({
        "what": line.what,
        "dimension": line.dimension,
        "log2_sigma": line.log2_sigma,
        "ring_degree": line.ring_degree,
        "secret_weight": line.weight,
        "modulus_bits": line.modulus_bits,
        "estimate": line.estimate.as_ref().map(estimate_json),
    })
}

fn estimate_json(estimate: &Estimate) -> Value {
    json!({
        "bits": estimate.bits,
        "without_tables": estimate.without_tables,
        "with_rotations": estimate.with_rotations,
        "with_rotations_without_tables": estimate.with_rotations_without_tables,
        "core_svp": estimate.core_svp,
        "core_svp_quantum": estimate.core_svp_quantum,
        "quantum": estimate.quantum,
        "order_of_magnitude": estimate.order_of_magnitude,
        "attack": estimate.attack,
        "model": estimate.model,
        "tool": estimate.tool,
        "date": estimate.date,
    })
}
