//! The checks every request passes before its operation is called.

use axum::http::{HeaderMap, HeaderName, Method, header};

use crate::access::{Access, Hosts, Identity, Role};
use crate::operation::Refusal;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules of one server.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) access: Access,
    pub(crate) hosts: Hosts,
    /// The name of the cookie. Browsers send the cookies of a host to all its ports, so the port is part of it.
    pub(crate) cookie: String,
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Guard {
    /// Refuses requests for other hosts and from other sites.
    pub(crate) fn check_source(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, header::HOST).unwrap_or_default();
        if !self.hosts.has(host) {
            return Err(Refusal::Host(host.to_owned()));
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.hosts.has_origin(origin) {
                return Err(Refusal::Origin(origin.to_owned()));
            }
        }
        // Navigations from a link elsewhere are `none` or `cross-site` without a cookie; a script of another site is not
        // answered even if it could read nothing.
        if text(headers, FETCH_SITE) == Some("cross-site") && headers.contains_key(header::ORIGIN) {
            return Err(Refusal::Origin("another site".to_owned()));
        }
        Ok(())
    }

    /// Returns who asks, if they have the role.
    pub(crate) fn check_role(
        &self,
        headers: &HeaderMap,
        method: &Method,
        role: Role,
    ) -> Result<Identity, Refusal> {
        let bearer = bearer(headers);
        let by_token = bearer.and_then(|token| self.access.identity_of_token(token));
        let session = self.session(headers);
        let by_cookie = session.and_then(|secret| self.access.identity_of_session(secret));
        let identity = match bearer {
            // A wrong token is an error even next to a session that holds.
            Some(_) => by_token.ok_or(Refusal::NoSession)?,
            None => by_cookie.ok_or(Refusal::NoSession)?,
        };
        // A browser sends `Origin` with everything that changes something; `check_source` has compared it.
        let is_safe = matches!(*method, Method::GET | Method::HEAD);
        if bearer.is_none() && !is_safe && !headers.contains_key(header::ORIGIN) {
            return Err(Refusal::Origin("a page that does not say which it is".to_owned()));
        }
        if identity.has(role) {
            return Ok(identity);
        }
        Err(Refusal::NotAllowed { name: identity.name().to_owned(), role: role.as_str() })
    }

    /// Returns the secret of the session in the cookies.
    pub(crate) fn session<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, secret)| secret)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    // Anything that is no bearer token is a token that nobody has.
    Some(value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_session_alone_may_look_and_not_change() {
        let access = Access::default();
        let secret = access.begin(Identity::new("ada", [])).expect("random bytes");
        let hosts = Hosts::new("127.0.0.1:4000".parse().unwrap(), &[]);
        let guard = Guard { access, hosts, cookie: "session".to_owned() };
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&format!("session={secret}")).unwrap());
        for (method, is_allowed) in
            [(Method::GET, true), (Method::HEAD, true), (Method::POST, false), (Method::DELETE, false)]
        {
            assert_eq!(guard.check_role(&headers, &method, Role::Read).is_ok(), is_allowed, "{method}");
        }
    }
}
