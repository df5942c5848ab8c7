use crate::args::Export;
use crate::console::Failure;

#[cfg(feature = "tfhe-rs")]
pub(crate) fn run(args: &Export) -> Result<(), Failure> {
    use super::{print_done, refuse_own_input};
    use crate::progress::Bar;
    use crate::table;
    refuse_own_input(&args.out, &[&args.input])?;
    let output = homaes::Output::create(&args.out, args.force)?;
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
pub(crate) fn run(_: &Export) -> Result<(), Failure> {
    crate::console::refuse(
        "--to fheuint8: this program is built without the crate tfhe; build it with --features tfhe-rs",
    )
}
