//! The machine code of functions that work on secrets: the release binary, disassembled.
//!
//! Two rules, checked on the binary that users build:
//!
//! - `KERNELS` work on secrets alone. Their only jumps are the back jumps of loops with constant ends. They call nothing
//!   and use no instruction whose time may depend on values: no division, root or count of zeros.
//! - `WAYS` are the functions around them. They reach no rounding or transcendental function of the C library: without
//!   SSE 4.1, which a build for any x86-64 cannot rely on, rounding is a function with branches.
//!
//! Branches within `WAYS` do not show here; the tests `…_under_memcheck` of the libraries find those.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// Kernels by the path in their symbols, and how many loops they may have.
const KERNELS: [(&str, usize); 12] = [
    ("homaes_math::torus::normals", 1),
    ("homaes_math::torus::log2_fraction", 0),
    ("homaes_math::sample::choose", 1),
    // of coefficients, and of thresholds
    ("homaes_math::sample::inversion", 2),
    ("homaes_math::sample::differences", 1),
    ("homaes_rns::secret::mask", 1),
    ("homaes_rns::secret::add_product", 1),
    ("homaes_rns::secret::add_residues", 1),
    ("homaes_rns::secret::round", 1),
    ("homaes_tfhe::secret::subtract_product", 1),
    ("homaes_tfhe::secret::round", 0),
    ("homaes_tfhe::secret::greater", 0),
];

/// Functions that draw keys, encrypt and decrypt.
const WAYS: [&str; 16] = [
    "homaes_math::torus::add_gaussian",
    "homaes_math::sample::fixed_weight",
    "homaes_math::sample::gaussian",
    "homaes_math::slots::Slots::encode",
    "homaes_math::slots::Slots::decode",
    "homaes_bgv::keys::SecretKey::mask",
    "homaes_bgv::encrypt::encode",
    "homaes_bgv::encrypt::bytes_and_margin",
    "homaes_math::sample::binomial",
    "homaes_ntru::rns::quotient",
    "homaes_ntru::rns::Rns::masked",
    "homaes_ntru::ciphertext::bits_and_margin",
    "homaes_dghv::ciphertext::doubled_centred",
    "homaes_dghv::prime::Prime::remainder",
    "homaes_tfhe::ring::RingSecret::encrypt",
    "homaes_tfhe::state::decrypt_blocks",
];

/// Functions that a way must not reach, and `…f` of each.
const LIBRARY: &str = "rint nearbyint round roundeven lrint lround llrint llround floor ceil trunc fmod \
    log log2 log10 log1p exp exp2 expm1 pow sin cos tan sincos sqrt";

/// Prefixes of instructions whose time may depend on values.
const SLOW: &str = "div idiv vdiv sqrt vsqrt bsr bsf fdiv fsqrt fprem rep";

struct Instruction {
    address: u64,
    name: String,
    operands: String,
}

impl Instruction {
    fn is_conditional_jump(&self) -> bool {
        self.name.starts_with('j') && !self.name.starts_with("jmp")
    }

    /// The target of a direct jump or call.
    fn target(&self) -> Option<u64> {
        u64::from_str_radix(self.operands.split(' ').next()?, 16).ok()
    }

    /// The address of an operand relative to the instruction pointer, from the comment.
    fn reference(&self) -> Option<u64> {
        let (_, comment) = self.operands.split_once("# ")?;
        u64::from_str_radix(comment.split(' ').next()?, 16).ok()
    }
}

struct Binary {
    /// name and code by address
    functions: BTreeMap<u64, (String, Vec<Instruction>)>,
    /// entries of the global offset table: an address or the name of a library function
    slots: HashMap<u64, String>,
}

/// Output of `objdump`, or `None` if it is not installed.
fn objdump(arguments: &[&str], binary: &Path) -> Option<String> {
    let output = Command::new("objdump").args(arguments).arg(binary).output();
    let output = output.ok()?;
    assert!(output.status.success(), "objdump {arguments:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Binary {
    fn read(path: &Path) -> Option<Self> {
        let code = objdump(&["-d", "--no-show-raw-insn", "-w"], path)?;
        let mut functions: BTreeMap<u64, (String, Vec<Instruction>)> = BTreeMap::new();
        for line in code.lines() {
            if let Some((address, name)) = line
                .strip_suffix(">:")
                .and_then(|head| head.split_once(" <"))
            {
                let address = u64::from_str_radix(address, 16).unwrap();
                functions.insert(address, (name.to_owned(), Vec::new()));
            } else if let Some((address, text)) = line.split_once(':') {
                let address = u64::from_str_radix(address.trim(), 16);
                let (Ok(address), Some(mut last)) = (address, functions.last_entry()) else {
                    continue;
                };
                let text = text.trim();
                let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
                last.get_mut().1.push(Instruction {
                    address,
                    name: name.to_owned(),
                    operands: operands.trim().to_owned(),
                });
            }
        }
        let relocations = objdump(&["-R"], path)?;
        let slots = relocations.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let slot = u64::from_str_radix(words.next()?, 16).ok()?;
            let value = words.nth(1)?;
            Some((slot, value.to_owned()))
        });
        Some(Self {
            functions,
            slots: slots.collect(),
        })
    }

    /// Functions whose symbols contain these names in this order. Both manglings of Rust write a name after its length.
    fn find(&self, path: &str) -> Vec<u64> {
        let is = |symbol: &str| {
            let mut rest = symbol;
            for name in path.split("::") {
                let part = format!("{}{name}", name.len());
                let Some((_, after)) = rest.split_once(&part) else {
                    return false;
                };
                rest = after;
            }
            // nothing within the function
            !rest.contains("closure")
        };
        let all = self.functions.iter();
        let found = all.filter(|(_, (symbol, _))| is(symbol));
        found.map(|(&address, _)| address).collect()
    }

    /// Instructions of a function that break the rule for kernels.
    fn breaches(&self, function: u64, loops: usize) -> Vec<String> {
        let (_, code) = &self.functions[&function];
        let end = code.last().map_or(function, |last| last.address);
        let mut out = Vec::new();
        let mut back = 0;
        for (i, x) in code.iter().enumerate() {
            let text = format!("{:x}: {} {}", x.address, x.name, x.operands);
            let inside = x.target().filter(|t| (function..=end).contains(t));
            if x.is_conditional_jump() {
                if inside.is_none_or(|target| target > x.address) {
                    out.push(text);
                    continue;
                }
                back += 1;
                // the flags are those of a counter and a constant
                let Instruction { name, operands, .. } = &code[i.saturating_sub(1)];
                if !operands.starts_with("$0x") && name != "dec" && name != "inc" {
                    out.push(format!("{text}, after {name} {operands}"));
                }
            } else if x.name.starts_with("jmp") {
                if inside.is_none() {
                    out.push(text);
                }
            } else if x.name.starts_with("call") || SLOW.split(' ').any(|s| x.name.starts_with(s)) {
                out.push(text);
            }
        }
        if back > loops {
            out.push(format!("{back} loops, expected {loops} at most"));
        }
        out
    }

    /// The function that contains an address.
    fn around(&self, address: u64) -> Option<u64> {
        let (&start, (_, code)) = self.functions.range(..=address).next_back()?;
        (address <= code.last()?.address).then_some(start)
    }

    /// Functions of the C library that can be reached, and the function that calls each. Taking an address counts as a
    /// call.
    fn reached(&self, from: u64) -> BTreeMap<String, String> {
        let mut seen = BTreeSet::from([from]);
        let mut queue = vec![from];
        let mut out = BTreeMap::new();
        while let Some(function) = queue.pop() {
            let (caller, code) = &self.functions[&function];
            let jumps = code.iter().filter(|x| x.name.starts_with(['c', 'j']));
            let direct = jumps.filter_map(Instruction::target);
            let mut next: Vec<u64> = direct.filter_map(|t| self.around(t)).collect();
            for reference in code.iter().filter_map(Instruction::reference) {
                match self.slots.get(&reference) {
                    Some(value) => {
                        let address = value.strip_prefix("*ABS*+0x");
                        if let Some(address) = address {
                            let address = u64::from_str_radix(address, 16).unwrap();
                            next.extend(self.around(address));
                        } else {
                            out.insert(value.clone(), caller.clone());
                        }
                    }
                    None => next.extend(self.functions.get(&reference).map(|_| reference)),
                }
            }
            for callee in next {
                if seen.insert(callee) {
                    let name = &self.functions[&callee].0;
                    out.insert(name.clone(), caller.clone());
                    queue.push(callee);
                }
            }
        }
        let forbidden = |symbol: &str| {
            let name = symbol.split('@').next().unwrap_or_default();
            let single = name.strip_suffix('f');
            LIBRARY.split(' ').any(|f| name == f || single == Some(f))
        };
        out.retain(|symbol, _| forbidden(symbol));
        out
    }

    /// Each function of these paths, which must be there, with what `wrong` finds in it: nothing.
    fn check<T: Debug>(&self, path: &str, wrong: impl Fn(u64) -> Vec<T>) {
        let functions = self.find(path);
        assert!(!functions.is_empty(), "{path} is not in the binary");
        for function in functions {
            let found = wrong(function);
            assert!(found.is_empty(), "{path}: {found:#?}");
        }
    }
}

/// The shipped binary, if it is a release build and `objdump` is installed.
fn shipped() -> Option<&'static Binary> {
    static SHIPPED: LazyLock<Option<Binary>> =
        LazyLock::new(|| Binary::read(Path::new(env!("CARGO_BIN_EXE_homaes"))));
    if cfg!(debug_assertions) || SHIPPED.is_none() {
        println!("skipped: not a release build, or objdump is not installed");
        return None;
    }
    SHIPPED.as_ref()
}

#[test]
fn kernels_have_no_branches() {
    let Some(binary) = shipped() else { return };
    for (path, loops) in KERNELS {
        binary.check(path, |function| binary.breaches(function, loops));
    }
}

#[test]
fn no_way_leads_to_the_library() {
    let Some(binary) = shipped() else { return };
    for path in WAYS {
        let reached = |function| binary.reached(function).into_iter().collect();
        binary.check(path, reached);
    }
}

/// Functions that break the rules, and one that obeys them.
mod samples {
    use std::hint::black_box;

    #[inline(never)]
    pub(crate) fn straight(words: &mut [u64; 64]) {
        words.iter_mut().for_each(|x| *x = x.wrapping_mul(3));
    }

    #[inline(never)]
    pub(crate) fn branches(words: &mut [u64; 64]) {
        for x in words {
            if *x >> 63 == 1 {
                black_box(&x);
                *x = 5;
            }
        }
    }

    #[inline(never)]
    pub(crate) fn counts_to_a_secret(words: &mut [u64; 64]) {
        for i in 0..words[0] {
            words[1] ^= black_box(i);
        }
    }

    #[inline(never)]
    pub(crate) fn divides(words: &mut [u64; 64]) {
        words[0] /= words[1] | 1;
    }

    #[inline(never)]
    pub(crate) fn rounds(x: f64) -> f64 {
        black_box(x).round_ties_even()
    }

    #[inline(never)]
    pub(crate) fn takes_a_logarithm(x: f64) -> f64 {
        // through another function
        black_box(rounds as fn(f64) -> f64)(x) + black_box(x).ln()
    }
}

/// The rules find the bad functions of this program.
#[test]
fn breaches_are_found() {
    let mut words = std::hint::black_box([7u64; 64]);
    samples::straight(&mut words);
    samples::branches(&mut words);
    samples::counts_to_a_secret(&mut words);
    samples::divides(&mut words);
    std::hint::black_box(words);
    assert_eq!(samples::rounds(1.5), 2.0);
    assert!(samples::takes_a_logarithm(2.0) > 2.0);
    if cfg!(debug_assertions) {
        return println!("skipped: not a release build");
    }
    let Some(binary) = Binary::read(&std::env::current_exe().unwrap()) else {
        return println!("skipped: objdump is not installed");
    };
    let function = |name: &str| {
        let functions = binary.find(&format!("machine_code::samples::{name}"));
        assert_eq!(functions.len(), 1, "{name}");
        functions[0]
    };
    let breaches = |name: &str| binary.breaches(function(name), 1);
    let reached = |name: &str| {
        let reached = binary.reached(function(name));
        reached.into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(breaches("straight"), Vec::<String>::new());
    for name in ["branches", "counts_to_a_secret", "divides"] {
        assert!(!breaches(name).is_empty(), "{name}");
    }
    assert_eq!(reached("straight"), "");
    if cfg!(not(target_feature = "sse4.1")) {
        assert!(reached("rounds").contains("rint"));
        assert!(reached("takes_a_logarithm").contains("rint"));
    }
    assert!(reached("takes_a_logarithm").contains("log"));
}
