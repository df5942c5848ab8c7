use super::{
    FOR_THE_SERVER, of_size, one_standard_input, open_secret, read_aes_key, refuse_own_input,
};
use crate::args::WrapKey;
use crate::console::{self, Failure};
use crate::progress::Bar;
use crate::table;
use homaes::{Direction, Output, Scheme, SecretKey, WrapOptions, WrappedKey, WrappedKeyInfo};

pub(crate) fn run(args: &WrapKey) -> Result<(), Failure> {
    let passphrase = args.passphrase_file.as_deref();
    one_standard_input(&[Some(&args.key_file), passphrase])?;
    let others = passphrase.unwrap_or(&args.key_file);
    refuse_own_input(&args.out, &[&args.secret, &args.key_file, others])?;
    let output = Output::create(&args.out, args.force)?;
    let secret = open_secret(&args.secret, passphrase)?;
    let aes_key = read_aes_key(&args.key_file)?;
    let wrapping = WrapOptions {
        direction: args.direction.unwrap_or(Direction::Encrypt),
        both: args.direction.is_none(),
        layouts: args.layout.into_iter().collect(),
        levels_left: args.levels_left.map(usize::from),
        expansion: args.expand,
        full: args.full,
    };
    let bar = Bar::counter("wrapping the AES key");
    let wrapped = WrappedKey::write(&secret, &aes_key, &wrapping, output, &mut |done, all| {
        bar.set(done, all);
    })?;
    drop(bar);
    console::print_done(&format!(
        "{}: AES-{} key wrapped for set {}, to {}{}; layouts: {}{}",
        of_size(&args.out, FOR_THE_SERVER),
        8 * wrapped.key_size.key_bytes(),
        secret.set().name(),
        table::to_directions(&wrapped.directions),
        table::expansion(&wrapped),
        table::layouts(secret.set().scheme(), &wrapped.layouts),
        form(&secret, &wrapped, args.full),
    ));
    Ok(())
}

/// Why a BGV key is not compact although `--full` was not given.
fn form(secret: &SecretKey, wrapped: &WrappedKeyInfo, full: bool) -> &'static str {
    match secret.set().scheme() {
        Scheme::Bgv if !wrapped.compact && !full => {
            "; in full form, because servers of this set cannot expand a compact one"
        }
        _ => "",
    }
}
