use proptest::prelude::*;

use super::*;
use crate::import::{Format, Surroundings, detect, import};
use crate::validate::validate;

/// Writes messages the way the encoding is defined.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn raw(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn varint(mut self, field: u64, number: u64) -> Self {
        self.raw(field << 3);
        self.raw(number);
        self
    }

    fn fixed(mut self, field: u64, number: u64) -> Self {
        self.raw(field << 3 | 1);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.raw(field << 3 | 2);
        self.raw(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u64, message: Message) -> Self {
        self.bytes(field, &message.0)
    }

    fn attribute(self, field: u64, key: &str, value: Message) -> Self {
        self.message(field, Message::default().bytes(1, key.as_bytes()).message(2, value))
    }
}

fn text_value(text: &str) -> Message {
    Message::default().bytes(1, text.as_bytes())
}

fn request() -> Message {
    let list = Message::default().message(1, text_value("answer")).message(1, text_value("log"));
    let chat = Message::default()
        .bytes(1, &[0x0a; 16])
        .bytes(2, &[0xb0; 8])
        .bytes(4, &[0xa0; 8])
        .bytes(5, b"chat")
        .varint(6, 3)
        .fixed(7, 1_784_721_600_000_000_000)
        .fixed(8, 1_784_721_600_250_000_000)
        .attribute(9, "gen_ai.request.model", text_value("m-7"))
        .attribute(9, "gen_ai.usage.input_tokens", Message::default().varint(3, u64::MAX))
        .attribute(9, "ponens.outputs", Message::default().message(5, list))
        .attribute(9, "temperature", Message::default().fixed(4, 0.5f64.to_bits()))
        .message(11, Message::default().bytes(2, b"an event"))
        .message(15, Message::default().bytes(2, b"rate limited").varint(3, 2));
    let root = Message::default().bytes(1, &[0x0a; 16]).bytes(2, &[0xa0; 8]).bytes(5, b"agent").fixed(7, 1);
    let resource = Message::default().attribute(1, "service.name", text_value("shop"));
    let scope =
        Message::default().message(1, Message::default().bytes(1, b"lib")).message(2, root).message(2, chat);
    Message::default().message(1, Message::default().message(1, resource).message(2, scope))
}

fn at(value: &Value, pointer: &str) -> Value {
    value.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default()
}

#[test]
fn an_export_request_becomes_a_trace() {
    let bytes = request().0;
    assert_eq!(detect(&bytes), Some(Format::Otlp));
    let imported = import(&bytes, Format::Otlp, &Surroundings::default()).unwrap();
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    assert!(validate(trace).is_valid(), "{:?}", validate(trace).findings());
    assert_eq!(at(trace, "/trace_id"), "0a".repeat(16).into());
    assert_eq!(at(trace, "/model"), "m-7".into());
    assert_eq!(at(trace, "/actions/0/label"), "chat (250.0ms)".into());
    assert_eq!(at(trace, "/actions/0/agent"), "shop".into());
    assert_eq!(at(trace, "/actions/0/result_summary"), "ERROR: rate limited".into());
    assert_eq!(at(trace, "/actions/0/outputs").to_string(), r#"["answer","log"]"#);
    assert_eq!(at(trace, "/meta_actions/0/title"), "agent".into());
    assert_eq!(at(trace, "/meta_actions/0/status"), "partial".into());
}

#[test]
fn integers_keep_their_sign_and_numbers_their_kind() {
    let document = document(&request().0).unwrap();
    let attributes = at(&document, "/resourceSpans/0/scopeSpans/0/spans/1/attributes");
    assert!(
        attributes.to_string().contains(r#"{"key":"gen_ai.usage.input_tokens","value":{"intValue":"-1"}}"#)
    );
    assert!(attributes.to_string().contains(r#"{"doubleValue":0.5}"#));
}

#[test]
fn messages_with_their_length_before_them_are_read_as_one_export() {
    let message = request().0;
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let file = [&length[..], &message, &length[..], &message].concat();
    let document = document(&file).unwrap();
    assert_eq!(at(&document, "/resourceSpans").as_array().map(<[Value]>::len), Some(2));
}

#[test]
fn a_message_cut_anywhere_is_refused_or_read_never_both() {
    let bytes = request().0;
    for cut in 0..bytes.len() {
        let part = bytes.get(..cut).unwrap();
        assert!(document(part).is_none(), "{cut}");
        assert!(import(part, Format::Otlp, &Surroundings::default()).is_err(), "{cut}");
    }
}

#[test]
fn values_nested_at_the_limit_are_read_and_deeper_ones_left_out() {
    let nested = |depth: usize| {
        let list = |inner: Message| Message::default().message(5, Message::default().message(1, inner));
        let value = (1..depth).fold(text_value("x"), |inner, _| list(inner));
        let span = Message::default().bytes(2, b"s").attribute(9, "deep", value);
        let scope = Message::default().message(2, span);
        Message::default().message(1, Message::default().message(2, scope)).0
    };
    let count = |depth: usize| {
        let document = document(&nested(depth)).unwrap();
        at(&document, "/resourceSpans/0/scopeSpans/0/spans/0/attributes").as_array().map(<[Value]>::len)
    };
    assert_eq!(count(VALUE_DEPTH_MAX), Some(1));
    assert_eq!(count(VALUE_DEPTH_MAX + 1), Some(0));
}

proptest! {
    #[test]
    fn a_message_with_changed_bytes_never_panics(place in 0usize..400, byte in any::<u8>()) {
        let mut bytes = request().0;
        let place = place % bytes.len();
        bytes[place] = byte;
        document(&bytes);
    }
}
