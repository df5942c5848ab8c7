use super::{
    FOR_THE_SERVER, named_set, new_passphrase, of_size, open_secret, open_secret_by, print_done,
    refuse_own_input, resumable,
};
use crate::args::{BridgeEnd, Keygen};
use crate::console::{self, Failure, fail, refuse};
use crate::progress::Bar;
use crate::remedy::remedy;
use homaes::{
    BRIDGE_KEY_FILE, BridgeKey, EVAL_KEY_FILE, Error, ErrorKind, EvalKey, KdfCost, KeyFolder,
    KeySize, KeyStep, LINK_KEY_FILE, Layout, LinkKey, Output, Pair, Passphrase, SECRET_KEY_FILE,
    SecretKey, Set, inspect, inspect_folder,
};
use std::path::Path;
use std::sync::OnceLock;

pub(crate) fn run(args: &Keygen) -> Result<(), Failure> {
    let bridge_file = args.out.join(BRIDGE_KEY_FILE);
    let end_file = match &args.bridge {
        Some(BridgeEnd::Key(path)) => Some(path),
        Some(BridgeEnd::Ckks(_)) | None => None,
    };
    let passphrases = [&args.passphrase_file, &args.bridge_passphrase_file];
    let reads = passphrases.into_iter().flatten().chain(end_file);
    let reads: Vec<&Path> = reads.map(|path| path.as_path()).collect();
    if args.bridge.is_some() {
        refuse_own_input(&bridge_file, &reads)?;
    }
    if args.set.is_some() {
        for file in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
            refuse_own_input(&args.out.join(file), &reads)?;
        }
    }
    let passphrase = args.bridge_passphrase_file.as_deref();
    let end = args.bridge.as_ref();
    let end = end.map(|end| read_end(end, passphrase)).transpose()?;
    if end.is_some() && bridge_file.exists() && !args.force {
        let error = Error::refused(ErrorKind::AlreadyExists, "file already exists");
        return Err(error.at(bridge_file).into());
    }
    let Some(name) = &args.set else {
        return add_to_folder(args, end);
    };
    let set = named_set(name)?;
    if let Some(end) = &end {
        check_end(&set, end)?;
    }
    if !set.is_secure() && !args.accept_insecure {
        let insecure = console::insecure(&set);
        return refuse(format!(
            "{insecure}; pass --accept-insecure to make keys for tests"
        ));
    }
    let layouts = layouts_of(args, &set)?;
    console::warn_insecure(&set);
    let secret = args.out.join(SECRET_KEY_FILE);
    let protected = args.passphrase || args.passphrase_file.is_some();
    if args.resume && end.is_none() && is_made(&args.out, &set, &layouts, protected) {
        let (folder, name) = (args.out.display(), set.name());
        console::print_done(&format!("{folder}: both keys of set {name} are complete"));
        return Ok(());
    }
    let passphrase = match (&args.passphrase_file, args.passphrase) {
        (None, false) => None,
        (file, _) => Some(new_passphrase(
            &secret,
            file.as_deref(),
            "--passphrase-file",
        )?),
    };
    let folder = KeyFolder::open(&args.out)?.for_layouts(layouts.clone());
    if !folder.unfinished().is_empty() {
        let path = args.out.display();
        let what = match args.resume {
            true => "continuing if they belong to this set",
            false => {
                "continue with --resume, or remove secret.hsk.unfinished and eval.hek.unfinished"
            }
        };
        console::warn(&format!("{path}: holds unfinished keys; {what}"));
    }
    let bridge_output = end.as_ref().map(|end| BridgeOutput::create(args, end));
    let bridge_output = bridge_output.transpose()?;
    let lock = passphrase.as_ref();
    let (key, bridge) = make(args, &set, folder, lock, end.as_ref())?;
    let stays = match passphrase {
        None => "stays here: keep it secret",
        Some(_) => "stays here: keep it and its passphrase secret",
    };
    console::print_done(&format!(
        "{}\n{}\nset {}, key {}, for AES keys of {}",
        of_size(&secret, stays),
        eval_line(&args.out, &set, &layouts),
        set.name(),
        key.id(),
        key_sizes(&set),
    ));
    for assumption in &set.card().assumptions {
        console::print_done(&format!("set {} assumes: {assumption}", set.name()));
    }
    if end.is_none() && bridge_file.exists() {
        console::warn(&format!(
            "{}: belongs to the former keys; make it again with --bridge",
            bridge_file.display()
        ));
    }
    match bridge.zip(bridge_output).zip(end) {
        Some(((bridge, output), end)) => output.save(&bridge, &end),
        None => Ok(()),
    }
}

/// The layouts of the evaluation key, in the order of the set.
fn layouts_of(args: &Keygen, set: &Set) -> Result<Vec<Layout>, Failure> {
    let found = set.eval_key(args.layouts.as_deref().unwrap_or_default());
    let found = found.map_err(|error| {
        let message = format!("--layouts: {error}; {}", remedy(error.kind()));
        Failure::Usage(message)
    });
    found.map(|(layouts, _)| layouts)
}

fn eval_line(folder: &Path, set: &Set, layouts: &[Layout]) -> String {
    let line = of_size(&folder.join(EVAL_KEY_FILE), FOR_THE_SERVER);
    match layouts == set.layouts() {
        true => line,
        false => format!("{line}, for layout {}", Layout::list(layouts)),
    }
}

/// Whether an earlier run of the same command completed the keys of `folder`.
fn is_made(folder: &Path, set: &Set, layouts: &[Layout], protected: bool) -> bool {
    let fits = inspect_folder(folder).is_ok_and(|keys| keys.pair == Pair::Fits);
    let held = EvalKey::layouts_in(folder.join(EVAL_KEY_FILE));
    fits && held.is_ok_and(|held| held == layouts)
        && inspect(folder.join(SECRET_KEY_FILE)).is_ok_and(|secret| {
            secret.set_name == set.name() && secret.protection.is_some() == protected
        })
}

/// Lists the AES key sizes of a set, and sets for the other sizes.
fn key_sizes(set: &Set) -> String {
    let bits = |size: KeySize| 8 * size.key_bytes();
    let taken = set.key_sizes();
    let own: Vec<_> = taken.iter().map(|&size| bits(size).to_string()).collect();
    let others = KeySize::ALL
        .into_iter()
        .filter(|size| !taken.contains(size));
    let others = others.filter_map(|size| {
        let other = set.for_key_size(size)?;
        Some(format!("{}: {other}", bits(size)))
    });
    let others: Vec<_> = others.collect();
    match others.is_empty() {
        true => format!("{} bits", own.join(", ")),
        false => format!("{} bits ({})", own.join(", "), others.join(", ")),
    }
}

fn make(
    args: &Keygen,
    set: &Set,
    folder: KeyFolder,
    lock: Option<&Passphrase>,
    end: Option<&End>,
) -> Result<(SecretKey, Option<BridgeKey>), Failure> {
    let lock = lock.map(|lock| (lock, KdfCost::default()));
    let bar = Bar::counter("making keys");
    let mut tick = |step, done, all| {
        bar.label(match step {
            KeyStep::Secret => "making the secret key",
            _ => "making the evaluation key",
        });
        bar.set(done, all);
    };
    let mut bridge = None;
    let mut fits = |key: &SecretKey| {
        bridge = end.map(|end| end.bridge(key)).transpose()?;
        Ok(())
    };
    let key = match args.resume {
        true => folder.resume(set, lock, &mut tick),
        false => folder.create_fit(set, lock, &mut tick, &mut fits),
    };
    Ok((key.map_err(|error| resumable(args.resume, error))?, bridge))
}

fn add_to_folder(args: &Keygen, end: Option<End>) -> Result<(), Failure> {
    let secret = args.out.join(SECRET_KEY_FILE);
    if !secret.exists() {
        return fail(format!(
            "{}: no secret key for the bridge; give the folder of the keys, or make keys with --set",
            args.out.display()
        ));
    }
    if inspect_folder(&args.out)?.pair == Pair::Differs {
        return fail(format!(
            "{}: the evaluation key belongs to another secret key; make both again in a new folder",
            args.out.display()
        ));
    }
    let key = open_secret(&secret, args.passphrase_file.as_deref())?;
    match end {
        Some(end) => {
            let output = BridgeOutput::create(args, &end)?;
            output.save(&end.bridge(&key)?, &end)
        }
        None => Ok(()),
    }
}

/// Refuses an end that bridges from `set` do not lead to.
fn check_end(set: &Set, end: &End) -> Result<(), Failure> {
    if !set.has_bridges() {
        let better = match end {
            End::Link { log2_t: 8, .. } => "bgv/aes128+8",
            End::Link { .. } => "bgv/aes192+5",
            _ => "bgv/bridge128",
        };
        return Err(no_bridges(set, better));
    }
    match end {
        End::Set(key) => set.check_bridge(key.set())?,
        End::Link { log2_t, .. } => set.check_link(*log2_t)?,
        #[cfg(feature = "tfhe-rs")]
        End::User(_) => {}
    }
    Ok(())
}

pub(super) fn no_bridges(set: &Set, better: &str) -> Failure {
    Failure::Usage(format!(
        "set {} has no bridges: they need a BGV byte set with multiplications left after AES; use {better}",
        set.name()
    ))
}

pub(super) enum End {
    Set(SecretKey),
    #[cfg(feature = "tfhe-rs")]
    User(Box<homaes::ClientKey>),
    Link {
        log2_t: u32,
        /// drawn when the first bridge is made
        key: OnceLock<LinkKey>,
    },
}

impl End {
    pub(super) fn bridge(&self, key: &SecretKey) -> Result<BridgeKey, Error> {
        match self {
            Self::Set(end) => BridgeKey::generate(key, end),
            #[cfg(feature = "tfhe-rs")]
            Self::User(user) => BridgeKey::to_client(key, user),
            Self::Link { log2_t, key: link } => {
                key.set().check_link(*log2_t)?;
                let drawn = match link.get() {
                    Some(drawn) => drawn,
                    None => {
                        let drawn = LinkKey::generate(key.set())?;
                        link.get_or_init(|| drawn)
                    }
                };
                BridgeKey::to_link(key, drawn, *log2_t)
            }
        }
    }
}

fn read_end(end: &BridgeEnd, passphrase_file: Option<&Path>) -> Result<End, Failure> {
    let path = match end {
        BridgeEnd::Ckks(_) if passphrase_file.is_some() => {
            let message = "--bridge-passphrase-file is for a key in a file, not for --bridge ckks; leave it out";
            return Err(Failure::Usage(message.into()));
        }
        BridgeEnd::Ckks(log2_t) => {
            return Ok(End::Link {
                log2_t: *log2_t,
                key: OnceLock::new(),
            });
        }
        BridgeEnd::Key(path) => path,
    };
    if homaes::is_secret_key(path)? {
        return Ok(End::Set(open_secret_by(
            path,
            passphrase_file,
            "--bridge-passphrase-file",
        )?));
    }
    #[cfg(feature = "tfhe-rs")]
    {
        let key = homaes::read_client_key(path)?;
        super::warn_if_exposed(homaes::is_exposed(path), path, "client key");
        Ok(End::User(Box::new(key)))
    }
    #[cfg(not(feature = "tfhe-rs"))]
    refuse(format!(
        "{}: not a secret key (.hsk); to read client keys of the crate tfhe, build with --features tfhe-rs",
        path.display()
    ))
}

/// The files of a new bridge, reserved before the work.
struct BridgeOutput {
    bridge: Output,
    link: Option<Output>,
}

impl BridgeOutput {
    fn create(args: &Keygen, end: &End) -> Result<Self, Failure> {
        let path = args.out.join(LINK_KEY_FILE);
        let link = match end {
            End::Link { .. } if path.exists() => {
                return fail(format!(
                    "{}: link key of an earlier bridge, which is never replaced; delete it if no CKKS library still \
                     needs it, or choose another folder",
                    path.display()
                ));
            }
            End::Link { .. } => Some(Output::private(&path, false)?),
            _ => None,
        };
        if link.is_none() && path.exists() {
            console::warn(&format!("{}: belongs to the former bridge", path.display()));
        }
        let bridge = Output::create(args.out.join(BRIDGE_KEY_FILE), args.force)?;
        Ok(Self { bridge, link })
    }

    fn save(self, bridge: &BridgeKey, end: &End) -> Result<(), Failure> {
        let link = match end {
            End::Link { key, .. } => self.link.zip(key.get()),
            _ => None,
        };
        let Some((mut output, key)) = link else {
            return save_bridge(bridge, self.bridge);
        };
        // it is on the disk before the bridge gets its name, so no bridge stays beside another link key
        key.write(&mut output)?;
        save_bridge(bridge, self.bridge)?;
        let file = output.path().to_owned();
        output.commit()?;
        let what = "stays here, without a passphrase: keep it secret, make your CKKS library's key from it, then \
                    delete it";
        print_done(&file, &format!("link key {}, {what}", key.id()));
        Ok(())
    }
}

/// Writes a bridge key, and reports where it leads and how often it fails.
fn save_bridge(bridge: &BridgeKey, output: Output) -> Result<(), Failure> {
    let file = output.path().to_owned();
    bridge.save(output)?;
    let end = bridge.end();
    let wrong = bridge.fitness().map_or_else(String::new, |fitness| {
        let used = fitness.used_log2.map_or_else(String::new, |log2| {
            format!(
                ", and values exceed the room of a bootstrap after 4a + b with probability 2^{log2:.1}"
            )
        });
        format!(
            "; a batch is read wrongly with probability at most 2^{:.1}{used}",
            fitness.read_log2
        )
    });
    print_done(&file, &format!("converts to {end}{wrong}"));
    Ok(())
}
