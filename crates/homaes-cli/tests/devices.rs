//! `--device`: GPUs that are there, emulated with the feature `cuda-emulator`, and GPUs that are not.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{IV, Run, World};

fn transcipher(more: &str) -> String {
    format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} --reproducible c {more}"
    )
}

/// Keys, a message of six batches, the last one shorter, and in `cpu.hct` what the processor makes of it.
fn world() -> World {
    let world = World::new();
    world.message(6 * 256 - 100);
    world.ok(&transcipher("--device cpu --out cpu.hct"));
    world
}

#[test]
fn devices_that_cannot_be_meant_are_refused() {
    let world = World::new();
    for word in ["gpu", "cuda:", "cuda:0,0", "cuda:x"] {
        let words = "expected auto, cpu, cuda, or GPU numbers such as cuda:0,1";
        world.fails(2, &transcipher(&format!("--device {word} -o x")), words);
        let mut command = world.command(&transcipher("-o x"));
        let run = Run::of(command.env("HOMAES_DEVICE", word));
        run.check_failure(2, "environment variable HOMAES_DEVICE: ", word);
    }
    let line = transcipher("--device cuda -o x");
    world.fails(
        2,
        &format!("{line} --layout bits"),
        "layout bits does not run on GPUs",
    );
    // what the command line asks for is refused before keys are read
    world.write("key.hwk", b"damaged");
    world.fails(
        2,
        &format!("{line} --layout bits"),
        "layout bits does not run on GPUs",
    );
    let bench = "bench tfhe --set tfhe/toy --device cuda";
    world.fails(2, bench, "--device works only with 'bench bgv'");
}

#[cfg(not(feature = "cuda-emulator"))]
#[test]
fn without_a_gpu_auto_is_the_processor_and_cuda_an_error() {
    let world = world();
    let devices = world.ok("devices --json").out;
    if !devices.contains("\"gpus\": []") {
        println!("skipped: there is a GPU: {devices}");
        return;
    }
    assert!(world.ok("devices").out.starts_with("no GPU: device cuda: "));
    let run = world.ok(&transcipher("--out auto.hct"));
    assert!(run.out.contains(" thread"), "{}", run.out);
    assert!(world.read("auto.hct") == world.read("cpu.hct"));
    let plan = "job plan --eval keys/eval.hek --wrapped-key key.hwk --mode ctr";
    world.ok(&format!("{plan} --iv {IV} --shard-batches 2 -o job c"));
    // before keys are read
    let mut damaged = world.read("keys/eval.hek");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    world.write("keys/eval.hek", &damaged);
    world.fails(1, &transcipher("--device cuda -o x"), "device cuda: ");
    world.fails(
        1,
        &transcipher("--device cuda:3 --resume -o x"),
        "device cuda:3: ",
    );
    world.fails(1, "job run job --device cuda", "device cuda: ");
    world.fails(1, "job run-shard job 1 --device cuda:0", "device cuda:0: ");
}

/// A driver in place of CUDA's, of this version, whose initialisation finds no GPU.
#[cfg(not(feature = "cuda-emulator"))]
const DRIVER: &str = r#"
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuInit(unsigned flags) { return 100; }
int cuGetErrorString(int error, const char **text) { *text = "no device"; return 0; }
"#;

#[cfg(not(feature = "cuda-emulator"))]
#[test]
fn a_driver_that_is_of_no_use_is_told_under_auto() {
    let world = world();
    world.write("driver.c", DRIVER.as_bytes());
    for (version, why) in [
        (12040, "the driver is for CUDA 12.4, expected 13.0 or later"),
        (13000, "CUDA's driver finds no GPU: no device"),
    ] {
        let mut cc = world.program("cc");
        let cc = cc.args(["-shared", "-fPIC", "-o", "libcuda.so", "driver.c"]);
        assert!(
            cc.arg(format!("-DVERSION={version}"))
                .status()
                .unwrap()
                .success()
        );
        let run = |device: &str| {
            let mut command = world.command(&transcipher(&format!(
                "--device {device} --out x.hct --force"
            )));
            Run::of(command.env("LD_LIBRARY_PATH", world.at("")))
        };
        let auto = run("auto");
        assert_eq!(auto.code, Some(0), "{auto:?}");
        assert!(
            auto.err
                .contains(&format!("warning: no GPU is used: {why}")),
            "{auto:?}"
        );
        assert!(world.read("x.hct") == world.read("cpu.hct"));
        run("cuda").check_failure(1, &format!("device cuda: {why}"), "cuda");
        assert!(!run("cpu").err.contains("GPU"));
    }
}

#[cfg(feature = "cuda-emulator")]
mod emulated {
    use super::*;
    use serde_json::Value;
    use std::fs;

    #[test]
    fn gpus_make_the_bytes_of_the_processor() {
        let world = world();
        let want = world.read("cpu.hct");
        for (device, on) in [
            ("cuda", "cuda:0,1"),
            ("cuda:1", "cuda:1"),
            ("auto", "cuda:0,1"),
        ] {
            let line = format!("--device {device} --out {device}.hct --report {device}.json");
            let run = world.ok(&transcipher(&line));
            assert!(
                run.out.contains(&format!(" on {on} (the emulator), ")),
                "{}",
                run.out
            );
            assert!(world.read(&format!("{device}.hct")) == want, "{device}");
            let report = world.read(&format!("{device}.json"));
            let report: Value = serde_json::from_slice(&report).unwrap();
            let shares = report["report"]["devices"].as_array().unwrap();
            let batches: u64 = shares.iter().map(|s| s["batches"].as_u64().unwrap()).sum();
            assert_eq!(batches, 6, "{report}");
            assert!(
                report["report"]["transforms"].as_u64() > Some(6000),
                "{report}"
            );
        }
        world.fails(
            1,
            &transcipher("--device cuda:2 -o x"),
            "there is no GPU 2: found 2",
        );
    }

    #[test]
    fn shards_and_resumed_runs_mix_devices() {
        let world = world();
        let plan = "job plan --eval keys/eval.hek --wrapped-key key.hwk --mode ctr";
        world.ok(&format!("{plan} --iv {IV} --shard-batches 2 -o job c"));
        world.ok("job run-shard job 1 --device cuda:0");
        world.ok("job run job --shards 0 --device cpu");
        world.ok("job run job --device cuda");
        world.ok("job merge job -o merged.hct");
        assert!(world.read("merged.hct") == world.read("cpu.hct"));
        // a GPU fails sooner or later, and the processor goes on
        let line = transcipher("--resume --out o2.hct");
        for launches in ["100", "1200"] {
            let run = faulty(&world, &format!("{line} --device cuda:0"), launches);
            run.check_failure(1, "the GPU failed at ", &line);
        }
        let run = world.ok(&format!("{line} --device cpu"));
        assert!(
            run.out.contains("of the batches from earlier runs"),
            "{}",
            run.out
        );
        assert!(world.read("o2.hct") == world.read("cpu.hct"));
    }

    #[test]
    fn the_processor_takes_over_from_a_gpu_that_fails() {
        let world = world();
        // at once, in a round, and at the record, after the mask
        for fault in ["0", "300", "pack_limbs"] {
            let run = faulty(&world, &transcipher("--out auto.hct --force"), fault);
            assert_eq!(run.code, Some(0), "{run:?}");
            let told = run.err.matches("; the processor goes on").count();
            assert_eq!(told, 1, "{}", run.err);
            assert!(run.out.contains(" thread"), "{}", run.out);
            assert!(world.read("auto.hct") == world.read("cpu.hct"));
        }
        let line = transcipher("--device cuda --out cuda.hct");
        let before = world.listing();
        let run = faulty(&world, &line, "300");
        run.check_failure(1, "the GPU failed at ", &line);
        assert!(run.err.contains("--resume keeps"), "{}", run.err);
        assert_eq!(world.listing(), before);
        fs::remove_file(world.at("auto.hct")).unwrap();
        // what is evaluated by the processor alone takes it under auto
        let line = "transcipher --eval keys/eval.hek --mode ctr --layout bits";
        world.ok("wrap-key --secret keys/secret.hsk --key-file k --layout bits -o bits.hwk");
        let run = world.ok(&format!(
            "{line} --iv {IV} --wrapped-key bits.hwk c -o bits.hct"
        ));
        assert!(!run.out.contains("emulator"), "{}", run.out);
    }

    /// A command whose GPUs fail after so many launches, or at a kernel.
    fn faulty(world: &World, line: &str, fault: &str) -> Run {
        let mut command = world.command(line);
        command.env("HOMAES_EMULATOR_FAULT", fault);
        Run::of(&mut command)
    }

    #[test]
    fn a_benchmark_names_its_gpu() {
        let world = world();
        let line = "bench bgv --set bgv/toy-255 --device cuda:1 --threads 2 --json";
        let document: Value = serde_json::from_str(&world.ok(line).out).unwrap();
        assert_eq!(document["device"], "cuda:1");
        assert_eq!(document["device_name"], "the emulator");
        assert_eq!(document["layout"], "sliced");
        for figure in ["seconds_per_batch", "ms_per_block", "transforms"] {
            assert!(document[figure].as_f64() > Some(0.0), "{figure}");
        }
    }
}
