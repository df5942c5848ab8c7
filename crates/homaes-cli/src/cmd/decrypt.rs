//! `homaes decrypt`

use super::open_secret;
use crate::args::Decrypt;
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table;
use homaes::Output;

pub(crate) fn run(args: &Decrypt) -> Result<(), Failure> {
    let secret = open_secret(&args.secret)?;
    let output = Output::create(&args.out, args.force)?;
    let report = spin("decrypting", || secret.decrypt(&args.input, output))?;
    console::print(&format!(
        "{}: {}, noise left: {}\n",
        args.out.display(),
        table::count(report.bytes, "byte", "bytes"),
        table::noise_left(report.margin_bits),
    ))
}
