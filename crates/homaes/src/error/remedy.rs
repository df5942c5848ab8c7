//! What to do about an error.

use super::{Error, TAG_TO_CHECK};
use homaes_aes::Direction;
use std::io;

impl Error {
    /// What to do, in one clause.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one table")]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => io_remedy(source),
            Self::AlreadyExists { .. } => "choose another name or overwrite with --force",
            Self::UnfinishedOfSet { .. } => "name that set, or remove the unfinished files",
            Self::OtherRun { .. } | Self::Journal { .. } => {
                "choose another output, or begin anew with --force, which gives up what that run has done"
            }
            Self::Shard { .. } => "remove it, and run its number again",
            Self::HoldsSecretKey { .. } => "choose another name, or remove the key by hand",
            Self::OwnInput { .. } => "choose another name for the output",
            Self::ClientKey { .. } => "write the key with tfhe::safe_serialization::safe_serialize",
            Self::UnknownDevice { .. } => "'homaes devices' lists GPUs",
            Self::NoGpu { remedy, .. } => remedy,
            Self::NotOnGpu { .. } => "leave --device out",
            Self::Range { .. } => "give bytes that the message has, the smaller number first",
            Self::File { source, .. } => source.remedy(),
            Self::Content { source, .. } | Self::Batch { source, .. } => source.remedy(),
            Self::Ciphertext { source, .. } => source.remedy(),
            Self::Keys(source) | Self::Unfit(source) => source.remedy(),
            Self::Value { .. } => "correct what the program says of it",
            Self::WrongShard(_) => "remove it, and evaluate it again with 'homaes job run'",
            Self::Pattern { .. } => {
                "search for as many bytes at most, or use a set with more slots"
            }
            Self::NoisyValue { .. } | Self::Wide { .. } => {
                "compute it anew, and trust none of its numbers"
            }
            Self::OtherState { .. } => {
                "give results of a set of the scheme that the program is for"
            }
            Self::Cancelled => "run it again",
            Self::Noise { .. } => {
                "make the keys anew and transcipher again; if it stays so, please report it"
            }
            Self::Params(_) => "this is a fault of the program; please report it",
            Self::UnknownSet { .. } => "'homaes params --all' lists all sets",
            Self::KeySizeOfSet { .. } => "make the keys with a set that takes it",
            Self::UnknownSetInFile { .. } => {
                "use the version of homaes that made the file, or make it anew"
            }
            Self::AesKey { .. } => "give the raw key or its hex digits, nothing else",
            Self::AlmostHex { .. } => {
                "correct the digits; if it is a raw AES-256 key, give its 64 hex digits"
            }
            Self::MessageLength { .. } => "check that the file is whole and that this is its mode",
            Self::Foreign { format, .. } => format.remedy(),
            Self::Aad { .. } => "give associated data with mode gcm only, and not more",
            Self::Direction { found, .. } => match found {
                Direction::Encrypt => "wrap the AES key with wrap-key --direction decrypt",
                Direction::Decrypt => "wrap the AES key with wrap-key --direction encrypt",
            },
            Self::NotOfMode {
                option: TAG_TO_CHECK,
                ..
            } => {
                "if a GCM message is expected, do not use this file; otherwise decrypt without --key-file, or with --unauthenticated"
            }
            Self::NotOfMode { .. } => "decrypt without this option",
            Self::AesKeySize { .. } => "give the AES key of the message",
            Self::Tag { .. } => {
                "do not use this message; check the nonce, the associated data and the AES key"
            }
            Self::NoAesKey { .. } => {
                "give the AES key with --key-file, or take bytes that anybody may have changed with --unauthenticated"
            }
            Self::Unexpected { .. } => {
                "give the file of the message that is expected; if this is what the server returned, do not use it"
            }
            Self::SeenUnchecked { .. } => {
                "give the AES key of a GCM message, or decrypt without --seen"
            }
            Self::Seen { .. } => {
                "do not use it again: the server returned an old message, or it was decrypted twice"
            }
            Self::SeenDamaged { .. } => {
                "restore the log from a copy; a new log under another name knows of no message yet"
            }
            Self::SeenIsOutput { .. } => "choose another name for one of them",
            Self::Padding { .. } => {
                "check mode, IV and AES key, or decrypt without --unpad if the message was not padded"
            }
            Self::Passphrase { .. } => "give a file with the passphrase as its only line",
            Self::Protected { .. } => "give the passphrase with --passphrase-file",
            Self::NotProtected { .. } => "leave the passphrase out",
            Self::WrongPassphrase { .. } => {
                "check the passphrase; if it is right, the file was changed: take a copy of it"
            }
            Self::KdfMemory { .. } => "free memory, or raise the memory limit",
            Self::Random(_) => "make the system's random source available",
            Self::KeysExist { .. } => "move or delete the old folder, or choose another",
            Self::PartNames { .. } => "rename them, or give names with --files-from",
            Self::ManyParts { .. } => {
                "choose one with --part, or give a folder for all of them, such as 'parts/', without what is expected of one message"
            }
            Self::NoParts { .. } => {
                "if parts are expected, do not use it; otherwise leave out --part and --expect, and give a file as output"
            }
            Self::NoPart { .. } => "'homaes inspect' lists the parts",
            Self::Crossing { needed, .. } => crossing_remedy(*needed),
            Self::Disk { .. } => "free space, or choose a folder on another disk",
            Self::Memory { .. } => {
                "raise the memory limit, or use a machine with more memory or a smaller parameter set"
            }
        }
    }
}

fn crossing_remedy(needed: usize) -> &'static str {
    match needed {
        1 => {
            "wrap the key with --levels-left 1, under a set that leaves one: bgv/bridge128 for AES-128, bgv/aes192+5 for AES-192, bgv/aes256+2 for AES-256"
        }
        _ => {
            "wrap the key with --levels-left 5, under bgv/bridge128 for AES-128 or bgv/aes192+5 for AES-192; AES-256 crosses to a secret key of tfhe/p64 alone"
        }
    }
}

fn io_remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        // not by the system: an unfinished key that others may have made or read
        Kind::PermissionDenied if error.get_ref().is_some() => "remove it",
        Kind::NotFound => "check the path",
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => "check the permissions",
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free space or write to another disk"
        }
        Kind::NotADirectory => "check the path: a part of it is a file, not a folder",
        Kind::ResourceBusy => "wait for it to end, or give this run another output",
        Kind::InvalidInput | Kind::IsADirectory => "give a regular file",
        Kind::InvalidFilename => "choose another name",
        Kind::InvalidData | Kind::UnexpectedEof => {
            "let nothing write to it while it is used, and try again"
        }
        _ => "check the file, the disk and their permissions, and try again",
    }
}
