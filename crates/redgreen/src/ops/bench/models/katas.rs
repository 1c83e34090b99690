//! Small tasks, the same for every language: a request, and calls with their results that the model
//! never sees.

use super::language::Language;

pub(super) struct Kata {
    pub(super) name: &'static str,
    pub(super) request: &'static str,
    pub(super) function: &'static str,
    /// Arguments and result, as literals of Python. Strings have double quotes, so that they are
    /// literals of the other languages as well.
    pub(super) checks: &'static [(&'static str, &'static str)],
    /// Some tasks need types or literals that only Python has in this form.
    pub(super) languages: &'static [Language],
}

const ALL: &[Language] = &[Language::Python, Language::TypeScript, Language::Rust];
const PYTHON: &[Language] = &[Language::Python];

pub(super) const KATAS: &[Kata] = &[
    Kata {
        name: "is_leap",
        request: "is_leap(year) says whether a year is a leap year of the Gregorian calendar",
        function: "is_leap",
        checks: &[
            ("1900", "False"),
            ("2000", "True"),
            ("2023", "False"),
            ("2024", "True"),
            ("2100", "False"),
        ],
        languages: ALL,
    },
    Kata {
        name: "fizzbuzz",
        request: "fizzbuzz(n) returns \"Fizz\" for multiples of 3, \"Buzz\" for multiples of 5, \"FizzBuzz\" for \
                  multiples of both, and the number as a string otherwise",
        function: "fizzbuzz",
        checks: &[("9", "\"Fizz\""), ("20", "\"Buzz\""), ("30", "\"FizzBuzz\""), ("7", "\"7\"")],
        languages: ALL,
    },
    Kata {
        name: "to_roman",
        request: "to_roman(n) returns the Roman numeral of a number from 1 to 20, such as to_roman(4) == \"IV\" and \
                  to_roman(19) == \"XIX\"",
        function: "to_roman",
        checks: &[
            ("1", "\"I\""),
            ("2", "\"II\""),
            ("3", "\"III\""),
            ("5", "\"V\""),
            ("6", "\"VI\""),
            ("7", "\"VII\""),
            ("8", "\"VIII\""),
            ("9", "\"IX\""),
            ("10", "\"X\""),
            ("11", "\"XI\""),
            ("12", "\"XII\""),
            ("13", "\"XIII\""),
            ("14", "\"XIV\""),
            ("15", "\"XV\""),
            ("16", "\"XVI\""),
            ("17", "\"XVII\""),
            ("18", "\"XVIII\""),
            ("20", "\"XX\""),
        ],
        languages: PYTHON,
    },
    Kata {
        name: "clamp",
        request: "clamp(value, low, high) returns the value, or the nearer bound when it lies outside",
        function: "clamp",
        checks: &[("5, 0, 3", "3"), ("-1, 0, 3", "0"), ("2, 0, 3", "2")],
        languages: ALL,
    },
    Kata {
        name: "word_count",
        request: "word_count(text) returns a dict with how often each word occurs in the text, in lower case: \
                  word_count(\"a b A\") == {\"a\": 2, \"b\": 1}, word_count(\"\") == {}",
        function: "word_count",
        checks: &[("\"The the  cat\"", "{\"the\": 2, \"cat\": 1}"), ("\"\"", "{}")],
        languages: PYTHON,
    },
    Kata {
        name: "is_anagram",
        request: "is_anagram(a, b) says whether two words have the same letters, whatever their case",
        function: "is_anagram",
        checks: &[
            ("\"Listen\", \"silent\"", "True"),
            ("\"aab\", \"abb\"", "False"),
            ("\"a\", \"aa\"", "False"),
        ],
        languages: PYTHON,
    },
    Kata {
        name: "run_length",
        request: "encode(text) writes each run of the same letter as the letter and its count: encode(\"aaab\") == \
                  \"a3b1\", encode(\"abc\") == \"a1b1c1\", encode(\"\") == \"\"",
        function: "encode",
        checks: &[("\"zzzz\"", "\"z4\""), ("\"aabbaa\"", "\"a2b2a2\""), ("\"\"", "\"\"")],
        languages: ALL,
    },
    Kata {
        name: "caesar",
        request: "caesar(text, shift) shifts each lower-case letter by so many places in the alphabet, from z on to a, and \
                  keeps everything else: caesar(\"abc\", 1) == \"bcd\", caesar(\"xyz\", 3) == \"abc\", caesar(\"a b!\", 2) \
                  == \"c d!\"",
        function: "caesar",
        checks: &[
            ("\"hello, z!\", 1", "\"ifmmp, a!\""),
            ("\"abc\", 26", "\"abc\""),
            ("\"Abc\", 1", "\"Acd\""),
        ],
        languages: PYTHON,
    },
    Kata {
        name: "digit_sum",
        request: "digit_sum(n) returns the sum of the decimal digits of a whole number",
        function: "digit_sum",
        checks: &[("0", "0"), ("987", "24"), ("10001", "2")],
        languages: ALL,
    },
    Kata {
        name: "is_palindrome",
        request: "is_palindrome(text) says whether a text reads the same backwards, ignoring case, spaces and punctuation",
        function: "is_palindrome",
        checks: &[
            ("\"A man, a plan, a canal: Panama!\"", "True"),
            ("\"ab\"", "False"),
            ("\"\"", "True"),
        ],
        languages: ALL,
    },
    Kata {
        name: "median",
        request: "median(numbers) returns the middle of a list of numbers, the mean of the two middle ones when their count \
                  is even",
        function: "median",
        checks: &[("[3, 1, 2]", "2"), ("[4, 1, 3, 2]", "2.5"), ("[7]", "7")],
        languages: PYTHON,
    },
    Kata {
        name: "to_fahrenheit",
        request: "to_fahrenheit(celsius) converts degrees Celsius to degrees Fahrenheit",
        function: "to_fahrenheit",
        checks: &[("0", "32"), ("100", "212"), ("-40", "-40")],
        languages: PYTHON,
    },
];
