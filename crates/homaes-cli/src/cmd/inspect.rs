//! `homaes inspect`

use crate::args::Inspect;
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table::{self, Rows};
use homaes::{Inspection, LAYOUT, Messages, inspect};
use serde_json::{Value, json};

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let found = spin("reading", || inspect(&args.file))?;
    if args.json {
        console::print_json(&inspection_json(&found))
    } else {
        console::print(&text(&found))
    }
}

fn text(found: &Inspection) -> String {
    let mut rows = Rows::default();
    rows.add("file", found.kind.to_string());
    rows.add("set", found.set_name.as_str());
    let security = found.set.as_ref().map_or(
        "unknown set: only the checksums were verified".into(),
        |set| table::security(&set.card()),
    );
    rows.add("security", security);
    rows.add("set digest", hex(&found.digest));
    rows.add("key id", found.key_id.to_string());
    rows.add("size", format!("{} bytes", found.file_bytes));
    let records = found
        .records
        .iter()
        .map(|(tag, count)| format!("{count} with tag {tag}"));
    rows.add("records", records.collect::<Vec<_>>().join(", "));
    if let Some(messages) = &found.messages {
        add_messages(&mut rows, messages);
    }
    rows.add("checksums", "right");
    rows.text()
}

fn add_messages(rows: &mut Rows, messages: &Messages) {
    let (meta, split) = (&messages.meta, messages.meta.split);
    let bits = 8 * meta.key_size.key_bytes();
    rows.add(
        "cipher",
        format!("AES-{bits}-{}, layout {LAYOUT}", meta.mode_name()),
    );
    rows.add("iv", hex(&meta.iv));
    rows.add(
        "message",
        format!("{} bytes, {} blocks", split.bytes, split.blocks()),
    );
    rows.add(
        "batches",
        format!("{} of {} blocks", split.batches(), split.blocks_per_batch),
    );
    let level = messages
        .level
        .map_or("no ciphertext".into(), |level| level.to_string());
    rows.add("level", level);
    rows.add("noise left", table::noise_left(messages.capacity_bits));
}

fn inspection_json(found: &Inspection) -> Value {
    let records: serde_json::Map<String, Value> = found
        .records
        .iter()
        .map(|(tag, count)| (tag.to_string(), json!(count)))
        .collect();
    json!({
        "kind": found.kind.extension(),
        "set": found.set_name,
        "set_known": found.set.is_some(),
        "purpose": found.set.as_ref().map(|set| set.purpose().as_str()),
        "set_digest": hex(&found.digest),
        "key_id": found.key_id.to_string(),
        "file_bytes": found.file_bytes,
        "records_by_tag": records,
        "messages": found.messages.as_ref().map(messages_json),
    })
}

fn messages_json(messages: &Messages) -> Value {
    let (meta, split) = (&messages.meta, messages.meta.split);
    json!({
        "mode": meta.mode_name(),
        "layout": LAYOUT,
        "iv": hex(&meta.iv),
        "aes_key_bits": 8 * meta.key_size.key_bytes(),
        "bytes": split.bytes,
        "blocks": split.blocks(),
        "batches": split.batches(),
        "blocks_per_batch": split.blocks_per_batch,
        "level": messages.level,
        "capacity_bits": messages.capacity_bits,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
