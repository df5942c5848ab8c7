use super::{print_done, refuse_own_input};
use crate::args::Finish;
use crate::console::Failure;
use crate::progress::spin;
use crate::table;
use homaes::{Ciphertexts, Output};

pub(crate) fn run(args: &Finish) -> Result<(), Failure> {
    refuse_own_input(&args.out, &[&args.input])?;
    let results = Ciphertexts::open(&args.input)?;
    let message = results.meta().bytes();
    let output = Output::create(&args.out, args.force)?;
    let bytes = spin("rounding results", || results.finish(output))?;
    let size = table::bytes(bytes);
    print_done(
        &args.out,
        &format!("{size} for {}, decrypt only", table::count(message, "byte")),
    );
    Ok(())
}
