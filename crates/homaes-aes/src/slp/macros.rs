//! The notation of the papers for straight-line programs.

/// A [`Program`](super::Program) from a listing in which every wire has a name.
///
/// Gates are `x` (AND), `+` and `plus`. Inputs and outputs are listed least significant first. An unread name
/// is a warning, an undefined one an error.
macro_rules! program {
    (
        inputs $($input:ident)+;
        outputs $($output:ident)+;
        $($wire:ident = $a:ident $gate:tt $b:ident;)+
    ) => {{
        enum Wire {
            $($input,)+
            $($wire,)+
        }
        $crate::slp::Program::new(
            &[$(gate!($gate, Wire::$a as u8, Wire::$b as u8),)+],
            [$(Wire::$output as u8,)+],
        )
    }};
}

macro_rules! gate {
    (x, $a:expr, $b:expr) => {
        $crate::slp::Gate::And($a, $b)
    };
    (+, $a:expr, $b:expr) => {
        $crate::slp::Gate::Xor($a, $b)
    };
    (plus, $a:expr, $b:expr) => {
        $crate::slp::Gate::Plus($a, $b)
    };
}
