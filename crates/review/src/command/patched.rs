//! The files that a patch in the form of `apply_patch` changes.

use super::{Deed, NamedFile};

/// One file of a patch.
pub struct Patched {
    /// Whether it is made, changed, moved or removed.
    pub deed: Deed,
    /// Its path as written, and its new one.
    pub file: NamedFile,
    /// The lines that were added.
    pub added: String,
}

/// Returns the files that a patch names, in their order.
pub fn patched(text: &str) -> Vec<Patched> {
    let mut found: Vec<Patched> = Vec::new();
    for line in text.lines() {
        let header = [
            ("*** Add File: ", Deed::Create),
            ("*** Update File: ", Deed::Edit),
            ("*** Delete File: ", Deed::Delete),
        ];
        let named = header.into_iter().find_map(|(mark, deed)| Some((line.strip_prefix(mark)?.trim(), deed)));
        if let Some((path, deed)) = named {
            found.push(Patched { deed, file: NamedFile::at(path.to_owned()), added: String::new() });
            continue;
        }
        let Some(last) = found.last_mut() else { continue };
        if let Some(path) = line.strip_prefix("*** Move to: ") {
            last.deed = Deed::Rename;
            last.file.renamed_to = Some(path.trim().to_owned()).filter(|path| !path.is_empty());
        } else if let Some(added) = line.strip_prefix('+') {
            last.added.push_str(added);
            last.added.push('\n');
        }
    }
    found
}
