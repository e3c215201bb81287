//! Operations: what the server can be asked, as a table.

use std::fmt;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};

use crate::{Call, Feed, Role};

/// The method of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// It changes nothing.
    Get,
    /// It changes something.
    Post,
    /// It ends something.
    Delete,
}

impl Method {
    /// Returns the name in lower case, as OpenAPI spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// The values of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A whole number from 0 to this one.
    Count(u64),
    /// A whole number from 1 to this one: the size of a part, which is never empty.
    Size(u64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text; the parameter may be repeated.
    Texts,
}

/// A parameter in the query of an address.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub kind: ParameterKind,
    /// Its meaning, in a sentence.
    pub about: &'static str,
}

impl Parameter {
    /// Describes a parameter.
    pub const fn new(name: &'static str, kind: ParameterKind, about: &'static str) -> Self {
        Self { name, kind, about }
    }
}

/// A function that adds a type to a set of schemas and returns a reference to it.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The body that an operation reads.
#[derive(Clone, Copy)]
pub enum BodyOf {
    /// None.
    Nothing,
    /// JSON of this schema.
    Json(SchemaOf),
}

/// The form of a reply.
#[derive(Clone, Copy)]
pub enum ReplyKind {
    /// JSON of this schema.
    Json(SchemaOf),
    /// Bytes, with the content type that the reply names.
    Bytes,
    /// Server-sent events.
    Events,
    /// No content.
    Nothing,
}

/// The reply to a call.
#[derive(Debug)]
pub enum Reply {
    /// JSON text.
    Json {
        /// The text.
        text: Vec<u8>,
        /// The head of the run that the reply is about.
        head: Option<String>,
    },
    /// Bytes.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Their content type.
        content_type: &'static str,
        /// The name under which a browser stores them.
        file_name: Option<String>,
        /// The whole size of what they are a part of.
        total: u64,
    },
    /// A live stream about a topic.
    Events {
        /// The topic, as [`Service::stamp`] knows it.
        topic: String,
        /// The source of the events.
        feed: Box<dyn Feed>,
    },
}

/// An error as the server sends it: the status, and the document that describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The document, as JSON text.
    pub text: String,
}

impl fmt::Display for ApiError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.status, self.text)
    }
}

impl std::error::Error for ApiError {}

/// The reasons for which the server itself refuses a request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// No operation has the path.
    #[error("nothing is at {0}")]
    NoRoute(String),
    /// The operation has another method.
    #[error("{0} is not a method of this address")]
    Method(String),
    /// A parameter or a body is not understood.
    #[error("{0}")]
    Request(String),
    /// The body has another content type.
    #[error("expected a body of the type application/json, found {0}")]
    ContentType(String),
    /// The body is too large.
    #[error("a body has at most {limit} bytes")]
    BodySize {
        /// The limit.
        limit: usize,
    },
    /// There is no session, or the token is unknown.
    #[error(
        "no session: exchange a token of this server at POST /api/v1/session, or send it as `Authorization: Bearer TOKEN`"
    )]
    NoSession,
    /// The person has not the role.
    #[error("{name} has not the role `{role}`")]
    NotAllowed {
        /// The person.
        name: String,
        /// The missing role.
        role: &'static str,
    },
    /// The request came from another site.
    #[error("a request from {0} is not answered: only pages of this server may ask")]
    Origin(String),
    /// The request names another host.
    #[error("this server is not {0:?}")]
    Host(String),
    /// Too many requests or watchers.
    #[error("the server is busy: {0}")]
    Busy(&'static str),
    /// An operation failed in a way that nobody foresaw.
    #[error("the operation stopped unexpectedly")]
    Broken,
}

impl Refusal {
    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        match self {
            Self::NoRoute(_) => 404,
            Self::Method(_) => 405,
            Self::Request(_) => 400,
            Self::ContentType(_) => 415,
            Self::BodySize { .. } => 413,
            Self::NoSession => 401,
            Self::NotAllowed { .. } | Self::Origin(_) => 403,
            Self::Host(_) => 421,
            Self::Busy(_) => 503,
            Self::Broken => 500,
        }
    }
}

/// The function that answers a call.
pub type Answer = Arc<dyn Fn(&Call) -> Result<Reply, ApiError> + Send + Sync>;

/// One operation.
#[derive(Clone)]
pub struct Operation {
    /// Its method.
    pub method: Method,
    /// Its path after `/api/v1`, with parameters in braces: `/runs/{run}/records`.
    pub path: &'static str,
    /// Its purpose, in a sentence.
    pub summary: &'static str,
    /// The role that a person needs.
    pub role: Role,
    /// The parameters of its query.
    pub parameters: Vec<Parameter>,
    /// The body it reads.
    pub body: BodyOf,
    /// The form of its reply.
    pub reply: ReplyKind,
    /// The function that answers.
    pub answer: Answer,
}

/// The content that is served.
pub trait Service: Send + Sync + 'static {
    /// Returns the operations, sessions left out.
    fn operations(&self) -> Vec<Operation>;

    /// Describes a refusal of the server in the form of the service's own errors.
    fn refuse(&self, refusal: &Refusal) -> ApiError;

    /// Returns the schema of its errors.
    fn error_schema(&self) -> SchemaOf;

    /// Returns a number that changes whenever a topic changes. It is called often, so it must be quick.
    ///
    /// # Errors
    /// [`ApiError`] when the topic cannot be looked at any more.
    fn stamp(&self, topic: &str) -> Result<u64, ApiError>;

    /// Returns the version of the product.
    fn version(&self) -> &'static str;

    /// Returns the name of the store, for people.
    fn store(&self) -> String;
}
