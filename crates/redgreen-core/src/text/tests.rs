//! Tests for the handling of foreign text.

use super::*;

#[test]
fn shows_control_hidden_and_reordering_characters() {
    let rows = [
        // Ordinary text stays.
        ("plain, é, 漢字, 🦀, א and \t", "plain, é, 漢字, 🦀, א and \t"),
        ("two\nlines\r\n", "two\nlines\n"),
        (
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم",
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم",
        ),
        // The cursor, the screen, the title, the clipboard, a link.
        ("refused\raccepted", "refused␍accepted"),
        ("a\u{8}\u{8}b\u{7}", "a␈␈b␇"),
        ("\u{1b}[2K\u{1b}[1Aaccepted", "␛[2K␛[1Aaccepted"),
        ("\u{1b}[31mred", "␛[31mred"),
        ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
        ("\u{1b}]52;c;cm0gLXJm\u{1b}\\", "␛]52;c;cm0gLXJm␛\\"),
        ("\u{1b}]8;;http://x\u{1b}\\here", "␛]8;;http://x␛\\here"),
        ("\u{9b}2J \u{9d}0;t\u{9c} \u{85}", "<U+009B>2J <U+009D>0;t<U+009C> <U+0085>"),
        ("\u{0}\u{b}\u{c}\u{7f}", "␀␋␌␡"),
        // The order of words.
        ("a\u{202e}b\u{2066}c\u{2069}\u{200f}", "a<U+202E>b<U+2066>c<U+2069><U+200F>"),
        // Invisible words.
        ("te\u{200b}st\u{feff} a\u{ad}b", "te<U+200B>st<U+FEFF> a<U+00AD>b"),
        ("a\u{200d}b a\u{fe0f} \u{e0041}", "a<U+200D>b a<U+FE0F> <U+E0041>"),
        ("one\u{2028}two\u{2029}", "one<U+2028>two<U+2029>"),
        ("\u{fdd0}\u{ffff}\u{1fffe}", "<U+FDD0><U+FFFF><U+1FFFE>"),
    ];
    for (text, expected) in rows {
        assert_eq!(visible(text), expected, "{text:?}");
        assert_eq!(
            visible(&visible(text)),
            expected,
            "visible text does not change again: {text:?}"
        );
    }
}

#[test]
fn a_name_stays_on_one_line() {
    let rows = [
        ("a.py\n  1 GREEN     accepted", "a.py␊  1 GREEN     accepted"),
        ("a\tb\r\n", "a␉b␍␊"),
        ("plain", "plain"),
    ];
    for (text, expected) in rows {
        assert_eq!(on_one_line(text), expected);
    }
}

#[test]
fn removes_colours_and_nothing_else() {
    let rows = [
        ("\u{1b}[31mred\u{1b}[0m \u{1b}[38;2;1;2;3mx\u{1b}[m", "red x"),
        ("\u{1b}[4:3mcurly", "curly"),
        ("\u{1b}[8mconcealed", "concealed"),
        ("\u{1b}[2J\u{1b}[1;1H", "\u{1b}[2J\u{1b}[1;1H"),
        ("\u{1b}[?25l\u{1b}[>4;1m", "\u{1b}[?25l\u{1b}[>4;1m"),
        ("\u{1b}\u{1b}[31m[2J", "\u{1b}[2J"),
        ("\u{9b}31m", "\u{9b}31m"),
        ("cut \u{1b}[3", "cut \u{1b}[3"),
    ];
    for (text, expected) in rows {
        assert_eq!(without_colours(text), expected, "{text:?}");
    }
    let long = format!("\u{1b}[{}m", "1".repeat(COLOUR_BYTES_MAX + 1));
    assert_eq!(without_colours(&long), long);
}

#[test]
fn json_is_equivalent_and_harmless() {
    let rows = [
        "a\u{202e}b \u{9b}2J \u{7f} \u{200d} \u{e0041}",
        "\u{1b}]0;t\u{7}\r\n\t\u{2028}",
        "##[error]x ##vso[y ## a ##",
    ];
    for text in rows {
        let told = serde_json::to_string_pretty(&[text]).unwrap();
        let safe = json(&told);
        assert_eq!(serde_json::from_str::<[String; 1]>(&safe).unwrap(), [text]);
        assert!(!safe.chars().any(is_deceptive_in_json), "{safe}");
        assert!(!safe.contains("##[") && !safe.contains("##vso["), "{safe}");
    }
    assert_eq!(json("[\n  \"a ## b é\"\n]"), "[\n  \"a ## b é\"\n]");
}

#[test]
fn disables_commands_of_ci_systems() {
    let rows = [
        ("::error::x", "\\::error::x"),
        ("a\n  ::set-output name=b::c\n", "a\n  \\::set-output name=b::c\n"),
        (
            "\u{1b}[2m  \u{1b}[0m:\u{1b}[2m:add-mask::x",
            "\u{1b}[2m  \u{1b}[0m\\:\u{1b}[2m:add-mask::x",
        ),
        ("x ##[group]y ##vso[task.x]", "x #\\#[group]y #\\#vso[task.x]"),
        ("#\u{1b}[0m#[group]", "#\\\u{1b}[0m#[group]"),
        ("###[group]", "##\\#[group]"),
        ("a::b ## c [d] #[test]", "a::b ## c [d] #[test]"),
    ];
    for (text, expected) in rows {
        assert_eq!(without_commands(text), expected, "{text:?}");
    }
}

#[test]
fn shell_words_stay_one_word() {
    for (text, word) in [
        ("main", "main"),
        ("prójekt/test_a.py::test_b", "prójekt/test_a.py::test_b"),
        ("", "''"),
        ("two words", "'two words'"),
        ("main;touch${IFS}x", "'main;touch${IFS}x'"),
        ("it's", r"'it'\''s'"),
        ("~", "'~'"),
        ("a\nb\u{1b}", "'a␊b␛'"),
    ] {
        assert_eq!(shell_word(text), word, "{text:?}");
    }
}
