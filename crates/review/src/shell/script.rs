//! Any command line, read as far as it can be understood: what would run, in which order, and under which condition.

use std::sync::Arc;

use super::DEPTH_MAX;
use super::lexer::{Operator, Redirect, Token, TokenKind, Word, tokens};

/// The pipelines of a text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
}

/// The operator that joins a pipeline to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Join {
    /// It runs whatever came of the one before.
    #[default]
    Then,
    /// It runs if the one before succeeded.
    And,
    /// It runs if the one before failed.
    Or,
}

/// The construct a pipeline is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Guard {
    #[default]
    None,
    /// The condition of an `if` or a `while`: its result is consumed.
    Condition,
    /// The body of a `for`: it runs for each item.
    Loop,
    /// A branch, or the body of a `while`: it may not run at all.
    Branch,
}

/// One pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) join: Join,
    pub(crate) guard: Guard,
    /// Whether its exit code is reversed by `!`.
    pub(crate) negated: bool,
    /// Whether nobody waits for it.
    pub(crate) in_background: bool,
    pub(crate) stages: Vec<Stage>,
    /// The name of the function whose body it is part of: it runs when the function is called.
    pub(crate) function: Option<Arc<str>>,
    /// The loops over words that it is inside of, outermost first.
    pub(crate) loops: Vec<Arc<ForLoop>>,
}

/// The head of a loop over words: `for name in a b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForLoop {
    pub(crate) name: String,
    pub(crate) words: Vec<Word>,
}

/// A part of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Command(Command),
    /// Commands in brackets, with the redirections of the brackets.
    Group(Script, Vec<Redirect>),
}

/// One command: variables, a program with its arguments, redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) assignments: Vec<Word>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Its text as written.
    pub(crate) source: String,
}

impl Script {
    /// Reads a text.
    pub(crate) fn read(text: &str) -> Self {
        Self::of_tokens(&tokens(text).tokens, text)
    }

    /// Reads the commands of a substitution; `text` is what the tokens were made of.
    pub(crate) fn of_tokens(tokens: &[Token], text: &str) -> Self {
        let mut parser = Parser { tokens, text, at: 0, blocks: Vec::new(), function: None };
        parser.script(0)
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    text: &'a str,
    at: usize,
    /// The constructs that are open, innermost last.
    blocks: Vec<Block>,
    /// The name of a function that has been read and whose body comes next.
    function: Option<Arc<str>>,
}

/// A construct that is open.
#[derive(Default)]
struct Block {
    guard: Guard,
    /// The function whose body it is.
    function: Option<Arc<str>>,
    /// The loop whose body it is.
    head: Option<Arc<ForLoop>>,
}

impl Block {
    fn guarded(guard: Guard) -> Self {
        Self { guard, ..Self::default() }
    }
}

/// An unfinished pipeline.
#[derive(Default)]
struct Open {
    join: Join,
    negated: bool,
    guard: Option<Guard>,
    /// The function whose body it is, if the body is in round brackets.
    function: Option<Arc<str>>,
    stages: Vec<Stage>,
    command: Command,
    start: Option<usize>,
    end: usize,
}

impl Open {
    fn close_command(&mut self, text: &str) {
        let mut command = std::mem::take(&mut self.command);
        let start = self.start.take();
        let is_empty =
            command.words.is_empty() && command.assignments.is_empty() && command.redirects.is_empty();
        if is_empty {
            return;
        }
        command.source = start.and_then(|start| text.get(start..self.end)).unwrap_or("").trim().to_owned();
        self.stages.push(Stage::Command(command));
    }
}

impl Parser<'_> {
    fn script(&mut self, depth: usize) -> Script {
        let mut script = Script::default();
        let mut open = Open::default();
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match &token.kind {
                TokenKind::Word(word) => {
                    self.word(&mut open, word, token);
                }
                TokenKind::Redirect(redirect) => {
                    open.start.get_or_insert(token.start);
                    open.end = token.end;
                    match open.stages.last_mut() {
                        // A redirection after a group is the group's.
                        Some(Stage::Group(_, redirects)) if open.command.words.is_empty() => {
                            redirects.push(redirect.clone());
                        }
                        _ => open.command.redirects.push(redirect.clone()),
                    }
                }
                TokenKind::Operator(operator) => {
                    if self.is_in_test(&open) {
                        continue;
                    }
                    match operator {
                        Operator::Open if self.is_function(&open) => open = Open::default(),
                        Operator::Open if depth < DEPTH_MAX => {
                            open.close_command(self.text);
                            open.function = self.function.take();
                            let blocks = std::mem::take(&mut self.blocks);
                            let group = self.script(depth + 1);
                            self.blocks = blocks;
                            open.stages.push(Stage::Group(group, Vec::new()));
                        }
                        Operator::Close if depth > 0 => break,
                        // The pattern of a `case` is no command.
                        Operator::Open | Operator::Close => {
                            open = Open { join: open.join, ..Open::default() }
                        }
                        Operator::Pipe | Operator::PipeBoth => open.close_command(self.text),
                        Operator::And => self.finish(&mut script, &mut open, Join::And, false),
                        Operator::Or => self.finish(&mut script, &mut open, Join::Or, false),
                        Operator::Then => self.finish(&mut script, &mut open, Join::Then, false),
                        Operator::Background => self.finish(&mut script, &mut open, Join::Then, true),
                    }
                }
            }
        }
        self.finish(&mut script, &mut open, Join::Then, false);
        script
    }

    /// Ends a pipeline; `next` joins the one that follows.
    fn finish(&self, script: &mut Script, open: &mut Open, next: Join, in_background: bool) {
        open.close_command(self.text);
        let Open { join, negated, guard, stages, function, .. } = std::mem::take(open);
        if stages.is_empty() {
            // An empty line after `&&` does not end the list.
            open.join = if next == Join::Then { join } else { next };
            open.guard = guard;
            return;
        }
        let guard = guard.unwrap_or_else(|| self.guard());
        let function = function.or_else(|| self.blocks.iter().find_map(|block| block.function.clone()));
        let loops = self.blocks.iter().filter_map(|block| block.head.clone()).collect();
        script.items.push(Item { join, guard, negated, in_background, stages, function, loops });
        open.join = next;
    }

    /// Returns the guard of the innermost construct that is open.
    fn guard(&self) -> Guard {
        self.blocks.last().map(|block| block.guard).unwrap_or_default()
    }

    /// Returns whether a `[[` is open, inside of which operators belong to the test.
    fn is_in_test(&self, open: &Open) -> bool {
        let words = &open.command.words;
        let is = |word: &Word, text: &str| !word.quoted && word.text == text;
        words.first().is_some_and(|first| is(first, "[[")) && !words.last().is_some_and(|last| is(last, "]]"))
    }

    /// Returns whether `name ()` begins a function, and passes over its brackets.
    fn is_function(&mut self, open: &Open) -> bool {
        let closes =
            self.tokens.get(self.at).is_some_and(|next| next.kind == TokenKind::Operator(Operator::Close));
        let [name] = open.command.words.as_slice() else { return false };
        if closes {
            self.at += 1;
            self.function = Some(name.text.as_str().into());
        }
        closes
    }

    fn word(&mut self, open: &mut Open, word: &Word, token: &Token) {
        let first = open.command.words.is_empty();
        if first && !word.quoted && open.command.assignments.is_empty() && self.keyword(open, &word.text) {
            return;
        }
        open.start.get_or_insert(token.start);
        open.end = token.end;
        let is_assignment = first
            && word
                .equals
                .is_some_and(|equals| is_name(word.text.get(..equals).unwrap_or("").trim_end_matches('+')));
        if is_assignment {
            open.command.assignments.push(word.clone());
        } else {
            open.command.words.push(word.clone());
        }
    }

    /// Reads a word of the shell's own grammar; returns whether it was one.
    fn keyword(&mut self, open: &mut Open, word: &str) -> bool {
        match word {
            "!" => open.negated = true,
            "{" => {
                let block = match self.function.take() {
                    // Where the body of a function runs, its own commands are under no condition.
                    Some(name) => Block { function: Some(name), ..Block::default() },
                    None => Block::guarded(self.guard()),
                };
                self.blocks.push(block);
            }
            "function" => self.function_name(),
            "if" | "while" | "until" => {
                self.blocks.push(Block::guarded(Guard::Branch));
                open.guard = Some(Guard::Condition);
            }
            "elif" => open.guard = Some(Guard::Condition),
            "then" | "else" | "do" => open.guard = None,
            "fi" | "done" | "esac" | "}" => {
                self.blocks.pop();
            }
            "for" | "select" => {
                let head = self.loop_head();
                self.blocks.push(Block { head, ..Block::guarded(Guard::Loop) });
            }
            "case" => {
                self.blocks.push(Block::guarded(Guard::Branch));
                self.skip_words_to_in();
            }
            _ => return false,
        }
        true
    }

    /// Reads the name after `function`, and passes over the brackets that may follow.
    fn function_name(&mut self) {
        let Some(Token { kind: TokenKind::Word(word), .. }) = self.tokens.get(self.at) else { return };
        self.function = Some(word.text.as_str().into());
        self.at += 1;
        let is = |at: usize, operator| {
            self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Operator(operator))
        };
        if is(self.at, Operator::Open) && is(self.at + 1, Operator::Close) {
            self.at += 2;
        }
    }

    /// Reads `x in a b`; nothing for a loop over something else.
    fn loop_head(&mut self) -> Option<Arc<ForLoop>> {
        let mut words = Vec::new();
        while let Some(token) = self.tokens.get(self.at) {
            match &token.kind {
                TokenKind::Operator(Operator::Then) => break,
                TokenKind::Word(word) => words.push(word.clone()),
                _ => {}
            }
            self.at += 1;
        }
        let mut words = words.into_iter();
        let name = words.next().map(|word| word.text).filter(|name| is_name(name))?;
        words.next().filter(|word| word.text == "in")?;
        Some(Arc::new(ForLoop { name, words: words.collect() }))
    }

    /// Passes over `$x in`.
    fn skip_words_to_in(&mut self) {
        while let Some(Token { kind: TokenKind::Word(word), .. }) = self.tokens.get(self.at) {
            self.at += 1;
            if word.text == "in" {
                return;
            }
        }
    }
}

/// Returns whether a text can name a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a script in brackets, to compare.
    fn shown(script: &Script) -> String {
        let word = |word: &Word| word.text.replace('\n', "⏎");
        let item = |item: &Item| {
            let stages: Vec<String> = item
                .stages
                .iter()
                .map(|stage| match stage {
                    Stage::Group(inner, _) => format!("({})", shown(inner)),
                    Stage::Command(command) => {
                        let words: Vec<String> =
                            command.assignments.iter().chain(&command.words).map(word).collect();
                        let redirects = command
                            .redirects
                            .iter()
                            .map(|redirect| format!("{:?}:{}", redirect.kind, redirect.target.text));
                        words.into_iter().chain(redirects).collect::<Vec<_>>().join("·")
                    }
                })
                .collect();
            let join = match item.join {
                Join::Then => ";",
                Join::And => "&",
                Join::Or => "|",
            };
            let guard = match item.guard {
                _ if item.function.is_some() => "/",
                Guard::None => "",
                Guard::Condition => "?",
                Guard::Loop => "*",
                Guard::Branch => "/",
            };
            format!("{join}{guard}{}{}", if item.negated { "!" } else { "" }, stages.join("→"))
        };
        script.items.iter().map(item).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lists_pipelines_groups_and_quotes_are_read() {
        for (text, expected) in [
            ("a b && c | d; e || f", ";a·b &c→d ;e |f"),
            ("a &&\n\n b", ";a &b"),
            ("(cd x && make) && y", ";(;cd·x &make) &y"),
            ("X=1 Y='a b' go test ./...", ";X=1·Y=a b·go·test·./..."),
            ("echo 'git commit' \"a $(b c) d\"", ";echo·git commit·a $(b c) d"),
            ("a >out 2>&1 >>log <in &>all", ";a·Write:out·Duplicate:1·Append:log·Read:in·Write:all"),
            ("cat > f <<'EOF'\ngit push -f && x\nEOF\nls", ";cat·Write:f·HereDocument:EOF ;ls"),
            (
                "git commit -m \"$(cat <<'EOF'\nit's (done)\nEOF\n)\" && git push",
                ";git·commit·-m·$(cat <<'EOF'⏎it's (done)⏎EOF⏎) &git·push",
            ),
            ("a # && b\nc", ";a ;c"),
            ("a \\\n  b", ";a·b"),
            ("if a; then b; else c; fi; d", ";?a ;/b ;/c ;d"),
            ("for f in x y; do rm $f; done && z", ";*rm·$f &z"),
            ("while a; do b; done", ";?a ;/b"),
            ("case $x in a) b;; *) c;; esac; d", ";/b ;/c ;d"),
            ("[[ -f a && -f b ]] && c", ";[[·-f·a·-f·b·]] &c"),
            ("f() { a; }; b", ";/a ;b"),
            ("function f { a; }; function g() { b; }; h() ( c ); d", ";/a ;/b ;/(;c) ;d"),
            ("! a; { b; c; }", ";!a ;b ;c"),
            ("sleep 9 & b", ";sleep·9 ;b"),
            ("diff <(a) <(b)", ";diff·Read:·Read:"),
            ("a 'unfinished && b", ";a·unfinished && b"),
            ("echo $((1 + 2)) ${x:-y} `z`", ";echo·$((1 + 2))·${x:-y}·`z`"),
            ("", ""),
            ("&& || )", ""),
        ] {
            assert_eq!(shown(&Script::read(text)), expected, "{text}");
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let depth = 20_000;
        for text in [
            "(".repeat(depth),
            "$(".repeat(depth),
            "\"$(".repeat(depth),
            "{ ".repeat(depth),
            "<(".repeat(depth),
        ] {
            Script::read(&text);
        }
    }
}
