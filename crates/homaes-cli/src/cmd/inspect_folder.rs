//! `homaes inspect` of a folder: its keys, and the files of stopped runs.

use super::file_name;
use crate::args::Inspect;
use crate::console::{self, Failure};
use crate::table::Rows;
use homaes::{
    BRIDGE_KEY_FILE, EVAL_KEY_FILE, FolderInspection, KeyFile, Pair, SECRET_KEY_FILE,
    inspect_folder,
};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let found = inspect_folder(&args.file)?;
    console::print_either(args.json, || folder_json(&found), || text(&found))
}

fn text(found: &FolderInspection) -> String {
    let mut rows = Rows::default();
    rows.add(SECRET_KEY_FILE, key_file(&found.secret));
    rows.add(EVAL_KEY_FILE, key_file(&found.eval));
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
        rows.add("also here", file_name(path));
    }
    for path in &found.unfinished {
        let what = "from a stopped key generation; 'keygen --resume' continues it";
        rows.add("unfinished", format!("{}: {what}", file_name(path)));
    }
    for path in &found.temporaries {
        let what = "an unfinished output: delete it unless a run is writing it";
        rows.add("temporary", format!("{}: {what}", file_name(path)));
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

fn pair(pair: Pair) -> (&'static str, &'static str) {
    match pair {
        Pair::None => ("none", "none"),
        Pair::Fits => ("fits", "the two match; checksums were not verified"),
        Pair::Differs => (
            "differs",
            "the evaluation key was made with another secret key",
        ),
        _ => ("incomplete", "a key is missing"),
    }
}

fn folder_json(found: &FolderInspection) -> Value {
    let file = |file: &KeyFile| match file {
        KeyFile::Of(id) => json!({ "key_id": id.to_string() }),
        KeyFile::Unreadable(error) => json!({ "error": error }),
        _ => Value::Null,
    };
    let names = |paths: &[PathBuf]| paths.iter().map(|path| file_name(path)).collect::<Vec<_>>();
    json!({
        "kind": "folder",
        "secret": file(&found.secret),
        "eval": file(&found.eval),
        "bridge": file(&found.bridge),
        "replaced": null,
        "pair": pair(found.pair).0,
        "others": names(&found.others),
        "unfinished": names(&found.unfinished),
        "temporaries": found.temporaries.iter()
            .map(|path| json!({ "name": file_name(path), "in_use": null }))
            .collect::<Vec<_>>(),
    })
}
