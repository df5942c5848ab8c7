//! Lists of files, and what names from elsewhere look like on a terminal.

use crate::common::{Run, World, cells};
use std::fs;

const RUN: &str = "transcipher $keys --mode gcm --files-from l -o r.hct";

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
        let iv = "000000000000000000000000";
        let line = serde_json::json!({ "path": "c", "name": name, "iv": iv });
        format!("{line}\n")
    });
    world.write("l", lines.concat());
    assert_plain(&world.ok(RUN).err);
    let text = world.ok("inspect r.hct");
    assert_plain(&text.out);
    for shown in shown {
        text.says(shown);
    }
    let json = world.json("inspect r.hct --json");
    assert!(json.to_string().contains(names[0]), "{json}");
    assert_plain(&world.fails(1, "$open r.hct -o back/", shown[0]).err);
    // a path in an error, and one in what a run says
    fs::rename(world.at("c"), world.at(names[0])).unwrap();
    world.fails(1, "$transcipher none\u{202e} -o x", "none\\u{202e}: ");
    let run = world.ok(&format!("$transcipher {} -o x\u{2066}.hct", names[0]));
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
    let cases = r#"
        c => line 1: not a JSON object
        {"path": "c" => line 1: EOF while parsing
        ["c", "n", "ctr", "00", ""] => line 1: not a JSON object
        {"path": "c", "name": "a", "name": "b"} => line 1: duplicate field `name`
        {"path": "c", "iv": "00", "iv": "01"} => line 1: duplicate field `iv`
        {"path": "c", "key": "00"} => line 1: unknown field `key`
        {"name": "c"} => line 1: missing field `path`
        {"path": 5} => line 1: invalid type: integer `5`, expected a string
    "#;
    for [list, words] in cells(cases).chain([["\n{", "line 2: EOF while parsing"]]) {
        world.write("l", list);
        let run = world.fails(1, RUN, &format!("l, {words}"));
        assert!(run.err.trim_end().ends_with(example), "{}", run.err);
    }
    // the example is a right line
    let (_, right) = example.split_once("such as ").unwrap();
    world.write("l", right);
    fs::rename(world.at("c"), world.at("a.aes")).unwrap();
    world.ok(RUN);
}

/// Neither a line nor a list is read to an end that it does not have.
#[cfg(target_os = "linux")]
#[test]
fn lists_without_an_end_are_refused() {
    let world = World::new();
    for (script, words) in [
        (
            "exec $homaes transcipher $keys --mode gcm --files-from /dev/zero -o r.hct",
            "/dev/zero, line 1: longer than 4 MiB",
        ),
        (
            "yes '' | $homaes transcipher $keys --mode gcm --files-from /dev/stdin -o r.hct",
            "/dev/stdin, line 4161791: the list is too long",
        ),
    ] {
        // less memory than would be needed otherwise
        let limited = format!("ulimit -v 2000000; {script}");
        Run::of(&mut world.shell(&limited)).check_failure(1, words, script);
    }
}
