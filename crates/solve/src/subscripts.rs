//! Parts of a text that a block takes with brackets, as in `context[10:20]`.
//!
//! The interpreter does not say which characters of a `str` its code looks at. So before a block runs, `context[a:b]` becomes a
//! call of the loop's own function, which notes the part and returns it; lines stay where they are, and the record has the code as
//! the model wrote it. Every other use of the value, such as `context.split()`, is only noted as a use of the whole.

use std::collections::BTreeSet;

use crate::tokens::{Kind, Token, tokens};

/// The words that reach a name through a text.
const BY_NAME: [&str; 5] = ["eval", "exec", "locals", "globals", "vars"];

/// Code whose brackets are noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Traced {
    /// The code to run.
    pub(crate) code: String,
    /// Whether a bracket was replaced.
    pub(crate) is_changed: bool,
    /// The names whose values the code uses in another way, so that nobody knows which parts it looks at.
    pub(crate) used: BTreeSet<String>,
}

/// Replaces brackets after the names for which `is_input` is true.
pub(crate) fn trace(code: &str, is_input: &dyn Fn(&str) -> bool) -> Traced {
    let Some(tokens) = tokens(code) else {
        // The interpreter refuses such code as well.
        return Traced { code: code.to_owned(), is_changed: false, used: BTreeSet::new() };
    };
    let mut tracer = Tracer { code, tokens: &tokens, is_input, used: BTreeSet::new(), is_changed: false };
    let text = tracer.part(0, tokens.len());
    let tail = tokens.last().map_or(code, |last| code.get(last.end..).unwrap_or_default());
    let head = tokens.first().map_or("", |first| code.get(..first.start).unwrap_or_default());
    let Tracer { is_changed, used, .. } = tracer;
    Traced { code: format!("{head}{text}{tail}"), is_changed, used }
}

struct Tracer<'a> {
    code: &'a str,
    tokens: &'a [Token],
    is_input: &'a dyn Fn(&str) -> bool,
    used: BTreeSet<String>,
    is_changed: bool,
}

impl<'a> Tracer<'a> {
    fn text(&self, place: usize) -> &'a str {
        self.tokens.get(place).and_then(|token| self.code.get(token.start..token.end)).unwrap_or_default()
    }

    fn kind(&self, place: usize) -> Option<Kind> {
        self.tokens.get(place).map(|token| token.kind)
    }

    fn is_mark(&self, place: usize, mark: &str) -> bool {
        self.kind(place) == Some(Kind::Mark) && self.text(place) == mark
    }

    /// Returns the code between the end of one token and the start of the next.
    fn gap(&self, after: usize) -> &'a str {
        let from = self.tokens.get(after).map(|token| token.end);
        let to = self.tokens.get(after + 1).map(|token| token.start);
        from.zip(to).and_then(|(from, to)| self.code.get(from..to)).unwrap_or_default()
    }

    /// Returns tokens as code, with brackets replaced.
    fn part(&mut self, from: usize, to: usize) -> String {
        let mut text = String::new();
        let mut place = from;
        while place < to {
            let written = match self.kind(place) {
                Some(Kind::Name) if (self.is_input)(self.text(place)) => self.name(place),
                Some(Kind::Text | Kind::Formatted) => {
                    self.note_text(place);
                    None
                }
                _ => None,
            };
            let last = match written {
                Some((call, last)) => {
                    text.push_str(&call);
                    last
                }
                None => {
                    text.push_str(self.text(place));
                    place
                }
            };
            if last + 1 < to {
                text.push_str(self.gap(last));
            }
            place = last + 1;
        }
        text
    }

    /// Notes the names of inputs in a text that may be evaluated.
    fn note_text(&mut self, place: usize) {
        let is_evaluated = self.kind(place) == Some(Kind::Formatted)
            || (0..self.tokens.len())
                .any(|other| self.kind(other) == Some(Kind::Name) && BY_NAME.contains(&self.text(other)));
        if is_evaluated {
            let words = self.text(place).split(|letter: char| letter != '_' && !letter.is_alphanumeric());
            self.used.extend(words.filter(|word| (self.is_input)(word)).map(str::to_owned));
        }
    }

    /// Replaces the brackets after a name, or notes that its value is used. Returns the call and the last token it replaces.
    fn name(&mut self, place: usize) -> Option<(String, usize)> {
        let name = self.text(place);
        let is_attribute = place > 0 && self.is_mark(place - 1, ".");
        // The name of an argument, as in `rlm_query(prompt, context=text)`.
        let is_argument = self.is_mark(place + 1, "=")
            && !self.is_mark(place + 2, "=")
            && self.tokens.get(place).is_some_and(|token| token.depth > 0);
        let is_length = place >= 2
            && self.text(place - 2) == "len"
            && self.is_mark(place - 1, "(")
            && self.is_mark(place + 1, ")");
        if is_attribute || is_argument || is_length {
            return None;
        }
        let call = self.is_mark(place + 1, "[").then(|| self.brackets(place)).flatten();
        if call.is_none() {
            self.used.insert(name.to_owned());
        }
        call
    }

    fn brackets(&mut self, place: usize) -> Option<(String, usize)> {
        let open = place + 1;
        let depth = self.tokens.get(open)?.depth;
        let is_close =
            |token: &Token| token.depth == depth && self.code.get(token.start..token.end) == Some("]");
        let close = open + 1 + self.tokens.get(open + 1..)?.iter().position(is_close)?;
        let inside: Vec<usize> = (open + 1..close).collect();
        let is_top = |place: &usize| self.tokens.get(*place).is_some_and(|token| token.depth == depth + 1);
        let top: Vec<usize> = inside.iter().copied().filter(is_top).collect();
        let colons: Vec<usize> = top.iter().copied().filter(|place| self.is_mark(*place, ":")).collect();
        let is_odd = top.iter().any(|place| self.is_mark(*place, ","))
            || self.is_mark(open + 1, "*")
            || inside.iter().any(|place| matches!(self.text(*place), "lambda" | "yield" | "await"))
            || colons.iter().any(|colon| self.is_mark(colon + 1, "="));
        if inside.is_empty() || is_odd || self.is_target(place, close) {
            return None;
        }
        let name = self.text(place);
        let call = match colons.as_slice() {
            [] => {
                let index = self.part(open + 1, close);
                format!("__item(\"{name}\", {name}, {index})")
            }
            [colon] => {
                let start = self.bound(open + 1, *colon);
                let end = self.bound(colon + 1, close);
                format!("__part(\"{name}\", {name}, {start}, {end})")
            }
            _ => return None,
        };
        // Line breaks around the bounds are kept, so that errors name the line that the model wrote.
        let written = self.code.get(self.tokens.get(place)?.start..self.tokens.get(close)?.end)?;
        let lost = written.matches('\n').count().saturating_sub(call.matches('\n').count());
        self.is_changed = true;
        let body = call.strip_suffix(')').unwrap_or(&call);
        Some((format!("{body}{})", "\n".repeat(lost)), close))
    }

    fn bound(&mut self, from: usize, to: usize) -> String {
        if from == to { "None".to_owned() } else { self.part(from, to) }
    }

    /// Returns whether brackets are written to, deleted or annotated, so that a call may not stand there.
    fn is_target(&self, name: usize, close: usize) -> bool {
        let is_end = |place: &usize| self.kind(*place) == Some(Kind::End);
        let first = (0..name).rev().find(is_end).map_or(0, |end| end + 1);
        let after: Vec<usize> = (close + 1..self.tokens.len()).take_while(|place| !is_end(place)).collect();
        let is_assigned = after.iter().any(|place| {
            let is_outside = self.tokens.get(*place).is_some_and(|token| token.depth == 0);
            is_outside && self.is_mark(*place, "=") && !self.is_comparison(*place)
        });
        let before = (first..name).rev().find(|place| matches!(self.text(*place), "for" | "in"));
        let is_loop_target = before.is_some_and(|place| self.text(place) == "for");
        let is_deleted = (first..name).any(|place| self.text(place) == "del");
        let is_bound = name > first && self.text(name - 1) == "as";
        let is_annotated = name == first && self.is_mark(close + 1, ":");
        is_assigned || is_loop_target || is_deleted || is_bound || is_annotated
    }

    /// Returns whether the sign at a place belongs to `==`, `!=`, `<=`, `>=` or `:=`.
    fn is_comparison(&self, place: usize) -> bool {
        let touches = |left: usize| self.gap(left).is_empty();
        let is_second = place > 0
            && touches(place - 1)
            && ["=", "!", "<", ">", ":"].iter().any(|mark| self.is_mark(place - 1, mark))
            // `<<=` and `>>=` assign.
            && !(place > 1 && self.is_mark(place - 1, "<") && self.is_mark(place - 2, "<"))
            && !(place > 1 && self.is_mark(place - 1, ">") && self.is_mark(place - 2, ">"));
        is_second || (self.is_mark(place + 1, "=") && touches(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(code: &str) -> (String, Vec<String>) {
        let made = trace(code, &|name| name == "context" || name == "context_1");
        (made.code, made.used.into_iter().collect())
    }

    #[test]
    fn brackets_become_calls() {
        for (code, expected) in [
            ("context[1:2]", "__part(\"context\", context, 1, 2)"),
            ("x = context[:n] # c", "x = __part(\"context\", context, None, n) # c"),
            ("  print(context[-5:], end='')", "  print(__part(\"context\", context, -5, None), end='')"),
            ("context[i]", "__item(\"context\", context, i)"),
            ("a == context[0:1]", "a == __part(\"context\", context, 0, 1)"),
            ("if context[0:1] == 'a': b = 2", "if context[0:1] == 'a': b = 2"),
            (
                "context[context.find('a', 1):len(context)]",
                "__part(\"context\", context, context.find('a', 1), len(context))",
            ),
            ("context[d['a:b']:2][0]", "__part(\"context\", context, d['a:b'], 2)[0]"),
            ("[context_1[i:i + 5] for i in r]", "[__part(\"context_1\", context_1, i, i + 5) for i in r]"),
            ("[x for x in context[0:5]]", "[x for x in __part(\"context\", context, 0, 5)]"),
            ("context[\n1\n:2]\n1/0", "__part(\"context\", context, 1, 2\n\n)\n1/0"),
        ] {
            assert_eq!(traced(code).0, expected);
        }
        assert_eq!(traced("context[1:2]\nlen(context)\nf(context=1)\nx.context\n'context'").1, [""; 0]);
    }

    #[test]
    fn code_that_a_call_would_break_stays_and_is_a_use_of_the_whole() {
        for code in [
            "context[0] = 1",
            "context[0], b = 1, 2",
            "context[0] += 1",
            "context[0] <<= 1",
            "del context[0]",
            "for context[0] in y: pass",
            "with a as context[0]: pass",
            "context[0]: int",
            "context[::2]",
            "context[1, 2]",
            "context[(lambda: 1)()]",
            "text = context",
            "context.split('\\n')",
            "f'{context[0:5]}'",
            "eval('context[0:5]')",
        ] {
            assert_eq!(traced(code), (code.to_owned(), vec!["context".to_owned()]), "{code}");
        }
        assert_eq!(traced("'context[0:1"), ("'context[0:1".to_owned(), vec![]));
    }
}
