//! The words, operators and redirections of a command line.

use std::ops::Range;

use super::DEPTH_MAX;

/// A word, quotes removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// The index of the first unquoted `=`, which makes the word an assignment if a name precedes it.
    pub(crate) equals: Option<usize>,
    /// Whether any part of it was quoted or escaped.
    pub(crate) quoted: bool,
    /// Whether a shell would expand a variable or a file pattern in it.
    pub(crate) expands: bool,
    /// Whether it needs a shell to know its text: a substitution, `${…}` or `$'…'`.
    pub(crate) needs_shell: bool,
    /// The commands of its substitutions.
    pub(crate) inner: Vec<Vec<Token>>,
    /// Whether it holds a file pattern.
    pub(crate) has_pattern: bool,
    /// The parts of its text that a shell replaces, in order.
    pub(crate) expansions: Vec<Expansion>,
}

/// A part of a word that a shell replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// The bytes of the word's text.
    pub(crate) place: Range<usize>,
    pub(crate) quotes: Quotes,
    pub(crate) source: ExpansionSource,
}

/// The place of an expansion: its value is split into words only outside of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotes {
    Inside,
    Outside,
}

/// The source of the text that replaces a part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionSource {
    /// The value of a variable, or another text if it has none.
    Variable { name: String, otherwise: Option<String> },
    /// The output of the commands with this number in [`Word::inner`].
    Output(usize),
    /// Something that only a shell computes.
    Unknown,
}

/// The direction of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    /// `<`, `<<<`, `<&`, `<(…)`.
    Read,
    /// `<<`: the lines that follow.
    HereDocument,
    /// `>`, `>|`, `&>`, `<>`.
    Write,
    /// `>>`, `&>>`.
    Append,
    /// `>&1`: to another descriptor.
    Duplicate,
}

/// A redirection with its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
    /// The lines of a here-document, or the text after `<<<`.
    pub(crate) body: Option<String>,
}

/// An operator between commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    And,
    Or,
    Pipe,
    /// `|&`: a pipe that takes the errors too.
    PipeBoth,
    /// `;`, `;;`, or the end of a line.
    Then,
    /// `&`.
    Background,
    Open,
    Close,
}

/// A part of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word(Word),
    Operator(Operator),
    Redirect(Redirect),
}

/// A part of a command line, with its bytes in the text; a part inside backquotes has those of the backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tokens of a text, and whether something in it has no end.
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<Token>,
    pub(crate) incomplete: bool,
}

/// Splits a text into tokens.
pub(crate) fn tokens(text: &str) -> Tokens {
    let mut lexer = Lexer { text, at: 0, depth: 0, incomplete: false, open: Vec::new() };
    let tokens = lexer.until_end(false);
    Tokens { tokens, incomplete: lexer.incomplete }
}

/// A here-document whose lines begin after the end of the current line.
struct OpenDocument {
    /// The index of its redirection among the tokens.
    token: usize,
    end: String,
    strips_tabs: bool,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    incomplete: bool,
    open: Vec<OpenDocument>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Reads tokens to the end of the text, or to the `)` that ends a substitution.
    fn until_end(&mut self, in_substitution: bool) -> Vec<Token> {
        let mut tokens: Vec<Token> = Vec::new();
        // Here-documents of the enclosing text begin after its own line end.
        let outer = std::mem::take(&mut self.open);
        let mut opened = 0_usize;
        loop {
            let start = self.at;
            let Some(letter) = self.peek() else {
                self.incomplete |= in_substitution || !self.open.is_empty();
                break;
            };
            let mut operator = None;
            match letter {
                ' ' | '\t' => {
                    self.next();
                }
                '\\' if self.rest().starts_with("\\\n") => {
                    self.at += 2;
                }
                '#' => {
                    let line = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += line;
                }
                '\n' | '\r' => {
                    self.next();
                    if letter == '\n' {
                        self.documents(&mut tokens);
                    }
                    operator = Some(Operator::Then);
                }
                ')' => {
                    self.next();
                    if in_substitution && opened == 0 {
                        break;
                    }
                    opened = opened.saturating_sub(1);
                    operator = Some(Operator::Close);
                }
                '(' => {
                    self.next();
                    opened += 1;
                    operator = Some(Operator::Open);
                }
                '|' | ';' => operator = Some(self.operator()),
                '&' if !self.rest().starts_with("&>") => operator = Some(self.operator()),
                '<' | '>' | '&' => {
                    let index = tokens.len();
                    let redirect = self.redirect(index);
                    tokens.push(Token { kind: TokenKind::Redirect(redirect), start, end: self.at });
                }
                _ => {
                    let word = self.word();
                    let is_descriptor = !word.quoted
                        && !word.text.is_empty()
                        && word.text.bytes().all(|byte| byte.is_ascii_digit())
                        && matches!(self.peek(), Some('<' | '>'));
                    if !is_descriptor {
                        tokens.push(Token { kind: TokenKind::Word(word), start, end: self.at });
                    }
                }
            }
            if let Some(operator) = operator {
                tokens.push(Token { kind: TokenKind::Operator(operator), start, end: self.at });
            }
        }
        self.open = outer;
        tokens
    }

    fn operator(&mut self) -> Operator {
        for (text, operator) in [
            ("&&", Operator::And),
            ("||", Operator::Or),
            ("|&", Operator::PipeBoth),
            ("|", Operator::Pipe),
            (";;&", Operator::Then),
            (";;", Operator::Then),
            (";&", Operator::Then),
            (";", Operator::Then),
            ("&", Operator::Background),
        ] {
            if self.take(text) {
                return operator;
            }
        }
        self.next();
        Operator::Then
    }

    fn redirect(&mut self, token: usize) -> Redirect {
        let operators = [
            ("&>>", RedirectKind::Append),
            ("&>", RedirectKind::Write),
            ("<<<", RedirectKind::Read),
            ("<<-", RedirectKind::HereDocument),
            ("<<", RedirectKind::HereDocument),
            ("<>", RedirectKind::Write),
            ("<&", RedirectKind::Duplicate),
            ("<", RedirectKind::Read),
            (">>", RedirectKind::Append),
            (">|", RedirectKind::Write),
            (">&", RedirectKind::Duplicate),
            (">", RedirectKind::Write),
        ];
        let strips_tabs = self.rest().starts_with("<<-");
        let is_text = self.rest().starts_with("<<<");
        let kind = operators.into_iter().find_map(|(text, kind)| self.take(text).then_some(kind));
        let mut kind = kind.unwrap_or(RedirectKind::Read);
        if self.peek() == Some('(') {
            // `<(…)` stands for a file; what runs in it is a command of its own.
            self.next();
            let inner = self.nested();
            let target = Word { needs_shell: true, inner: vec![inner], ..Word::default() };
            return Redirect { kind: RedirectKind::Read, target, body: None };
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.next();
        }
        let target = self.word();
        // `>& file` writes a file; `>&1` and `>&-` do not.
        let is_descriptor =
            !target.text.is_empty() && target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if kind == RedirectKind::Duplicate && !is_descriptor {
            kind = RedirectKind::Write;
        }
        if target.text.is_empty() && !target.quoted {
            self.incomplete = true;
        }
        if kind == RedirectKind::HereDocument {
            self.open.push(OpenDocument { token, end: target.text.clone(), strips_tabs });
        }
        let body = is_text.then(|| target.text.clone());
        Redirect { kind, target, body }
    }

    /// Reads the lines of the here-documents that were opened on the line that has just ended.
    fn documents(&mut self, tokens: &mut [Token]) {
        for document in std::mem::take(&mut self.open) {
            let mut body = String::new();
            let mut ended = false;
            while !self.rest().is_empty() && !ended {
                let line = self.rest().split('\n').next().unwrap_or("").to_owned();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let shown = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
                ended = shown.trim_end_matches('\r') == document.end;
                if !ended {
                    body.push_str(shown);
                    body.push('\n');
                }
            }
            self.incomplete |= !ended;
            if let Some(Token { kind: TokenKind::Redirect(redirect), .. }) = tokens.get_mut(document.token) {
                redirect.body = Some(body);
            }
        }
    }

    /// Reads the commands of a substitution, whose beginning has been read.
    fn nested(&mut self) -> Vec<Token> {
        if self.depth >= DEPTH_MAX {
            self.incomplete = true;
            self.at = self.text.len();
            return Vec::new();
        }
        self.depth += 1;
        let tokens = self.until_end(true);
        self.depth -= 1;
        tokens
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        // `F=(a b)` gives a list to a variable: it is one word.
        let mut in_list = false;
        while let Some(letter) = self.peek() {
            match letter {
                '(' if !in_list
                    && !word.quoted
                    && word.equals.is_some_and(|equals| equals > 0 && equals + 1 == word.text.len()) =>
                {
                    in_list = true;
                    word.needs_shell = true;
                }
                ')' if in_list => {
                    self.next();
                    word.text.push(')');
                    in_list = false;
                    continue;
                }
                _ if in_list => {}
                ' ' | '\t' | '\n' | '\r' | '|' | '&' | ';' | '<' | '>' | '(' | ')' => break,
                _ => {}
            }
            self.next();
            match letter {
                '\'' => {
                    word.quoted = true;
                    self.single_quoted(&mut word);
                }
                '"' => {
                    word.quoted = true;
                    self.double_quoted(&mut word);
                }
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped) => {
                        word.quoted = true;
                        word.text.push(escaped);
                    }
                    None => self.incomplete = true,
                },
                '$' => self.dollar(&mut word),
                '`' => self.backquoted(&mut word, Quotes::Outside),
                '=' => {
                    word.equals.get_or_insert(word.text.len());
                    word.text.push('=');
                }
                '*' | '?' | '[' => {
                    word.expands = true;
                    word.has_pattern = true;
                    word.text.push(letter);
                }
                plain => word.text.push(plain),
            }
        }
        self.incomplete |= in_list;
        word
    }

    fn single_quoted(&mut self, word: &mut Word) {
        while let Some(letter) = self.next() {
            if letter == '\'' {
                return;
            }
            word.text.push(letter);
        }
        self.incomplete = true;
    }

    fn double_quoted(&mut self, word: &mut Word) {
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '`' => self.backquoted(word, Quotes::Inside),
                '$' => self.expansion(word, Quotes::Inside),
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => word.text.push(escaped),
                    Some(other) => word.text.extend(['\\', other]),
                    None => break,
                },
                plain => word.text.push(plain),
            }
        }
        self.incomplete = true;
    }

    /// Reads what follows a dollar outside of quotes, where `$'…'` and `$"…"` are quotes of their own.
    fn dollar(&mut self, word: &mut Word) {
        match self.peek() {
            Some('\'') => {
                self.next();
                word.quoted = true;
                word.needs_shell = true;
                self.escaped_quoted(word);
            }
            Some('"') => {
                self.next();
                word.quoted = true;
                self.double_quoted(word);
            }
            _ => self.expansion(word, Quotes::Outside),
        }
    }

    /// Reads what follows a dollar: a substitution, a variable, or nothing that concerns the dollar.
    fn expansion(&mut self, word: &mut Word, quotes: Quotes) {
        let start = self.at.saturating_sub(1);
        let source = match self.peek() {
            Some('(') if self.rest().starts_with("((") => {
                self.balanced(word, '(', ')');
                Some(ExpansionSource::Unknown)
            }
            Some('(') => {
                self.next();
                let inner = self.nested();
                word.inner.push(inner);
                word.needs_shell = true;
                Some(ExpansionSource::Output(word.inner.len() - 1))
            }
            Some('{') => {
                self.balanced(word, '{', '}');
                let braces = self.text.get(start..self.at).unwrap_or("");
                Some(in_braces(braces.trim_start_matches("${").trim_end_matches('}')))
            }
            Some('[') => {
                self.balanced(word, '[', ']');
                Some(ExpansionSource::Unknown)
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                let name: String = self.rest().chars().take_while(|letter| is_of_name(*letter)).collect();
                self.at += name.len();
                Some(ExpansionSource::Variable { name, otherwise: None })
            }
            Some(next) if next.is_ascii_digit() || "@*#?$!-".contains(next) => {
                self.next();
                Some(ExpansionSource::Variable { name: next.to_string(), otherwise: None })
            }
            _ => None,
        };
        let before = word.text.len();
        word.text.push_str(self.text.get(start..self.at).unwrap_or("$"));
        if let Some(source) = source {
            word.expands = true;
            word.expansions.push(Expansion { place: before..word.text.len(), quotes, source });
        }
    }

    /// Passes over a text in brackets, which a shell would evaluate.
    fn balanced(&mut self, word: &mut Word, open: char, close: char) {
        word.needs_shell = true;
        word.expands = true;
        let mut depth = 0_usize;
        while let Some(letter) = self.next() {
            if letter == open {
                depth += 1;
            } else if letter == close {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
        self.incomplete = true;
    }

    fn backquoted(&mut self, word: &mut Word, quotes: Quotes) {
        word.needs_shell = true;
        word.expands = true;
        let before = word.text.len();
        let mut source = ExpansionSource::Unknown;
        let mut script = String::new();
        let mut ended = false;
        while let Some(letter) = self.next() {
            match letter {
                '`' => {
                    ended = true;
                    break;
                }
                '\\' => script.extend(self.next()),
                other => script.push(other),
            }
        }
        self.incomplete |= !ended;
        if self.depth < DEPTH_MAX {
            let mut lexer =
                Lexer { text: &script, at: 0, depth: self.depth + 1, incomplete: false, open: Vec::new() };
            word.inner.push(lexer.until_end(false));
            source = ExpansionSource::Output(word.inner.len() - 1);
        }
        word.text.extend(["`", &script, "`"]);
        word.expansions.push(Expansion { place: before..word.text.len(), quotes, source });
    }

    /// Reads `$'…'`, of whose escapes the common ones are known.
    fn escaped_quoted(&mut self, word: &mut Word) {
        while let Some(letter) = self.next() {
            match letter {
                '\'' => return,
                '\\' => match self.next() {
                    Some('n') => word.text.push('\n'),
                    Some('t') => word.text.push('\t'),
                    Some('x') => word.text.extend(self.letter_of_code(16, 2)),
                    Some('u') => word.text.extend(self.letter_of_code(16, 4)),
                    Some(digit @ '0'..='7') => {
                        self.at -= digit.len_utf8();
                        word.text.extend(self.letter_of_code(8, 3));
                    }
                    Some(other) => word.text.push(other),
                    None => break,
                },
                plain => word.text.push(plain),
            }
        }
        self.incomplete = true;
    }

    /// Reads the digits of a letter's code.
    fn letter_of_code(&mut self, radix: u32, digits_max: usize) -> Option<char> {
        let digits: String =
            self.rest().chars().take(digits_max).take_while(|letter| letter.is_digit(radix)).collect();
        self.at += digits.len();
        char::from_u32(u32::from_str_radix(&digits, radix).ok()?)
    }
}

/// Returns the source of `${…}`, given the text in its braces.
fn in_braces(text: &str) -> ExpansionSource {
    // `${!x}` is the variable that the value of x names.
    let sign = text.strip_prefix('!').map_or(0, |_| 1);
    let end = text.get(sign..).and_then(|name| name.find(|letter| !is_of_name(letter)));
    let end = end.map_or(text.len(), |end| end + sign);
    let (name, rest) = text.split_at(end);
    let is_special = name.is_empty() && matches!(text, "@" | "*");
    let name = if is_special { text } else { name };
    let otherwise = [":-", ":=", "-", "="].into_iter().find_map(|operator| rest.strip_prefix(operator));
    match name {
        "" => ExpansionSource::Unknown,
        name if is_special || rest.is_empty() || matches!(rest, "[@]" | "[*]") => {
            ExpansionSource::Variable { name: name.to_owned(), otherwise: None }
        }
        name => otherwise.map_or(ExpansionSource::Unknown, |otherwise| ExpansionSource::Variable {
            name: name.to_owned(),
            otherwise: Some(otherwise.to_owned()),
        }),
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
