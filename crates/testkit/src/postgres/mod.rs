//! A PostgreSQL server of a test's own, in a temporary folder and on a unix socket.
//!
//! HENCE_POSTGRES may name the folder of another server's programs, such as one of another version; what that folder lacks is
//! taken from the programs that are installed.
//!
//! The server ends, and its folder is removed, when the test process ends, however it ends. Without the programs of
//! PostgreSQL the tests say that they are skipped.
#![allow(
    clippy::print_stderr,
    clippy::expect_used,
    reason = "skipped tests say so, and a test that cannot continue should stop"
)]

pub mod proxy;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// The time for which a server may start or stop, on a machine that is busy.
const SERVER_SECONDS_MAX: u64 = 120;

/// The programs of PostgreSQL and the user that they run as.
pub struct Programs {
    folder: PathBuf,
    /// The folder of the server's programs, if another one is named.
    server: Option<PathBuf>,
    /// The user and group ids of `postgres`, if this process is root, as which the server refuses to run.
    user: Option<(u32, u32)>,
}

/// Finds the programs, or says why the tests are skipped.
pub fn programs() -> Option<&'static Programs> {
    static PROGRAMS: OnceLock<Result<Programs, String>> = OnceLock::new();
    match PROGRAMS.get_or_init(find_programs) {
        Ok(programs) => Some(programs),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

fn find_programs() -> Result<Programs, String> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map_or(Vec::new(), |path| std::env::split_paths(&path).collect());
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map_or(Vec::new(), |entries| entries.flatten().map(|entry| entry.path().join("bin")).collect());
    versions.sort();
    folders.extend(versions.into_iter().rev());
    // A link to `initdb` leads to the folder of all programs.
    let real = folders
        .into_iter()
        .filter_map(|folder| folder.join("initdb").canonicalize().ok()?.parent().map(Path::to_owned));
    let needed = ["initdb", "postgres", "psql", "pg_basebackup", "pg_ctl"];
    let folder = real.into_iter().find(|folder| needed.iter().all(|name| folder.join(name).exists()));
    let folder = folder
        .ok_or("the programs of PostgreSQL were not found (initdb, postgres, psql, pg_basebackup, pg_ctl)")?;
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|owner| std::os::unix::fs::MetadataExt::uid(&owner) == 0);
    let user = if is_root {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry = users.lines().find(|line| line.starts_with("postgres:"));
        let mut fields =
            entry.ok_or("this user is root, and there is no user `postgres`")?.split(':').skip(2);
        let mut id =
            || fields.next().and_then(|id| id.parse::<u32>().ok()).ok_or("the user `postgres` has no id");
        Some((id()?, id()?))
    } else {
        None
    };
    let server = std::env::var_os("HENCE_POSTGRES").map(PathBuf::from);
    if let Some(server) = &server
        && !["initdb", "postgres"].iter().all(|name| server.join(name).exists())
    {
        return Err(format!("HENCE_POSTGRES: {} has no initdb and postgres", server.display()));
    }
    Ok(Programs { folder, server, user })
}

impl Programs {
    /// Returns the command of a program of PostgreSQL, as its user.
    pub fn command(&self, name: &str) -> Command {
        let of_server = self.server.as_ref().map(|server| server.join(name)).filter(|path| path.exists());
        self.other_command(&of_server.unwrap_or_else(|| self.folder.join(name)))
    }

    /// Returns whether the server is another one than that of the installed programs and has none to copy it.
    pub fn has_other_server(&self) -> bool {
        self.server.as_ref().is_some_and(|server| !server.join("pg_basebackup").exists())
    }

    /// Returns the command of a program, as the user of the server.
    pub fn other_command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        command
    }

    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).expect("root can give a folder away");
        }
    }
}

/// A server.
pub struct Cluster {
    programs: &'static Programs,
    folder: PathBuf,
    server: Mutex<Option<Child>>,
    /// Ends the server and removes the folder when this process ends.
    janitor: Child,
}

impl Cluster {
    /// Returns the server that the tests of this process share.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&["fsync=off"])).as_ref()
    }

    /// Starts a new server with these settings.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let programs = programs()?;
        let cluster = Self::prepare(programs);
        let status = programs
            .command("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(cluster.data())
            .stdout(Stdio::null())
            .status()
            .expect("initdb starts");
        assert!(status.success(), "initdb: {status}");
        cluster.configure(settings);
        cluster.launch();
        Some(cluster)
    }

    /// Starts a standby that follows `primary`.
    pub fn standby_of(primary: &Self) -> Self {
        let standby = Self::prepare(primary.programs);
        let status = primary
            .command("pg_basebackup")
            .args(["-U", "postgres", "--checkpoint=fast", "--no-sync", "--write-recovery-conf", "-h"])
            .arg(&primary.folder)
            .arg("-D")
            .arg(standby.data())
            .status()
            .expect("pg_basebackup starts");
        assert!(status.success(), "pg_basebackup: {status}");
        let source = format!("primary_conninfo = 'host={} user=postgres'", primary.folder.display());
        standby.configure(&["fsync=off", &source]);
        standby.launch();
        standby
    }

    /// Makes the folder of a server, without a server in it.
    pub fn prepare(programs: &'static Programs) -> Self {
        let folder =
            tempfile::Builder::new().prefix("hence-pg-").tempdir().expect("a temporary folder").keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("the folder is ours");
        programs.give(&folder);
        let script = r#"cat >/dev/null; pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
            [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null
            for wait in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
            rm -rf "$1""#;
        let janitor = Command::new("sh")
            .args(["-c", script, "janitor"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        Self { programs, folder, server: Mutex::new(None), janitor }
    }

    fn server(&self) -> MutexGuard<'_, Option<Child>> {
        self.server.lock().expect("no test panics while it holds the server")
    }

    /// Returns the folder of the data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the folder of the socket.
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// Adds settings to the server's configuration.
    pub fn configure(&self, settings: &[&str]) {
        let mut text = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nmax_connections = 300\nshared_buffers = 64MB\n\
             logging_collector = off\nlog_min_messages = fatal\n",
            self.folder.display()
        );
        settings.iter().for_each(|setting| text.push_str(&format!("{setting}\n")));
        let path = self.data().join("postgresql.auto.conf");
        fs::write(&path, text).expect("the configuration is written");
        self.programs.give(&path);
        let rules = "local all with_password scram-sha-256\nlocal all all trust\nlocal replication all trust\n\
                     host all all 127.0.0.1/32 trust\n";
        fs::write(self.data().join("pg_hba.conf"), rules).expect("the rules are written");
    }

    /// Gives the server a certificate and its key.
    pub fn install_certificate(&self, certificate: &Path, key: &Path) {
        for (source, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let target = self.data().join(name);
            fs::copy(source, &target).expect("a copy");
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("the file is ours");
            self.programs.give(&target);
        }
    }

    /// Starts the server on another port and waits until it answers.
    pub fn launch_on(&self, port: u16) {
        *self.server() = Some(self.spawn_server());
        let start = Instant::now();
        while !self.psql_as("postgres", port, "select 1").status.success() {
            assert!(start.elapsed() < Duration::from_secs(SERVER_SECONDS_MAX), "the server does not start");
            // Nothing but an answer says that the server is ready.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Executes statements on another port.
    pub fn sql_on(&self, port: u16, statements: &str) -> String {
        let output = self.psql_as("postgres", port, statements);
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    }

    /// Starts the server and waits until it answers.
    pub fn launch(&self) {
        let server = self.spawn_server();
        *self.server() = Some(server);
        self.wait_until_ready();
    }

    /// Waits until the server answers a statement.
    pub fn wait_until_ready(&self) {
        let start = Instant::now();
        while !self.try_sql("select 1") {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(
                start.elapsed() < Duration::from_secs(SERVER_SECONDS_MAX),
                "the server does not start: {}",
                log()
            );
            // Nothing but an answer says that the server is ready.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server and all its processes at once, as a crash of the machine's software would.
    pub fn kill(&self) {
        let mut server = self.server().take().expect("the server runs");
        // Its processes have groups of their own: they are found by their parent, before it is gone.
        let children = children_of(server.id());
        server.kill().expect("our server can be killed");
        for child in children {
            let _ = Command::new("kill").args(["-KILL", &child.to_string()]).stderr(Stdio::null()).status();
        }
        server.wait().expect("the server has ended");
    }

    /// Kills the server and starts it again.
    pub fn crash(&self) {
        self.kill();
        // Shared memory of the dead server is in use until its last process has ended.
        let start = Instant::now();
        loop {
            let mut server = self.spawn_server();
            loop {
                if self.try_sql("select 1") {
                    *self.server() = Some(server);
                    return;
                }
                if server.try_wait().expect("a state").is_some() {
                    break;
                }
                // The end of a process can be waited for without a limit, or asked for again and again.
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(
                start.elapsed() < Duration::from_secs(SERVER_SECONDS_MAX),
                "the server does not start again"
            );
            // Nothing but an answer says that the server is ready.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Restarts the server as `pg_ctl restart -m immediate` does: no connection is told, nothing is written before, and the new
    /// server recovers from its log.
    pub fn restart_immediately(&self) {
        let mut server = self.server();
        let status = self
            .command("pg_ctl")
            .args(["stop", "-w", "-m", "immediate", "-D"])
            .arg(self.data())
            .stdout(Stdio::null())
            .status()
            .expect("pg_ctl starts");
        assert!(status.success(), "pg_ctl: {status}");
        if let Some(mut ended) = server.take() {
            ended.wait().expect("the server has ended");
        }
        *server = Some(self.spawn_server());
        drop(server);
        self.wait_until_ready();
    }

    fn spawn_server(&self) -> Child {
        let log = fs::File::create(self.folder.join("log")).expect("a log");
        let errors = log.try_clone().expect("a log");
        let mut command = self.programs.command("postgres");
        command.arg("-D").arg(self.data()).stdout(log).stderr(errors).process_group(0);
        command.spawn().expect("postgres starts")
    }

    /// Returns an address of the server.
    pub fn address(&self, parameters: &str) -> String {
        address_in(&self.folder, parameters)
    }

    /// Executes statements and returns what they print.
    pub fn sql(&self, statements: &str) -> String {
        let output = self.psql(statements);
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    }

    /// Executes a statement that a role may not execute, and returns the error.
    pub fn sql_error_as(&self, role: &str, statement: &str) -> String {
        let output = self.psql_as(role, 5432, statement);
        assert!(!output.status.success(), "{statement}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn try_sql(&self, statements: &str) -> bool {
        self.psql(statements).status.success()
    }

    fn psql(&self, statements: &str) -> std::process::Output {
        self.psql_as("postgres", 5432, statements)
    }

    fn psql_as(&self, role: &str, port: u16, statements: &str) -> std::process::Output {
        let mut command = self.programs.command("psql");
        command.arg("-h").arg(&self.folder).arg("-p").arg(port.to_string()).args([
            "-U",
            role,
            "-d",
            "postgres",
            "-AtXq",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            statements,
        ]);
        command.output().expect("psql starts")
    }

    /// Returns the command of a program of PostgreSQL.
    pub fn command(&self, name: &str) -> Command {
        self.programs.command(name)
    }

    /// Returns whether there can be no standby, and says so: the program that copies a server must be of its version.
    pub fn cannot_be_copied(&self) -> bool {
        let cannot = self.programs.has_other_server();
        if cannot {
            eprintln!("skipped: the server of HENCE_POSTGRES has no pg_basebackup");
        }
        cannot
    }

    /// Returns the programs of the server.
    pub fn programs(&self) -> &'static Programs {
        self.programs
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Closing its input makes the janitor end the server and remove the folder.
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
        if let Some(mut server) = self.server().take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Returns the address of a server whose socket is in `folder`.
pub fn address_in(folder: &Path, parameters: &str) -> String {
    format!("postgres://postgres@/postgres?host={}&{parameters}", folder.display())
}

fn children_of(parent: u32) -> Vec<u32> {
    let tasks = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    tasks.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}
