//! `homaes params`

use super::named_set;
use crate::args::Params;
use crate::console::{self, Failure};
use crate::table;
use homaes::{Estimate, Published, Set, SetCard};
use serde_json::{Value, json};

pub(crate) fn run(args: &Params) -> Result<(), Failure> {
    let cards: Vec<SetCard> = Set::names()
        .into_iter()
        .map(|name| Ok(named_set(name)?.card()))
        .collect::<Result<_, Failure>>()?;
    if args.json {
        return console::print_json(&cards.iter().map(card_json).collect());
    }
    let rows: Vec<_> = cards.iter().map(row).collect();
    let head = [
        "set",
        "purpose",
        "claimed",
        "estimated",
        "log2 p_fail",
        "blocks",
        "eval key",
        "wrapped key",
        "ciphertexts",
    ];
    console::print(&table::columns(head, &rows))?;
    console::print(
        "\nclaimed, estimated: bits of security; blocks, ciphertexts: of one batch. Only sets of purpose 'secure' protect data.\n",
    )
}

fn row(card: &SetCard) -> [String; 9] {
    let none = || "none".to_owned();
    [
        card.name.to_string(),
        card.purpose.to_string(),
        card.security_bits_claimed
            .map_or_else(none, |bits| bits.to_string()),
        card.security_bits_estimated()
            .map_or_else(none, |bits| format!("{bits:.1}")),
        format!("{:.1}", card.log2_p_fail),
        card.blocks_per_batch.to_string(),
        table::bytes(card.eval_key_bytes),
        table::bytes(card.wrapped_key_bytes),
        table::bytes(card.ciphertext_bytes_per_batch),
    ]
}

fn card_json(card: &SetCard) -> Value {
    json!({
        "name": card.name.as_str(),
        "scheme": card.scheme,
        "paper": card.paper,
        "purpose": card.purpose.as_str(),
        "security_bits_claimed": card.security_bits_claimed,
        "security_bits_estimated": card.security_bits_estimated(),
        "log2_p_fail": card.log2_p_fail,
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
        "published": card.published.iter().map(published_json).collect::<Vec<_>>(),
    })
}

fn published_json(line: &Published) -> Value {
    json!({
        "what": line.what,
        "modulus_bits": line.modulus_bits,
        "estimate": line.estimate.as_ref().map(estimate_json),
    })
}

fn estimate_json(estimate: &Estimate) -> Value {
    json!({
        "bits": estimate.bits,
        "attack": estimate.attack,
        "model": estimate.model,
        "tool": estimate.tool,
        "date": estimate.date,
    })
}
