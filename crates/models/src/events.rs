//! Server-sent events, read from bytes that can be split anywhere, also inside a character.

/// One event of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Event {
    /// The name of the event; empty if the stream does not state one.
    pub(crate) name: String,
    /// The data, its lines joined by line feeds.
    pub(crate) data: String,
}

/// An event with more bytes than allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventTooLong;

/// A reader that receives bytes and returns events.
#[derive(Debug)]
pub(crate) struct EventReader {
    buffer: Vec<u8>,
    event: Event,
    event_bytes: u64,
    event_bytes_max: u64,
    ready: std::collections::VecDeque<Event>,
}

impl EventReader {
    pub(crate) fn new(event_bytes_max: u64) -> Self {
        Self {
            buffer: Vec::new(),
            event: Event::default(),
            event_bytes: 0,
            event_bytes_max,
            ready: Default::default(),
        }
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.event_bytes = self.event_bytes.saturating_add(piece.len() as u64);
            if self.event_bytes > self.event_bytes_max {
                return Err(EventTooLong);
            }
            self.buffer.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
        Ok(())
    }

    /// Ends the stream, and with it a last event that no empty line follows.
    pub(crate) fn finish(&mut self) {
        self.end_line();
        self.end_line();
    }

    /// Returns whether no complete event waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        // A line is decoded as a whole, so no character is split.
        let bytes = std::mem::take(&mut self.buffer);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            self.event_bytes = 0;
            self.ready.extend(Some(event).filter(|event| !event.data.is_empty()));
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        match field {
            "event" => self.event.name = value.trim().to_owned(),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value.trim());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": a comment\r\nevent: first\r\ndata: {\"text\": \"für ✓ 🦀\"}\r\n\r\n\ndata: one\ndata:two\nid: 7\n\ndata: last";

    fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut reader = EventReader::new(1000);
        pieces.iter().for_each(|piece| reader.push(piece).unwrap());
        reader.finish();
        std::iter::from_fn(|| reader.next()).map(|event| (event.name, event.data)).collect()
    }

    #[test]
    fn a_stream_gives_the_same_events_wherever_it_is_cut() {
        let whole = read(&[STREAM.as_bytes()]);
        let event = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        let expected = [event("first", "{\"text\": \"für ✓ 🦀\"}"), event("", "one\ntwo"), event("", "last")];
        assert_eq!(whole, expected);
        for at in 0..=STREAM.len() {
            let (before, after) = STREAM.as_bytes().split_at(at);
            assert_eq!(read(&[before, after]), whole, "cut at byte {at}");
        }
        let bytes: Vec<&[u8]> = STREAM.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }

    #[test]
    fn an_event_at_the_limit_is_read_and_one_byte_more_is_not() {
        let event = b"data: 12345\n\n";
        let push = |limit: usize| EventReader::new(limit as u64).push(event);
        assert_eq!((push(event.len()), push(event.len() - 1)), (Ok(()), Err(EventTooLong)));
        // The limit applies to one event, not to the stream.
        let mut reader = EventReader::new(event.len() as u64);
        assert!((0..100).all(|_| reader.push(event).is_ok()));
    }
}
