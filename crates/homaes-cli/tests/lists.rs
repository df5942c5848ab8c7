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
    let decrypt = "decrypt --secret keys/secret.hsk --key-file k r.hct -o back/";
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

#[test]
fn what_is_no_list_is_refused_with_a_right_line() {
    let world = World::new();
    let example = r#"; write one JSON object per line, such as {"path": "a.aes", "name": "a.txt", "mode": "ctr", "iv": "00112233445566778899aabbccddeeff"}"#;
    for (list, words) in [
        ("c\n", "l, line 1: not a JSON object"),
        ("\n{\"path\": \"c\"", "l, line 2: EOF while parsing"),
        (
            r#"["c", "n", "ctr", "00", ""]"#,
            "l, line 1: not a JSON object",
        ),
        (
            r#"{"path": "c", "name": "a", "name": "b"}"#,
            "l, line 1: duplicate field `name`",
        ),
        (
            r#"{"path": "c", "iv": "00", "iv": "01"}"#,
            "l, line 1: duplicate field `iv`",
        ),
        (
            r#"{"path": "c", "key": "00"}"#,
            "l, line 1: unknown field `key`",
        ),
        (r#"{"name": "c"}"#, "l, line 1: missing field `path`"),
        (
            r#"{"path": 5}"#,
            "l, line 1: invalid type: integer `5`, expected a string",
        ),
    ] {
        world.write("l", list.as_bytes());
        let run = world.fails(1, RUN, words);
        assert!(run.err.trim_end().ends_with(example), "{}", run.err);
    }
    // the example is a right line
    let (_, right) = example.split_once("such as ").unwrap();
    world.write("l", right.as_bytes());
    std::fs::rename(world.at("c"), world.at("a.aes")).unwrap();
    world.ok(RUN);
}

/// Neither a line nor a list is read to an end that it does not have.
#[cfg(target_os = "linux")]
#[test]
fn lists_without_an_end_are_refused() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_homaes");
    let line = RUN.replace("from l", "from /dev/zero");
    let endless = RUN.replace("from l", "from /dev/stdin");
    for (line, words) in [
        (
            format!("exec {program} {line}"),
            "/dev/zero, line 1: longer than 4 MiB",
        ),
        (
            format!("yes '' | {program} {endless}"),
            "/dev/stdin, line 4161791: the list is too long",
        ),
    ] {
        // less memory than would be needed otherwise
        let limited = format!("ulimit -v 2000000; {line}");
        let run = crate::common::Run::of(world.program("sh").args(["-c", &limited]));
        run.check_failure(1, words, &line);
    }
}
