//! Inversion in GF(2^8) through the tower GF(((2^2)^2)^2), as programs that end in products.
//!
//! An element is a·E₀ + b·E₁ with a, b in GF(2^4) and conjugate E₀, E₁ = E₀^16. Then x⁻¹ = (a·E₁ + b·E₀)·N⁻¹ with the
//! norm N = x^17 = E₀E₁·(a + b)² + (E₀ + E₁)²·ab in GF(2^4). N⁻¹ is computed the same way one storey further down,
//! where inversion in GF(2^2) is squaring, which is linear. A product in GF(2^4) takes nine ANDs of the same linear
//! forms of both factors (Karatsuba twice), and every linear form of the product is a sum of some of the nine.
//!
//! | | ANDs | by level | depth | relinearisations before the outputs, by level | relinearisations of an S-box |
//! |---|---|---|---|---|---|
//! | [`DEPTH_4`] | 36 | 9, 3, 6, 18 | 4 | 4, 2, 4 | 18 |
//! | [`DEPTH_3`] | 42 | 9, 21, 12 | 3 | 4, 10 | 22 |
//!
//! The programs stop before the last sums: their outputs are the ANDs of the last level, and [`Core::inverse`] says
//! which of them sum to which coordinate of x⁻¹. AES is linear from there to the next inversion, so
//! [`FoldedBits`](crate::FoldedBits) makes one matrix of all of it. `tests/slp.rs` counts the table, and
//! `tests/sbox_exhaustive.rs` evaluates both programs on all bytes.
//!
//! Linear forms of the inputs are computed twice, for the first level and for the last, so that they are not held in
//! memory between. It also leaves less noise in BGV, which then lowers each sum to the level of the other factor
//! instead of summing lowered terms.
//!
//! Sources: Satoh, Morioka, Takano, Munetoh, *A compact Rijndael hardware architecture with S-box optimization*
//! (ASIACRYPT 2001), for inversion in the tower; Doröz, Hu, Sunar, *Homomorphic AES Evaluation using NTRU* (eprint
//! 2014/039), for the 18 relinearisations. Among all conjugate E₀ and E₁, these bases give the folded matrices short
//! rows: 32 of 72 ANDs on average.

use super::Program;

/// A program for inversion, up to sums of its outputs, with its bases.
#[derive(Clone, Copy, Debug)]
pub struct Core<const P: usize> {
    /// from the eight coordinates of x to ANDs
    pub program: Program<8, P>,
    /// x is the sum of `basis[k]` over the coordinates k that are 1
    pub basis: [u8; 8],
    /// x⁻¹ is the sum of `inverse[k].0` over the k for which the outputs in the mask `inverse[k].1` sum to 1
    pub inverse: [(u8, u32); 8],
}

impl<const P: usize> Core<P> {
    /// Per coordinate, the mask of the bits of x that it sums modulo 2.
    #[must_use]
    pub fn coordinates(&self) -> [u8; 8] {
        // Gaussian elimination: column j of the matrix is basis[j], that of its inverse the coordinates of 2^j
        let mut rows: [(u8, u8); 8] = core::array::from_fn(|i| {
            let row = (0..8).fold(0, |row, j| row | (self.basis[j] >> i & 1) << j);
            (row, 1 << i)
        });
        for k in 0..8 {
            let pivot = (k..8).find(|&i| rows[i].0 >> k & 1 == 1);
            rows.swap(k, pivot.expect("the basis is one"));
            for i in (0..8).filter(|&i| i != k) {
                if rows[i].0 >> k & 1 == 1 {
                    rows[i] = (rows[i].0 ^ rows[k].0, rows[i].1 ^ rows[k].1);
                }
            }
        }
        rows.map(|row| row.1)
    }
}

/// The sum of the bits of `x` modulo 2, without branches.
pub(crate) const fn parity(x: u8) -> u8 {
    let x = x ^ x >> 4;
    let x = x ^ x >> 2;
    (x ^ x >> 1) & 1
}

/// A program that starts with the norm N of X and the inverse M0 + M1 w of the norm of N: 12 ANDs, depth 2, 6
/// relinearisations.
macro_rules! after_norms {
    (
        outputs $($output:ident)+;
        $($rest:tt)+
    ) => {
        program! {
            inputs X0 X1 X2 X3 X4 X5 X6 X7;
            outputs $($output)+;
            A3 = X0 + X1;
            A12 = X2 + X3;
            A5 = X0 + X2;
            A10 = X1 + X3;
            A15 = A3 + A12;
            B3 = X4 + X5;
            B12 = X6 + X7;
            B5 = X4 + X6;
            B10 = X5 + X7;
            B15 = B3 + B12;
            P0 = X0 x X4;
            P1 = X1 x X5;
            P2 = A3 x B3;
            P3 = X2 x X6;
            P4 = X3 x X7;
            P5 = A12 x B12;
            P6 = A5 x B5;
            P7 = A10 x B10;
            P8 = A15 x B15;
            D0 = X0 + X4;
            D1 = X1 + X5;
            D2 = X2 + X6;
            D3 = X3 + X7;
            Q0S0 = P0 + P2;
            Q0S1 = Q0S0 + P3;
            Q0 = Q0S1 + P4;
            E0S0 = D0 + D2;
            E0 = E0S0 + D3;
            N0 = Q0 + E0;
            Q1S0 = P0 + P1;
            Q1S1 = Q1S0 + P4;
            Q1 = Q1S1 + P5;
            E1 = D1 + D2;
            N1 = Q1 + E1;
            Q2S0 = P3 + P4;
            Q2S1 = Q2S0 + P6;
            Q2 = Q2S1 + P8;
            N2 = Q2 + D1;
            Q3S0 = P4 + P5;
            Q3S1 = Q3S0 + P6;
            Q3 = Q3S1 + P7;
            E3 = D0 + D1;
            N3 = Q3 + E3;
            NC = N0 + N1;
            ND = N2 + N3;
            R0 = N0 x N2;
            R1 = N1 x N3;
            R2 = NC x ND;
            F0 = N0 + N2;
            F1 = N1 + N3;
            T0 = R1 + R2;
            G0 = F0 + F1;
            M0 = T0 + G0;
            T1 = R0 + R1;
            M1 = T1 + F1;
            $($rest)+
        }
    };
}

/// Depth 4: 36 ANDs, 18 of them outputs, and 10 relinearisations.
pub const DEPTH_4: Core<18> = Core {
    program: after_norms! {
        outputs Z0 Z1 Z2 Z3 Z4 Z5 Z6 Z7 Z8 Z9 Z10 Z11 Z12 Z13 Z14 Z15 Z16 Z17;
        V0 = M0 + M1;
        HC = N0 + N1;
        HD = N2 + N3;
        U0 = N0 x V0;
        U1 = N1 x M1;
        U2 = HC x M0;
        U3 = N2 x V0;
        U4 = N3 x M1;
        U5 = HD x M0;
        Y0 = U3 + U4;
        Y1 = U4 + U5;
        Y2S0 = U0 + U1;
        Y2S1 = Y2S0 + U3;
        Y2 = Y2S1 + U4;
        Y3S0 = U1 + U2;
        Y3S1 = Y3S0 + U4;
        Y3 = Y3S1 + U5;
        YP3 = Y0 plus Y1;
        YP12 = Y2 plus Y3;
        YP5 = Y0 plus Y2;
        YP10 = Y1 plus Y3;
        YP15 = YP3 plus YP12;
        J3 = X0 + X1;
        J12 = X2 + X3;
        J5 = X0 + X2;
        J10 = X1 + X3;
        J15 = J3 + J12;
        Z0 = Y0 x X0;
        Z1 = Y1 x X1;
        Z2 = YP3 x J3;
        Z3 = Y2 x X2;
        Z4 = Y3 x X3;
        Z5 = YP12 x J12;
        Z6 = YP5 x J5;
        Z7 = YP10 x J10;
        Z8 = YP15 x J15;
        K3 = X4 + X5;
        K12 = X6 + X7;
        K5 = X4 + X6;
        K10 = X5 + X7;
        K15 = K3 + K12;
        Z9 = Y0 x X4;
        Z10 = Y1 x X5;
        Z11 = YP3 x K3;
        Z12 = Y2 x X6;
        Z13 = Y3 x X7;
        Z14 = YP12 x K12;
        Z15 = YP5 x K5;
        Z16 = YP10 x K10;
        Z17 = YP15 x K15;
    },
    basis: [230, 78, 101, 161, 90, 79, 105, 252],
    inverse: [
        (90, 0x33),
        (79, 0x1d),
        (105, 0xc3),
        (252, 0x145),
        (230, 0x6600),
        (78, 0x3a00),
        (101, 0x18600),
        (161, 0x28a00),
    ],
};

/// Depth 3, by x⁻¹ = (x^16·N̄)·(N·N̄)⁻¹ with N̄ = N^4: 42 ANDs, 12 of them outputs, and 14 relinearisations.
pub const DEPTH_3: Core<12> = Core {
    program: after_norms! {
        outputs Z0 Z1 Z2 Z3 Z4 Z5 Z6 Z7 Z8 Z9 Z10 Z11;
        V2 = M0 + M1;
        K1 = N2 + N3;
        K2 = N0 + N2;
        K3S0 = N0 + N1;
        K3S1 = K3S0 + N2;
        K3 = K3S1 + N3;
        KP3 = N2 + K1;
        KP12 = K2 + K3;
        KP5 = N2 + K2;
        KP10 = K1 + K3;
        KP15 = KP3 + KP12;
        JO3 = X0 + X1;
        JO12 = X2 + X3;
        JO5 = X0 + X2;
        JO10 = X1 + X3;
        JO15 = JO3 + JO12;
        W0 = N2 x X0;
        W1 = K1 x X1;
        W2 = KP3 x JO3;
        W3 = K2 x X2;
        W4 = K3 x X3;
        W5 = KP12 x JO12;
        W6 = KP5 x JO5;
        W7 = KP10 x JO10;
        W8 = KP15 x JO15;
        KO3 = X4 + X5;
        KO12 = X6 + X7;
        KO5 = X4 + X6;
        KO10 = X5 + X7;
        KO15 = KO3 + KO12;
        W9 = N2 x X4;
        W10 = K1 x X5;
        W11 = KP3 x KO3;
        W12 = K2 x X6;
        W13 = K3 x X7;
        W14 = KP12 x KO12;
        W15 = KP5 x KO5;
        W16 = KP10 x KO10;
        W17 = KP15 x KO15;
        UV0S0 = W0 + W1;
        UV0S1 = UV0S0 + W4;
        UV0 = UV0S1 + W5;
        UV1S0 = W0 + W2;
        UV1S1 = UV1S0 + W3;
        UV1 = UV1S1 + W4;
        UV2S0 = W0 + W1;
        UV2S1 = UV2S0 + W6;
        UV2 = UV2S1 + W7;
        UV3S0 = W0 + W2;
        UV3S1 = UV3S0 + W6;
        UV3 = UV3S1 + W8;
        UV4S0 = W9 + W10;
        UV4S1 = UV4S0 + W13;
        UV4 = UV4S1 + W14;
        UV5S0 = W9 + W11;
        UV5S1 = UV5S0 + W12;
        UV5 = UV5S1 + W13;
        UV6S0 = W9 + W10;
        UV6S1 = UV6S0 + W15;
        UV6 = UV6S1 + W16;
        UV7S0 = W9 + W11;
        UV7S1 = UV7S0 + W15;
        UV7 = UV7S1 + W17;
        US0 = UV0 plus UV1;
        Z0 = UV0 x M0;
        Z1 = UV1 x M1;
        Z2 = US0 x V2;
        US1 = UV2 plus UV3;
        Z3 = UV2 x M0;
        Z4 = UV3 x M1;
        Z5 = US1 x V2;
        US2 = UV4 plus UV5;
        Z6 = UV4 x M0;
        Z7 = UV5 x M1;
        Z8 = US2 x V2;
        US3 = UV6 plus UV7;
        Z9 = UV6 x M0;
        Z10 = UV7 x M1;
        Z11 = US3 x V2;
    },
    basis: [230, 78, 101, 161, 90, 79, 105, 252],
    inverse: [
        (90, 0x3),
        (79, 0x5),
        (105, 0x18),
        (252, 0x28),
        (230, 0xc0),
        (78, 0x140),
        (101, 0x600),
        (161, 0xa00),
    ],
};
