//! HTTP access to runs: routes with an OpenAPI document, sessions and roles, limits, live events, the viewer's page.
//!
//! The crate knows HTTP and nothing about runs. Whoever embeds it gives it a [`Service`]: a table of [`Operation`]s, each a
//! path with its parameters, its schemas and the function that answers. The same table makes the routes, the checks of
//! parameters and the OpenAPI document, so they cannot differ. `docs/api.md` describes the operations of `hence serve`.
//!
//! - [`Server`] binds an address and serves until it is told to stop. Connections, watchers, bodies and requests that
//!   read at the same time have limits ([`limits`]).
//! - [`Access`] holds tokens, sessions and the names under which the server may be reached. Every request is checked
//!   against it before its operation is called.
//! - [`Feed`] is a source of live events; the server asks it again whenever [`Service::stamp`] of its topic changes.
//! - [`single_file`](fn@single_file) puts the page and its data into one document that needs no server.
//!
//! ```
//! use hence_server::{Access, Identity, Role};
//!
//! let everything = Identity::new("ada", [Role::Read, Role::Answer, Role::Review]);
//! let (access, token) = Access::with_random_token(everything).expect("the system has randomness");
//! assert!(access.identity_of_token(&token).is_some());
//! assert!(access.identity_of_token("guess").is_none());
//! ```

mod access;
mod call;
mod compress;
mod connection;
mod guard;
pub mod limits;
mod live;
mod openapi;
mod operation;
mod page;
mod router;
mod serve;
mod single_file;
mod token_file;

pub use access::{Access, Hosts, Identity, RandomnessError, Role};
pub use call::{Call, Window};
pub use live::{Batch, Event, Feed};
pub use openapi::openapi_document;
pub use operation::{
    Answer, ApiError, BodyOf, Method, Operation, Parameter, ParameterKind, Refusal, Reply, ReplyKind,
    SchemaOf, Service,
};
pub use page::{PAGE_POLICY, asset_names};
pub use serve::{Server, Stop};
pub use single_file::{FORMAT, SingleFileError, embedded_block, single_file};
pub use token_file::{TokenFileError, read_token_file};
