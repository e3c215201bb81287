//! Looking for the program of a command without starting it.

use std::ffi::OsStr;
use std::path::Path;

use rustix::fs::{Access, access};

/// The folders in which the system looks for a program whose environment has no `PATH`. Systems differ in the first one; a program that
/// is found here and cannot be started is reported by the call.
const FOLDERS_DEFAULT: &str = "/usr/local/bin:/bin:/usr/bin";

/// Describes what is missing to start a program in a folder; `None` when it is there. `search` is the `PATH` that the program gets.
pub(super) fn describe(name: &str, path: &Path, directory: &Path, search: Option<&OsStr>) -> Option<String> {
    if !directory.is_dir() {
        return Some(format!("{name}: its folder {} is not there", directory.display()));
    }
    let is_there = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        let path = directory.join(path);
        return (!is_there(&path)).then(|| format!("{name}: {} is not a program here", path.display()));
    }
    let search = search.unwrap_or(OsStr::new(FOLDERS_DEFAULT));
    // A relative folder of the search path is relative to the folder in which the program starts.
    let is_found = std::env::split_paths(search).any(|folder| is_there(&directory.join(folder).join(path)));
    (!is_found).then(|| format!("{name}: no such program in {}", search.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(name: &str, directory: &Path, search: Option<&str>) -> Option<String> {
        describe(name, Path::new(name), directory, search.map(OsStr::new))
    }

    #[test]
    fn a_program_is_found_as_the_system_would_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::write(here.join("plain"), "").unwrap();
        std::os::unix::fs::symlink("/bin/sh", here.join("tool")).unwrap();
        assert_eq!(missing("sh", here, None), None);
        assert_eq!(missing("/bin/sh", here, Some("")), None);
        assert_eq!(missing("./tool", here, None), None);
        assert_eq!(missing("tool", here, Some(here.to_str().unwrap())), None);
        assert_eq!(missing("tool", here, Some("/nowhere:.")), None);
        assert_eq!(missing("tool", here, Some("/nowhere")).unwrap(), "tool: no such program in /nowhere");
        assert!(missing("tool", here, None).unwrap().contains("no such program in /usr/local/bin"));
        assert!(missing("./plain", here, None).unwrap().contains("is not a program here"));
        assert!(missing("./none", here, None).unwrap().contains("is not a program here"));
        assert!(missing("/bin", here, None).unwrap().contains("is not a program here"));
        assert!(missing("/bin/sh", &here.join("gone"), None).unwrap().contains("gone is not there"));
    }
}
