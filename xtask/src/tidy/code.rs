//! `Code`: Rust source taken apart line by line into code and comments.
//!
//! Not a parser: it knows comments, strings, character literals and braces, which is what the rules need.
//! Invariants: line `i` of the result is line `i` of the file; what stood in a string or a character
//! literal is gone, its quotes stay.

/// A Rust source file, line by line.
pub(super) struct Code {
    pub(super) lines: Vec<Line>,
}

/// One line of Rust.
#[derive(Default)]
pub(super) struct Line {
    /// The line without comments and without what stands inside quotes.
    pub(super) code: String,
    /// The text of the line's comments, markers included.
    pub(super) comment: String,
    /// Whether the line is compiled for tests or loom only.
    pub(super) is_test: bool,
}

impl Code {
    /// Takes `text` apart. `is_test` says that all of it is test code.
    pub(super) fn of(text: &str, is_test: bool) -> Code {
        let mut code = Code { lines: split(text) };
        code.mark_tests(is_test);
        code
    }

    /// The lines that are not test code, with their numbers counted from 1.
    pub(super) fn product_lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbered().filter(|(_, line)| !line.is_test)
    }

    /// All lines, with their numbers counted from 1.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether a comment on line `number` or one of the `above` lines before it contains `words`.
    pub(super) fn says_near(&self, number: usize, above: usize, words: &str) -> bool {
        let last = number.min(self.lines.len());
        self.lines[last.saturating_sub(above + 1)..last].iter().any(|line| line.comment.contains(words))
    }

    /// Marks the items behind `#[cfg(test)]`, `#[cfg(loom)]` and their combinations, and `#[test]` functions.
    fn mark_tests(&mut self, all: bool) {
        let mut depth = 0i32;
        // The depth at which the item began that is being marked, and whether its body has opened.
        let mut item: Option<(i32, bool)> = None;
        for line in &mut self.lines {
            if item.is_none() && is_test_attribute(&line.code) {
                item = Some((depth, false));
            }
            line.is_test = all || item.is_some();
            for character in line.code.chars() {
                match (character, item) {
                    ('{', Some((start, _))) => item = Some((start, true)),
                    (';', Some((start, false))) if depth == start => item = None,
                    ('}', Some((start, true))) if depth == start + 1 => item = None,
                    _ => {}
                }
                depth += match character {
                    '{' | '(' | '[' => 1,
                    '}' | ')' | ']' => -1,
                    _ => 0,
                };
            }
        }
    }
}

/// Whether the line holds an attribute that limits what follows to tests or loom.
fn is_test_attribute(code: &str) -> bool {
    let Some(start) = code.find("#[") else { return false };
    let attribute = &code[start + 2..];
    if attribute.starts_with("test]") {
        return true;
    }
    let Some(condition) = attribute.strip_prefix("cfg(") else { return false };
    let condition = condition.replace("not(loom)", "").replace("not(test)", "");
    condition.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| matches!(word, "test" | "loom"))
}

/// What the text is in the middle of.
#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    /// A block comment, this many deep.
    BlockComment(usize),
    Text,
    /// A raw string that ends with a quote and this many `#`.
    RawText(usize),
}

fn split(text: &str) -> Vec<Line> {
    let characters: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        if character == '\n' {
            lines.push(Line::default());
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            at += 1;
            continue;
        }
        // INVARIANT: there is a line from the start on, and lines are only added.
        let line = lines.last_mut().expect("at least one line");
        let (next, taken) = step(state, &characters[at..], line);
        state = next;
        at += taken;
    }
    lines
}

/// Takes at least one character from `rest` (which is not empty and begins with no line end) into `line`.
fn step(state: State, rest: &[char], line: &mut Line) -> (State, usize) {
    match state {
        State::Code => step_code(rest, line),
        State::LineComment => {
            line.comment.push(rest[0]);
            (state, 1)
        }
        State::BlockComment(depth) => step_block_comment(depth, rest, line),
        State::Text => match rest[0] {
            // An escape goes with the character behind it, but a line end is left to be counted.
            '\\' if rest.get(1) != Some(&'\n') => (state, 2),
            '"' => {
                line.code.push('"');
                (State::Code, 1)
            }
            _ => (state, 1),
        },
        State::RawText(hashes) => {
            let ends = rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|&c| c == '#');
            if !ends {
                return (state, 1);
            }
            line.code.push('"');
            (State::Code, 1 + hashes)
        }
    }
}

fn step_block_comment(depth: usize, rest: &[char], line: &mut Line) -> (State, usize) {
    match (rest, depth) {
        (['/', '*', ..], _) => (State::BlockComment(depth + 1), 2),
        (['*', '/', ..], 1) => (State::Code, 2),
        (['*', '/', ..], _) => (State::BlockComment(depth - 1), 2),
        _ => {
            line.comment.push(rest[0]);
            (State::BlockComment(depth), 1)
        }
    }
}

fn step_code(rest: &[char], line: &mut Line) -> (State, usize) {
    let after_word = line.code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    match rest {
        ['/', '/', ..] => {
            line.comment.push_str("//");
            (State::LineComment, 2)
        }
        ['/', '*', ..] => (State::BlockComment(1), 2),
        ['"', ..] => {
            line.code.push('"');
            (State::Text, 1)
        }
        ['r' | 'b' | 'c', ..] if !after_word => match raw_text(rest) {
            Some((hashes, taken)) => {
                line.code.push('"');
                (State::RawText(hashes), taken)
            }
            None => {
                line.code.push(rest[0]);
                (State::Code, 1)
            }
        },
        ['\'', ..] => {
            line.code.push('\'');
            (State::Code, character_literal(rest).unwrap_or(1))
        }
        [character, ..] => {
            line.code.push(*character);
            (State::Code, 1)
        }
        [] => (State::Code, 1),
    }
}

/// If `rest` opens a raw string: how many `#` it has, and how many characters the opening takes.
fn raw_text(rest: &[char]) -> Option<(usize, usize)> {
    let prefix = rest.iter().take_while(|c| matches!(c, 'r' | 'b' | 'c')).count();
    let hashes = rest[prefix..].iter().take_while(|&&c| c == '#').count();
    let is_raw = rest[..prefix].contains(&'r') && prefix <= 2 && rest.get(prefix + hashes) == Some(&'"');
    is_raw.then_some((hashes, prefix + hashes + 1))
}

/// If `rest`, which begins with a quote, is a character literal and no lifetime: how many characters it takes.
fn character_literal(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', _, tail @ ..] => tail.iter().take(12).position(|&c| c == '\'').map(|end| end + 4),
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &[&str], comments: &[&str]) {
        let lines = split(text);
        assert_eq!(lines.iter().map(|line| line.code.trim()).collect::<Vec<_>>(), code);
        assert_eq!(lines.iter().map(|line| line.comment.trim()).collect::<Vec<_>>(), comments);
    }

    #[test]
    fn comments_are_told_from_code() {
        check("a(); // b\n/* c /* d */ e\n f */ g", &["a();", "", "g"], &["// b", "c  d  e", "f"]);
    }

    #[test]
    fn strings_lose_what_is_in_them() {
        check(r#"a("x // y \" z", b)"#, &[r#"a("", b)"#], &[""]);
        check("a(r#\"x \" // y\"#)", &["a(\"\")"], &[""]);
        check("a(\"x\ny\") // z", &["a(\"", "\")"], &["", "// z"]);
        check("br\"a\" + for_\"b\"", &["\"\" + for_\"\""], &[""]);
    }

    #[test]
    fn character_literals_are_told_from_lifetimes() {
        check("f::<'a>('\"', '\\'', '{') // c", &["f::<'a>(', ', ')"], &["// c"]);
        check("m('\\u{1F600}', 'b')", &["m(', ')"], &[""]);
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_marked() {
        let text = "fn a() {}\n#[cfg(all(test, not(loom)))]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n\
                    #[cfg(test)]\nmod far;\nfn d() {}\n#[cfg(not(loom))]\nfn e() {}\n#[test]\nfn f([a]: [u8; 1]) {\n}\nfn g() {}";
        let marks: String =
            Code::of(text, false).lines.iter().map(|line| if line.is_test { 't' } else { '-' }).collect();
        assert_eq!(marks, "-tttt-tt---ttt-");
    }

    #[test]
    fn words_are_found_in_comments_near_by_only() {
        let code = Code::of("// WHY: x\na\nb\nc", false);
        assert!(code.says_near(3, 2, "WHY:"));
        assert!(!code.says_near(4, 2, "WHY:"));
        assert!(!Code::of("a(\"WHY:\")", false).says_near(1, 3, "WHY:"));
    }
}
