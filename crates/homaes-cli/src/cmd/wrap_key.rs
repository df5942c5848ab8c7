use super::{
    FOR_THE_SERVER, of_size, one_standard_input, open_secret, read_aes_key, read_aes_keys,
    refuse_own_input,
};
use crate::args::WrapKey;
use crate::console::{self, Failure};
use crate::progress::Bar;
use crate::table;
use homaes::{Direction, Output, Scheme, SecretKey, WrapOptions, WrappedKey, WrappedKeyInfo};

pub(crate) fn run(args: &WrapKey) -> Result<(), Failure> {
    let passphrase = args.passphrase_file.as_deref();
    let keys = args.key_file.as_deref().or(args.keys.as_deref());
    one_standard_input(&[keys, passphrase])?;
    let mut inputs = vec![&*args.secret];
    inputs.extend(keys.into_iter().chain(passphrase));
    refuse_own_input(&args.out, &inputs)?;
    let output = Output::create(&args.out, args.force)?;
    let secret = open_secret(&args.secret, passphrase)?;
    let wrapping = WrapOptions {
        direction: args.direction.unwrap_or(Direction::Encrypt),
        both: args.direction.is_none(),
        layouts: args.layout.into_iter().collect(),
        levels_left: args.levels_left.map(usize::from),
        expansion: args.expand,
        full: args.full,
    };
    let bar = Bar::counter("wrapping the AES key");
    let mut tick = |done, all| bar.set(done, all);
    let wrapped = match (&args.key_file, &args.keys) {
        (Some(file), _) => {
            let aes_key = read_aes_key(file)?;
            WrappedKey::write(&secret, &aes_key, &wrapping, output, &mut tick)?
        }
        (None, Some(list)) => {
            let list = read_aes_keys(list)?;
            let levels = wrapping.levels_left;
            WrappedKey::write_many(&secret, &list, levels, output, &mut tick)?
        }
        (None, None) => unreachable!("the command line has one of them"),
    };
    drop(bar);
    let keys = match wrapped.names.len() {
        0 => "key".to_owned(),
        _ => format!("keys ({})", wrapped.names.len()),
    };
    console::print_done(&format!(
        "{}: AES-{} {keys} wrapped for set {}, to {}{}; layouts: {}{}",
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
