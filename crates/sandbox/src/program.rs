//! The worker program: where it is found, and which version it is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command that installs the worker where [`WorkerProgram::find`] looks for it.
pub const INSTALL_COMMAND: &str = "python3 -m venv ~/.local/share/hence/monty && ~/.local/share/hence/monty/bin/pip install 'pydantic-monty-runtime==1.4.*'";

/// The environment variable that names the program.
pub const PROGRAM_VARIABLE: &str = "HENCE_MONTY";

/// The first word that the program prints about its version. Another program may be called `monty`, too.
const VERSION_WORD: &str = "monty-runtime ";

/// A worker program that exists and names its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerProgram {
    /// The path.
    pub path: PathBuf,
    /// The version it names.
    pub version: String,
}

/// No worker program was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the Python worker `monty` was not found: {}", .tried.join("; "))]
pub struct NotFound {
    /// The places where it was looked for, with the reason for each.
    pub tried: Vec<String>,
}

impl WorkerProgram {
    /// Finds the program: the one that `HENCE_MONTY` names, or else one on the `PATH`, in an active Python environment,
    /// or where [`INSTALL_COMMAND`] puts it. `variable` reads the environment.
    ///
    /// # Errors
    /// [`NotFound`] with every place that was tried.
    pub fn find(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, NotFound> {
        let mut tried = Vec::new();
        let places = match variable(PROGRAM_VARIABLE) {
            Some(named) => vec![PathBuf::from(named)],
            None => places(variable),
        };
        for path in places {
            match version_of(&path) {
                Ok(version) => return Ok(Self { path, version }),
                Err(reason) => tried.push(format!("{}: {reason}", path.display())),
            }
        }
        Err(NotFound { tried })
    }
}

fn places(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let name = OsStr::new("monty");
    let on_path = variable("PATH");
    let on_path = on_path.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut places: Vec<PathBuf> =
        on_path.map(|folder| folder.join(name)).filter(|path| path.is_file()).collect();
    places.extend(variable("VIRTUAL_ENV").map(|folder| Path::new(&folder).join("bin").join(name)));
    let home = variable("HOME").map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| home.as_ref().map(|home| home.join(".local/share")));
    places.extend(data.map(|data| data.join("hence/monty/bin").join(name)));
    places.extend(home.map(|home| home.join(".local/bin").join(name)));
    places
}

/// Asks a program for its version, without an environment.
fn version_of(path: &Path) -> Result<String, String> {
    if !path.is_file() {
        return Err("no such file".to_owned());
    }
    let asked =
        Command::new(path).arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = asked.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.strip_prefix(VERSION_WORD).map(str::trim).filter(|_| output.status.success());
    version.map(str::to_owned).ok_or_else(|| "it is another program".to_owned())
}
