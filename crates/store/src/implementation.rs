//! Parts that every implementation of a store needs, so that all of them refuse the same lines and find the same blobs.

pub use crate::doctor::References;
pub use crate::lines::{Lines, check_lines, record_hash, whole_lines};
pub use crate::store::{check_blob_content, check_blob_size};
pub use crate::summary::header_of as summary_header;
