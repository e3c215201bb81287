//! The replies of model providers, in the two shapes of their APIs.

use serde_json::json;

use crate::endpoint::{End, Reaction};

/// The shape of a provider's API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Voice {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
}

/// Both shapes.
pub const VOICES: [Voice; 2] = [Voice::OpenAi, Voice::Anthropic];

impl Voice {
    /// Returns the name of the shape in settings.
    pub fn api(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns a reply in one piece: 10 tokens of prompt, one token for each byte of text.
    pub fn whole(self, text: &str) -> Reaction {
        self.ended(text, self.end_word())
    }

    /// Returns a reply in one piece with a given finish reason.
    pub fn ended(self, text: &str, reason: &str) -> Reaction {
        let tokens = text.len();
        let body = match self {
            Self::OpenAi => json!({
                "id": "c1", "object": "chat.completion", "model": "m-1",
                "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10},
            }),
            Self::Anthropic => json!({
                "id": "c1", "type": "message", "role": "assistant", "model": "m-1",
                "content": [{"type": "text", "text": text}], "stop_reason": reason,
                "usage": {"input_tokens": 10, "output_tokens": tokens},
            }),
        };
        json_reply("200 OK", body.to_string())
    }

    /// Returns a streamed reply: a few characters in each event, sent in chunks of `chunk_bytes`.
    pub fn streamed(self, text: &str, chunk_bytes: usize) -> Reaction {
        let events = format!("{}{}", self.pieces(text), self.tail(text.len()));
        Reaction::Stream { events, chunk_bytes, end: End::Proper }
    }

    /// Returns a stream that ends before its last event.
    pub fn cut(self, text: &str, end: End) -> Reaction {
        Reaction::Stream { events: self.pieces(text), chunk_bytes: 64, end }
    }

    /// Returns one event of a stream.
    pub fn piece(self, text: &str) -> String {
        let data = match self {
            Self::OpenAi => {
                json!({"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": {"content": text}}]})
            }
            Self::Anthropic => {
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            }
        };
        self.event(&data)
    }

    fn pieces(self, text: &str) -> String {
        let characters: Vec<char> = text.chars().collect();
        let pieces = characters.chunks(5).map(|piece| self.piece(&piece.iter().collect::<String>()));
        format!("{}{}", self.head(), pieces.collect::<String>())
    }

    fn head(self) -> String {
        match self {
            Self::OpenAi => String::new(),
            Self::Anthropic => {
                let message = json!({"id": "c1", "type": "message", "role": "assistant", "model": "m-1",
                    "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}});
                let begin = json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}});
                self.event(&json!({"type": "message_start", "message": message})) + &self.event(&begin)
            }
        }
    }

    fn tail(self, tokens: usize) -> String {
        match self {
            Self::OpenAi => {
                let stop =
                    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
                let usage = json!({"id": "c1", "choices": [],
                    "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10}});
                format!("{}{}data: [DONE]\n\n", self.event(&stop), self.event(&usage))
            }
            Self::Anthropic => {
                let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": tokens}});
                self.event(&json!({"type": "content_block_stop", "index": 0}))
                    + &self.event(&end)
                    + &self.event(&json!({"type": "message_stop"}))
            }
        }
    }

    fn event(self, data: &serde_json::Value) -> String {
        match self {
            Self::OpenAi => format!("data: {data}\n\n"),
            Self::Anthropic => {
                format!(
                    "event: {}\ndata: {data}\n\n",
                    data.get("type").and_then(|kind| kind.as_str()).unwrap()
                )
            }
        }
    }

    fn end_word(self) -> &'static str {
        match self {
            Self::OpenAi => "stop",
            Self::Anthropic => "end_turn",
        }
    }
}

/// Returns an error in the shape both providers use.
pub fn error(status: &'static str, message: &str) -> Reaction {
    json_reply(
        status,
        json!({"type": "error", "error": {"type": "some_error", "message": message}}).to_string(),
    )
}

/// Returns an error that asks to retry later.
pub fn busy(status: &'static str, header: &'static str, wait: &str) -> Reaction {
    let headers = vec![("content-type", "application/json".to_owned()), (header, wait.to_owned())];
    Reaction::Reply { status, headers, body: r#"{"error": {"message": "slow down"}}"#.to_owned() }
}

/// Returns a whole response with a JSON body.
pub fn json_reply(status: &'static str, body: String) -> Reaction {
    Reaction::Reply { status, headers: vec![("content-type", "application/json".to_owned())], body }
}
