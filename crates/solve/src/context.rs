//! Contexts: texts that are read by reference, in chunks that are checked against the digests they were pinned with.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Digest, Hasher, Value};

/// The bytes of one chunk: small enough to check for every slice, large enough that an index of 1 GiB has 16 384 of them.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// The checked chunks of one text that stay in memory.
const CHUNKS_CACHED_MAX: usize = 32;

/// The longest text that becomes a `str` of the interpreter as a whole. A longer one is read with `slice` and `search`.
pub const LOADED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The most characters that one slice returns.
pub(crate) const SLICE_CHARACTERS_MAX: u64 = 8 * 1024 * 1024;

/// The characters around a found text that `search` shows.
const AROUND_CHARACTERS: u64 = 80;

/// The shape of a text: its digest, and for each chunk its digest and the characters before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextIndex {
    bytes: u64,
    characters: u64,
    sha256: Digest,
    chunks: Vec<(Digest, u64)>,
}

/// Builds the index of a text that arrives piece by piece.
#[derive(Default)]
pub struct TextIndexer {
    hasher: Hasher,
    pending: Vec<u8>,
    bytes: u64,
    characters: u64,
    chunks: Vec<(Digest, u64)>,
    /// The bytes of a character that the last piece began.
    unfinished: Vec<u8>,
}

/// Bytes that are not UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {at} is not UTF-8")]
pub struct NotText {
    /// The first byte that is not.
    pub at: u64,
}

impl TextIndexer {
    /// Adds bytes.
    ///
    /// # Errors
    /// [`NotText`] at the first byte that is not UTF-8.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), NotText> {
        self.check(bytes)?;
        self.hasher.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.pending.extend_from_slice(bytes);
        while let Some((chunk, rest)) = self.pending.split_at_checked(CHUNK_BYTES) {
            self.chunks.push((Digest::of(chunk), self.characters));
            self.characters += starts(chunk);
            self.pending = rest.to_vec();
        }
        Ok(())
    }

    fn check(&mut self, bytes: &[u8]) -> Result<(), NotText> {
        let begun = self.unfinished.len() as u64;
        let joined: Vec<u8>;
        let text = match self.unfinished.is_empty() {
            true => bytes,
            false => {
                joined = [&self.unfinished, bytes].concat();
                &joined
            }
        };
        match std::str::from_utf8(text) {
            Ok(_) => self.unfinished.clear(),
            Err(error) if error.error_len().is_none() => {
                self.unfinished = text.get(error.valid_up_to()..).unwrap_or_default().to_vec();
            }
            Err(error) => {
                return Err(NotText { at: (self.bytes + error.valid_up_to() as u64).saturating_sub(begun) });
            }
        }
        Ok(())
    }

    /// Returns the index.
    ///
    /// # Errors
    /// [`NotText`] when the text ends inside a character.
    pub fn finish(mut self) -> Result<TextIndex, NotText> {
        if !self.unfinished.is_empty() {
            return Err(NotText { at: self.bytes - self.unfinished.len() as u64 });
        }
        if !self.pending.is_empty() {
            self.chunks.push((Digest::of(&self.pending), self.characters));
            self.characters += starts(&self.pending);
        }
        let Self { bytes, characters, chunks, .. } = self;
        Ok(TextIndex { bytes, characters, sha256: self.hasher.finish(), chunks })
    }
}

impl TextIndex {
    /// Returns the index of a text in memory.
    pub fn of(text: &str) -> Self {
        let mut indexer = TextIndexer::default();
        // A text is UTF-8 and ends after a character.
        let _ = indexer.push(text.as_bytes());
        indexer.finish().unwrap_or_else(|_| Self {
            bytes: 0,
            characters: 0,
            sha256: Digest::of(b""),
            chunks: Vec::new(),
        })
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of characters.
    pub fn characters(&self) -> u64 {
        self.characters
    }

    /// Returns the digest of the whole text.
    pub fn sha256(&self) -> Digest {
        self.sha256
    }

    /// Returns the chunk that holds a character; the last one for the end.
    fn chunk_of(&self, character: u64) -> usize {
        self.chunks.partition_point(|(_, before)| *before <= character).saturating_sub(1)
    }
}

/// Returns how many characters begin in bytes of UTF-8.
fn starts(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| is_start(**byte)).count() as u64
}

fn is_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The source of a text's bytes.
pub trait TextSource: Send + Sync {
    /// Reads exactly `length` bytes from `offset` on.
    ///
    /// # Errors
    /// The reason why they cannot be read.
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, String>;
}

impl TextSource for Arc<str> {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, String> {
        let start = usize::try_from(offset).map_err(|error| error.to_string())?;
        let part = start.checked_add(length).and_then(|end| self.as_bytes().get(start..end));
        part.map(<[u8]>::to_vec).ok_or_else(|| "the text is shorter".to_owned())
    }
}

/// A context that is not what was pinned: the run stops, and continues when the context is back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ContextFault {
    /// The file.
    pub path: Arc<str>,
    /// The difference.
    pub reason: String,
}

/// A text that is read by reference.
pub struct Text {
    /// The path, for people.
    pub path: Arc<str>,
    index: TextIndex,
    source: Box<dyn TextSource>,
    checked: Mutex<VecDeque<(usize, Arc<[u8]>)>>,
}

/// A place where a text was found, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first character.
    pub start: u64,
    /// The character after the last.
    pub end: u64,
}

impl Text {
    /// Makes a text of its index and the source of its bytes.
    pub fn new(path: impl Into<Arc<str>>, index: TextIndex, source: Box<dyn TextSource>) -> Self {
        Self { path: path.into(), index, source, checked: Mutex::default() }
    }

    /// Makes a text that is in memory.
    pub fn in_memory(path: &str, text: &Arc<str>) -> Self {
        Self::new(path, TextIndex::of(text), Box::new(text.clone()))
    }

    /// Returns the index.
    pub fn index(&self) -> &TextIndex {
        &self.index
    }

    fn fault(&self, reason: impl Into<String>) -> ContextFault {
        ContextFault { path: self.path.clone(), reason: reason.into() }
    }

    /// Reads a chunk and checks it.
    fn chunk(&self, number: usize) -> Result<Arc<[u8]>, ContextFault> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = checked.iter().find(|(known, _)| *known == number) {
            return Ok(bytes.clone());
        }
        let Some((expected, _)) = self.index.chunks.get(number) else { return Ok(Arc::from([])) };
        let offset = number as u64 * CHUNK_BYTES as u64;
        let length = usize::try_from(self.index.bytes.saturating_sub(offset)).unwrap_or(CHUNK_BYTES);
        let bytes = self.source.read(offset, length.min(CHUNK_BYTES)).map_err(|reason| self.fault(reason))?;
        if Digest::of(&bytes) != *expected {
            return Err(self.fault(format!("bytes from {offset} on are not the ones the run pins")));
        }
        let bytes: Arc<[u8]> = bytes.into();
        if checked.len() >= CHUNKS_CACHED_MAX {
            checked.pop_front();
        }
        checked.push_back((number, bytes.clone()));
        Ok(bytes)
    }

    /// Returns the characters from `start` to `end`, which are cut to the text.
    ///
    /// # Errors
    /// [`ContextFault`] when the text is not the one that was pinned.
    pub fn slice(&self, start: u64, end: u64) -> Result<String, ContextFault> {
        let end = end.min(self.index.characters);
        if start >= end {
            return Ok(String::new());
        }
        let first = self.index.chunk_of(start);
        let last = self.index.chunk_of(end.saturating_sub(1));
        let before = self.index.chunks.get(first).map_or(0, |(_, before)| *before);
        let mut bytes = Vec::new();
        // The last character may end in the chunk after the one in which it begins.
        for number in first..=(last + 1).min(self.index.chunks.len().saturating_sub(1)) {
            bytes.extend_from_slice(&self.chunk(number)?);
        }
        let (mut from, mut to, mut at) = (None, None, before);
        for (place, _) in bytes.iter().enumerate().filter(|(_, byte)| is_start(**byte)) {
            if at == start {
                from = Some(place);
            }
            if at == end {
                to = Some(place);
                break;
            }
            at += 1;
        }
        let part = from.and_then(|from| bytes.get(from..to.unwrap_or(bytes.len())));
        let text = part.and_then(|part| std::str::from_utf8(part).ok());
        text.map(str::to_owned).ok_or_else(|| self.fault("it is not the text that was indexed"))
    }

    /// Finds a text from character `start` on, at most `limit` times. Found places do not overlap.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice).
    pub fn find(&self, wanted: &str, start: u64, limit: usize) -> Result<Vec<Span>, ContextFault> {
        let (mut found, length) = (Vec::new(), starts(wanted.as_bytes()));
        if wanted.is_empty() || start >= self.index.characters {
            return Ok(found);
        }
        let mut window: Vec<u8> = Vec::new();
        let first = self.index.chunk_of(start);
        // The number of the character with which the window begins.
        let mut at = self.index.chunks.get(first).map_or(0, |(_, before)| *before);
        for number in first..self.index.chunks.len() {
            window.extend_from_slice(&self.chunk(number)?);
            let mut done = 0;
            while let Some(place) = find_bytes(window.get(done..).unwrap_or_default(), wanted.as_bytes()) {
                let place = done + place;
                at += starts(window.get(done..place).unwrap_or_default());
                done = place;
                if at >= start {
                    found.push(Span { start: at, end: at + length });
                    if found.len() >= limit {
                        return Ok(found);
                    }
                    at += length;
                    done += wanted.len();
                } else {
                    at += 1;
                    done += window.get(done..).and_then(first_width).unwrap_or(1);
                }
            }
            // What may begin a text that the next chunk ends stays, from a character on.
            let mut keep = window.len().saturating_sub(wanted.len().saturating_sub(1)).max(done);
            while keep < window.len() && !window.get(keep).copied().is_some_and(is_start) {
                keep += 1;
            }
            at += starts(window.get(done..keep).unwrap_or_default());
            window.drain(..keep);
        }
        Ok(found)
    }

    /// Counts the places of a text that do not overlap, in one pass.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice).
    pub fn count(&self, wanted: &str) -> Result<u64, ContextFault> {
        // Python finds the empty text before, between and after all characters.
        if wanted.is_empty() {
            return Ok(self.index.characters.saturating_add(1));
        }
        let (mut window, mut count): (Vec<u8>, u64) = (Vec::new(), 0);
        for number in 0..self.index.chunks.len() {
            window.extend_from_slice(&self.chunk(number)?);
            let mut done = 0;
            while let Some(place) = find_bytes(window.get(done..).unwrap_or_default(), wanted.as_bytes()) {
                count += 1;
                done += place + wanted.len();
            }
            // What may begin a text that the next chunk ends stays.
            let keep = window.len().saturating_sub(wanted.len() - 1).max(done);
            window.drain(..keep);
        }
        Ok(count)
    }

    /// Returns a found place with the text around it.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice).
    pub fn around(&self, span: Span) -> Result<String, ContextFault> {
        self.slice(span.start.saturating_sub(AROUND_CHARACTERS), span.end.saturating_add(AROUND_CHARACTERS))
    }
}

/// Returns the width of the character that bytes begin with.
fn first_width(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(1..)?;
    Some(1 + rest.iter().take_while(|byte| !is_start(**byte)).count())
}

/// Returns the first place of some bytes in others.
fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let place = from + bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes.get(place..)?.starts_with(wanted) {
            return Some(place);
        }
        from = place + 1;
    }
}

/// The content of a context.
pub enum Content {
    /// A text by reference.
    Text(Text),
    /// Several texts by reference, such as the files of a folder.
    Texts(Vec<Text>),
    /// A value that was read from JSON or CSV.
    Value(Arc<Value>),
}

/// A context of a run.
pub struct Context {
    /// Its number: `context_0`, `context_1`, …
    pub number: usize,
    /// Its content.
    pub content: Content,
}

impl Context {
    /// Returns the name of a context.
    pub fn name(number: usize) -> String {
        format!("context_{number}")
    }

    /// Returns the number of the context that has a name: `context` is the first.
    pub(crate) fn numbered(name: &str) -> Option<usize> {
        match name {
            "context" => Some(0),
            // Other spellings of a number are other names.
            other => {
                let number = other.strip_prefix("context_")?.parse().ok()?;
                (Self::name(number) == other).then_some(number)
            }
        }
    }

    /// Returns the class that stands for a context that is too large to be a value, its length, and what code is told that wants all.
    pub(crate) fn large(&self) -> (&'static str, u64, String) {
        let (name, what) = (Self::name(self.number), self.describe());
        let told = |advice: &str| format!("{name} is {what}, too large to be one value: {advice}");
        match &self.content {
            Content::Texts(texts) => {
                let advice = "take files with context[i] for i in range(len(context)), search(text) and slice(start, end, item=i)";
                ("_LargeList", texts.len() as u64, told(&advice.replace("context", &name)))
            }
            Content::Text(text) => {
                let advice = "use len(context), context[a:b], context.find(text, start), context.count(text) and search(text)";
                ("_LargeText", text.index.characters, told(&advice.replace("context", &name)))
            }
            Content::Value(_) => ("_LargeList", 0, told("it cannot be used")),
        }
    }

    /// Returns whether the context becomes one value of the interpreter.
    pub(crate) fn is_loaded_whole(&self) -> bool {
        self.loaded_bytes() <= LOADED_BYTES_MAX
    }

    /// Describes the context for a model: its type and its size.
    pub fn describe(&self) -> String {
        match &self.content {
            Content::Text(text) => format!("a str of {} characters", text.index.characters),
            Content::Texts(texts) => {
                let characters: u64 = texts.iter().map(|text| text.index.characters).sum();
                format!(
                    "a list of {} files, each {{\"path\", \"text\"}}, {characters} characters together",
                    texts.len()
                )
            }
            Content::Value(value) => match &**value {
                Value::Array(items) => format!("a list of {} items", items.len()),
                Value::Object(members) => format!("a dict of {} keys", members.len()),
                other => format!("a value of type {}", other.kind()),
            },
        }
    }

    /// Returns the bytes that the whole context has as values of the interpreter.
    pub fn loaded_bytes(&self) -> u64 {
        match &self.content {
            Content::Text(text) => text.index.bytes,
            Content::Texts(texts) => texts.iter().map(|text| text.index.bytes).sum(),
            // It was limited when it was read.
            Content::Value(_) => 0,
        }
    }

    /// Returns the context as one value of the interpreter; `None` when it is too large.
    ///
    /// # Errors
    /// As for [`Text::slice`].
    pub fn load(&self) -> Result<Option<Value>, ContextFault> {
        if !self.is_loaded_whole() {
            return Ok(None);
        }
        let whole = |text: &Text| text.slice(0, text.index.characters);
        Ok(Some(match &self.content {
            Content::Text(text) => whole(text)?.into(),
            Content::Texts(texts) => {
                let mut items: Vec<Value> = Vec::with_capacity(texts.len());
                for text in texts {
                    let members = [("path", Value::from(text.path.clone())), ("text", whole(text)?.into())];
                    items.push(members.into_iter().collect::<hence_canon::Object>().into());
                }
                items.into()
            }
            Content::Value(value) => (**value).clone(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str) -> Text {
        Text::in_memory("t", &Arc::from(content))
    }

    #[test]
    fn slices_count_characters_across_chunks() {
        let content: String = (0..70_000).map(|number| if number % 7 == 0 { 'é' } else { 'a' }).collect();
        let text = text(&content);
        assert_eq!(text.index().characters(), 70_000);
        assert_eq!(text.index().sha256(), Digest::of(content.as_bytes()));
        let all: Vec<char> = content.chars().collect();
        for (start, end) in [(0, 10), (57_340, 57_360), (65_530, 65_545), (69_990, 80_000), (5, 5), (9, 3)] {
            let expected: String =
                all.iter().skip(start).take(end.min(70_000_usize).saturating_sub(start)).collect();
            assert_eq!(text.slice(start as u64, end as u64).unwrap(), expected, "{start}..{end}");
        }
    }

    #[test]
    fn a_text_is_found_across_chunks_and_from_a_place_on() {
        let mut content = "é".repeat(32_766);
        content.push_str("needle");
        content.push_str(&"x".repeat(70_000));
        content.push_str("needle");
        let text = text(&content);
        let found = text.find("needle", 0, 10).unwrap();
        assert_eq!(found, [Span { start: 32_766, end: 32_772 }, Span { start: 102_772, end: 102_778 }]);
        for span in &found {
            assert_eq!(text.slice(span.start, span.end).unwrap(), "needle");
        }
        assert_eq!(text.find("needle", 32_767, 10).unwrap().len(), 1);
        assert_eq!(text.find("needle", 0, 1).unwrap().len(), 1);
        assert!(text.find("", 0, 1).unwrap().is_empty() && text.find("ö", 0, 1).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_text_is_named_by_its_byte() {
        let mut indexer = TextIndexer::default();
        indexer.push("aé".as_bytes().get(..2).unwrap()).unwrap();
        indexer.push(&[0xa9, b'b']).unwrap();
        assert_eq!(indexer.push(&[b'c', 0xff]), Err(NotText { at: 5 }));
        let mut indexer = TextIndexer::default();
        indexer.push(&[b'a', 0xc3]).unwrap();
        assert_eq!(indexer.finish(), Err(NotText { at: 1 }));
    }

    #[test]
    fn bytes_that_changed_are_a_fault() {
        let before = TextIndex::of("abc");
        let changed: Arc<str> = "abx".into();
        let text = Text::new("file", before, Box::new(changed));
        assert!(text.slice(0, 3).unwrap_err().to_string().contains("are not the ones the run pins"));
    }
}
