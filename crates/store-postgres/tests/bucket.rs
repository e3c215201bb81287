//! Large values in a bucket, against a server that speaks the protocol of S3 (`moto_server`, named by HENCE_MOTO).
#![cfg(feature = "s3")]

mod cluster;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cluster::{Cluster, Schema, line};
use hence_canon::Digest;
use hence_store::contract::Place;
use hence_store::{DatabaseErrorKind, Durability, Finding, MemoryStore, NewRun, RunId, Store, StoreError};
use hence_store_postgres::{BucketAccess, PostgresStore, Settings};

/// The time for which the server may start, on a machine that is busy.
const SERVER_SECONDS_MAX: u64 = 120;

/// A server of buckets, which ends with this process.
struct Moto {
    port: u16,
    _guard: Child,
}

impl Moto {
    /// Starts a server that lets so many requests in before it asks for credentials that it knows.
    #[allow(clippy::print_stderr, reason = "skipped tests say so")]
    fn start(free_requests: &str) -> Option<Self> {
        let Some(program) = std::env::var_os("HENCE_MOTO") else {
            eprintln!("skipped: HENCE_MOTO names no moto_server");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        // The shell ends the server when its input is closed, however this process ends.
        let script = r#""$0" -H 127.0.0.1 -p "$1" >/dev/null 2>&1 & pid=$!; cat >/dev/null; kill "$pid""#;
        let guard = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .arg(port.to_string())
            .env("INITIAL_NO_AUTH_ACTION_COUNT", free_requests)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(SERVER_SECONDS_MAX), "moto does not start");
            // Nothing but the server itself says when it listens.
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(Self { port, _guard: guard })
    }

    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Moto>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start("infinity")).as_ref()
    }

    /// Sends a request with credentials that the server does not check, and returns the status.
    fn request(&self, method: &str, path: &str, body: &[u8]) -> u16 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let login = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\nAuthorization: {login}\r\n\
             Connection: close\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("a request");
        stream.write_all(body).expect("a body");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let text = String::from_utf8_lossy(&answer).into_owned();
        text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }

    /// Makes a bucket of its own for a test.
    fn bucket(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("values-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        assert_eq!(self.request("PUT", &format!("/{name}"), b""), 200);
        name
    }

    fn access(&self, key: &str) -> BucketAccess {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let pairs = [
            ("AWS_ACCESS_KEY_ID", key),
            ("AWS_SECRET_ACCESS_KEY", "not-a-secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &*endpoint),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        BucketAccess(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn settings(&self, bucket: &str, bytes_min: u64) -> Settings {
        Settings {
            bucket: Some(format!("s3://{bucket}/pre")),
            bucket_bytes_min: bytes_min,
            bucket_access: self.access("testing"),
            ..Settings::default()
        }
    }
}

/// A store whose values of 100 bytes and more are in a bucket.
struct World {
    moto: &'static Moto,
    cluster: &'static Cluster,
    schema: Schema,
    bucket: String,
    store: PostgresStore,
}

impl World {
    fn new() -> Option<Self> {
        let (moto, cluster) = (Moto::shared()?, Cluster::shared()?);
        let (schema, bucket) = (Schema::new(cluster), moto.bucket());
        let store = schema.connect_with(moto.settings(&bucket, 100));
        Some(Self { moto, cluster, schema, bucket, store })
    }

    fn sql(&self, text: &str) -> String {
        self.cluster.sql(&text.replace("{schema}", &self.schema.name))
    }

    fn path(&self, digest: &Digest) -> String {
        let store = self.sql("select value from {schema}.setting where name = 'store'");
        format!("/{}/pre/{store}/0/{digest}", self.bucket)
    }

    fn put(&self, bytes: &[u8]) -> Digest {
        self.store.put_blob(bytes, Durability::Synced).expect("it is stored")
    }

    fn findings(&self) -> Vec<Finding> {
        self.store.doctor().check().expect("a report").findings
    }
}

#[test]
fn values_from_a_size_on_are_in_the_bucket_and_read_back() {
    let Some(world) = World::new() else { return };
    let (small, large) = (vec![b's'; 99], vec![b'l'; 100]);
    let (small_digest, large_digest) = (world.put(&small), world.put(&large));
    assert_eq!(world.sql("select count(*) from {schema}.blob where place is not null"), "1");
    assert_eq!(world.sql("select count(*) from {schema}.blob_part"), "1");
    assert_eq!(world.moto.request("HEAD", &world.path(&large_digest), b""), 200);
    assert_eq!(world.store.blob(&small_digest).expect("read"), small);
    assert_eq!(world.store.blob(&large_digest).expect("read"), large);
    assert!(world.store.has_blob(&large_digest).expect("an answer"));
    assert_eq!(world.put(&large), large_digest, "storing it again changes nothing");
    // Whoever may use the bucket reads it, also with no bucket for new values; nothing secret is in the database.
    let reader =
        Settings { bucket: None, bucket_access: world.moto.access("testing"), ..Settings::default() };
    assert_eq!(world.schema.connect_with(reader).blob(&large_digest).expect("read"), large);
    let place = world.sql("select place from {schema}.blob where place is not null");
    assert_eq!(place, format!("s3://{}/pre", world.bucket));
}

#[test]
fn an_object_that_is_altered_or_gone_is_named_and_storing_it_again_repairs_it() {
    let Some(world) = World::new() else { return };
    let (altered, longer, gone) = (vec![b'a'; 200], vec![b'b'; 200], vec![b'c'; 200]);
    let digests = [&altered, &longer, &gone].map(|bytes| world.put(bytes));
    let text = digests.map(|digest| digest.to_string()).join(" ");
    let id = RunId::new("r").expect("an id");
    drop(world.store.create(NewRun { id, attachments: Vec::new(), lines: line(0, &text) }).expect("a run"));
    assert_eq!(world.findings(), []);
    assert_eq!(world.moto.request("PUT", &world.path(&digests[0]), &[b'x'; 200]), 200);
    assert_eq!(world.moto.request("PUT", &world.path(&digests[1]), &vec![b'b'; 100_000]), 200);
    assert_eq!(world.moto.request("DELETE", &world.path(&digests[2]), b""), 204);
    for digest in &digests[..2] {
        let refused = world.store.blob(digest).expect_err("it is altered");
        assert!(matches!(refused, StoreError::BlobCorrupt { bytes: 200 | 201, .. }), "{refused:?}");
    }
    assert!(matches!(world.store.blob(&digests[2]), Err(StoreError::NoSuchBlob { .. })));
    assert!(!world.store.has_blob(&digests[2]).expect("an answer"));
    let findings = world.findings();
    let corrupt = findings.iter().filter(|finding| matches!(finding, Finding::CorruptBlob { .. })).count();
    let gone_named = findings.iter().any(|finding| {
        matches!(finding, Finding::Unreadable { path, reason }
            if path.display().to_string().contains(&digests[2].to_string()) && reason.contains("gone"))
    });
    assert!(corrupt == 2 && gone_named && findings.len() == 3, "{findings:?}");
    for bytes in [&altered, &longer, &gone] {
        let digest = world.put(bytes);
        assert_eq!(world.store.blob(&digest).expect("repaired"), *bytes);
    }
    assert_eq!(world.findings(), []);
}

#[test]
fn removing_a_value_removes_its_object_and_an_object_without_a_row_is_reported() {
    let Some(world) = World::new() else { return };
    let digest = world.put(&[b'r'; 300]);
    world.store.remove_blob(&digest).expect("removed");
    assert_eq!(world.moto.request("HEAD", &world.path(&digest), b""), 404);
    assert!(!world.store.has_blob(&digest).expect("an answer"));
    world.store.remove_blob(&digest).expect("a value that is not there is no error");
    // A process died between the object and its row.
    let lost = world.put(&[b'q'; 300]);
    world.sql("delete from {schema}.blob");
    let findings = world.findings();
    let is_lost = |finding: &Finding| matches!(finding, Finding::Stray { path } if path.display().to_string().ends_with(&lost.to_string()));
    assert!(findings.len() == 1 && findings.iter().all(is_lost), "{findings:?}");
}

#[test]
fn a_section_has_objects_of_its_own() {
    let Some(world) = World::new() else { return };
    let bytes = vec![b'z'; 300];
    let section = world.store.section_or_new("reviews").expect("a section");
    let digest = section.put_blob(&bytes, Durability::Synced).expect("stored");
    assert_eq!(world.put(&bytes), digest);
    world.store.remove_blob(&digest).expect("removed");
    assert_eq!(section.blob(&digest).expect("that of the section stays"), bytes);
}

#[test]
fn a_bucket_that_cannot_be_used_is_named_and_nothing_is_stored() {
    let Some(world) = World::new() else { return };
    let large = vec![b'w'; 500];
    let kind_of = |settings: Settings| {
        let store = world.schema.connect_with(settings);
        match store.put_blob(&large, Durability::Synced) {
            Err(StoreError::Database(error)) => (error.kind, error.to_string()),
            other => panic!("{other:?}"),
        }
    };
    let (kind, text) = kind_of(world.moto.settings("no-such-bucket", 100));
    assert!(kind == DatabaseErrorKind::Other && text.contains("there is no such bucket"), "{text}");
    let no_access =
        Settings { bucket_access: BucketAccess::default(), ..world.moto.settings(&world.bucket, 100) };
    let (kind, text) = kind_of(no_access);
    assert!(kind == DatabaseErrorKind::AccessDenied && text.contains("AWS_ACCESS_KEY_ID"), "{text}");
    let guarded = Moto::start("1").expect("the other one has started");
    let bucket = guarded.bucket();
    let (kind, text) = kind_of(guarded.settings(&bucket, 100));
    assert!(kind == DatabaseErrorKind::AccessDenied && text.contains("refused the credentials"), "{text}");
    assert!(!text.contains("not-a-secret"), "{text}");
    assert_eq!(world.sql("select count(*) from {schema}.blob"), "0");
    for wrong in ["team-values", "s3://UPPER", "s3://team/../other"] {
        let settings = Settings { bucket: Some(wrong.to_owned()), ..Settings::default() };
        let refused = PostgresStore::connect_with(&world.schema.address, settings).expect_err(wrong);
        assert!(refused.to_string().contains("expected s3://NAME"), "{refused}");
        let address = format!("{}&bucket={wrong}", world.schema.address);
        assert!(PostgresStore::connect(&address).is_err(), "{wrong}");
    }
}

/// A place for the contract whose values are all in a bucket; memory where there is no server.
enum BucketPlace {
    Bucket(Box<World>),
    Memory(MemoryStore),
}

impl BucketPlace {
    fn new() -> Self {
        World::new().map_or_else(|| Self::Memory(MemoryStore::new()), |world| Self::Bucket(Box::new(world)))
    }
}

impl Place for BucketPlace {
    fn open(&self) -> Box<dyn Store> {
        match self {
            Self::Bucket(world) => Box::new(world.schema.connect_with(world.moto.settings(&world.bucket, 0))),
            Self::Memory(store) => Box::new(store.clone()),
        }
    }
}

macro_rules! contract_of_blobs {
    ($($name:ident),+) => {
        $(#[test]
        fn $name() {
            hence_store::contract::$name(&BucketPlace::new());
        })+
    };
}

contract_of_blobs!(
    a_blob_reads_back_by_its_digest,
    storing_a_blob_again_is_no_change,
    a_blob_is_shared_by_everyone,
    a_blob_that_no_run_names_is_found,
    runs_that_are_created_together_are_there_with_their_blobs
);
