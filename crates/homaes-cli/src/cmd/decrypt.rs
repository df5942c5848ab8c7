//! `homaes decrypt`

use super::{open_secret, read_aes_key, refuse_own_input, reserve};
use crate::args::{Decrypt, is_stream};
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::table;
use homaes::{DecryptOptions, Output, Tag};
use std::io;

pub(crate) fn run(args: &Decrypt) -> Result<(), Failure> {
    let key_file = args.key_file.as_deref().unwrap_or(&args.input);
    refuse_own_input(&args.out, &[&args.secret, &args.input, key_file])?;
    let to_stream = is_stream(&args.out);
    let output = match to_stream {
        true => Output::held("standard output", io::stdout()),
        false => reserve(&args.out, args.force)?,
    };
    let secret = open_secret(&args.secret)?;
    let aes_key = args.key_file.as_deref().map(read_aes_key).transpose()?;
    let options = DecryptOptions {
        aes_key: aes_key.as_ref(),
        unpad: args.unpad,
    };
    let report = spin("decrypting", || {
        secret.decrypt_with(&args.input, output, options)
    })?;
    if report.tag == Tag::Unchecked {
        console::warn(&format!(
            "{}: the GCM tag was NOT checked, so the bytes may not be the ones that were encrypted; give the AES key with --key-file",
            args.input.display()
        ));
    }
    let tag = match report.tag {
        Tag::None => "",
        Tag::Unchecked => ", GCM tag not checked",
        Tag::Verified => ", GCM tag right",
    };
    let left = table::noise_left(report.margin_bits);
    // not above the standard deviation, as where noise is estimated
    let what = report
        .margin_bits
        .map_or("", |_| " above the largest measured");
    let name = match to_stream {
        true => "standard output".into(),
        false => args.out.display().to_string(),
    };
    let bytes = table::count(report.bytes, "byte", "bytes");
    let done = format!("{name}: {bytes}, noise left: {left}{what}{tag}\n");
    match to_stream {
        true => console::tell(&done),
        false => console::print_done(&done),
    }
    Ok(())
}
