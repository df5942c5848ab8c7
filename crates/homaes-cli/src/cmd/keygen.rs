//! `homaes keygen`

use super::named_set;
use crate::args::Keygen;
use crate::console::{self, Failure};
use crate::progress::spin;
use homaes::{EVAL_KEY_FILE, KeySet, SECRET_KEY_FILE};

pub(crate) fn run(args: &Keygen) -> Result<(), Failure> {
    let set = named_set(&args.set)?;
    if !set.is_secure() && !args.accept_insecure {
        let insecure = console::insecure(&set);
        return Err(Failure::Usage(format!(
            "{insecure}; pass --accept-insecure if the keys are for tests"
        )));
    }
    console::warn_insecure(&set);
    let keys = spin("making keys", || {
        KeySet::create(&set, &args.out, args.force)
    })?;
    console::print(&format!(
        "{} (keep it secret) and {}: set {}, key {}\n",
        args.out.join(SECRET_KEY_FILE).display(),
        args.out.join(EVAL_KEY_FILE).display(),
        set.name(),
        keys.secret.id(),
    ))
}
