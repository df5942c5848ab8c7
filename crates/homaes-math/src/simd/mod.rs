//! Vector kernels and their selection at run time.
//!
//! Every kernel has a portable twin (in [`crate::transform`], [`crate::kernel`], [`crate::fourier`] and
//! [`crate::integer`]) with its documentation, and a test that compares the two.
//!
//! The macros `transforms!` and `integers!` below generate functions that those files call: `rows`, `columns`,
//! `product_sums`, `columns_plus` and `transform_scaled`.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod double;
pub(crate) mod fourier;
pub(crate) mod integer;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86_lanes;

pub use fourier::Vectors;

use crate::kernel::{Combination, RowTerm, Tensor, Term};
use crate::modulus::{Modulus, Shoup};
use crate::product::ProductSums;
use crate::ring::{GaloisMap, Ring};
use crate::transform::{Constants, Halves, Kernels, Source};
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use Tables as IntegerTables;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::ntt::Tables as IntegerTables;
#[cfg(target_arch = "x86_64")]
use avx512::{conversion, ntt, packed_limbs, product_sums, readings};
#[cfg(target_arch = "x86_64")]
use double::{avx2 as doubles, avx512 as avx512_doubles};
#[cfg(target_arch = "aarch64")]
use neon as doubles;

/// Which instructions the kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 64-bit integer arithmetic in plain Rust.
    Portable,
    /// NEON: two products in double precision at once.
    Neon,
    /// AVX2 and FMA: four products in double precision at once.
    Avx2,
    /// AVX-512 F: eight products in double precision at once.
    Avx512,
    /// AVX-512 F, DQ, IFMA and VBMI: eight 52-bit products at once.
    Avx512Ifma,
}

/// The environment variable that overrules the detection of vector instructions.
pub const BACKEND_VARIABLE: &str = "HOMAES_BACKEND";

/// What [`BACKEND_VARIABLE`] can be set to on this architecture.
pub const BACKEND_NAMES: &[&str] = if cfg!(target_arch = "x86_64") {
    &["portable", "avx2", "avx512"]
} else if cfg!(target_arch = "aarch64") {
    &["portable", "neon"]
} else {
    &["portable"]
};

/// How many backends [`BACKEND_VARIABLE`] allows, in the order of [`Backend`].
fn allowed() -> usize {
    match std::env::var_os(BACKEND_VARIABLE) {
        Some(v) if v == "portable" => 1,
        Some(v) if v == "neon" => 2,
        Some(v) if v == "avx2" => 3,
        Some(v) if v == "avx512" => 4,
        _ => 5,
    }
}

/// Whether this is an x86 processor with all of these features.
macro_rules! has {
    ($($feature:tt)+) => {{
        #[cfg(target_arch = "x86_64")]
        { $(is_x86_feature_detected!($feature))&&+ }
        #[cfg(not(target_arch = "x86_64"))]
        { false }
    }};
}

impl Backend {
    /// The best backend of this processor that the environment variable [`BACKEND_VARIABLE`] allows.
    pub fn detect() -> Self {
        let mut allowed = Self::ALL.into_iter().take(allowed());
        allowed
            .rfind(|&b| b.is_available())
            .unwrap_or(Self::Portable)
    }

    /// All backends of this processor, the best last, for tests that compare them.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|&b| b.is_available())
    }

    const ALL: [Self; 5] = [
        Self::Portable,
        Self::Neon,
        Self::Avx2,
        Self::Avx512,
        Self::Avx512Ifma,
    ];

    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Avx2 => has!("avx2" "fma"),
            Self::Avx512 => has!("avx512f"),
            Self::Avx512Ifma => has!("avx512f" "avx512dq" "avx512ifma" "avx512vbmi"),
        }
    }
}

/// One direction of the vector transform, all constants broadcast-ready.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "rows and columns are for vector kernels alone")
)]
pub(crate) struct Tables {
    rows: usize,
    /// columns of a row, of both halves in K
    cols: usize,
    halves: Option<Halves>,
    /// w^0 … w^7 for the 16th root of the axis of 257, then of 17
    root16: [[Shoup; 8]; 2],
    /// w256^(j k) at 16 j + k
    twiddle: Vec<Shoup>,
    /// K̂(k1 + 16 k2)/256 at 16 k1 + k2
    middle257: Vec<Shoup>,
    /// K̂(k)/16
    middle17: [Shoup; 16],
}

impl Tables {
    /// Tables for a ring with eight lanes (3 and 5 divide m) and at least one longer axis.
    ///
    /// [`joined`] brings in the axes of 3 and 5, except their factor 1/2, which is in one of the middle tables.
    pub(crate) fn new(ring: &Ring, m: &Modulus, k: &Kernels) -> Self {
        let half = m.inv(2);
        let [has17, has257] = [0, 1].map(|axis| ring.lens()[axis] > 1);
        let scaled = |x: u64, by_half: bool| m.shoup(if by_half { m.mul(x, half) } else { x });
        let middle = &k.middle;
        let powers = |w: u64| core::array::from_fn(|i| m.shoup(m.pow(w, i as u64)));
        Self {
            rows: ring.rows(),
            cols: ring.cols(),
            halves: k.halves,
            root16: [powers(m.pow(k.root[1], 16)), powers(k.root[0])],
            twiddle: (0..256)
                .map(|i| m.shoup(m.pow(k.root[1], (i / 16) * (i % 16))))
                .collect(),
            middle257: (0..if has257 { 256 } else { 0 })
                .map(|i| scaled(middle[1][i / 16 + 16 * (i % 16)], !has17))
                .collect(),
            middle17: core::array::from_fn(|i| scaled(if has17 { middle[0][i] } else { 0 }, true)),
        }
    }
}

impl Tables {
    /// The constants without their quotients.
    pub(crate) fn constants(&self, m: &Modulus, k: &Kernels) -> Constants {
        let words = |table: &[Shoup]| table.iter().map(|c| c.w).collect();
        Constants {
            root16: self.root16.map(|roots| roots.map(|c| c.w)),
            twiddle: words(&self.twiddle),
            middle257: words(&self.middle257),
            joined: (0..self.rows).map(|row| joined(m, self, k, row)).collect(),
            halves: self.halves.map(|halves| halves.factors(m)),
        }
    }
}

/// The factors between the two DFTs on the axis of 17 for one of its rows, joined with the correlations on the axes
/// of 3 and 5 after their butterflies: by lane, for the lane's own number and for its neighbour's.
fn joined(m: &Modulus, t: &Tables, k: &Kernels, row: usize) -> [[u64; 8]; 2] {
    let (three, five) = (&k.direct[2], &k.direct[3]);
    let three = [m.add(three[0], three[1]), m.sub(three[0], three[1])];
    let middle = if t.rows > 1 { t.middle17[row].w } else { 1 };
    let middle = m.mul(middle, m.inv(2));
    // the sum of inputs e and e + 2, then the difference
    let term = |lane: usize, e: usize| {
        let five = if lane % 4 < 2 {
            m.add(five[e], five[(e + 2) % 4])
        } else {
            m.sub(five[e], five[(e + 2) % 4])
        };
        m.mul(m.mul(middle, three[lane / 4]), five)
    };
    [
        core::array::from_fn(|lane| term(lane, lane % 2 * 2)),
        core::array::from_fn(|lane| term(lane, 1)),
    ]
}

/// Tables of one direction for the kernels that read them.
#[derive(Clone, Debug)]
pub(crate) enum VectorTables {
    /// 52-bit integers
    #[cfg(target_arch = "x86_64")]
    Ifma(Box<IntegerTables>),
    /// doubles, for the kernels of one backend
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Doubles(Backend, Box<double::ntt::Tables>),
}

impl VectorTables {
    /// Tables for a ring with eight lanes and at least one longer axis; `None` for the portable backend.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        expect(unused_variables, reason = "no vector kernels")
    )]
    pub(crate) fn new(ring: &Ring, m: &Modulus, k: impl Fn() -> Kernels) -> Option<Self> {
        let tables = |k: &Kernels| Tables::new(ring, m, k);
        match ring.vectors() {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma => {
                let k = k();
                Some(Self::Ifma(Box::new(IntegerTables::new(m, tables(&k), &k))))
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            backend @ (Backend::Neon | Backend::Avx2 | Backend::Avx512) => {
                let k = k();
                let tables = double::ntt::Tables::new(m, &tables(&k), &k);
                Some(Self::Doubles(backend, Box::new(tables)))
            }
            _ => None,
        }
    }
}

macro_rules! transforms {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        pub(crate) fn $name(m: &Modulus, t: &VectorTables, a: &mut [u64]) {
            match t {
                #[cfg(target_arch = "x86_64")]
                VectorTables::Ifma(t) => {
                    assert!(Backend::Avx512Ifma.is_available(), "the processor lacks these instructions");
                    // SAFETY: the processor has the features, just checked; the kernels check all slice lengths
                    // before they touch memory.
                    unsafe { ntt::$name(m, t, a) }
                }
                VectorTables::Doubles(backend, t) => {
                    assert!(backend.is_available(), "the processor lacks these instructions");
                    match backend {
                        // SAFETY: as above.
                        #[cfg(target_arch = "x86_64")]
                        Backend::Avx512 => unsafe { avx512_doubles::$name(m, t, a) },
                        // SAFETY: as above.
                        _ => unsafe { doubles::$name(m, t, a) },
                    }
                }
            }
        }
        $(#[$doc])*
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub(crate) fn $name(_: &Modulus, _: &VectorTables, _: &mut [u64]) {
            unreachable!("vector backends are never selected on this architecture")
        }
    )*};
}

transforms! {
    /// The first half of the transform, the axis of 257, of some rows.
    rows;
    /// The second half, all other axes.
    columns;
}

macro_rules! integers {
    ($($(#[$doc:meta])* $path:ident :: $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        pub(crate) fn $name($($arg: $ty),*) {
            assert!(Backend::Avx512Ifma.is_available(), "the processor lacks these instructions");
            // SAFETY: the processor has the features, just checked; the kernels check all slice lengths before they
            // touch memory.
            unsafe { $path::$name($($arg),*) }
        }
        $(#[$doc])*
        #[cfg(not(target_arch = "x86_64"))]
        pub(crate) fn $name($(_: $ty),*) {
            unreachable!("vector backends are never selected on this architecture")
        }
    )*};
}

// only with 52-bit integers; the other backends take several kernels for these
integers! {
    product_sums::product_sums(ring: &Ring, m: &Modulus, t: &IntegerTables, sums: &ProductSums<'_>, digits: &mut [Vec<&mut [u64]>], out: &mut [[&mut [u64]; 2]]);
    /// See [`crate::transform::Transform::forward_columns_plus`].
    ntt::columns_plus(m: &Modulus, t: &IntegerTables, source: &[u64], c: Shoup, a: &mut [u64]);
    /// See [`crate::transform::Transform::inverse_scaled`].
    ntt::transform_scaled(m: &Modulus, t: &IntegerTables, source: Source<'_>, c: Shoup, out: &mut [u64]);
}

impl VectorTables {
    /// The tables of the 52-bit integer kernels.
    pub(crate) fn integers(&self) -> Option<&IntegerTables> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(tables) => Some(&**tables),
            _ => None,
        }
    }
}

macro_rules! dispatch {
    ($($(#[$doc:meta])* $path:ident :: $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        $(#[$doc])*
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        pub(crate) fn $name(backend: Backend, $($arg: $ty),*) {
            assert!(backend != Backend::Portable && backend.is_available(), "the processor lacks these instructions");
            // SAFETY: the processor has the features the kernel is compiled for, just checked; the
            // kernels check all slice lengths before they touch memory.
            unsafe {
                match backend {
                    #[cfg(target_arch = "x86_64")]
                    Backend::Avx512Ifma => $path::$name($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    Backend::Avx512 => avx512_doubles::$name($($arg),*),
                    _ => doubles::$name($($arg),*),
                }
            }
        }
        $(#[$doc])*
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub(crate) fn $name(_: Backend, $(_: $ty),*) {
            unreachable!("vector backends are never selected on this architecture")
        }
    )*};
}

dispatch! {
    avx512::inner_product(ring: &Ring, m: &Modulus, terms: &[Term<'_>], rows: &[RowTerm<'_>], out: &mut [[&mut [u64]; 2]]);
    readings::row_sums(ring: &Ring, m: &Modulus, x: &[u64], keys: [&[u64]; 2], maps: &[&GaloisMap], out: &mut [[&mut [u64]; 2]]);
    readings::to_torus(m: &Modulus, x: &[u64], constants: [u64; 2], out: &mut [u64]);
    avx512::tensor(ring: &Ring, m: &Modulus, t: &Tensor<'_>, out: [&mut [u64]; 4]);
    avx512::tensor_part(ring: &Ring, m: &Modulus, t: &Tensor<'_>, part: usize, out: &mut [u64]);
    avx512::product(m: &Modulus, factors: [[&[u64]; 2]; 2], c: Shoup, out: [&mut [u64]; 3]);
    avx512::dot(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
    avx512::dots(m: &Modulus, x: &[&[&[u64]]], y: [&[&[u64]]; 2], add: bool, out: &mut [&mut [u64]]);
    conversion::limb_sums(y: &[&[u64]], constants: &[Vec<u64>], out: &mut [&mut [u64]]);
    avx512::pack(m: &Modulus, words: &[u64], out: &mut [u64]);
    avx512::unpack(halves: &[u64], out: &mut [u64]);
    /// See [`crate::packed_limbs::add`].
    avx512::add_halves(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
    packed_limbs::centred(m: &Modulus, source: &Modulus, halves: &[u64], out: &mut [u64]);
    /// See [`crate::packed_limbs::dot`].
    packed_limbs::dot_halves(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
    /// See [`crate::packed_limbs::sums`].
    avx512::sums_of_halves(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
    conversion::combine(combinations: &[Combination<'_>], sources: &[&[u64]], out: &mut [&mut [u64]]);
    avx512::sums(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
    conversion::quotient(sources: &[&[u64]], inverses: &[f64], out: &mut [u64]);
    avx512::scale_canonical(m: &Modulus, c: Shoup, a: &mut [u64]);
    avx512::scale_add(m: &Modulus, a: &[u64], c: Shoup, out: &mut [u64]);
    avx512::add(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
    avx512::mix_column(ring: &Ring, m: &Modulus, two_by_row: &[Shoup], s: [&mut [u64]; 4]);
}
