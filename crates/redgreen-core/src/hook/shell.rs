//! Splits a command line into words as a shell does, as far as it takes to see which programs it
//! names. Variables and escapes of `$'…'` are not evaluated.

/// How deep commands inside words (`sh -c '…'`) are looked at.
const DEPTH_MAX: usize = 4;
/// Characters that end a simple command.
const BETWEEN: &str = ";&|()`\n";

/// The simple commands of a line as their words, also those inside a word. Without empty words.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    collect(line, DEPTH_MAX, &mut all);
    all
}

fn collect(line: &str, depth: usize, all: &mut Vec<Vec<String>>) {
    let own = split(line);
    if depth > 1 {
        let is_line = |letter: char| letter.is_whitespace() || BETWEEN.contains(letter);
        for word in own.iter().flatten().filter(|word| word.contains(is_line)) {
            collect(word, depth - 1, all);
        }
    }
    all.extend(own);
}

/// Ends words and commands.
#[derive(Default)]
struct Commands {
    all: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
}

impl Commands {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !word.is_empty() {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.all.push(words);
        }
    }
}

fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = Commands::default();
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            // `$'…'` and `$"…"` are quotes, too.
            (None, '$') if matches!(letters.peek(), Some('\'' | '"')) => {}
            (Some('"'), '\\') => match letters.next_if(|next| "$`\"\\\n".contains(*next)) {
                Some('\n') => {}
                Some(next) => commands.word.push(next),
                None => commands.word.push(letter),
            },
            (None, '\\') => commands.word.extend(letters.next().filter(|next| *next != '\n')),
            (Some(_), _) => commands.word.push(letter),
            (None, _) if BETWEEN.contains(letter) => commands.end_command(),
            (None, '<' | '>') => commands.end_word(),
            (None, _) if letter.is_whitespace() => commands.end_word(),
            (None, _) => commands.word.push(letter),
        }
    }
    commands.end_command();
    commands.all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lines_as_a_shell_does() {
        for (line, expected) in [
            ("a  b\tc", &[&["a", "b", "c"][..]][..]),
            ("a 'b c' \"d\"e \\f", &[&["b", "c"], &["a", "b c", "de", "f"]]),
            ("a;b&&c|d\ne", &[&["a"], &["b"], &["c"], &["d"], &["e"]]),
            ("a \"\" '' b", &[&["a", "b"]]),
            ("r\"e\"d'g'\\reen >x", &[&["redgreen", "x"]]),
            ("$'a' $\"b\" $c", &[&["a", "b", "$c"]]),
            ("echo $(a b)", &[&["echo", "$"], &["a", "b"]]),
            ("sh -c \"a \\\"b c\\\"\"", &[&["b", "c"], &["a", "b c"], &["sh", "-c", "a \"b c\""]]),
            ("a \\\nb 'un ended", &[&["un", "ended"], &["a", "b", "un ended"]]),
            ("", &[]),
        ] {
            assert_eq!(commands(line), expected, "{line}");
        }
    }
}
