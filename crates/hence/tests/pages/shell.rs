//! Commands of a page, executed by bash in the page's folder with the binary of this build on the path.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hence_testkit::model_server::{ModelServer, Said};

/// The result of a command: both streams in the order of their writing, and the exit code.
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) code: i32,
}

/// The seconds that one command may take. A page whose command waits for something that never comes fails instead of hanging.
const COMMAND_SECONDS_MAX: &str = "120";

/// Returns whether there is a shell, and the program that ends a command after its time.
pub(crate) fn is_available() -> bool {
    Command::new("timeout").args(["10", "bash", "-c", "true"]).status().is_ok_and(|status| status.success())
}

/// A folder in which the commands of one page run.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    /// The scripted model that the page asks.
    model: Option<ModelServer>,
}

/// The address of the model in the text of a page. The scripted one has another port.
const MODEL_ADDRESS: &str = "http://127.0.0.1:8080";

impl Folder {
    /// Creates a folder with copies of the examples and the policies.
    pub(crate) fn new(repository: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["examples", "policies"] {
            copy(&repository.join(name), &folder.path().join(name));
        }
        Self { folder, model: None }
    }

    /// Serves a model that always says the same.
    pub(crate) fn serve_model(&mut self, reply: &str) {
        let reply = reply.to_owned();
        self.model = Some(ModelServer::answering(move |_| Said::Text(reply.clone())));
    }

    /// Returns the address of the scripted model, if there is one.
    fn model_address(&self) -> Option<String> {
        self.model.as_ref().map(|model| model.url().trim_end_matches("/v1/").to_owned())
    }

    /// Writes a file that the page shows.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let text = match self.model_address() {
            Some(address) => &text.replace(MODEL_ADDRESS, &address),
            None => text,
        };
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            make_executable(&path);
        }
    }

    /// Runs a command.
    pub(crate) fn run(&self, command: &str) -> Printed {
        let script = format!("exec 2>&1\n{command}\n");
        let output = Command::new("timeout")
            .args([COMMAND_SECONDS_MAX, "bash", "-c", &script])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let folder = self.folder.path().display().to_string();
        let mut text = String::from_utf8_lossy(&output.stdout).replace(&folder, "~");
        if let Some(address) = self.model_address() {
            text = text.replace(&address, MODEL_ADDRESS);
        }
        Printed { text: text.trim_end().to_owned(), code: output.status.code().unwrap_or(-1) }
    }
}

/// Returns the search path: the folder of the binary, then that of this process.
fn path() -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_hence"));
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{}:{inherited}", binary.parent().unwrap().display())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // A store that somebody made while trying an example is not part of it.
        if entry.file_name() == ".hence" {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
