use crate::args::Inspect;
use crate::console::{self, Failure};
use crate::progress::{spin, steps_json};
use crate::table::{self, Rows, hex};
use homaes::{
    Inspection, KdfCost, KeySize, Kind, Layout, Messages, PartMeta, Scheme, Set, WrappedKeyInfo,
    inspect, printable,
};
use homaes_job::Location;
use serde_json::{Map, Value, json};

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    if args.file.join("job.json").is_file() {
        return super::job::show(Location::Local(args.file.clone()), args.json);
    }
    if args.file.is_dir() {
        return super::inspect_folder::run(args);
    }
    let found = spin("reading", || inspect(&args.file))?;
    console::print_either(args.json, || inspection_json(&found), || text(&found))
}

fn text(found: &Inspection) -> String {
    let mut rows = Rows::default();
    rows.add("file", found.kind.to_string());
    rows.add("set", found.set_name.as_str());
    let security = match &found.set {
        Some(set) => table::security(set.card()),
        None => "unknown set: only the checksums were verified".into(),
    };
    let of = match found.kind {
        Kind::BridgeKey | Kind::Values | Kind::Packed => "BGV keys: ",
        _ => "",
    };
    rows.add("security", format!("{of}{security}"));
    let assumptions = found.set.iter().flat_map(|set| &set.card().assumptions);
    assumptions.for_each(|assumption| rows.add("assumes", &**assumption));
    rows.add("set digest", hex(&found.digest));
    // results that crossed name the key at the end of the bridge, below
    if !crossed(found.kind) {
        rows.add("key id", found.key_id.to_string());
    }
    rows.add("size", format!("{} bytes", found.file_bytes));
    let records = found.records.iter();
    let records = records.map(|(tag, count)| format!("{count} with tag {tag}"));
    rows.add("records", records.collect::<Vec<_>>().join(", "));
    if found.kind == Kind::SecretKey {
        rows.add("passphrase", passphrase(found.protection));
    }
    if let Some(layouts) = &found.eval_layouts {
        rows.add("layouts", Layout::list(layouts));
    }
    // the content is read for known sets only
    let scheme = found.set.as_ref().map(Set::scheme);
    if let (Some(scheme), Some(wrapped)) = (scheme, &found.wrapped) {
        add_wrapped(&mut rows, scheme, wrapped);
    }
    let gpu = gpu_memory(found).into_iter();
    let gpu = gpu.map(|(layout, bytes)| format!("{} ({layout})", table::bytes(bytes)));
    let gpu: Vec<String> = gpu.collect();
    if !gpu.is_empty() {
        rows.add("GPU", gpu.join(", "));
    }
    if let (Some(scheme), Some(messages)) = (scheme, &found.messages) {
        add_messages(&mut rows, found.kind, scheme, messages);
    }
    if let Some(shard) = &found.shard {
        rows.add("run", hex(&shard.run.0));
        rows.add("shard", shard.number.to_string());
        let batches = table::count(shard.batches, "batch");
        rows.add("batches", format!("{batches}, from number {}", shard.first));
    }
    if let Some(values) = &found.values {
        rows.add("values", values.len().to_string());
    }
    for value in found.values.iter().flatten() {
        let numbers = table::count(value.count, "number");
        let bits = table::count(value.width.into(), "bit");
        let ciphertexts = table::count(value.ciphertexts, "ciphertext");
        let held = format!("{numbers} of {bits}, {ciphertexts} ({})", value.form);
        rows.add(&format!("  {}", value.label), held);
    }
    if let Some(end) = &found.end {
        rows.add("converts to", &*end.what);
        rows.add("id of that key", end.key_id.to_string());
        if let Some(tag) = end.tag.as_ref().filter(|tag| !tag.is_empty()) {
            rows.add("tag of that key", hex(tag));
        }
    }
    rows.add("checksums", "right");
    match &found.messages {
        Some(messages) if !messages.steps.is_empty() => {
            let steps = table::steps(messages.evaluated_in, &messages.steps);
            format!("{}\n{steps}", rows.text())
        }
        _ => rows.text(),
    }
}

/// Whether results are under the key at the end of a bridge, without levels.
fn crossed(kind: Kind) -> bool {
    matches!(kind, Kind::Values | Kind::Packed)
}

fn gpu_memory(found: &Inspection) -> Vec<(Layout, u64)> {
    let Some(set) = found.set.as_ref() else {
        return Vec::new();
    };
    let layouts: Vec<Layout> = match (&found.eval_layouts, &found.wrapped) {
        (Some(layouts), _) => layouts.clone(),
        (_, Some(wrapped)) => wrapped.layouts.iter().map(|&(layout, _)| layout).collect(),
        _ => Vec::new(),
    };
    let memory = |layout| Some((layout, set.gpu_memory(layout)?));
    layouts.into_iter().filter_map(memory).collect()
}

fn passphrase(protection: Option<KdfCost>) -> String {
    protection.map_or("none".into(), |cost| {
        let memory = table::bytes(u64::from(cost.memory_kib) << 10);
        let passes = table::count(cost.passes.into(), "pass");
        let lanes = table::count(cost.lanes.into(), "lane");
        format!("needed (Argon2id: {memory}, {passes}, {lanes})")
    })
}

fn add_wrapped(rows: &mut Rows, scheme: Scheme, wrapped: &WrappedKeyInfo) {
    let bits = bits(wrapped.key_size);
    let direction = table::to_directions(&wrapped.directions);
    let expansion = table::expansion(wrapped);
    let aes = format!("AES-{bits}, to {direction}{expansion}");
    match (&wrapped.names[..], wrapped.names.len()) {
        ([first, .., last], keys) => {
            let names = format!("{keys}, {} to {}", printable(first), printable(last));
            rows.add("AES keys", format!("{names}: {aes}"));
        }
        _ => rows.add("AES key", aes),
    }
    rows.add("layouts", table::layouts(scheme, &wrapped.layouts));
}

fn add_messages(rows: &mut Rows, kind: Kind, scheme: Scheme, messages: &Messages) {
    let (meta, split) = (&messages.meta, messages.meta.split);
    let bits = bits(meta.key_size);
    let held = match kind {
        Kind::Values => "four pairs of bits per byte".to_owned(),
        Kind::Packed => "a coefficient per byte".to_owned(),
        _ => format!("layout {}", meta.layout),
    };
    match meta.only() {
        Some(part) => add_part(rows, bits, part, &held),
        None => {
            rows.add("cipher", format!("AES-{bits}, {held}"));
            rows.add("parts", meta.parts.len().to_string());
            for part in &meta.parts {
                let name = part.name.as_deref().unwrap_or_default();
                let bytes = table::count(part.bytes, "byte");
                let mut what = format!("{}, {bytes}", part.mode.name());
                if !part.mode.iv().is_empty() {
                    let iv = hex(part.mode.iv());
                    what += &format!(", {} {iv}", table::iv_name(part.mode));
                }
                if let Some(key) = &part.key {
                    what += &format!(", key {}", printable(&key.name));
                }
                rows.add(&format!("  {name}"), what);
            }
        }
    }
    let bytes = table::count(meta.bytes(), "byte");
    let blocks = meta.parts.iter().map(PartMeta::blocks).sum();
    let blocks = table::count(blocks, "block");
    rows.add("message", format!("{bytes}, {blocks}"));
    let batches = match kind {
        Kind::Values | Kind::Packed => "records",
        _ => "batches",
    };
    let (all, each) = (split.batches(), split.blocks_per_batch);
    rows.add(batches, format!("{all} of {each} blocks"));
    let p_fail = table::p_fail(messages.log2_p_fail).map(|p| format!("at most {p}"));
    rows.add("p_fail", p_fail.unwrap_or_else(|| "none".into()));
    if crossed(kind) {
        return; // no levels, and no estimate of their noise
    }
    if let Some(results) = table::results(scheme, meta.level) {
        rows.add("level", format!("{}, {results}", meta.level));
    }
    let bound = messages.quality.map_or("no ciphertext".into(), |quality| {
        format!("{:.1} bits", quality.noise_bits)
    });
    let noise = scheme.noise_terms().noise;
    rows.add(noise, bound);
    rows.add("noise left", table::quality_left(messages.quality));
}

fn add_part(rows: &mut Rows, bits: usize, part: &PartMeta, held: &str) {
    let mode = part.mode.name();
    rows.add("cipher", format!("AES-{bits}-{mode}, {held}"));
    if !part.mode.iv().is_empty() {
        rows.add(table::iv_name(part.mode), hex(part.mode.iv()));
    }
    match part.tag {
        None => rows.add("authentication", table::unauthenticated(mode)),
        Some(tag) => {
            rows.add("tag", format!("{} (not checked)", hex(&tag)));
            let data = table::associated_data(part.aad.len() as u64, &part.aad_sha256());
            rows.add("associated data", data);
        }
    }
}

fn inspection_json(found: &Inspection) -> Value {
    let left = |level| found.set.as_ref()?.scheme().multiplications_left(level);
    let records = found.records.iter();
    let records = records.map(|(tag, count)| (tag.to_string(), json!(count)));
    let gpu = gpu_memory(found).into_iter();
    let gpu = gpu.map(|(layout, bytes)| (layout.name().to_owned(), json!(bytes)));
    json!({
        "kind": found.kind.extension(),
        "set": found.set_name,
        "set_known": found.set.is_some(),
        "purpose": found.set.as_ref().map(|set| set.purpose().as_str()),
        "assumptions": found.set.as_ref().map(|set| &set.card().assumptions),
        "set_digest": hex(&found.digest),
        "key_id": found.key_id.to_string(),
        "file_bytes": found.file_bytes,
        "records_by_tag": records.collect::<Map<_, _>>(),
        "gpu_bytes": gpu.collect::<Map<_, _>>(),
        "messages": found.messages.as_ref().map(|messages| messages_json(messages, left)),
        "end": found.end.as_ref().map(|end| json!({
            "what": end.what,
            "key_id": end.key_id.to_string(),
            "tag": end.tag.as_ref().map(|tag| hex(tag)),
        })),
        "shard": found.shard.map(|shard| json!({
            "run": hex(&shard.run.0),
            "number": shard.number,
            "first_batch": shard.first,
            "batches": shard.batches,
        })),
        "values": found.values.as_ref().map(|values| values.iter().map(|value| json!({
            "label": value.label,
            "form": value.form,
            "count": value.count,
            "width": value.width,
            "ciphertexts": value.ciphertexts,
        })).collect::<Vec<_>>()),
        "secret_key": (found.kind == Kind::SecretKey).then(|| json!({
            "protected": found.protection.is_some(),
            "argon2id": found.protection.map(|cost| json!({
                "memory_kib": cost.memory_kib,
                "passes": cost.passes,
                "lanes": cost.lanes,
            })),
        })),
        "eval_key": found.eval_layouts.as_ref().map(|layouts| json!({
            "layouts": layouts.iter().map(|layout| layout.name()).collect::<Vec<_>>(),
        })),
        "wrapped_key": found.wrapped.as_ref().map(|wrapped| wrapped_json(wrapped, left)),
    })
}

/// `left`: the multiplications left at a level.
fn messages_json(messages: &Messages, left: impl Fn(usize) -> Option<usize>) -> Value {
    let (meta, split) = (&messages.meta, messages.meta.split);
    let mut out = json!({
        "layout": meta.layout.name(),
        "aes_key_bits": bits(meta.key_size),
        "bytes": meta.bytes(),
        "blocks": meta.parts.iter().map(PartMeta::blocks).sum::<u64>(),
        "batches": split.batches(),
        "blocks_per_batch": split.blocks_per_batch,
        "level": meta.level,
        "multiplications_left": left(meta.level),
        "noise_bits": messages.quality.map(|quality| quality.noise_bits),
        "capacity_bits": messages.quality.map(|quality| quality.capacity_bits),
        "log2_p_fail": messages.log2_p_fail,
        "evaluated_in": messages.evaluated_in.name(),
        "steps": steps_json(&messages.steps),
    });
    let about = match meta.only() {
        Some(part) => part_json(part),
        None => json!({ "parts": meta.parts.iter().map(|part| {
            let mut about = part_json(part);
            about["name"] = json!(part.name);
            about["bytes"] = json!(part.bytes);
            if let Some(key) = &part.key {
                about["key"] = json!(key.name);
            }
            about
        }).collect::<Vec<_>>() }),
    };
    if let (Some(out), Value::Object(about)) = (out.as_object_mut(), about) {
        out.extend(about);
    }
    out
}

fn part_json(part: &PartMeta) -> Value {
    json!({
        "mode": part.mode.name(),
        "iv": hex(part.mode.iv()),
        "tag": part.tag.map(|tag| hex(&tag)),
        "aad_bytes": part.aad.len(),
        "aad_sha256": part.tag.map(|_| hex(&part.aad_sha256())),
        "authentication": if part.tag.is_some() { "tag, not checked" } else { "none" },
    })
}

fn wrapped_json(wrapped: &WrappedKeyInfo, left: impl Fn(usize) -> Option<usize>) -> Value {
    let layouts = wrapped.layouts.iter().map(|&(layout, level)| {
        json!({
            "layout": layout.name(),
            "output_level": level,
            "multiplications_left": left(level),
        })
    });
    json!({
        "aes_key_bits": bits(wrapped.key_size),
        "direction": table::directions(&wrapped.directions),
        "expansion": wrapped.expansion.name(),
        "compact": wrapped.compact,
        "names": wrapped.names,
        "layouts": layouts.collect::<Vec<_>>(),
    })
}

fn bits(size: KeySize) -> usize {
    8 * size.key_bytes()
}
