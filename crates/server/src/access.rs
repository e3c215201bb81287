//! Who may ask: tokens, sessions, roles, and the names under which the server may be reached.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::limits::SESSIONS_MAX;

/// A right of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// To see everything.
    Read,
    /// To answer the questions of waiting runs.
    Answer,
    /// To review: comments, items, waivers, approval.
    Review,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Read, Self::Answer, Self::Review];

    /// Returns the word of the role.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Review => "review",
        }
    }

    /// Finds a role by its word.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// A person or program that asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    name: String,
    roles: Vec<Role>,
}

impl Identity {
    /// Describes somebody. Everybody may read.
    pub fn new(name: &str, roles: impl IntoIterator<Item = Role>) -> Self {
        let mut roles: Vec<Role> = roles.into_iter().chain([Role::Read]).collect();
        roles.sort();
        roles.dedup();
        Self { name: name.to_owned(), roles }
    }

    /// Returns the name that is recorded with everything they do.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the roles.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Returns whether they have a role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// The digest of a secret. Secrets are compared by their digests, so that no comparison tells how much of a guess fits.
type SecretDigest = [u8; 32];

fn digest(secret: &str) -> SecretDigest {
    Sha256::digest(secret.as_bytes()).into()
}

/// The system gave no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct RandomnessError;

/// Returns a secret that nobody can guess.
fn random_secret() -> Result<String, RandomnessError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| RandomnessError)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The tokens and the sessions of a server.
#[derive(Debug, Default)]
pub struct Access {
    tokens: Vec<(SecretDigest, Identity)>,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    identities: HashMap<SecretDigest, Identity>,
    /// In the order in which they began.
    order: VecDeque<SecretDigest>,
}

impl Access {
    /// Makes a random token for one person, and returns it.
    ///
    /// # Errors
    /// [`RandomnessError`].
    pub fn with_random_token(identity: Identity) -> Result<(Self, String), RandomnessError> {
        let token = random_secret()?;
        Ok((Self::with_tokens([(token.clone(), identity)]), token))
    }

    /// Takes named tokens.
    pub fn with_tokens(tokens: impl IntoIterator<Item = (String, Identity)>) -> Self {
        let tokens = tokens.into_iter().map(|(token, identity)| (digest(&token), identity)).collect();
        Self { tokens, sessions: Mutex::default() }
    }

    /// Returns whose token it is.
    pub fn identity_of_token(&self, token: &str) -> Option<Identity> {
        let wanted = digest(token);
        let found = self.tokens.iter().find(|(known, _)| *known == wanted);
        found.map(|(_, identity)| identity.clone())
    }

    /// Begins a session and returns its secret.
    pub(crate) fn begin(&self, identity: Identity) -> Result<String, RandomnessError> {
        let secret = random_secret()?;
        let mut sessions = self.lock();
        sessions.identities.insert(digest(&secret), identity);
        sessions.order.push_back(digest(&secret));
        while sessions.order.len() > SESSIONS_MAX {
            if let Some(oldest) = sessions.order.pop_front() {
                sessions.identities.remove(&oldest);
            }
        }
        Ok(secret)
    }

    /// Returns whose session it is.
    pub(crate) fn identity_of_session(&self, secret: &str) -> Option<Identity> {
        self.lock().identities.get(&digest(secret)).cloned()
    }

    /// Ends a session.
    pub(crate) fn end(&self, secret: &str) {
        let ended = digest(secret);
        let mut sessions = self.lock();
        sessions.identities.remove(&ended);
        sessions.order.retain(|known| *known != ended);
    }

    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names and addresses under which a server may be reached. A page of another name that resolves to this machine
/// must not be answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// Takes the address that the server listens on, and further names, each with or without a port.
    pub fn new(address: SocketAddr, further: &[String]) -> Self {
        let port = address.port();
        let mut names = vec![address.to_string()];
        if address.ip().is_loopback() {
            names.extend([format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]);
        }
        for name in further {
            names.push(name.to_ascii_lowercase());
            names.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
        Self { names }
    }

    /// Returns whether a `Host` header names this server.
    pub(crate) fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.names.contains(&host)
    }

    /// Returns whether an `Origin` header names a page of this server.
    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.has(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_token_s_person_until_it_ends() {
        let (access, token) =
            Access::with_random_token(Identity::new("ada", [Role::Answer])).expect("random bytes");
        let identity = access.identity_of_token(&token).expect("the token is known");
        assert!(identity.has(Role::Read) && identity.has(Role::Answer) && !identity.has(Role::Review));
        let secret = access.begin(identity).expect("random bytes");
        assert_ne!(secret, token);
        assert_eq!(
            access.identity_of_session(&secret).map(|found| found.name().to_owned()),
            Some("ada".into())
        );
        assert!(access.identity_of_session(&token).is_none(), "a token is no session");
        access.end(&secret);
        assert!(access.identity_of_session(&secret).is_none());
    }

    #[test]
    fn the_oldest_session_is_forgotten_first() {
        let access = Access::default();
        let secrets: Vec<String> = (0..=SESSIONS_MAX)
            .map(|_| access.begin(Identity::new("ada", [])).expect("random bytes"))
            .collect();
        assert!(access.identity_of_session(&secrets[0]).is_none());
        assert!(access.identity_of_session(&secrets[1]).is_some());
        assert!(access.identity_of_session(&secrets[SESSIONS_MAX]).is_some());
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        let hosts = Hosts::new("127.0.0.1:4000".parse().unwrap(), &["Runs.example".to_owned()]);
        for name in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000", "runs.example"] {
            assert!(hosts.has(name), "{name}");
        }
        for name in ["localhost", "localhost:4001", "evil.example:4000", "127.0.0.1:4000.evil.example", ""] {
            assert!(!hosts.has(name), "{name}");
        }
        assert!(hosts.has_origin("http://localhost:4000") && hosts.has_origin("https://runs.example"));
        for origin in
            ["null", "http://evil.example", "http://localhost:4001", "localhost:4000", "ftp://localhost:4000"]
        {
            assert!(!hosts.has_origin(origin), "{origin}");
        }
        let elsewhere = Hosts::new("10.0.0.1:80".parse().unwrap(), &[]);
        assert!(elsewhere.has("10.0.0.1:80") && !elsewhere.has("localhost:80"));
    }
}
