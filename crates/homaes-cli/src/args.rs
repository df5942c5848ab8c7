use crate::console::Failure;
use clap::{Parser, Subcommand, ValueEnum};
use homaes::{
    Column, Condition, Devices as Evaluators, Direction, Expansion, Layout, Scheme, Variant,
};
use parse::{
    Auto, bridge_end, directions_or_both, expansions, file_path, layouts, modes, parse_blocks,
    parse_device, parse_layouts, parse_range, parse_threads, schemes, variants,
};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

mod bench;
mod job;
mod parse;

pub(crate) use bench::{Bench, BenchCommand, Compare, Papers, Target};
pub(crate) use job::{Job, JobCommand, JobMerge, JobPlan, JobRun, JobRunShard, JobVerify};
pub(crate) use parse::{MODES, is_stream, parse_expected_nonce, parse_iv, parse_nonce};

/// Turn AES ciphertexts into FHE ciphertexts without seeing the AES key or the data
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
    Job(Job),
    Decrypt(Decrypt),
    Compute(Compute),
    Scan(Scan),
    Finish(Finish),
    Export(Export),
    Inspect(Inspect),
    Devices(Devices),
    Passphrase(ChangePassphrase),
    Bench(Bench),
    Report(Report),
    Completions(Completions),
    Man(Man),
}

/// Make keys, encrypt a text with AES, transcipher, decrypt, compare, and show times and sizes
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// FHE scheme, with its default set (secure if the scheme has a secure set) [default: that of --set, or bgv]
    #[arg(long, value_parser = schemes())]
    pub(crate) scheme: Option<Scheme>,
    /// Parameter set instead of the scheme's default (see 'homaes params')
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Variant of the scheme's AES circuit, with its default set
    #[arg(long, value_parser = variants(), conflicts_with = "set")]
    pub(crate) variant: Option<Variant>,
    /// Layout of blocks in ciphertexts; auto: as in 'homaes transcipher'
    #[arg(long, value_parser = layouts(), default_value = "auto")]
    pub(crate) layout: Auto<Layout>,
    /// AES blocks of text [default: one full batch, or 2 for schemes that are fast on few blocks]
    #[arg(long, value_name = "N", value_parser = parse_blocks())]
    pub(crate) blocks: Option<u64>,
}

/// List the secure parameter sets
#[derive(Debug, clap::Args)]
pub(crate) struct Params {
    /// Also list the papers' sets and toy sets, which protect nothing
    #[arg(long)]
    pub(crate) all: bool,
    /// Print everything about all sets as one JSON document (implies --all)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a secret key and an evaluation key
#[derive(Debug, clap::Args)]
pub(crate) struct Keygen {
    /// Parameter set; 'homaes params' lists the sets and the AES key sizes that they take
    #[arg(long, value_name = "NAME", required_unless_present = "bridge")]
    pub(crate) set: Option<String>,
    /// Layouts that the evaluation key is for: 'all', or names with commas. In BGV, 'sliced' leaves out the keys of
    /// packed columns, two fifths of the file; a short message then costs a whole sliced batch
    #[arg(long, value_name = "LIST", value_parser = parse_layouts, default_value = "all")]
    pub(crate) layouts: Auto<Vec<Layout>>,
    /// Folder for secret.hsk, eval.hek, bridge.hbk and link.key; created if missing
    #[arg(short, long, value_name = "DIR", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// File whose only line becomes the secret key's passphrase; '-' reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Ask on the terminal for a passphrase for the secret key
    #[arg(long, conflicts_with = "passphrase_file", requires = "set")]
    pub(crate) passphrase: bool,
    /// Also make a bridge key, bridge.hbk, which converts BGV results for CLIENT-KEY: the secret key of a set such as
    /// tfhe/p64, or a client key of the crate tfhe, written by safe_serialize (feature tfhe-rs). 'ckks' draws a link
    /// key, link.key, for Lattigo, 'ckks:8' one for OpenFHE. With --set, draw secret keys until one fits the bridge;
    /// without it, use the secret key in the folder if it fits
    #[arg(long, value_name = "CLIENT-KEY", value_parser = bridge_end())]
    pub(crate) bridge: Option<BridgeEnd>,
    /// File whose only line is the passphrase of CLIENT-KEY
    #[arg(long, value_name = "FILE", requires = "bridge")]
    pub(crate) bridge_passphrase_file: Option<PathBuf>,
    /// Keep finished records in secret.hsk.unfinished and eval.hek.unfinished, so that the same command continues a
    /// stopped run
    #[arg(long, requires = "set", conflicts_with = "bridge")]
    pub(crate) resume: bool,
    /// Allow a set that protects nothing, for tests
    #[arg(long, requires = "set")]
    pub(crate) accept_insecure: bool,
    /// Replace an existing bridge key; a secret or evaluation key is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// Encrypt an AES key under FHE
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("aes_key").required(true))]
pub(crate) struct WrapKey {
    /// Secret key (.hsk)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) secret: PathBuf,
    /// File whose only line is the secret key's passphrase; '-' reads standard input [default: ask on the terminal if
    /// the key has one]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// AES key: 16, 24 or 32 raw bytes, or 32, 48 or 64 hex digits; '-' reads standard input. A file of 32 hex digits
    /// is read as hex
    #[arg(long, value_name = "FILE", group = "aes_key")]
    pub(crate) key_file: Option<PathBuf>,
    /// BGV: list of AES-128 keys for one wrapped key, each line a name and 32 hex digits; a batch of 2048 blocks is shared
    /// among the keys, and every part of a message names its own. For modes that encrypt, in layout sliced
    #[arg(long, value_name = "LIST", group = "aes_key", conflicts_with_all = ["layout", "direction", "expand", "full"])]
    pub(crate) keys: Option<PathBuf>,
    /// Layout of blocks in ciphertexts; auto: sliced and packed if the set offers them, so that the server can choose,
    /// otherwise bits
    #[arg(long, value_parser = layouts(), default_value = "auto")]
    pub(crate) layout: Auto<Layout>,
    /// Direction of AES: encrypt for CTR, CFB and GCM, decrypt for ECB and CBC; both: one BGV file for all modes
    #[arg(long, value_parser = directions_or_both(), default_value = "encrypt")]
    pub(crate) direction: Auto<Direction>,
    /// Multiplications the results must still allow; only for schemes with levels [default: the set's; see 'homaes
    /// params']
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16))]
    pub(crate) levels_left: Option<u16>,
    /// Who expands the AES key; auto: the server, under encryption, if the scheme supports it (this keeps the file
    /// small), otherwise the client
    #[arg(long, value_parser = expansions(), default_value = "auto")]
    pub(crate) expand: Auto<Expansion>,
    /// BGV: write every round key in full, a file 200 times as large, instead of a compact form that the server expands
    /// in seconds; for servers whose evaluation key is of an older version
    #[arg(long)]
    pub(crate) full: bool,
    /// Wrapped key to write (.hwk)
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// AES-encrypted files and how they were encrypted.
#[derive(Debug, clap::Args)]
pub(crate) struct Message {
    /// Mode of operation of AES
    #[arg(long, value_parser = modes())]
    pub(crate) mode: &'static str,
    /// CTR: initial counter block; CBC, CFB: IV; both 32 hex digits, as in 'openssl enc -iv'. GCM: nonce, 24 hex digits
    /// [default: the first 12 bytes of the file]
    #[arg(long, value_name = "HEX")]
    pub(crate) iv: Option<String>,
    /// Associated data of GCM, at most 1 MiB; stored with the tag for 'decrypt --key-file'
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) aad: Option<PathBuf>,
    /// AES-encrypted file; in mode gcm it ends with the tag (16 bytes). '-' first copies standard input to an unnamed
    /// temporary file. Folders are read recursively; several inputs share batches, as parts of one message
    #[arg(value_name = "IN", required_unless_present = "files_from")]
    pub(crate) inputs: Vec<PathBuf>,
    /// List of more files, one JSON object per line: {"path": …, "name": …, "mode": …, "iv": …, "aad": …, "key_name":
    /// …}; only path is required, iv and aad are hex. If the wrapped key holds many AES keys, key_name names the
    /// part's, by default the first folder in its name
    #[arg(long, value_name = "LIST", value_parser = file_path())]
    pub(crate) files_from: Option<PathBuf>,
    /// Take the input as bare AES ciphertext even if it starts like output of 'openssl enc' with a password, CMS,
    /// S/MIME, age or JWE
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Where AES is evaluated.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Workers {
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// cpu; cuda: all NVIDIA GPUs; cuda:0,1: these GPUs; auto: all usable GPUs, or else the processor. The results are
    /// identical [default: HOMAES_DEVICE, or auto]
    #[arg(long, value_name = "DEVICE", value_parser = parse_device)]
    pub(crate) device: Option<Evaluators>,
}

impl Workers {
    /// The devices of the command line, or else of the environment.
    pub(crate) fn devices(&self) -> Result<Evaluators, Failure> {
        match &self.device {
            Some(device) => Ok(device.clone()),
            None => Evaluators::of_environment().map_err(|error| {
                let name = homaes::DEVICE_VARIABLE;
                Failure::Usage(format!("environment variable {name}: {error}"))
            }),
        }
    }
}

/// Turn an AES-encrypted file into FHE ciphertexts
#[derive(Debug, clap::Args)]
pub(crate) struct Transcipher {
    /// Evaluation key (.hek)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) eval: PathBuf,
    /// Wrapped AES key (.hwk)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) wrapped_key: PathBuf,
    #[command(flatten)]
    pub(crate) message: Message,
    /// FHE ciphertexts to write (.hct; .hlw for a client key of the crate tfhe, .hrl for a link key); '-' streams to stdout, where a
    /// failed run leaves partial output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Convert the BGV results with --bridge
    #[arg(long, value_enum, requires = "bridge")]
    pub(crate) to: Option<To>,
    /// Bridge key (.hbk)
    #[arg(long, value_name = "FILE", value_parser = file_path(), requires = "to")]
    pub(crate) bridge: Option<PathBuf>,
    /// Layout of blocks in ciphertexts, one that both keys have; auto: the fastest of these for the length of the input
    /// (packed for short files, sliced for long ones)
    #[arg(long, value_parser = layouts(), default_value = "auto")]
    pub(crate) layout: Auto<Layout>,
    /// Keep the round keys, in the layout of this run, in a wrapped key (.hwk) that later runs need not expand; in
    /// bgv/aes128 24 MB packed, 378 MB sliced
    #[arg(long, value_name = "FILE", value_parser = file_path(), conflicts_with_all = ["bridge", "resume"])]
    pub(crate) keep_expanded: Option<PathBuf>,
    /// JSON report to write: seconds, level and noise bound of every step of AES in every batch, number of
    /// transforms, and seconds per kernel
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) report: Option<PathBuf>,
    /// Leave times out of the file, so that the same keys and input always give the same bytes
    #[arg(long)]
    pub(crate) reproducible: bool,
    /// Keep finished batches in .OUT.homaes-part and .OUT.homaes-journal, so that the same command continues a stopped
    /// run; .OUT.homaes-done marks a complete output. Implies --reproducible; exit code 75 if disk or memory runs out, or
    /// a GPU fails
    #[arg(long)]
    pub(crate) resume: bool,
    /// With --resume: start even if the disk has no room for the whole output
    #[arg(long, requires = "resume")]
    pub(crate) ignore_space: bool,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// auto: a bar on terminals; json: one JSON object per line on standard output
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,
    /// Replace existing files; with --resume, discard what another run left
    #[arg(long)]
    pub(crate) force: bool,
}

/// Decrypt FHE ciphertexts
#[derive(Debug, clap::Args)]
pub(crate) struct Decrypt {
    /// Secret key (.hsk)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) secret: PathBuf,
    /// File whose only line is the secret key's passphrase; '-' reads standard input [default: ask on the terminal if
    /// the key has one]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// FHE ciphertexts (.hct), a complete job (see 'homaes job'), or with --json or --patterns computed values (.hcv);
    /// '-' reads standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// File to write; '-' writes to standard output once the whole message is decrypted and checked. A folder
    /// ('parts/', or an existing one) receives all parts of a message with parts
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["json", "patterns"])]
    pub(crate) out: Option<PathBuf>,
    /// Decrypt computed values (.hcv) to JSON with labels and numbers [default output: standard output]
    #[arg(long, conflicts_with_all = [
        "key_file", "keys", "unauthenticated", "expect_mode", "expect_nonce", "expect_aad", "expect_bytes", "expect",
        "seen", "part", "unpad",
    ])]
    pub(crate) json: bool,
    /// Decrypt the answers of 'homaes scan' for this list of patterns (.hcv) to JSON with the positions where each
    /// begins [default output: standard output]
    #[arg(long, value_name = "LIST", conflicts_with_all = [
        "json", "key_file", "keys", "unauthenticated", "expect_mode", "expect_nonce", "expect_aad", "expect_bytes",
        "expect", "seen", "part", "unpad",
    ], value_parser = file_path())]
    pub(crate) patterns: Option<PathBuf>,
    /// AES key, as in wrap-key, to check GCM tags; nothing is written unless every part has a valid tag
    #[arg(long, value_name = "FILE", group = "aes_key")]
    pub(crate) key_file: Option<PathBuf>,
    /// The same for results under many AES keys: the list of wrap-key --keys
    #[arg(long, value_name = "LIST", group = "aes_key")]
    pub(crate) keys: Option<PathBuf>,
    /// Accept bytes that anybody may have changed: GCM without --key-file, or other modes with --key-file
    #[arg(long)]
    pub(crate) unauthenticated: bool,
    /// Refuse a message of another mode
    #[arg(long, value_parser = modes(), value_name = "MODE")]
    pub(crate) expect_mode: Option<&'static str>,
    /// Refuse a message with another GCM nonce (24 hex digits), CTR counter block or CBC IV (32 hex digits)
    #[arg(long, value_name = "HEX")]
    pub(crate) expect_nonce: Option<String>,
    /// Refuse a GCM message with other associated data
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) expect_aad: Option<PathBuf>,
    /// Refuse a message of another length; with --unpad, N excludes the padding
    #[arg(long, value_name = "N")]
    pub(crate) expect_bytes: Option<u64>,
    /// Refuse a message unless its parts are those in this file: one JSON object per line with the name of a part and
    /// any of mode, nonce (hex), aad (hex), bytes and key_name
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) expect: Option<PathBuf>,
    /// Replay log, created if missing: refuse a GCM message that it contains, and record each accepted one. Only
    /// messages decrypted with this log are detected; runs lock FILE.lock to take turns
    #[arg(long, value_name = "FILE", requires = "aes_key", value_parser = file_path())]
    pub(crate) seen: Option<PathBuf>,
    /// Decrypt this part of a message with parts
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Option<String>,
    /// Remove the PKCS#7 padding of an ECB or CBC message, as 'openssl enc' adds it
    #[arg(long)]
    pub(crate) unpad: bool,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

impl Decrypt {
    pub(crate) fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new("-"))
    }
}

/// Total columns of BGV results: sums, counts and dot products of the numbers in a message's records
///
/// A column is a type, an offset, and the bytes of a record: 'u16be@4/16' is a big-endian number at bytes 4 and 5 of
/// every 16. Types are u8, i8, and u16, i16, u32, i32 each with be or le. Whole records count, from the message's first
/// byte on; they may cross blocks and parts. Columns that are compared or multiplied must share the block of 16 bytes.
/// Sums and counts are exact, dot products are modulo 65536. 'homaes decrypt --json' shows the totals.
///
/// Results need layout sliced and multiplications left: 8 for sums and counts (bgv/aes128+8; AES-256: bgv/aes256+8), 14
/// for sums under conditions and dot products (bgv/aes256+8 and wrap-key --levels-left 14; AES-256: bgv/aes256+17).
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("total").required(true).multiple(true))]
pub(crate) struct Compute {
    /// Evaluation key (.hek)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) eval: PathBuf,
    /// Results (.hct), folder or s3 URI of a job, or '-' for standard input
    #[arg(value_name = "RESULTS")]
    pub(crate) input: PathBuf,
    /// Column of --sum and --dot; its record length also holds for columns that have none
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: Option<Column>,
    /// Sum of the column
    #[arg(long, group = "total", requires = "column")]
    pub(crate) sum: bool,
    /// Number of records that meet the conditions
    #[arg(long, group = "total")]
    pub(crate) count: bool,
    /// Sum of products of the two columns, modulo 65536; of squares, if they are the same
    #[arg(long, value_name = "COLUMN", group = "total", requires = "column")]
    pub(crate) dot: Option<Column>,
    /// Only records that meet this condition, such as 'u8@0 == 65'; repeat it for several. Numbers of one byte are
    /// compared by == != < <= > >=, others by == and !=
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<Condition>,
    /// Only the first N records [default: all; in ECB and CBC padding belongs to the message]
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<u64>,
    /// File for the totals (.hcv)
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Search an AES-encrypted file for public patterns, without learning what is found
///
/// Every occurrence of a pattern is found, at any byte offset; a false one is reported at a given byte with probability
/// 2^-48. The server turns the file into BGV ciphertexts and writes encrypted answers, which 'homaes decrypt
/// --patterns' reads. A GCM tag is not checked. Needs seven multiplications left: bgv/aes128+8 or, for AES-256,
/// bgv/aes256+8.
#[derive(Debug, clap::Args)]
pub(crate) struct Scan {
    /// Evaluation key (.hek)
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) eval: PathBuf,
    /// Wrapped AES key (.hwk), made with at least 'wrap-key --levels-left 7'
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) wrapped_key: PathBuf,
    /// List of patterns, one JSON object per line: {"label": …, "text": …}, or "hex" instead of "text"
    #[arg(long, value_name = "LIST", value_parser = file_path())]
    pub(crate) patterns: PathBuf,
    #[command(flatten)]
    pub(crate) message: Message,
    /// File for the answers (.hcv)
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Make BGV results small, for decryption alone
///
/// Results in layout sliced or packed with multiplications left go down to the lowest level and are rounded. Nothing
/// can be computed on them afterwards. Needs no key; results without multiplications left are small at once.
#[derive(Debug, clap::Args)]
pub(crate) struct Finish {
    /// Results (.hct)
    #[arg(value_name = "RESULTS", value_parser = file_path())]
    pub(crate) input: PathBuf,
    /// File for the small results
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Write results that crossed a bridge as values of the crate tfhe, ciphertexts of Lattigo, or arrays of numpy
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Type to write
    #[arg(long, value_enum)]
    pub(crate) to: ExportTo,
    /// Results of 'homaes transcipher --to tfhe' (.hlw) or '--to ckks' (.hrl)
    #[arg(value_name = "IN", value_parser = file_path())]
    pub(crate) input: PathBuf,
    /// fheuint8: write this part of a message with parts
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Option<String>,
    /// fheuint8: write only bytes A to B - 1 of the message, counted from 0
    #[arg(long, value_name = "A..B", value_parser = parse_range)]
    pub(crate) range: Option<Range<u64>>,
    /// lattigo: first prime of the bootstrapping parameters
    #[arg(long, value_name = "Q0", required_if_eq("to", "lattigo"))]
    pub(crate) modulus: Option<u64>,
    /// lattigo: log2 of the ring's degree [default: 16]
    #[arg(long, value_name = "LOG")]
    pub(crate) log_n: Option<u32>,
    /// lattigo: log2 of modulus over scale, LogMessageRatio of the bootstrapping parameters [default: 2]
    #[arg(long, value_name = "LOG")]
    pub(crate) message_ratio: Option<u32>,
    /// File to write; per byte of the message 66 KB for fheuint8, 16 bytes for lattigo, 8 for npz
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum To {
    /// bits under a key of a set tfhe/p…, or pairs of bits under a client key of the crate tfhe
    Tfhe,
    /// bytes under a link key, for CKKS libraries
    Ckks,
}

/// Where a new bridge leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BridgeEnd {
    /// the key in this file
    Key(PathBuf),
    /// a new link key, for bytes modulo 2 to this power
    Ckks(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportTo {
    /// one tfhe::FheUint8 per byte of the message, for safe_deserialize
    #[value(name = "fheuint8")]
    FheUint8,
    /// ciphertexts of Lattigo v6, for the module interop/lattigo
    Lattigo,
    /// arrays of numpy with RLWE ciphertexts
    Npz,
}

/// Show the content of a file, a folder of keys or a job; needs no secret. Checksums are verified in files; 'job
/// verify' checks those of shards
#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    /// File made by homaes, folder of keys, or job
    #[arg(value_parser = file_path())]
    pub(crate) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the usable GPUs, or why there are none
#[derive(Debug, clap::Args)]
pub(crate) struct Devices {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Protect a secret key with a passphrase, change the passphrase, or remove it
#[derive(Debug, clap::Args)]
pub(crate) struct ChangePassphrase {
    /// Secret key (.hsk) to rewrite
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) secret: PathBuf,
    /// File whose only line is the current passphrase; '-' reads standard input [default: ask on the terminal if the
    /// key has one]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// File whose only line is the new passphrase; '-' reads standard input [default: ask on the terminal]
    #[arg(long, value_name = "FILE")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Remove the passphrase
    #[arg(long, conflicts_with = "new_passphrase_file")]
    pub(crate) remove: bool,
}

/// Make pages and pictures from measurements
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// Documents of 'bench --json' and 'transcipher --report'; their runs are shown together
    #[arg(required = true, value_name = "FILE", value_parser = file_path())]
    pub(crate) input: Vec<PathBuf>,
    /// Self-contained HTML page to write. Without --out, --md and --svg a table is printed
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: Option<PathBuf>,
    /// Markdown page to write
    #[arg(long, value_name = "FILE", value_parser = file_path())]
    pub(crate) md: Option<PathBuf>,
    /// Folder for SVG pictures; created if missing
    #[arg(long, value_name = "DIR", value_parser = file_path())]
    pub(crate) svg: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page, or write one page per command
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Folder for homaes.1 and one page per command, such as homaes-keygen.1; created if missing
    #[arg(short, long, value_name = "DIR", value_parser = file_path())]
    pub(crate) out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Json,
    None,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }
}
