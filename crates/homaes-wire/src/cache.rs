//! The folder of copies that can be made again.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The user's folder for files that can be made again: `$HOMAES_CACHE`, else `homaes` in the user's folder of caches; `None`
/// if the environment names neither.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_of(|name| env::var_os(name))
}

fn cache_folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = set("HOMAES_CACHE") {
        return Some(folder.into());
    }
    let home = || set("HOME").map(PathBuf::from);
    let user = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else {
        // relative ones are invalid by the XDG Base Directory Specification
        let named = set("XDG_CACHE_HOME").map(PathBuf::from);
        let named = named.filter(|folder| folder.is_absolute());
        named.or_else(|| home().map(|home| home.join(".cache")))
    };
    user.map(|folder| folder.join("homaes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_environment_names_the_folder() {
        let folder = |variables: &[(&str, &str)]| {
            cache_folder_of(|name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let own = folder(&[("HOMAES_CACHE", "/c"), ("HOME", "/h")]);
        assert_eq!(own.as_deref(), Some(Path::new("/c")));
        assert_eq!(folder(&[]), None);
        #[cfg(target_os = "linux")]
        for (variables, expected) in [
            (&[("HOME", "/h")][..], "/h/.cache/homaes"),
            (&[("HOME", "/h"), ("HOMAES_CACHE", "")], "/h/.cache/homaes"),
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], "/x/homaes"),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "x")],
                "/h/.cache/homaes",
            ),
        ] {
            assert_eq!(folder(variables).as_deref(), Some(Path::new(expected)));
        }
    }
}
