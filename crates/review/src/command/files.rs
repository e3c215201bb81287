//! Programs that read, write, move and remove files.

use crate::shell::Word;

use super::{Class, Deed, NamedFile};

/// The folder a command runs in, relative to the one of the log unless it begins with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FolderPath {
    /// The empty path is the folder of the log.
    Known(String),
    /// The line entered a folder whose name only a shell knows.
    Unknown,
}

impl FolderPath {
    /// Returns the folder after `cd word`.
    pub(super) fn enter(&self, word: &Word) -> Self {
        if word.expands || word.needs_shell || word.text.starts_with(['~', '-']) {
            return Self::Unknown;
        }
        match self.join(&word.text) {
            Some(path) => Self::Known(path),
            None => Self::Unknown,
        }
    }

    /// Returns the path of a file; `None` when nobody knows it.
    pub(super) fn join(&self, path: &str) -> Option<String> {
        match self {
            _ if path.starts_with('/') || path.starts_with('~') => Some(normal(path)),
            Self::Known(folder) if folder.is_empty() => Some(normal(path)),
            Self::Known(folder) => Some(normal(&format!("{folder}/{path}"))),
            Self::Unknown => None,
        }
    }
}

/// Removes `.` and `..` from a path as far as its own parts allow.
fn normal(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// The arguments that are no options; those in `with_value` take the next word. After `--` everything counts.
pub(super) fn operands<'a>(words: &'a [Word], with_value: &[&str]) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if text == "--" && !word.quoted {
            found.extend(rest.by_ref());
        } else if with_value.contains(&text) {
            rest.next();
        } else if !text.starts_with('-') || text == "-" || text.is_empty() {
            found.push(word);
        }
    }
    found
}

/// The files some words name. A word that only a shell can expand names none.
pub(super) fn named(words: &[&Word], folder: &FolderPath) -> Vec<NamedFile> {
    let is_plain = |word: &&&Word| {
        !word.expands
            && !word.needs_shell
            && !word.text.trim().is_empty()
            && word.text != "-"
            && !word.text.contains('\n')
    };
    words.iter().filter(is_plain).filter_map(|word| folder.join(&word.text)).map(NamedFile::at).collect()
}

/// Makes a move of the files before the last to the last.
pub(super) fn renamed(mut files: Vec<NamedFile>) -> Class {
    let Some(to) = files.pop().filter(|_| !files.is_empty()) else { return Deed::Other.into() };
    // Several files can only be moved into a folder.
    let into_folder = files.len() > 1;
    for file in &mut files {
        let base = file.path.rsplit('/').next().unwrap_or("");
        let to =
            if into_folder { format!("{}/{base}", to.path.trim_end_matches('/')) } else { to.path.clone() };
        file.renamed_to = Some(to);
    }
    Class::with_files(Deed::Rename, files)
}

/// Folders whose files nobody keeps: writing there changes nothing of the project.
const SCRATCH: &[&str] = &["/dev/", "/tmp/", "/var/tmp/", "/private/tmp/", "/proc/"];

/// Returns whether a path is in a folder for passing things.
pub(super) fn is_scratch(path: &str) -> bool {
    SCRATCH.iter().any(|folder| path.starts_with(folder)) || path == "/dev/null"
}

/// Classifies the programs that work on files; `None` for any other program.
pub(super) fn classify(name: &str, arguments: &[Word], folder: &FolderPath) -> Option<Class> {
    let has = |options: &[&str]| arguments.iter().any(|word| options.contains(&word.text.as_str()));
    let short = |flag: char| {
        arguments.iter().any(|word| {
            let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains(flag))
        })
    };
    let files = |with_value: &[&str]| named(&operands(arguments, with_value), folder);
    let reading = |files: Vec<NamedFile>| {
        let is_filter = files.is_empty() && operands(arguments, &[]).is_empty();
        if is_filter { Deed::Neutral.into() } else { Class::with_files(Deed::Read, files) }
    };
    Some(match name {
        "sed" | "gsed" => sed(arguments, folder),
        "perl" | "ruby" => match in_place_script(arguments, folder) {
            Some(files) => Class::with_files(Deed::Edit, files),
            None => return None,
        },
        "awk" | "gawk" | "mawk" => awk(arguments, folder),
        "tee" => {
            let deed = if short('a') || has(&["--append"]) { Deed::Edit } else { Deed::Create };
            written(deed, files(&[]))
        }
        "sponge" => written(Deed::Create, files(&[])),
        "sort" | "shuf" | "iconv" | "gpg" if output_file(arguments).is_some() => {
            let path = output_file(arguments).and_then(|word| folder.join(&word.text));
            written(Deed::Edit, path.into_iter().map(NamedFile::at).collect())
        }
        // It moves files that match a pattern.
        "rename" | "prename" | "file-rename" | "mmv" | "zmv" if !short('n') && !has(&["--no-act"]) => {
            Deed::Format.into()
        }
        "xxd" if short('r') => {
            let made = named(&operands(arguments, &["-s", "-l", "-c"]), folder)
                .into_iter()
                .skip(1)
                .take(1)
                .collect();
            written(Deed::Create, made)
        }
        "touch" => Class::with_files(Deed::Create, files(&["-d", "-r", "-t"])),
        "truncate" => Class::with_files(Deed::Edit, files(&["-s", "--size", "-r"])),
        "cp" | "install" | "ln" | "rsync" if !deletes_others(name, arguments) => {
            copied(&operands(arguments, &["-t", "-m", "-o", "-g"]), folder)
        }
        "mv" => renamed(files(&["-t", "-S"])),
        "patch" if has(&["--dry-run"]) => Deed::Other.into(),
        "patch" => {
            Class::with_files(Deed::Edit, files(&["-i", "-p", "-d", "-o"]).into_iter().take(1).collect())
        }
        "dd" => match arguments.iter().find_map(|word| word.text.strip_prefix("of=")) {
            Some(path) if path.starts_with("/dev/") && path != "/dev/null" => Deed::Destroy.into(),
            Some(path) => written(Deed::Create, folder.join(path).into_iter().map(NamedFile::at).collect()),
            None => Deed::Other.into(),
        },
        "rm" | "unlink" | "rmdir" | "shred" | "srm" | "wipe" | "trash" | "trash-put" | "rimraf"
        | "del-cli" => Class::with_files(Deed::Delete, files(&["-n"])),
        "find" | "fd" | "fdfind" => find(name, arguments, folder),
        "cat" | "bat" | "less" | "more" | "nl" | "head" | "tail" | "tac" | "wc" | "file" | "stat" | "xxd"
        | "od" | "hexdump" | "strings" | "md5sum" | "sha256sum" => {
            reading(files(&["-n", "-c", "-l", "--lines", "--bytes", "-r", "-s"]))
        }
        "yq" | "dasel" if short('i') || has(&["--inplace", "--in-place"]) => {
            let operands = operands(arguments, &["--arg", "-f", "--from-file", "-I", "--indent", "-p", "-o"]);
            Class::with_files(Deed::Edit, named(operands.get(1..).unwrap_or(&[]), folder))
        }
        "ed" | "ex" => Class::with_files(Deed::Edit, files(&["-p", "-c", "-sc", "-esc"])),
        "vim" | "nvim" | "vi" if has(&["-es", "-Es", "-s", "--headless"]) || has(&["-c"]) => {
            Class::with_files(Deed::Edit, files(&["-c", "-u", "--cmd", "-S", "-i", "-s"]))
        }
        "sd" => match operands(arguments, &["-n", "-f", "--max-replacements", "--flags"]).get(2..) {
            Some(rest) if !rest.is_empty() && !has(&["-p", "--preview"]) => {
                Class::with_files(Deed::Edit, named(rest, folder))
            }
            _ => Deed::Neutral.into(),
        },
        "comby" if has(&["-i", "-in-place", "--in-place"]) => Deed::Format.into(),
        "ast-grep" | "sg" if short('U') || has(&["--update-all"]) => Deed::Format.into(),
        "crudini" if has(&["--set", "--del", "--merge"]) => {
            let files = named(&operands(arguments, &[]), folder).into_iter().take(1).collect();
            Class::with_files(Deed::Edit, files)
        }
        "dos2unix" | "unix2dos" | "recode" => Class::with_files(Deed::Edit, files(&[])),
        "curl" | "wget" | "aria2c" => return downloaded(name, arguments, folder),
        "tar" | "bsdtar" | "gtar" => return unpacked(arguments, folder),
        "unzip" | "7z" | "7za" | "unrar" if !short('l') && !has(&["-t", "l", "t", "-Z", "-p"]) => {
            into_folder(arguments, &["-d"], folder)
        }
        "gunzip" | "unxz" | "bunzip2" | "unzstd" if !short('c') && !short('t') && !short('l') => {
            Deed::Format.into()
        }
        "rsync"
            if arguments
                .iter()
                .any(|word| word.text.starts_with("--delete") || word.text == "--remove-source-files") =>
        {
            let is_dry = short('n') || has(&["--dry-run"]);
            if is_dry { Deed::Other.into() } else { Deed::Destroy.into() }
        }
        "jq" | "yq" => {
            let operands = operands(arguments, &["--arg", "--argjson", "--indent", "-f", "--from-file"]);
            reading_rest(operands.get(1..).unwrap_or(&[]), folder)
        }
        "diff" | "cmp" | "comm" => reading(files(&["-U", "--label"])),
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "zgrep" => search(name, arguments),
        "ls" | "tree" | "du" | "exa" | "eza" | "pwd" => Deed::List.into(),
        _ => return None,
    })
}

/// Returns the file after `-o` or `--output`.
fn output_file(arguments: &[Word]) -> Option<&Word> {
    let place = arguments.iter().position(|word| matches!(word.text.as_str(), "-o" | "--output"))?;
    arguments.get(place + 1)
}

/// Returns whether a copy also removes what is only at its target.
fn deletes_others(name: &str, arguments: &[Word]) -> bool {
    name == "rsync"
        && arguments
            .iter()
            .any(|word| word.text.starts_with("--delete") || word.text == "--remove-source-files")
}

/// A download writes the file that it names, or one with the name of the address.
fn downloaded(name: &str, arguments: &[Word], folder: &FolderPath) -> Option<Class> {
    let text = |word: &Word| word.text.clone();
    let is_output = |word: &Word| match name {
        "curl" => matches!(word.text.as_str(), "--output") || is_short_with(&word.text, 'o'),
        "wget" => matches!(word.text.as_str(), "--output-document") || is_short_with(&word.text, 'O'),
        _ => matches!(word.text.as_str(), "-o" | "--out"),
    };
    let place = arguments.iter().position(is_output);
    let named_file = place.and_then(|place| arguments.get(place + 1)).map(text);
    let given = arguments.iter().find_map(|word| {
        ["--output=", "--output-document=", "--out="].iter().find_map(|option| word.text.strip_prefix(option))
    });
    let by_address = match name {
        "curl" => arguments.iter().any(|word| word.text == "--remote-name" || is_short_with(&word.text, 'O')),
        "wget" => !arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "--spider" | "--post-data" | "--method")),
        _ => true,
    };
    let address = || arguments.iter().find(|word| word.text.contains("://")).map(text);
    let base = |address: String| address.split(['?', '#']).next()?.rsplit('/').next().map(str::to_owned);
    // `-qO-` and `-Ox.js` have the name in the same word.
    let joined = arguments.iter().filter(|_| name == "wget").find_map(|word| {
        let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
        flags.split_once('O').map(|(_, path)| path).filter(|path| !path.is_empty())
    });
    let path = match (named_file, given.or(joined)) {
        (Some(path), _) => path,
        (None, Some(path)) => path.to_owned(),
        (None, None) if by_address => address().and_then(base).filter(|path| !path.is_empty())?,
        (None, None) => return None,
    };
    if path == "-" || path.starts_with('$') {
        return None;
    }
    Some(written(Deed::Create, folder.join(&path).into_iter().map(NamedFile::at).collect()))
}

/// Returns whether a group of short options ends with one that takes the next word: `o` in `-sLo`.
fn is_short_with(text: &str, flag: char) -> bool {
    text.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.ends_with(flag))
}

/// An archive that is unpacked writes files that the line does not name.
fn unpacked(arguments: &[Word], folder: &FolderPath) -> Option<Class> {
    let first = arguments.first()?.text.as_str();
    let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('x');
    let bundled = !first.starts_with('-')
        && first.contains('x')
        && first.chars().all(|letter| letter.is_ascii_alphabetic());
    let extracts = bundled
        || arguments
            .iter()
            .any(|word| is_short(&word.text) || matches!(word.text.as_str(), "--extract" | "--get"));
    let to_output = arguments.iter().any(|word| word.text == "--to-stdout" || word.text == "-O");
    (extracts && !to_output).then(|| into_folder(arguments, &["-C", "--directory"], folder))
}

/// Files are written into the folder after one of some options, or here.
fn into_folder(arguments: &[Word], options: &[&str], folder: &FolderPath) -> Class {
    let place = arguments.iter().position(|word| options.contains(&word.text.as_str()));
    let into = place.and_then(|place| arguments.get(place + 1)).and_then(|word| folder.join(&word.text));
    let is_scratch = into.is_some_and(|path| is_scratch(&format!("{path}/")));
    if is_scratch { Deed::Other.into() } else { Deed::Format.into() }
}

fn reading_rest(words: &[&Word], folder: &FolderPath) -> Class {
    let files = named(words, folder);
    if files.is_empty() { Deed::Neutral.into() } else { Class::with_files(Deed::Read, files) }
}

/// A write, unless it is into a folder for passing things.
pub(super) fn written(deed: Deed, files: Vec<NamedFile>) -> Class {
    let files: Vec<NamedFile> = files.into_iter().filter(|file| !is_scratch(&file.path)).collect();
    if files.is_empty() { Deed::Neutral.into() } else { Class::with_files(deed, files) }
}

fn sed(arguments: &[Word], folder: &FolderPath) -> Class {
    let is_in_place = |text: &str| {
        let short = text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        text.starts_with("--in-place")
            || short
                .is_some_and(|flags| flags.split(['e', 'f']).next().is_some_and(|flags| flags.contains('i')))
    };
    let in_place = arguments.iter().any(|word| is_in_place(&word.text));
    let gives_script = arguments.iter().any(|word| {
        ["-e", "-f", "--expression", "--file"].iter().any(|option| word.text.starts_with(option))
    });
    let operands = operands(arguments, &["-e", "-f", "--expression", "--file", "-l", "-s"]);
    // BSD's sed takes the suffix of a copy as a word of its own, which may be empty.
    let operands: Vec<&Word> = operands.into_iter().filter(|word| !word.text.is_empty()).collect();
    let files = named(operands.get(usize::from(!gives_script)..).unwrap_or(&[]), folder);
    match (in_place, files.is_empty()) {
        (true, _) => Class::with_files(Deed::Edit, files),
        (false, true) => Deed::Neutral.into(),
        (false, false) => Class::with_files(Deed::Read, files),
    }
}

fn in_place_script(arguments: &[Word], folder: &FolderPath) -> Option<Vec<NamedFile>> {
    let is_in_place = |text: &str| {
        let short = text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        short.is_some_and(|flags| {
            flags.split(['e', 'E', 'M', 'I']).next().is_some_and(|flags| flags.contains('i'))
        })
    };
    arguments.iter().any(|word| is_in_place(&word.text)).then_some(())?;
    let ends_with_script = |text: &str| {
        let short = text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        short.is_some_and(|flags| flags.ends_with(['e', 'E']))
    };
    let options: Vec<&str> =
        arguments.iter().map(|word| word.text.as_str()).filter(|text| ends_with_script(text)).collect();
    Some(named(&operands(arguments, &options), folder))
}

fn awk(arguments: &[Word], folder: &FolderPath) -> Class {
    let in_place = arguments.windows(2).any(|pair| match pair {
        [option, value] => option.text == "-i" && value.text == "inplace",
        _ => false,
    });
    let gives_script = arguments.iter().any(|word| word.text.starts_with("-f"));
    let operands = operands(arguments, &["-F", "-v", "-f", "-i"]);
    let files = named(operands.get(usize::from(!gives_script)..).unwrap_or(&[]), folder);
    match (in_place, files.is_empty()) {
        (true, _) => Class::with_files(Deed::Edit, files),
        (false, true) => Deed::Neutral.into(),
        (false, false) => Class::with_files(Deed::Read, files),
    }
}

/// A copy makes the last file it names, or files in the folder it names.
fn copied(operands: &[&Word], folder: &FolderPath) -> Class {
    let Some((to, from)) = operands.split_last().filter(|(_, from)| !from.is_empty()) else {
        return Deed::Other.into();
    };
    let is_remote = |word: &&Word| word.text.contains(':');
    if is_remote(to) {
        return Deed::Other.into();
    }
    let Some(target) = named(&[to], folder).pop() else { return Deed::Other.into() };
    let is_folder = to.text.ends_with('/') || target.path == "." || from.len() > 1;
    let made: Vec<NamedFile> = if is_folder {
        let base = |file: &NamedFile| file.path.rsplit('/').next().unwrap_or("").to_owned();
        let into = if target.path == "." { String::new() } else { format!("{}/", target.path) };
        named(from, folder).iter().map(|file| NamedFile::at(format!("{into}{}", base(file)))).collect()
    } else {
        vec![target]
    };
    written(Deed::Create, made)
}

fn find(name: &str, arguments: &[Word], folder: &FolderPath) -> Class {
    let runs = if name == "find" {
        &["-exec", "-execdir", "-ok", "-okdir"][..]
    } else {
        &["-x", "--exec", "-X", "--exec-batch"]
    };
    if name == "find" && arguments.iter().any(|word| word.text == "-delete") {
        return Deed::Delete.into();
    }
    let Some(place) = arguments.iter().position(|word| runs.contains(&word.text.as_str())) else {
        return Deed::List.into();
    };
    let command: Vec<Word> = arguments
        .iter()
        .skip(place + 1)
        .take_while(|word| !matches!(word.text.as_str(), ";" | "+"))
        .cloned()
        .collect();
    let class = super::program::classify(&command, folder);
    match class.deed {
        Deed::Other | Deed::Neutral => Deed::List.into(),
        // The files are those that were found.
        _ => Class { files: Vec::new(), ..class },
    }
}

/// A search reads files; without files and without recursion it filters what it is given.
fn search(name: &str, arguments: &[Word]) -> Class {
    let recursive = !matches!(name, "grep" | "egrep" | "fgrep" | "zgrep")
        || arguments.iter().any(|word| {
            let short = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            word.text.starts_with("--recursive") || short.is_some_and(|flags| flags.contains(['r', 'R']))
        });
    let with_value = [
        "-A",
        "-B",
        "-C",
        "-m",
        "-e",
        "-f",
        "-g",
        "-t",
        "-d",
        "--include",
        "--exclude",
        "--exclude-dir",
        "--glob",
        "--type",
    ];
    let gives_pattern = arguments
        .iter()
        .any(|word| matches!(word.text.as_str(), "-e" | "-f") || word.text.starts_with("--regexp"));
    let count = operands(arguments, &with_value).len();
    let has_files = count > usize::from(!gives_pattern);
    if recursive || has_files { Deed::Search.into() } else { Deed::Neutral.into() }
}
