//! Measurements as lines of a time log.

use std::sync::Arc;

use hence_canon::time::Instant;
use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_journal::RecordIndex;

use super::{CallTimes, Measured, Span};

/// The longest duration that is believed: a thousand years.
pub(super) const DURATION_MS_MAX: u64 = 1000 * 366 * 24 * 3600 * 1000;

impl Measured {
    /// Returns the line of the measurement, with its line feed.
    pub fn line(&self) -> Vec<u8> {
        let text = |text: &Arc<str>| Value::from(text.clone());
        let members: Object = match self {
            Self::Step { step, span } => {
                with_span(Object::from_iter([("kind", "step".into()), ("step", text(step))]), span)
            }
            Self::Call { step, call } => {
                let members = [
                    ("kind", "call".into()),
                    ("step", text(step)),
                    ("call", text(&call.key)),
                    ("capability", text(&call.capability)),
                ];
                with_span(Object::from_iter(members), &call.span)
            }
            Self::Asked { step, key, at } => waiting("asked", step, key, *at),
            Self::Answered { step, key, at } => waiting("answered", step, key, *at),
            Self::Record { index, hash, step, at } => Object::from_iter([
                ("kind", Value::from("record")),
                ("record", index.get().into()),
                ("hash", (*hash).into()),
                ("step", step.clone().into()),
                ("at", at.to_millis_text().into()),
            ]),
        };
        let mut line = Canonical::of(&members.into()).bytes().to_vec();
        line.push(b'\n');
        line
    }

    /// Reads a line without its line feed; `None` for anything that is not a measurement. Unknown members are ignored.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        let value = parse(line).ok()?;
        let text = |key: &str| Some(Arc::<str>::from(value.get(key)?.as_str()?));
        let at = || time(value.get("at")?);
        Some(match value.get("kind")?.as_str()? {
            "step" => Self::Step { step: text("step")?, span: span(&value)? },
            "call" => {
                let call =
                    CallTimes { key: text("call")?, capability: text("capability")?, span: span(&value)? };
                Self::Call { step: text("step")?, call }
            }
            "asked" => Self::Asked { step: text("step")?, key: text("call")?, at: at()? },
            "answered" => Self::Answered { step: text("step")?, key: text("call")?, at: at()? },
            "record" => Self::Record {
                index: RecordIndex::new(value.get("record")?.as_u64()?),
                hash: value.get("hash")?.as_str()?.parse::<Digest>().ok()?,
                step: match value.get("step") {
                    None | Some(Value::Null) => None,
                    Some(step) => Some(step.as_str()?.into()),
                },
                at: at()?,
            },
            _ => return None,
        })
    }
}

fn waiting(kind: &str, step: &Arc<str>, key: &Arc<str>, at: Instant) -> Object {
    Object::from_iter([
        ("kind", Value::from(kind)),
        ("step", step.clone().into()),
        ("call", key.clone().into()),
        ("at", at.to_millis_text().into()),
    ])
}

fn with_span(members: Object, span: &Span) -> Object {
    members
        .with("started_at", span.started_at.to_millis_text())
        .with("ended_at", span.ended_at.to_millis_text())
        .with("duration_ms", span.duration_ms)
}

fn span(value: &Value) -> Option<Span> {
    let duration_ms = value.get("duration_ms")?.as_u64().filter(|duration| *duration <= DURATION_MS_MAX)?;
    Some(Span {
        started_at: time(value.get("started_at")?)?,
        ended_at: time(value.get("ended_at")?)?,
        duration_ms,
    })
}

/// Reads a time in the one spelling that is written: UTC with three decimals, from 1970 on.
fn time(value: &Value) -> Option<Instant> {
    let text = value.as_str()?;
    let at: Instant = text.parse().ok()?;
    (at.as_millis() >= 0 && at.to_millis_text() == text).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measurement_is_read_back_from_its_line() {
        let at = Instant::from_millis(1_782_000_000_007).unwrap();
        let span = Span { started_at: at, ended_at: at, duration_ms: 3000 };
        let (step, key): (Arc<str>, Arc<str>) = ("a \"b\"".into(), "a/0.1/call/c/1".into());
        let call = CallTimes { key: key.clone(), capability: "c".into(), span };
        let (index, hash) = (RecordIndex::new(7), Digest::of(b"record"));
        for measured in [
            Measured::Step { step: step.clone(), span },
            Measured::Call { step: step.clone(), call },
            Measured::Asked { step: step.clone(), key: key.clone(), at },
            Measured::Answered { step: step.clone(), key, at },
            Measured::Record { index, hash, step: Some(step), at },
            Measured::Record { index, hash, step: None, at },
        ] {
            let line = measured.line();
            let (feed, line) = line.split_last().unwrap();
            assert_eq!((*feed, Measured::of_line(line)), (b'\n', Some(measured)));
        }
    }

    #[test]
    fn hostile_lines_are_no_measurements() {
        let line = |started: &str, ended: &str, duration: &str| {
            format!(
                r#"{{"kind":"step","step":"a","started_at":{started},"ended_at":{ended},"duration_ms":{duration},"x":[]}}"#
            )
        };
        let good = "\"2026-01-02T03:04:05.678Z\"";
        assert!(Measured::of_line(line(good, good, "5").as_bytes()).is_some(), "unknown members are ignored");
        for (started, duration) in [
            (good, "-1"),
            (good, "1.5"),
            (good, "\"5\""),
            (good, "99999999999999999999999999"),
            (good, "18446744073709551615"),
            ("\"0000-01-01T00:00:00.000Z\"", "5"),
            ("\"1969-12-31T23:59:59.999Z\"", "5"),
            ("\"10000-01-01T00:00:00.000Z\"", "5"),
            ("\"9999-12-31T23:59:59.999+00:00\"", "5"),
            ("\"2026-02-31T00:00:00.000Z\"", "5"),
            ("\"2026-01-02T03:04:05Z\"", "5"),
            ("17", "5"),
            ("null", "5"),
        ] {
            assert_eq!(
                Measured::of_line(line(started, good, duration).as_bytes()),
                None,
                "{started} {duration}"
            );
            assert_eq!(
                Measured::of_line(line(good, started, duration).as_bytes()),
                None,
                "{started} {duration}"
            );
        }
        for other in ["", "{", "[]", "null", r#"{"kind":"step"}"#, r#"{"kind":"later","step":"a"}"#] {
            assert_eq!(Measured::of_line(other.as_bytes()), None, "{other}");
        }
    }
}
