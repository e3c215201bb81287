//! A client of a bucket that speaks the protocol of S3.

use std::time::Duration;

use hence_store::{DatabaseError, DatabaseErrorKind};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore as _, ObjectStoreExt as _, RetryConfig};

use super::{BucketAccess, BucketAddress, refusal};

/// The longest time for one object: 1 GiB in that time is 1.8 MB a second.
const OBJECT_SECONDS_MAX: u64 = 600;

/// The time after which an attempt to connect is given up.
const CONNECT_SECONDS_MAX: u64 = 10;

/// The time for which a request that fails is tried again.
const RETRY_SECONDS_MAX: u64 = 20;

/// The number of further attempts.
const RETRIES_MAX: usize = 3;

/// The variables of which one set must be there. Without them the client would ask a server of the machine's network.
const CREDENTIALS: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// A client of one bucket.
pub(crate) struct Bucket {
    place: String,
    prefix: String,
    client: AmazonS3,
}

impl Bucket {
    pub(super) fn open(
        place: &str,
        address: BucketAddress,
        access: &BucketAccess,
    ) -> Result<Self, DatabaseError> {
        let refuse = |kind, reason| refusal(place, kind, reason);
        if !access.0.iter().any(|(name, value)| CREDENTIALS.contains(&name.as_str()) && !value.is_empty()) {
            let reason =
                format!("no credentials: expected one of {} in the environment", CREDENTIALS.join(", "));
            return Err(refuse(DatabaseErrorKind::AccessDenied, reason));
        }
        // The client asks for the provider of the process; one that is there already stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ClientOptions::new()
            .with_timeout(Duration::from_secs(OBJECT_SECONDS_MAX))
            .with_connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX));
        let retry = RetryConfig {
            max_retries: RETRIES_MAX,
            retry_timeout: Duration::from_secs(RETRY_SECONDS_MAX),
            ..RetryConfig::default()
        };
        let mut builder = AmazonS3Builder::new().with_client_options(options).with_retry(retry);
        for (name, value) in &access.0 {
            // Variables that the client does not know belong to other programs.
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        let client = builder.with_bucket_name(&address.name).build();
        let client = client.map_err(|error| refuse(DatabaseErrorKind::InvalidAddress, error.to_string()))?;
        Ok(Self { place: place.to_owned(), prefix: address.prefix, client })
    }

    /// Returns the place of an object for messages.
    pub(crate) fn location(&self, key: &str) -> String {
        format!("{}/{key}", self.place)
    }

    fn path(&self, key: &str) -> Path {
        if self.prefix.is_empty() { Path::from(key) } else { Path::from(format!("{}/{key}", self.prefix)) }
    }

    /// Stores an object. When this returns, the bucket has it.
    pub(crate) async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), DatabaseError> {
        let payload = bytes.to_vec().into();
        self.client.put(&self.path(key), payload).await.map_err(|error| self.failure(key, &error))?;
        Ok(())
    }

    /// Reads an object, at most `bytes_max` of its bytes; `None` if there is none.
    pub(crate) async fn get(&self, key: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DatabaseError> {
        let path = self.path(key);
        let found = match self.client.get(&path).await {
            Ok(found) => found,
            Err(error) => return self.missing(key, &error),
        };
        let bytes = if found.meta.size > bytes_max {
            // Somebody replaced it by a larger one: its start is enough to say so.
            drop(found);
            self.client.get_range(&path, 0..bytes_max).await
        } else {
            found.bytes().await
        };
        match bytes {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(error) => self.missing(key, &error),
        }
    }

    /// Returns whether there is an object.
    pub(crate) async fn has(&self, key: &str) -> Result<bool, DatabaseError> {
        match self.client.head(&self.path(key)).await {
            Ok(_) => Ok(true),
            Err(error) => self.missing::<()>(key, &error).map(|_| false),
        }
    }

    /// Removes an object, if there is one.
    pub(crate) async fn remove(&self, key: &str) -> Result<(), DatabaseError> {
        match self.client.delete(&self.path(key)).await {
            Ok(()) => Ok(()),
            Err(error) => self.missing::<()>(key, &error).map(drop),
        }
    }

    /// Lists the ends of the keys that begin with `prefix`.
    pub(crate) async fn list(&self, prefix: &str) -> Result<Vec<String>, DatabaseError> {
        let start = self.path(prefix);
        let found = self.client.list_with_delimiter(Some(&start)).await;
        let found = found.map_err(|error| self.failure(prefix, &error))?;
        let names = found.objects.iter().filter_map(|object| object.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns nothing for an object that is not there, and the error for anything else.
    fn missing<T>(&self, key: &str, error: &object_store::Error) -> Result<Option<T>, DatabaseError> {
        match error {
            object_store::Error::NotFound { .. } if !names_bucket(error) => Ok(None),
            _ => Err(self.failure(key, error)),
        }
    }

    fn failure(&self, key: &str, error: &object_store::Error) -> DatabaseError {
        use object_store::Error;
        if names_bucket(error) {
            return refusal(&self.place, DatabaseErrorKind::Other, "there is no such bucket".to_owned());
        }
        let kind = match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => DatabaseErrorKind::AccessDenied,
            Error::Generic { .. } => DatabaseErrorKind::Unreachable,
            _ => DatabaseErrorKind::Other,
        };
        let reason = match kind {
            DatabaseErrorKind::AccessDenied => "the bucket refused the credentials".to_owned(),
            _ => one_line(&error.to_string()),
        };
        refusal(&self.location(key), kind, reason)
    }
}

/// Returns whether the whole bucket is missing, which the protocol reports like a missing object.
fn names_bucket(error: &object_store::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("NoSuchBucket") {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns a text in one line of bounded length: a server may answer with a page.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
