//! Lists of files, and what names from elsewhere look like on a terminal.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::World;

const RUN: &str =
    "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode gcm --files-from l -o r.hct";

#[test]
fn names_do_not_reorder_or_hide_what_is_around_them() {
    let world = World::new();
    let names = [
        "a\u{202e}txt.exe",
        "b\u{2028}c\u{200b}",
        "d\u{e0041}é\u{301}",
    ];
    let shown = [
        "a\\u{202e}txt.exe",
        "b\\u{2028}c\\u{200b}",
        "d\\u{e0041}é\u{301}",
    ];
    let lines = names.map(|name| {
        // with a tag that is not right
        let line =
            serde_json::json!({ "path": "c", "name": name, "iv": "000000000000000000000000" });
        format!("{line}\n")
    });
    world.write("l", lines.concat().as_bytes());
    let run = world.ok(RUN);
    assert_plain(&run.err);
    let text = world.ok("inspect r.hct").out;
    assert_plain(&text);
    for shown in shown {
        assert!(text.contains(shown), "{text}");
    }
    let json = world.ok("inspect r.hct --json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json.to_string().contains(names[0]), "{json}");
    let decrypt = "decrypt --secret keys/secret.hsk --key-file k r.hct -o back";
    assert_plain(&world.fails(1, decrypt, shown[0]).err);
    // a path in an error, and one in what a run says
    std::fs::rename(world.at("c"), world.at(names[0])).unwrap();
    let run = world.run(&RUN.replace("--files-from l", "none\u{202e}"));
    run.check_failure(1, "none\\u{202e}: ", "none");
    let line = format!("--iv {} {} -o x\u{2066}.hct", crate::common::IV, names[0]);
    let run = world.ok(&RUN
        .replace("gcm --files-from l -o r.hct", "ctr ")
        .replace("ctr ", &format!("ctr {line}")));
    assert!(run.out.starts_with("x\\u{2066}.hct: "), "{}", run.out);
    assert_plain(&run.out);
}

#[track_caller]
fn assert_plain(text: &str) {
    let hidden = ['\u{202e}', '\u{2028}', '\u{200b}', '\u{2066}', '\u{e0041}'];
    assert!(!text.contains(hidden), "{text:?}");
}
