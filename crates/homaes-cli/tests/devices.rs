//! `--device`: GPUs that are there, emulated with the feature `cuda-emulator`, and GPUs that are not.

#![cfg(target_os = "linux")]

use crate::common::{Run, World};

const TRANSCIPHER: &str = "$transcipher c --reproducible";

/// A world with a message of six batches, and in `cpu.hct` what the processor makes of it.
fn world() -> World {
    let world = World::with_whole(6);
    world.table(&format!(
        "{TRANSCIPHER} --device cpu --out cpu.hct\n same cpu.hct whole.hct"
    ));
    world
}

#[test]
fn devices_that_cannot_be_meant_are_refused() {
    let world = World::new();
    // before keys are read
    world.write("key.hwk", "damaged");
    for word in ["gpu", "cuda:", "cuda:0,0", "cuda:x"] {
        let words = "expected auto, cpu, cuda, or GPU numbers such as cuda:0,1";
        world.fails(2, &format!("{TRANSCIPHER} --device {word} -o x"), words);
        let mut command = world.command(&format!("{TRANSCIPHER} -o x"));
        let run = Run::of(command.env("HOMAES_DEVICE", word));
        run.check_failure(2, "environment variable HOMAES_DEVICE: ", word);
    }
    world.table(&format!(
        "{TRANSCIPHER} --device cuda -o x --layout bits =2 layout bits does not run on GPUs
        bench tfhe --set tfhe/toy --device cuda =2 --device works only with 'bench bgv'"
    ));
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
    // before keys are read
    let mut damaged = world.read("keys/eval.hek");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    world.write("damaged", &damaged);
    world.table(&format!(
        "devices => no GPU: device cuda:
        {TRANSCIPHER} --out auto.hct =>  thread
        same auto.hct cpu.hct
        $plan --shard-batches 2 -o job c
        mv damaged keys/eval.hek
        {TRANSCIPHER} --device cuda -o x =1 device cuda:
        {TRANSCIPHER} --device cuda:3 --resume -o x =1 device cuda:3:
        job run job --device cuda =1 device cuda:
        job run-shard job 1 --device cuda:0 =1 device cuda:0:"
    ));
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
    world.write("driver.c", DRIVER);
    for (version, why) in [
        (12040, "the driver is for CUDA 12.4, expected 13.0 or later"),
        (13000, "CUDA's driver finds no GPU: no device"),
    ] {
        let mut cc = world.program("cc");
        cc.args(["-shared", "-fPIC", "-o", "libcuda.so", "driver.c"]);
        cc.arg(format!("-DVERSION={version}"));
        assert!(cc.status().unwrap().success());
        let run = |device: &str| {
            let line = format!("{TRANSCIPHER} --device {device} --out x.hct --force");
            let mut command = world.command(&line);
            Run::of(command.env("LD_LIBRARY_PATH", world.at("")))
        };
        let auto = run("auto").ends(0);
        auto.warns(&format!("warning: no GPU is used: {why}"));
        world.step("same x.hct cpu.hct");
        run("cuda").check_failure(1, &format!("device cuda: {why}"), "cuda");
        assert!(!run("cpu").err.contains("GPU"));
    }
}

#[cfg(feature = "cuda-emulator")]
mod emulated {
    use super::*;
    use crate::common::{assert_fields, assert_positive};
    use serde_json::json;

    #[test]
    fn gpus_make_the_bytes_of_the_processor() {
        let world = world();
        for (device, on) in [
            ("cuda", "cuda:0,1"),
            ("cuda:1", "cuda:1"),
            ("auto", "cuda:0,1"),
        ] {
            let files = format!("--out {device}.hct --report {device}.json");
            world.table(&format!(
                "{TRANSCIPHER} --device {device} {files} =>  on {on} (the emulator),
                same {device}.hct cpu.hct"
            ));
            let report = &world.document(&format!("{device}.json"))["report"];
            let shares = report["devices"].as_array().unwrap();
            let batches: u64 = shares.iter().map(|s| s["batches"].as_u64().unwrap()).sum();
            assert_eq!(batches, 6, "{report}");
            assert!(report["transforms"].as_u64() > Some(6000), "{report}");
        }
        let line = format!("{TRANSCIPHER} --device cuda:2 -o x");
        world.fails(1, &line, "there is no GPU 2: found 2");
    }

    #[test]
    fn a_gpu_evaluates_aes_in_k() {
        let world = World::of("bgv/toy-k-255");
        world.table(&format!(
            "{TRANSCIPHER} --device cpu --out cpu.hct
            {TRANSCIPHER} --device cuda:0 --out gpu.hct =>  on cuda:0 (the emulator)
            same gpu.hct cpu.hct"
        ));
    }

    #[test]
    fn shards_and_resumed_runs_mix_devices() {
        let world = world();
        world.table(
            "$plan --shard-batches 2 -o job c
            job run-shard job 1 --device cuda:0
            job run job --shards 0 --device cpu
            job run job --device cuda
            job merge job -o merged.hct
            same merged.hct cpu.hct",
        );
        // a GPU fails sooner or later, and the processor goes on
        let line = format!("{TRANSCIPHER} --resume --out o2.hct");
        for launches in ["100", "1200"] {
            let run = faulty(&world, &format!("{line} --device cuda:0"), launches);
            run.check_failure(75, "cuda:0: the GPU failed at ", &line);
        }
        world.table(&format!(
            "{line} --device cpu => of the batches from earlier runs
            same o2.hct cpu.hct"
        ));
    }

    #[test]
    fn the_processor_takes_over_from_a_gpu_that_fails() {
        let world = world();
        // at once, in a round, and at the record, after the mask
        for fault in ["0", "300", "pack_limbs"] {
            if fault == "pack_limbs" {
                // final results are rounded by the processor
                world.ok("$wrap key.hwk --force --levels-left 1");
                world.ok(&format!("{TRANSCIPHER} --device cpu --out cpu.hct --force"));
            }
            let line = format!("{TRANSCIPHER} --out auto.hct --force");
            let run = faulty(&world, &line, fault).ends(0);
            let told = run.err.matches("; the processor goes on").count();
            assert_eq!(told, 1, "{}", run.err);
            run.says(" thread");
            world.step("same auto.hct cpu.hct");
        }
        // the other GPU takes over from one
        let line = format!("{TRANSCIPHER} --out auto.hct --force --threads 1");
        let run = faulty(&world, &line, "1:300").ends(0);
        run.warns("warning: cuda:1: the GPU failed at ");
        run.warns("; the other GPUs go on");
        assert!(!run.err.contains("the processor"), "{}", run.err);
        world.step("same auto.hct cpu.hct");
        let line = format!("{TRANSCIPHER} --device cuda --out cuda.hct");
        let before = world.files();
        let run = faulty(&world, &line, "300");
        run.check_failure(1, "the GPU failed at ", &line);
        run.warns("with --resume keep");
        world.is_as(&before, &line);
        // what is evaluated by the processor alone takes it under auto
        world.ok("$wrap key.hwk --force --layout bits");
        let run = world.ok("$transcipher c --layout bits -o bits.hct");
        assert!(!run.out.contains("emulator"), "{}", run.out);
    }

    #[test]
    #[ignore = "nightly: minutes at full size, as no toy with kernels leads to a set of TFHE"]
    fn nightly_results_cross_on_a_gpu() {
        let world = World::new();
        let line = "transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv $iv c --reproducible \
            --to tfhe --bridge b/bridge.hbk";
        world.table(&format!(
            "keygen --set tfhe/p64 --out t
            keygen --set bgv/bridge128 --out b --bridge t/secret.hsk
            wrap-key --secret b/secret.hsk --key-file k --layout packed --out b.hwk
            {line} --device cpu --out cpu.hct
            decrypt --secret t/secret.hsk cpu.hct -o back
            same back p
            {line} --device cuda:1 --out gpu.hct =>  on cuda:1 (the emulator)
            same gpu.hct cpu.hct"
        ));
        // while results cross, and while the file is written
        for fault in ["rows_digits", "slot_words"] {
            let auto = faulty(&world, &format!("{line} --out auto.hct --force"), fault).ends(0);
            auto.warns(&format!(": the GPU failed at {fault}"));
            world.step("same auto.hct cpu.hct");
            let line = format!("{line} --device cuda --out cuda.hct");
            faulty(&world, &line, fault).check_failure(1, "the GPU failed at ", &line);
        }
    }

    /// A command whose GPUs fail after so many launches, or at a kernel.
    fn faulty(world: &World, line: &str, fault: &str) -> Run {
        let mut command = world.command(line);
        command.env("HOMAES_EMULATOR_FAULT", fault);
        Run::of(&mut command)
    }

    #[test]
    fn a_benchmark_names_its_gpu() {
        let world = World::new();
        let line = "bench bgv --set bgv/toy-255 --device cuda:1 --threads 2 --json";
        let document = world.json(line);
        let expected =
            json!({ "device": "cuda:1", "device_name": "the emulator", "layout": "sliced" });
        assert_fields(&document, expected);
        assert_positive(&document, "seconds_per_batch ms_per_block transforms");
    }
}
