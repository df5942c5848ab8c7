//! Methods that classes of Python have alike.

/// Properties: docstring, name, type and value of each, in which `$this` is the object.
macro_rules! getters {
    ($class:ident as $this:ident: $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        #[pyo3::pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                pub(crate) fn $name(&self) -> $type {
                    let $this = self;
                    $value
                }
            )*
        }
    };
}
pub(crate) use getters;

/// Copies share the object, and `homaes._pickling` pickles it.
macro_rules! pickled {
    ($class:ident) => {
        #[pyo3::pymethods]
        impl $class {
            fn __copy__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __deepcopy__<'py>(
                this: PyRef<'py, Self>,
                _memo: &Bound<'py, PyAny>,
            ) -> PyRef<'py, Self> {
                this
            }

            fn __reduce_ex__<'py>(
                this: &Bound<'py, Self>,
                protocol: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let pickling = this.py().import("homaes._pickling")?;
                pickling.call_method1("reduce", (this, protocol))
            }
        }
    };
}
pub(crate) use pickled;
