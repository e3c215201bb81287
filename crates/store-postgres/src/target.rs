//! Addresses of databases, in the form of libpq.

use std::path::PathBuf;
use std::time::Duration;

use hence_store::{DatabaseError, DatabaseErrorKind};
use percent_encoding::percent_decode_str;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

/// The schema that holds the tables, if the address names no other.
pub const SCHEMA_DEFAULT: &str = "hence";

/// The folder of the server's socket, if the address names no host: that of Debian and Red Hat.
const SOCKET_FOLDER_DEFAULT: &str = "/var/run/postgresql";

/// The time after which an attempt to connect is given up, if the address names no other.
const CONNECT_SECONDS_DEFAULT: u64 = 10;

/// The longest name of a schema: longer ones are cut by the server.
const SCHEMA_BYTES_MAX: usize = 63;

/// The parameters that an address may have.
const PARAMETERS: &str = "application_name, bucket, connect_timeout, dbname, host, keepalives_idle, notify, options, password, pooler, port, schema, \
                          sslmode, sslrootcert, target_session_attrs, tcp_user_timeout, user";

/// The protection of a connection by TLS, with the meanings of libpq. Connections through a unix socket never use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// TLS if the server has it; the certificate is not checked.
    Prefer,
    /// TLS; the certificate is checked only if there is a root certificate.
    Require,
    /// TLS with a certificate of a known authority, for any name.
    VerifyCa,
    /// TLS with a certificate of a known authority for the name of the host.
    VerifyFull,
}

/// The connections of the server that statements of one connection of ours reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// One: nothing is between, or a pooler that gives each client a connection of its own.
    Session,
    /// Another one for each transaction: nothing may be left on a connection, such as prepared statements and settings.
    Transaction,
}

/// The certificates that a server's certificate must lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    /// None was named.
    Unnamed,
    /// Those of the operating system.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// A database and the way to it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The address without its password.
    pub(crate) location: String,
    pub(crate) config: tokio_postgres::Config,
    pub(crate) schema: String,
    /// The way in which statements reach the server.
    pub(crate) pooling: Pooling,
    /// The bucket for large values.
    pub(crate) bucket: Option<String>,
    pub(crate) notices: Notices,
    pub(crate) tls: TlsMode,
    pub(crate) roots: Roots,
}

/// The use of the server's notifications (`LISTEN` and `NOTIFY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notices {
    /// Workers listen for changes of the queue, and whoever changes it sends notices.
    Sent,
    /// Workers only look now and then: a pooler that gives each transaction another connection loses notices.
    Off,
}

impl Target {
    /// Reads an address.
    pub(crate) fn parse(text: &str) -> Result<Self, DatabaseError> {
        let location = without_password(text);
        let refuse = |reason: String| DatabaseError {
            location: location.clone(),
            kind: DatabaseErrorKind::InvalidAddress,
            reason,
        };
        let parts = Parts::read(text).map_err(refuse)?;
        parts.into_target(&location).map_err(refuse)
    }
}

/// The parts of an address, decoded.
#[derive(Debug, Default)]
struct Parts {
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<String>,
    ports: Vec<String>,
    database: Option<String>,
    parameters: Vec<(String, String)>,
}

impl Parts {
    fn read(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or("the address of a database begins with postgres:// or postgresql://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts = Self::default();
        let hosts = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
                parts.user = Some(decode(user)?).filter(|user| !user.is_empty());
                parts.password = password.map(decode).transpose()?;
                hosts
            }
            None => authority,
        };
        for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
            let (host, port) = split_port(host)?;
            parts.hosts.push(decode(host)?);
            parts.ports.push(port.to_owned());
        }
        parts.database = Some(decode(database)?).filter(|name| !name.is_empty());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("the parameter {pair:?} has no value"))?;
            parts.parameters.push((decode(key)?, decode(value)?));
        }
        Ok(parts)
    }

    fn into_target(mut self, location: &str) -> Result<Target, String> {
        let mut target = Target {
            location: location.to_owned(),
            config: tokio_postgres::Config::new(),
            schema: SCHEMA_DEFAULT.to_owned(),
            pooling: Pooling::Session,
            bucket: None,
            notices: Notices::Sent,
            tls: TlsMode::Prefer,
            roots: Roots::Unnamed,
        };
        target.config.application_name("hence").connect_timeout(Duration::from_secs(CONNECT_SECONDS_DEFAULT));
        for (key, value) in std::mem::take(&mut self.parameters) {
            self.apply(&mut target, &key, value)?;
        }
        self.add_hosts(&mut target)?;
        if let Some(user) = &self.user {
            target.config.user(user);
        }
        if let Some(password) = &self.password {
            target.config.password(password);
        }
        if let Some(database) = &self.database {
            target.config.dbname(database);
        }
        Ok(target)
    }

    /// Applies one parameter of the address.
    fn apply(&mut self, target: &mut Target, key: &str, value: String) -> Result<(), String> {
        match key {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "dbname" => self.database = Some(value),
            "host" => {
                self.hosts = value.split(',').map(str::to_owned).collect();
                self.ports = vec![String::new(); self.hosts.len()];
            }
            "port" => self.ports = value.split(',').map(str::to_owned).collect(),
            "schema" => target.schema = check_schema(value)?,
            "pooler" => {
                target.pooling = match &*value {
                    "session" => Pooling::Session,
                    "transaction" => Pooling::Transaction,
                    _ => return Err(expected(key, "session or transaction", &value)),
                }
            }
            "bucket" => target.bucket = Some(value),
            "notify" => {
                target.notices = match &*value {
                    "on" => Notices::Sent,
                    "off" => Notices::Off,
                    _ => return Err(expected(key, "on or off", &value)),
                };
            }
            "application_name" => drop(target.config.application_name(value)),
            "options" => drop(target.config.options(value)),
            "connect_timeout" => drop(target.config.connect_timeout(seconds(key, &value)?)),
            "keepalives_idle" => drop(target.config.keepalives_idle(seconds(key, &value)?)),
            "tcp_user_timeout" => {
                let milliseconds = value.parse().map_err(|_| not_a_number(key, &value))?;
                target.config.tcp_user_timeout(Duration::from_millis(milliseconds));
            }
            "target_session_attrs" => {
                target.config.target_session_attrs(match &*value {
                    "any" => TargetSessionAttrs::Any,
                    "read-write" => TargetSessionAttrs::ReadWrite,
                    "read-only" => TargetSessionAttrs::ReadOnly,
                    _ => return Err(expected(key, "any, read-write or read-only", &value)),
                });
            }
            "sslmode" => {
                target.tls = match &*value {
                    "disable" => TlsMode::Disable,
                    "prefer" => TlsMode::Prefer,
                    "require" => TlsMode::Require,
                    "verify-ca" => TlsMode::VerifyCa,
                    "verify-full" => TlsMode::VerifyFull,
                    _ => {
                        return Err(expected(
                            key,
                            "disable, prefer, require, verify-ca or verify-full",
                            &value,
                        ));
                    }
                }
            }
            "sslrootcert" if value == "system" => target.roots = Roots::System,
            "sslrootcert" => target.roots = Roots::File(value.into()),
            _ => return Err(format!("the address has the parameter {key:?}, expected one of {PARAMETERS}")),
        }
        Ok(())
    }

    fn add_hosts(&mut self, target: &mut Target) -> Result<(), String> {
        if self.hosts.is_empty() {
            self.hosts.push(SOCKET_FOLDER_DEFAULT.to_owned());
        }
        if self.ports.len() > 1 && self.ports.len() != self.hosts.len() {
            return Err(format!("the address has {} hosts and {} ports", self.hosts.len(), self.ports.len()));
        }
        for host in &self.hosts {
            // The default of libpq, spelled out: an empty name among several.
            target.config.host(if host.is_empty() { SOCKET_FOLDER_DEFAULT } else { host });
        }
        for port in &self.ports {
            let port = if port.is_empty() { "5432" } else { port };
            target.config.port(port.parse().map_err(|_| expected("port", "a number up to 65535", port))?);
        }
        let is_local = self.hosts.iter().all(|host| host.is_empty() || host.starts_with('/'));
        if is_local {
            target.tls = TlsMode::Disable;
        }
        target.config.ssl_mode(match target.tls {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        Ok(())
    }
}

/// Splits the port off a host. An address of IP version 6 is in brackets, because it has colons itself.
fn split_port(host: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) =
            rest.split_once(']').ok_or_else(|| format!("the host {host:?} has no closing bracket"))?;
        let port = if port.is_empty() { Some("") } else { port.strip_prefix(':') };
        return port
            .map(|port| (address, port))
            .ok_or_else(|| format!("the host {host:?} ends with no port"));
    }
    Ok(host.split_once(':').unwrap_or((host, "")))
}

fn decode(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "a part of the address is not UTF-8".to_owned())
}

fn check_schema(name: String) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let fits = (1..=SCHEMA_BYTES_MAX).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.starts_with("pg_");
    let rule = "1 to 63 of a-z, 0-9 and _, beginning neither with a digit nor with pg_";
    if fits { Ok(name) } else { Err(expected("schema", rule, &name)) }
}

fn seconds(key: &str, value: &str) -> Result<Duration, String> {
    Ok(Duration::from_secs(value.parse().map_err(|_| not_a_number(key, value))?))
}

fn not_a_number(key: &str, value: &str) -> String {
    expected(key, "a whole number", value)
}

fn expected(key: &str, expected: &str, found: &str) -> String {
    format!("{key}: expected {expected}, found {found:?}")
}

/// Removes the password from an address, also from one that cannot be read.
pub(crate) fn without_password(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    // A password may have a slash or an at sign that nobody encoded: everything up to the last at sign counts.
    let rest = match rest.rsplit_once('@') {
        Some((login, hosts)) => format!("{}@{hosts}", login.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let query = query.map(|query| {
        let is_secret = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default();
            decode(key).map_or(true, |key| key == "password")
        };
        query.split('&').filter(|pair| !is_secret(pair)).collect::<Vec<_>>().join("&")
    });
    let separator = if scheme.is_empty() { "" } else { "://" };
    match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{scheme}{separator}{rest}?{query}"),
        None => format!("{scheme}{separator}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        let target = Target::parse(text).unwrap();
        let hosts = target.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        hosts.collect()
    }

    #[test]
    fn addresses_are_read_as_libpq_reads_them() {
        let target = Target::parse("postgresql://ann:s%40cret@db.example:6432/team?schema=hence_2").unwrap();
        assert_eq!(target.config.get_user(), Some("ann"));
        assert_eq!(target.config.get_password(), Some(&b"s@cret"[..]));
        assert_eq!(target.config.get_dbname(), Some("team"));
        assert_eq!(target.config.get_ports(), [6432]);
        assert_eq!(target.schema, "hence_2");
        assert_eq!(target.location, "postgresql://ann@db.example:6432/team?schema=hence_2");
        assert_eq!(hosts("postgres:///team?host=/run/x"), ["/run/x"]);
        assert_eq!(hosts("postgresql://ann@%2Frun%2Fx/team"), ["/run/x"]);
        assert_eq!(hosts("postgres:///team"), [SOCKET_FOLDER_DEFAULT]);
        assert_eq!(hosts("postgres://[::1]:5433,b:1/team"), ["::1", "b"]);
        assert_eq!(Target::parse("postgres://a,b/x?port=1,2").unwrap().config.get_ports(), [1, 2]);
    }

    #[test]
    fn a_unix_socket_needs_no_tls_and_other_hosts_prefer_it() {
        let mode = |text: &str| Target::parse(text).unwrap().tls;
        assert_eq!(mode("postgres:///x?host=/run/x&sslmode=verify-full"), TlsMode::Disable);
        assert_eq!(mode("postgres://h/x"), TlsMode::Prefer);
        assert_eq!(mode("postgres://h/x?sslmode=verify-full"), TlsMode::VerifyFull);
        let roots = |text: &str| Target::parse(text).unwrap().roots;
        assert_eq!(roots("postgres://h/x?sslrootcert=system"), Roots::System);
        assert_eq!(roots("postgres://h/x?sslrootcert=/c.pem"), Roots::File("/c.pem".into()));
    }

    #[test]
    fn a_wrong_address_is_refused_by_what_is_wrong_with_it() {
        let cases = [
            ("mysql://h/x", "begins with postgres://"),
            ("postgres://h:99999/x", "port: expected a number up to 65535"),
            ("postgres://h:x/x", "port: expected"),
            ("postgres://[::1/x", "no closing bracket"),
            ("postgres://h/x?sslmode=maybe", "sslmode: expected disable"),
            ("postgres://h/x?schema=Robert'); drop", "schema: expected 1 to 63"),
            ("postgres://h/x?schema=pg_catalog", "schema: expected 1 to 63"),
            ("postgres://h/x?speed=fast", "parameter \"speed\", expected one of"),
            ("postgres://h/x?speed", "has no value"),
            ("postgres://h/%ff", "not UTF-8"),
            ("postgres://a,b/x?port=1,2,3", "2 hosts and 3 ports"),
            ("postgres://h/x?connect_timeout=soon", "connect_timeout: expected a whole number"),
        ];
        for (text, expected) in cases {
            let error = Target::parse(text).unwrap_err();
            assert_eq!(error.kind, DatabaseErrorKind::InvalidAddress, "{text}");
            assert!(error.reason.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn no_spelling_of_a_password_reaches_the_location() {
        let cases = [
            "postgres://ann:secret@h/x",
            "postgres://ann:secret@h/x?password=secret",
            "postgres://h/x?password=secret&sslmode=disable",
            "postgres://h/x?pass%77ord=secret",
            "postgres://ann:sec/secret@h/x",
            "postgres://ann:secret@secret@h/x",
            "mysql://ann:secret@h/x",
            "ann:secret@h/x",
        ];
        for text in cases {
            assert!(!without_password(text).contains("secret"), "{}", without_password(text));
            if let Err(error) = Target::parse(text) {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        }
    }
}
