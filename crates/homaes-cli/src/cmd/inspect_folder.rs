//! `homaes inspect` of a folder: what a killed run left there, and what becomes of it.

use crate::args::Inspect;
use crate::console::{self, Failure};
use crate::table::Rows;
use homaes::{
    BRIDGE_KEY_FILE, EVAL_KEY_FILE, FolderInspection, KeyFile, Pair, REPLACED_KEY_FILE,
    SECRET_KEY_FILE, inspect_folder,
};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let found = inspect_folder(&args.file)?;
    if args.json {
        console::print_json(&folder_json(&found, &args.file))
    } else {
        console::print(&text(&found, &args.file))
    }
}

fn text(found: &FolderInspection, folder: &Path) -> String {
    let mut rows = Rows::default();
    rows.add(SECRET_KEY_FILE, key_file(&found.secret));
    rows.add(EVAL_KEY_FILE, key_file(&found.eval));
    if found.replaced != KeyFile::Missing {
        rows.add(REPLACED_KEY_FILE, key_file(&found.replaced));
    }
    rows.add("keys", pair(found.pair).1);
    if found.bridge != KeyFile::Missing {
        let other = match (&found.bridge, &found.eval) {
            (KeyFile::Of(bridge), KeyFile::Of(eval)) if bridge != eval => {
                ", but the evaluation key has another: make the bridge key again"
            }
            _ => "",
        };
        rows.add(BRIDGE_KEY_FILE, key_file(&found.bridge) + other);
    }
    for path in &found.others {
        rows.add("also here", name(path));
    }
    for path in &found.unfinished {
        let what = "from a stopped key generation; 'keygen --resume' continues it";
        rows.add("unfinished", format!("{}: {what}", name(path)));
    }
    for file in &found.temporaries {
        let what = match file.in_use {
            true => "being written",
            false => "left by a killed run; the next run that writes here removes it",
        };
        rows.add(
            "temporary",
            format!("{}: {what}", below(folder, &file.path)),
        );
    }
    rows.text()
}

fn key_file(file: &KeyFile) -> String {
    match file {
        KeyFile::Of(id) => format!("key id {id}"),
        KeyFile::Unreadable(error) => format!("cannot be read: {error}"),
        _ => "missing".into(),
    }
}

/// A word for programs and a sentence.
fn pair(pair: Pair) -> (&'static str, &'static str) {
    match pair {
        Pair::None => ("none", "none"),
        Pair::Fits => ("fits", "the two match; checksums were not verified"),
        Pair::Differs => (
            "differs",
            "the evaluation key was made with another secret key",
        ),
        Pair::Incomplete => ("incomplete", "a key is missing"),
        Pair::ToPutBack => (
            "to-put-back",
            "a key generation was stopped before it replaced the keys; the next 'keygen' here restores the old secret key",
        ),
        Pair::ToComplete => (
            "to-complete",
            "a key generation was stopped after it replaced the keys; the next 'keygen' here removes the old secret key",
        ),
        _ => (
            "unknown",
            "a key generation was stopped and the evaluation key is missing: keep the secret key in use as secret.hsk and move the other away",
        ),
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The path of a file from the folder that is looked at.
fn below(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    path.display().to_string()
}

fn folder_json(found: &FolderInspection, folder: &Path) -> Value {
    let file = |file: &KeyFile| match file {
        KeyFile::Of(id) => json!({ "key_id": id.to_string() }),
        KeyFile::Unreadable(error) => json!({ "error": error }),
        _ => Value::Null,
    };
    let temporaries = found.temporaries.iter();
    json!({
        "kind": "folder",
        "secret": file(&found.secret),
        "eval": file(&found.eval),
        "bridge": file(&found.bridge),
        "replaced": file(&found.replaced),
        "pair": pair(found.pair).0,
        "others": found.others.iter().map(|path| name(path)).collect::<Vec<_>>(),
        "unfinished": found.unfinished.iter().map(|path| name(path)).collect::<Vec<_>>(),
        "temporaries": temporaries
            .map(|file| json!({ "name": below(folder, &file.path), "in_use": file.in_use }))
            .collect::<Vec<_>>(),
    })
}
