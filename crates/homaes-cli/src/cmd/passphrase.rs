use super::{new_passphrase, one_standard_input, open_secret, print_done};
use crate::args::ChangePassphrase;
use crate::console::Failure;
use crate::progress::spin;
use homaes::{Error, ErrorKind, KdfCost};

pub(crate) fn run(args: &ChangePassphrase) -> Result<(), Failure> {
    let present = args.passphrase_file.as_deref();
    let new = args.new_passphrase_file.as_deref();
    one_standard_input(&[present, new])?;
    let secret = open_secret(&args.secret, present)?;
    let path = &args.secret;
    if args.remove && !secret.is_protected() {
        let message = "this secret key has no passphrase";
        return Err(Error::refused(ErrorKind::NotProtected, message)
            .at(path)
            .into());
    }
    let passphrase = match args.remove {
        true => None,
        false => Some(new_passphrase(path, new, "--new-passphrase-file")?),
    };
    spin("writing the secret key", || {
        let lock = passphrase.as_ref();
        secret.protect(path, lock.map(|lock| (lock, KdfCost::default())))
    })?;
    let state = match args.remove {
        true => "no longer protected",
        false => "protected with the new passphrase",
    };
    let (set, id) = (secret.set().name(), secret.id());
    print_done(path, &format!("{state}; set {set}, key {id}"));
    Ok(())
}
