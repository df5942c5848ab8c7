use super::{print_done, refuse_own_input};
use crate::args::{Export, ExportTo};
use crate::console::{self, Failure};
use crate::progress::Bar;
use crate::table;
use homaes::{Lattigo, Output};

pub(crate) fn run(args: &Export) -> Result<(), Failure> {
    let values = [
        ("--part", args.part.is_some()),
        ("--range", args.range.is_some()),
    ];
    let parameters = [
        ("--modulus", args.modulus.is_some()),
        ("--log-n", args.log_n.is_some()),
        ("--message-ratio", args.message_ratio.is_some()),
    ];
    for (to, name, options) in [
        (ExportTo::FheUint8, "fheuint8", &values[..]),
        (ExportTo::Lattigo, "lattigo", &parameters),
    ] {
        let given = options.iter().find(|(_, given)| *given && args.to != to);
        if let Some((option, _)) = given {
            let message = format!("{option} is for --to {name}; leave it out");
            return Err(Failure::Usage(message));
        }
    }
    refuse_own_input(&args.out, &[&args.input])?;
    match (args.to, args.modulus) {
        (ExportTo::FheUint8, _) => fheuint8(args),
        (ExportTo::Lattigo, Some(modulus)) => {
            let lattigo = Lattigo {
                modulus,
                log_n: args.log_n.unwrap_or(16),
                message_ratio: args.message_ratio.unwrap_or(2),
            };
            ciphertexts(args, "of Lattigo", |output, tick| {
                homaes::export_lattigo(&args.input, lattigo, output, tick)
            })
        }
        _ => ciphertexts(args, "for numpy", |output, tick| {
            homaes::export_npz(&args.input, output, tick)
        }),
    }
}

fn ciphertexts(
    args: &Export,
    what: &str,
    export: impl FnOnce(Output, &mut dyn FnMut(u64, u64)) -> homaes::Result<homaes::Packed>,
) -> Result<(), Failure> {
    let output = Output::create(&args.out, args.force)?;
    let bar = Bar::counter("writing ciphertexts");
    let done = export(output, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    if done.parts > 1 {
        console::warn(&format!(
            "{} parts, each from a new block on; what fills up their last blocks is arbitrary, and counted as bytes",
            done.parts
        ));
    }
    let (bytes, ciphertexts) = (done.bytes, table::count(done.ciphertexts, "ciphertext"));
    let (bytes, wrong) = (table::count(bytes, "byte"), table::wrong(done.log2_p_fail));
    let (log2_t, link) = (done.log2_t, done.link);
    print_done(
        &args.out,
        &format!("{ciphertexts} {what}: {bytes} modulo 2^{log2_t} under link key {link}{wrong}"),
    );
    Ok(())
}

#[cfg(feature = "tfhe-rs")]
fn fheuint8(args: &Export) -> Result<(), Failure> {
    let output = Output::create(&args.out, args.force)?;
    let bar = Bar::counter("writing values");
    let mut tick = |done, all| bar.set(done, all);
    let done = homaes::export_fheuint8(
        &args.input,
        args.part.as_deref(),
        args.range.clone(),
        output,
        &mut tick,
    )?;
    drop(bar);
    let values = table::count(done.values, "value");
    let wrong = table::wrong(done.log2_p_fail);
    print_done(
        &args.out,
        &format!("{values} of type tfhe::FheUint8{wrong}"),
    );
    Ok(())
}

#[cfg(not(feature = "tfhe-rs"))]
fn fheuint8(_: &Export) -> Result<(), Failure> {
    console::refuse(
        "--to fheuint8: this program is built without the crate tfhe; build it with --features tfhe-rs",
    )
}
