//! Connections through TLS, with the meanings of libpq.

mod cluster;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cluster::Cluster;
use hence_store::{DatabaseErrorKind, StoreError};
use hence_store_postgres::{PostgresStore, Settings};

/// Makes the certificate of an authority and one for `localhost` that it signed. `None` if there is no `openssl`.
fn make_certificates(folder: &Path) -> Option<()> {
    let openssl = |arguments: &[&str]| {
        let command =
            Command::new("openssl").args(arguments).current_dir(folder).stderr(Stdio::null()).status();
        command.ok().filter(std::process::ExitStatus::success).map(|_| ())
    };
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").expect("a file");
    for authority in ["ca", "other"] {
        let (key, certificate) = (format!("{authority}.key"), format!("{authority}.pem"));
        openssl(&[
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=authority",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ])?;
    }
    openssl(&[
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "server.key",
        "-out",
        "request",
    ])?;
    openssl(&[
        "x509",
        "-req",
        "-in",
        "request",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "names",
        "-out",
        "server.crt",
    ])
}

#[test]
fn certificates_are_checked_as_far_as_the_mode_says() {
    let Some(cluster) = Cluster::start(&["fsync=off"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    if make_certificates(folder.path()).is_none() {
        println!("skipped: no program `openssl` was found");
        return;
    }
    let port =
        TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address").port();
    cluster.install_certificate(&folder.path().join("server.crt"), &folder.path().join("server.key"));
    cluster.kill();
    let settings = ["fsync=off", "listen_addresses='127.0.0.1'", "ssl=on"].map(str::to_owned);
    let tcp = format!("port={port}");
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain([tcp.as_str()]).collect();
    cluster.configure(&settings);
    cluster.launch_on(port);

    let address = |host: &str, parameters: &str| {
        format!("postgres://postgres@{host}:{port}/postgres?schema=tls&application_name=seen&{parameters}")
    };
    PostgresStore::migrate(&address("localhost", "sslmode=require")).expect("the tables are made");
    let file = |name: &str| format!("sslrootcert={}", folder.path().join(name).display());
    let (ca, other) = (file("ca.pem"), file("other.pem"));
    let settings = || Settings { reconnect: Duration::ZERO, ..Settings::default() };
    let encrypted = |host: &str, parameters: &str| {
        let store = PostgresStore::connect_with(&address(host, parameters), settings()).expect("a store");
        let seen = "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'seen' \
                    order by backend_start desc limit 1";
        let is_encrypted = cluster.sql_on(port, seen) == "t";
        drop(store);
        is_encrypted
    };
    assert!(!encrypted("localhost", "sslmode=disable"));
    assert!(encrypted("localhost", "sslmode=prefer"));
    assert!(encrypted("127.0.0.1", "sslmode=require"));
    assert!(encrypted("127.0.0.1", &format!("sslmode=verify-ca&{ca}")));
    assert!(encrypted("localhost", &format!("sslmode=verify-full&{ca}")));
    let refused = |host: &str, parameters: &str| match PostgresStore::connect_with(
        &address(host, parameters),
        settings(),
    ) {
        Err(StoreError::Database(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{host} {parameters}: connected"),
    };
    let name = refused("127.0.0.1", &format!("sslmode=verify-full&{ca}"));
    assert!(name.reason.contains("certificate not valid for name"), "{name}");
    for mode in ["require", "verify-ca", "verify-full"] {
        let authority = refused("localhost", &format!("sslmode={mode}&{other}"));
        assert!(authority.reason.contains("invalid peer certificate"), "{authority}");
    }
    let missing = refused("localhost", "sslmode=verify-full&sslrootcert=/nowhere.pem");
    assert_eq!(missing.kind, DatabaseErrorKind::InvalidAddress);
    assert!(missing.reason.starts_with("sslrootcert: cannot read /nowhere.pem"), "{missing}");
}
