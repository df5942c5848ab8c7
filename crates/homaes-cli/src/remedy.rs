use homaes::{Direction, ErrorKind, Kind};
use std::io;

/// The user's remedy for an error, in one clause.
#[must_use]
#[expect(clippy::too_many_lines, reason = "one table")]
pub fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io(kind) => of_system(kind),
        ErrorKind::Untrusted => "remove it",
        ErrorKind::AlreadyExists => "choose another name or overwrite with --force",
        ErrorKind::HoldsSecretKey => "choose another name, or remove the key by hand",
        ErrorKind::OwnInput => "choose another name or folder for the output",
        ErrorKind::Disk => "free space, or choose a folder on another disk",
        ErrorKind::Memory => {
            "raise the memory limit, or use a machine with more memory or a smaller parameter set"
        }
        ErrorKind::Random => "make the system's random source available",
        ErrorKind::KeysExist => "move or delete the old folder, or choose another",
        // it may be an AES key, which must not be made again
        ErrorKind::NotHomaes => "give a file made by homaes, or copy it again if it was one",
        ErrorKind::WrongKind(Kind::Values) => "'homaes export' reads results for the crate tfhe",
        ErrorKind::WrongKind(Kind::Packed) => {
            "'homaes export' reads results for CKKS libraries (--to lattigo or npz)"
        }
        ErrorKind::WrongKind(Kind::Computed) => {
            "'homaes decrypt --json' prints computed values, and --patterns the answers of 'homaes scan'"
        }
        ErrorKind::WrongKind(_) => "check which file goes with which option",
        ErrorKind::NewerVersion => "use a newer version of homaes",
        ErrorKind::UnknownSetInFile | ErrorKind::OtherDigest => {
            "use the version of homaes that made the file, or make the file again"
        }
        ErrorKind::OtherSet => "use files that were made for each other",
        ErrorKind::OtherKey => "use files made with one secret key",
        ErrorKind::Changed => "do not change the file during a run; load it again",
        ErrorKind::Damaged => "copy the file again, or make it again",
        ErrorKind::Undecryptable => {
            "check that the secret key belongs to the file, or transcipher again"
        }
        ErrorKind::Noise => "do not trust the result: make it again, with new keys if it stays so",
        ErrorKind::UnfinishedKeys => {
            "give the set and the layouts of that run, or remove the unfinished files"
        }
        ErrorKind::OtherRun => "choose another output, or discard that run with --force",
        ErrorKind::Shard => "remove it and run 'homaes job run'",
        ErrorKind::UnknownDevice => "'homaes devices' lists GPUs",
        ErrorKind::NoGpu => "'homaes devices' lists the usable GPUs; --device cpu needs none",
        ErrorKind::NotOnGpu => "take --device cpu",
        ErrorKind::DeviceFault => {
            "run it again, or with --device cpu; jobs and runs with --resume keep what is finished"
        }
        ErrorKind::UnknownSet => "'homaes params --all' lists all sets",
        ErrorKind::KeySize => "choose a set for this size of AES key; see 'homaes params'",
        ErrorKind::NoLayout => "choose a layout that the set offers; see 'homaes params'",
        ErrorKind::NotWrapped => {
            "choose another layout, or give a wrapped key that holds this one: the compact key, if this was kept from a run"
        }
        ErrorKind::NotInEvalKey => {
            "choose a layout that it has and wrap the AES key for it, or make new keys with 'keygen --layouts all'"
        }
        ErrorKind::Levels => {
            "choose a set with more levels (see 'homaes params'), a shorter AES key, or fewer --levels-left"
        }
        ErrorKind::NoLevels => "leave --levels-left out",
        ErrorKind::ClientExpands => {
            "leave --expand out, or choose a scheme whose server can expand the key"
        }
        ErrorKind::NoExpansion => "wrap the AES key with wrap-key --full, or make new keys",
        ErrorKind::TooDeep | ErrorKind::NoKey => {
            "wrap the AES key with more --levels-left, choose a set that leaves more, or compute less"
        }
        ErrorKind::BridgeLevels(1) => {
            "wrap the key with --levels-left 1, under a set that leaves one: bgv/bridge128 for AES-128, \
             bgv/aes192+5 for AES-192; for AES-256 with --levels-left 8, under bgv/aes256+8"
        }
        ErrorKind::BridgeLevels(8) => {
            "wrap the key with --levels-left 8, under bgv/aes128+8 for AES-128 or bgv/aes256+8 for longer keys"
        }
        ErrorKind::BridgeLevels(11) => {
            "wrap the key with --levels-left 11, under bgv/aes192+5 for AES-128, bgv/aes256+8 for AES-192 or \
             bgv/aes256+17 for AES-256; a bridge of 'keygen --bridge ckks:8' takes 8"
        }
        ErrorKind::BridgeLevels(_) => {
            "wrap the key with --levels-left 5, under bgv/bridge128 for AES-128 or bgv/aes192+5 for AES-192; for AES-256 \
             with --levels-left 8, under bgv/aes256+8"
        }
        ErrorKind::UnfitKey => {
            "make keys and bridge together with 'keygen --set … --bridge …', which draws keys until they fit"
        }
        ErrorKind::AesKey => {
            "give the raw key or its hex digits, nothing else; give a raw key that looks like hex as 64 hex digits"
        }
        ErrorKind::AesKeySize => "give the AES key of the message",
        ErrorKind::MessageLength => "check that the file is complete and the mode is right",
        ErrorKind::Salted => {
            "remove the first 16 bytes with 'tail -c +17', and print key and IV with 'openssl enc -P -S SALT' and \
             the options of the encryption"
        }
        ErrorKind::Base64 => {
            "decode it ('openssl base64 -d', or 'xxd -r -p' for hexadecimal digits) and try again, or give --raw"
        }
        ErrorKind::Foreign => {
            "extract AES key, IV and ciphertext (docs/files.md), or encrypt the content with 'openssl enc \
             -aes-128-ctr -K KEY -iv IV'"
        }
        ErrorKind::Direction(Direction::Encrypt) => {
            "wrap the AES key with wrap-key --direction encrypt"
        }
        ErrorKind::Direction(Direction::Decrypt) => {
            "wrap the AES key with wrap-key --direction decrypt"
        }
        ErrorKind::NoTag => {
            "if you expect a GCM message, do not use this file; otherwise leave out --key-file or --keys, or add \
             --unauthenticated"
        }
        ErrorKind::NotOfMode => "leave this option out",
        ErrorKind::Tag => {
            "do not use this message; check the nonce, the associated data and the AES key"
        }
        ErrorKind::Unchecked => {
            "give the AES key with --key-file, or a list of them with --keys, or accept unchecked bytes with --unauthenticated"
        }
        ErrorKind::Unexpected => {
            "give the file of the expected message; if the server returned this one, do not use it"
        }
        ErrorKind::Replayed => {
            "do not use it: the server returned an old message, or you decrypted it twice"
        }
        ErrorKind::ReplayUnchecked => {
            "give the AES key of a GCM message, or decrypt without --seen"
        }
        ErrorKind::ReplayLog => {
            "restore the log from a copy; a new log would accept old messages again"
        }
        ErrorKind::Padding => {
            "check mode, IV and AES key; if the message has no padding, leave out --unpad"
        }
        ErrorKind::Passphrase => "give a file with the passphrase as its only line",
        ErrorKind::Protected => "give the passphrase with --passphrase-file",
        ErrorKind::NotProtected => "leave the passphrase out",
        ErrorKind::WrongPassphrase => {
            "check the passphrase; if it is right, the file is damaged: use a copy"
        }
        ErrorKind::KeyName => {
            "'homaes inspect' shows the names in a wrapped key and those of the parts of results"
        }
        ErrorKind::PartNames => "rename them, or give names with --files-from",
        ErrorKind::ManyParts => {
            "choose one with --part, or give a folder such as 'parts/' as output, without options for one message"
        }
        ErrorKind::NoParts => {
            "if you expect parts, do not use it; otherwise leave out --part and --expect, and give a file as output"
        }
        ErrorKind::NoPart => "'homaes inspect' lists the parts",
        ErrorKind::NoJob => "check the location, or make a job with 'homaes job plan'",
        ErrorKind::Plan => {
            "the plan was changed or comes from another version; plan the job again elsewhere"
        }
        ErrorKind::OtherJob => "choose another place for this one",
        ErrorKind::JobKeys => "restore the keys of the plan, or plan the job again elsewhere",
        ErrorKind::JobInput => "restore the planned file, or plan the job again elsewhere",
        ErrorKind::Differs => {
            "a machine computes wrongly or the shard was forged; evaluate it on a third machine and remove the \
             wrong one"
        }
        ErrorKind::Busy => "wait for the workers, or stop them",
        ErrorKind::Linked => "remove the files of the job by hand",
        ErrorKind::NoShard => "'homaes job status' shows the shards",
        ErrorKind::Incomplete => "run 'homaes job run'",
        ErrorKind::StoreBusy => "run the same command later",
        ErrorKind::Store => "check the location and its permissions",
        ErrorKind::Cancelled => "run it again",
        ErrorKind::Fault => "this is a bug; please report it",
        // ErrorKind::Argument, whose message names the valid values
        _ => "give what is expected",
    }
}

fn of_system(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind as Kind;
    match kind {
        Kind::NotFound => "check the path",
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => "check the permissions",
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free space or write to another disk"
        }
        Kind::NotADirectory => "check the path: a part of it is a file, not a folder",
        Kind::ResourceBusy => "wait for it to end, or give this run another output",
        Kind::InvalidInput | Kind::IsADirectory => "give a regular file",
        Kind::InvalidFilename => "choose another name",
        Kind::InvalidData | Kind::UnexpectedEof => "do not write to it during a run; try again",
        _ => "check the file, the disk and their permissions, and try again",
    }
}
