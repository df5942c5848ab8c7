//! `homaes keygen`

use super::{named_set, new_passphrase};
use crate::args::Keygen;
use crate::console::{self, Failure};
use crate::progress::spin;
use homaes::{EVAL_KEY_FILE, KdfCost, KeySet, SECRET_KEY_FILE};

pub(crate) fn run(args: &Keygen) -> Result<(), Failure> {
    let set = named_set(&args.set)?;
    if !set.is_secure() && !args.accept_insecure {
        let insecure = console::insecure(&set);
        return Err(Failure::Usage(format!(
            "{insecure}; pass --accept-insecure if the keys are for tests"
        )));
    }
    console::warn_insecure(&set);
    let secret = args.out.join(SECRET_KEY_FILE);
    let passphrase = match (&args.passphrase_file, args.passphrase) {
        (None, false) => None,
        (file, _) => Some(new_passphrase(
            &secret,
            file.as_deref(),
            "--passphrase-file",
        )?),
    };
    let keys = spin("making keys", || match &passphrase {
        None => KeySet::create(&set, &args.out, args.force),
        Some(passphrase) => {
            let cost = KdfCost::default();
            KeySet::create_protected(&set, &args.out, args.force, passphrase, cost)
        }
    })?;
    let under = match passphrase {
        None => "",
        Some(_) => ", under the passphrase",
    };
    console::print(&format!(
        "{} (keep it secret{under}) and {}: set {}, key {}\n",
        secret.display(),
        args.out.join(EVAL_KEY_FILE).display(),
        set.name(),
        keys.secret.id(),
    ))
}
