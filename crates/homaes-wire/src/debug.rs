//! `Debug` without secrets and megabytes.

/// Implements `Debug` with the named fields alone, for types whose other fields are secret or large.
///
/// ```
/// struct Key<T: Copy> {
///     id: u8,
///     secret: [T; 2],
/// }
/// homaes_wire::debug_fields!(Key<T> where T: Copy, id);
/// let shown = format!("{:?}", Key { id: 7, secret: [8, 9] });
/// assert_eq!(shown, "Key { id: 7, .. }");
/// ```
#[macro_export]
macro_rules! debug_fields {
    ($type:ident $(<$($argument:tt),+>)? $(where $parameter:ident: $bound:path)? $(, $field:ident)*) => {
        impl $(<$parameter: $bound>)? ::core::fmt::Debug for $type $(<$($argument),+>)? {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut shown = f.debug_struct(stringify!($type));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}
