//! The command line. Choices that are not evaluated yet are no values of these enums, so they are refused by name.

use clap::{Parser, Subcommand, ValueEnum};
use homaes::Block;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Turn AES ciphertexts into FHE ciphertexts without seeing key or data
#[derive(Debug, Parser)]
#[command(name = "homaes", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Params(Params),
    Keygen(Keygen),
    WrapKey(WrapKey),
    Transcipher(Transcipher),
    Decrypt(Decrypt),
    Inspect(Inspect),
    Bench(Bench),
}

/// Make keys, encrypt a text with AES, transcipher, decrypt, compare, and show times and sizes
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// FHE scheme; its 128-bit secure set is taken
    #[arg(long, value_enum, default_value_t = Scheme::Bgv)]
    pub(crate) scheme: Scheme,
    /// Parameter set instead of the scheme's default (see 'homaes params')
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// AES blocks of text [default: one full batch]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BLOCKS))]
    pub(crate) blocks: Option<u64>,
}

/// List every parameter set
#[derive(Debug, clap::Args)]
pub(crate) struct Params {
    /// Print one JSON document with everything known about each set
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a secret key and an evaluation key
#[derive(Debug, clap::Args)]
pub(crate) struct Keygen {
    /// Parameter set (see 'homaes params')
    #[arg(long, value_name = "NAME")]
    pub(crate) set: String,
    /// Folder for secret.hsk and eval.hek; made if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Make keys for a set that offers no security, for tests
    #[arg(long)]
    pub(crate) accept_insecure: bool,
    /// Replace existing keys
    #[arg(long)]
    pub(crate) force: bool,
}

/// Encrypt an AES key under FHE
#[derive(Debug, clap::Args)]
pub(crate) struct WrapKey {
    /// Secret key (.hsk)
    #[arg(long, value_name = "FILE")]
    pub(crate) secret: PathBuf,
    /// AES key: 16, 24 or 32 raw bytes, or 32, 48 or 64 hex digits; '-' reads standard input.
    /// 32 bytes that all are hex digits are taken as hex
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: PathBuf,
    /// How blocks are laid out in ciphertexts
    #[arg(long, value_enum, default_value_t = Layout::Sliced)]
    pub(crate) layout: Layout,
    /// Direction of the cipher: CTR needs encrypt
    #[arg(long, value_enum, default_value_t = Direction::Encrypt)]
    pub(crate) direction: Direction,
    /// Wrapped key to write (.hwk)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Turn an AES-encrypted file into FHE ciphertexts
#[derive(Debug, clap::Args)]
pub(crate) struct Transcipher {
    /// Evaluation key (.hek)
    #[arg(long, value_name = "FILE")]
    pub(crate) eval: PathBuf,
    /// Wrapped AES key (.hwk)
    #[arg(long, value_name = "FILE")]
    pub(crate) wrapped_key: PathBuf,
    /// Mode of operation of the file
    #[arg(long, value_enum)]
    pub(crate) mode: Mode,
    /// Initial counter block, 32 hex digits, as in 'openssl enc -iv'
    #[arg(long, value_name = "HEX", value_parser = parse_iv)]
    pub(crate) iv: Block,
    /// AES-encrypted file
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// FHE ciphertexts to write (.hct)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// auto: a bar on terminals; json: one JSON object per line on standard output
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Decrypt FHE ciphertexts
#[derive(Debug, clap::Args)]
pub(crate) struct Decrypt {
    /// Secret key (.hsk)
    #[arg(long, value_name = "FILE")]
    pub(crate) secret: PathBuf,
    /// FHE ciphertexts (.hct)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Show what a file holds and verify its checksums; needs no secret
#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    /// File made by homaes
    pub(crate) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure one full run, or the kernels beside their reference
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// What to measure
    #[arg(value_enum, default_value_t = Target::All)]
    pub(crate) target: Target,
    /// Parameter set instead of the scheme's default (see 'homaes params')
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Worker threads, and batches side by side [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// AES blocks [default: one full batch per thread]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BLOCKS))]
    pub(crate) blocks: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// The schemes, as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    Bgv,
}

impl Scheme {
    pub(crate) fn get(self) -> homaes::Scheme {
        match self {
            Self::Bgv => homaes::Scheme::Bgv,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    Sliced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    Encrypt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Ctr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Json,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    Bgv,
    Kernels,
    All,
}

/// More text than demonstrations and benchmarks need: 1 GiB.
const MAX_BLOCKS: u64 = 1 << 26;

/// More than any machine has cores.
const MAX_THREADS: usize = 4096;

fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse::<NonZeroUsize>()
        .ok()
        .filter(|threads| threads.get() <= MAX_THREADS)
        .ok_or_else(|| format!("expected a number from 1 to {MAX_THREADS}"))
}

fn parse_iv(text: &str) -> Result<Block, String> {
    if let Some(other) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("found {other:?}, expected 32 hex digits"));
    }
    if text.len() != 32 {
        let found = text.len();
        return Err(format!(
            "found {found} hex digits, expected 32: the whole initial counter block"
        ));
    }
    let value = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    Ok(value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn ivs_have_32_digits() {
        assert_eq!(
            parse_iv("000102030405060708090a0B0c0d0e0f").unwrap()[11..13],
            [11, 12]
        );
        for bad in [
            "",
            "00",
            &"0".repeat(31),
            &"0".repeat(33),
            &"+".repeat(32),
            &"é".repeat(16),
        ] {
            assert!(parse_iv(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn threads_are_bounded() {
        assert!(parse_threads("1").is_ok() && parse_threads("4096").is_ok());
        for bad in ["0", "-1", "4097", "x", ""] {
            assert!(parse_threads(bad).is_err(), "{bad:?}");
        }
    }
}
