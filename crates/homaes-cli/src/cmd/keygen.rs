//! `homaes keygen`

use super::{named_set, new_passphrase, remove_leftovers};
use crate::args::Keygen;
use crate::console::{self, Failure};
use crate::progress::Counter;
use homaes::{EVAL_KEY_FILE, KdfCost, KeyFolder, KeyStep, Repair, SECRET_KEY_FILE};

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
    let folder = KeyFolder::open(&args.out)?;
    if let Some(repair) = folder.repair() {
        let what = match repair {
            Repair::PutBack => "before it had replaced the keys; the old secret key is back",
            _ => "after it had replaced the keys; the old secret key is removed",
        };
        let path = args.out.display();
        console::warn(&format!("{path}: a key generation was stopped {what}"));
    }
    remove_leftovers(&args.out);
    if !folder.unfinished().is_empty() {
        let path = args.out.display();
        console::warn(&match args.resume {
            true => {
                format!("{path}: holds unfinished keys; goes on with them if they are of this set")
            }
            false => format!(
                "{path}: holds unfinished keys, a secret key among them; they stay: go on with --resume, or remove secret.hsk.unfinished and eval.hek.unfinished"
            ),
        });
    }
    let lock = passphrase.as_ref();
    let lock = lock.map(|lock| (lock, KdfCost::default()));
    let mut bar = Counter::new("making keys");
    let mut tick = |step, done, all| {
        bar.label(match step {
            KeyStep::Secret => "making the secret key",
            _ => "making the evaluation key",
        });
        bar.set(done, all);
    };
    let key = match args.resume {
        true => folder.resume(&set, args.force, lock, &mut tick)?,
        false => folder.create(&set, args.force, lock, &mut tick)?,
    };
    drop(bar);
    let under = match passphrase {
        None => "",
        Some(_) => ", under the passphrase",
    };
    console::print_done(&format!(
        "{} (keep it secret{under}) and {}: set {}, key {}\n",
        secret.display(),
        args.out.join(EVAL_KEY_FILE).display(),
        set.name(),
        key.id(),
    ));
    Ok(())
}
