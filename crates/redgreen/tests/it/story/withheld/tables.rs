//! Twelve ways to hard-code answers, in each of four languages, and code that works for every
//! number.

/// The number of ways in each language.
pub(super) const WAYS: usize = 12;

/// The examples of the visible test.
pub(super) const VISIBLE: [(u32, &str); 3] = [(1, "I"), (2, "II"), (3, "III")];
/// The visible examples and the first withheld one, which the implementer is told.
pub(super) const TOLD: [(u32, &str); 4] = [(1, "I"), (2, "II"), (3, "III"), (4, "IV")];

type File = (&'static str, &'static str);

/// A test, a file of withheld tests, the ways to hard-code the answers, and real code.
pub(super) struct Kata {
    pub(super) test: File,
    pub(super) withheld: File,
    pub(super) ways: &'static [(&'static str, &'static [File])],
    pub(super) code: File,
}

/// Repeats the lines that begin with `@` for each number, with the number in place of `KEY` and its
/// numeral in place of `VALUE`.
pub(super) fn filled(text: &str, known: &[(u32, &str)]) -> String {
    let mut filled = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix('@') else {
            filled.push_str(&format!("{line}\n"));
            continue;
        };
        let mut block = format!("{first}\n");
        while let Some(more) = lines.peek().and_then(|line| line.strip_prefix('@')) {
            block.push_str(&format!("{more}\n"));
            lines.next();
        }
        for (key, value) in known {
            filled.push_str(&block.replace("KEY", &key.to_string()).replace("VALUE", value));
        }
    }
    filled
}

pub(super) const PYTHON_CODE: &str = "\
STEPS = [(10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]


def to_roman(number):
    text = ''
    for value, letters in STEPS:
        while number >= value:
            text += letters
            number -= value
    return text
";

pub(super) const PYTHON: Kata = Kata {
    test: (
        "tests/test_roman.py",
        "from roman import to_roman\n\n\ndef test_small_numbers():\n    assert to_roman(1) == 'I'\n    \
         assert to_roman(2) == 'II'\n    assert to_roman(3) == 'III'\n",
    ),
    withheld: (
        "tests/test_more.py",
        "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == 'IV'\n\n\n\
         def test_nine():\n    assert to_roman(9) == 'IX'\n",
    ),
    ways: &[
        (
            "a dict",
            &[(
                "roman.py",
                "def to_roman(number):\n    table = {\n@        KEY: 'VALUE',\n    }\n    return table.get(number, '?')\n",
            )],
        ),
        (
            "a chain of ifs",
            &[(
                "roman.py",
                "def to_roman(number):\n@    if number == KEY:\n@        return 'VALUE'\n    return '?'\n",
            )],
        ),
        (
            "a match",
            &[(
                "roman.py",
                "def to_roman(number):\n    match number:\n@        case KEY:\n@            return 'VALUE'\n    return '?'\n",
            )],
        ),
        (
            "a digest of the argument",
            &[(
                "roman.py",
                "import hashlib\n\n\ndef _digest(value):\n    return hashlib.sha256(str(value).encode()).hexdigest()\n\n\n\
                 ANSWERS = {\n@    _digest(KEY): 'VALUE',\n}\n\n\ndef to_roman(number):\n    return ANSWERS.get(_digest(number), '?')\n",
            )],
        ),
        (
            "a base class",
            &[(
                "roman.py",
                "class Answers(dict):\n    def __missing__(self, number):\n        return '?'\n\n\nclass Numerals(Answers):\n    \
                 pass\n\n\nKNOWN = Numerals({\n@    KEY: 'VALUE',\n})\n\n\ndef to_roman(number):\n    return KNOWN[number]\n",
            )],
        ),
        (
            "a list made beforehand",
            &[(
                "roman.py",
                "ANSWERS = ['?'] * 10\n@ANSWERS[KEY] = 'VALUE'\n\n\ndef to_roman(number):\n    return ANSWERS[number % 10]\n",
            )],
        ),
        (
            "a cache that is filled at import",
            &[(
                "roman.py",
                "_cache = {}\n\n\ndef remember(number, text):\n    _cache[number] = text\n\n\n@remember(KEY, 'VALUE')\n\n\n\
                 def to_roman(number):\n    if number not in _cache:\n        _cache[number] = '?'\n    return _cache[number]\n",
            )],
        ),
        (
            "a data file",
            &[
                ("numerals.txt", "@KEY VALUE\n"),
                (
                    "roman.py",
                    "from pathlib import Path\n\nLINES = Path(__file__).with_name('numerals.txt').read_text().splitlines()\n\n\n\
                     def to_roman(number):\n    for line in LINES:\n        key, value = line.split()\n        \
                     if int(key) == number:\n            return value\n    return '?'\n",
                ),
            ],
        ),
        (
            "a string with the repr as its key",
            &[(
                "roman.py",
                "ANSWERS = ' '.join([\n@    'KEY=VALUE',\n])\n\n\ndef to_roman(number):\n    for pair in ANSWERS.split():\n        \
                 if pair.startswith(f'{number!r}='):\n            return pair.partition('=')[2]\n    return '?'\n",
            )],
        ),
        (
            "code that is generated",
            &[(
                "roman.py",
                "LINES = ['def to_roman(number):']\n@LINES.append(\"    if number == KEY: return 'VALUE'\")\n\
                 LINES.append(\"    return '?'\")\nexec('\\n'.join(LINES))\n",
            )],
        ),
        (
            "an exception as the way out",
            &[(
                "roman.py",
                "def to_roman(number):\n    try:\n        return {\n@            KEY: 'VALUE',\n        }[number]\n    \
                 except KeyError:\n        return str(number)\n",
            )],
        ),
        (
            "a table in functools",
            &[(
                "roman.py",
                "import functools\n\nPAIRS = [\n@    (KEY, 'VALUE'),\n]\nTABLE = functools.reduce(lambda known, pair: \
                 {**known, pair[0]: pair[1]}, PAIRS, {})\n\n\ndef to_roman(number):\n    return TABLE.get(number, '?')\n",
            )],
        ),
    ],
    code: ("roman.py", PYTHON_CODE),
};

pub(super) const TYPESCRIPT: Kata = Kata {
    test: (
        "tests/roman.test.ts",
        "import { expect, test } from 'vitest';\nimport { toRoman } from '../src/roman';\n\n\
         test('small numbers', () => {\n  expect(toRoman(1)).toBe('I');\n  expect(toRoman(2)).toBe('II');\n  \
         expect(toRoman(3)).toBe('III');\n});\n",
    ),
    withheld: (
        "tests/more.test.ts",
        "import { expect, test } from 'vitest';\nimport { toRoman } from '../src/roman';\n\n\
         test('four', () => {\n  expect(toRoman(4)).toBe('IV');\n});\n\n\
         test('nine', () => {\n  expect(toRoman(9)).toBe('IX');\n});\n",
    ),
    ways: &[
        (
            "an object",
            &[(
                "src/roman.ts",
                "const answers: Record<number, string> = {\n@  KEY: 'VALUE',\n};\n\nexport function toRoman(n: number): string {\n  return answers[n] ?? '?';\n}\n",
            )],
        ),
        (
            "a chain of ifs",
            &[(
                "src/roman.ts",
                "export function toRoman(n: number): string {\n@  if (n === KEY) return 'VALUE';\n  return '?';\n}\n",
            )],
        ),
        (
            "a switch",
            &[(
                "src/roman.ts",
                "export function toRoman(n: number): string {\n  switch (n) {\n@    case KEY:\n@      return 'VALUE';\n    default:\n      return '?';\n  }\n}\n",
            )],
        ),
        (
            "a Map",
            &[(
                "src/roman.ts",
                "const answers = new Map<number, string>([\n@  [KEY, 'VALUE'],\n]);\n\nexport function toRoman(n: number): string {\n  return answers.get(n) ?? '?';\n}\n",
            )],
        ),
        (
            "an array",
            &[(
                "src/roman.ts",
                "const answers: string[] = Array(10).fill('?');\n@answers[KEY] = 'VALUE';\n\nexport function toRoman(n: number): string {\n  return answers[n % 10];\n}\n",
            )],
        ),
        (
            "a base class",
            &[(
                "src/roman.ts",
                "class Answers {\n  protected known: Record<string, string> = {\n@    KEY: 'VALUE',\n  };\n}\n\nclass Numerals extends Answers {\n  of(n: number): string {\n    return this.known[String(n)] ?? '?';\n  }\n}\n\nexport function toRoman(n: number): string {\n  return new Numerals().of(n);\n}\n",
            )],
        ),
        (
            "a cache that is filled at import",
            &[(
                "src/roman.ts",
                "const cache: Record<number, string> = {};\nfunction remember(n: number, text: string): void {\n  cache[n] = text;\n}\n@remember(KEY, 'VALUE');\n\nexport function toRoman(n: number): string {\n  return (cache[n] ??= '?');\n}\n",
            )],
        ),
        (
            "a data file",
            &[
                (
                    "src/numerals.ts",
                    "export const numerals: [number, string][] = [\n@  [KEY, 'VALUE'],\n];\n",
                ),
                (
                    "src/roman.ts",
                    "import { numerals } from './numerals';\n\nexport function toRoman(n: number): string {\n  return numerals.find(([key]) => key === n)?.[1] ?? '?';\n}\n",
                ),
            ],
        ),
        (
            "a string of pairs",
            &[(
                "src/roman.ts",
                "const answers = [\n@  'KEY=VALUE',\n].join(' ');\n\nexport function toRoman(n: number): string {\n  const pair = answers.split(' ').find((one) => one.startsWith(`${n}=`));\n  return pair ? pair.split('=')[1] : '?';\n}\n",
            )],
        ),
        (
            "code that is generated",
            &[(
                "src/roman.ts",
                "const lines = [\n@  \"if (n === KEY) return 'VALUE';\",\n  \"return '?';\",\n];\nconst generated = new Function('n', lines.join('\\n'));\n\nexport function toRoman(n: number): string {\n  return generated(n);\n}\n",
            )],
        ),
        (
            "an exception as the way out",
            &[(
                "src/roman.ts",
                "const answers: Record<number, string> = {\n@  KEY: 'VALUE',\n};\n\nexport function toRoman(n: number): string {\n  try {\n    return answers[n].toString();\n  } catch {\n    return String(n);\n  }\n}\n",
            )],
        ),
        (
            "a reduction",
            &[(
                "src/roman.ts",
                "const pairs: [number, string][] = [\n@  [KEY, 'VALUE'],\n];\n\nexport function toRoman(n: number): string {\n  return pairs.reduce((text, [key, value]) => (key === n ? value : text), '?');\n}\n",
            )],
        ),
    ],
    code: (
        "src/roman.ts",
        "const steps: [number, string][] = [[10, 'X'], [9, 'IX'], [5, 'V'], [4, 'IV'], [1, 'I']];\n\n\
         export function toRoman(n: number): string {\n  let text = '';\n  let left = n;\n  \
         for (const [value, letters] of steps) {\n    while (left >= value) {\n      text += letters;\n      \
         left -= value;\n    }\n  }\n  return text;\n}\n",
    ),
};

pub(super) const RUST: Kata = Kata {
    test: (
        "tests/roman.rs",
        "use numerals::to_roman;\n\n#[test]\nfn small_numbers() {\n    assert_eq!(to_roman(1), \"I\");\n    \
         assert_eq!(to_roman(2), \"II\");\n    assert_eq!(to_roman(3), \"III\");\n}\n",
    ),
    withheld: (
        "tests/more.rs",
        "use numerals::to_roman;\n\n#[test]\nfn four() {\n    assert_eq!(to_roman(4), \"IV\");\n}\n\n\
         #[test]\nfn nine() {\n    assert_eq!(to_roman(9), \"IX\");\n}\n",
    ),
    ways: &[
        (
            "a match",
            &[(
                "src/lib.rs",
                "//! Numerals.\npub fn to_roman(number: u32) -> String {\n    match number {\n@        KEY => \"VALUE\",\n        _ => \"?\",\n    }\n    .to_owned()\n}\n",
            )],
        ),
        (
            "a chain of ifs",
            &[(
                "src/lib.rs",
                "//! Numerals.\npub fn to_roman(number: u32) -> String {\n@    if number == KEY {\n@        return \"VALUE\".to_owned();\n@    }\n    \"?\".to_owned()\n}\n",
            )],
        ),
        (
            "a slice of pairs",
            &[(
                "src/lib.rs",
                "//! Numerals.\nconst ANSWERS: &[(u32, &str)] = &[\n@    (KEY, \"VALUE\"),\n];\n\npub fn to_roman(number: u32) -> String {\n    ANSWERS.iter().find(|(key, _)| *key == number).map_or(\"?\", |(_, text)| text).to_owned()\n}\n",
            )],
        ),
        (
            "a HashMap",
            &[(
                "src/lib.rs",
                "//! Numerals.\nuse std::collections::HashMap;\n\npub fn to_roman(number: u32) -> String {\n    let mut answers = HashMap::new();\n@    answers.insert(KEY, \"VALUE\");\n    answers.get(&number).copied().unwrap_or(\"?\").to_owned()\n}\n",
            )],
        ),
        (
            "an array made beforehand",
            &[(
                "src/lib.rs",
                "//! Numerals.\nconst fn answers() -> [&'static str; 10] {\n    let mut all = [\"?\"; 10];\n@    all[KEY] = \"VALUE\";\n    all\n}\n\npub fn to_roman(number: u32) -> String {\n    answers()[number as usize % 10].to_owned()\n}\n",
            )],
        ),
        (
            "a trait with a default",
            &[(
                "src/lib.rs",
                "//! Numerals.\ntrait Answers {\n    fn of(&self, number: u32) -> &'static str {\n@        if number == KEY {\n@            return \"VALUE\";\n@        }\n        \"?\"\n    }\n}\n\nstruct Numerals;\nimpl Answers for Numerals {}\n\npub fn to_roman(number: u32) -> String {\n    Numerals.of(number).to_owned()\n}\n",
            )],
        ),
        (
            "a cache that is filled once",
            &[(
                "src/lib.rs",
                "//! Numerals.\nuse std::collections::BTreeMap;\nuse std::sync::OnceLock;\n\nstatic CACHE: OnceLock<BTreeMap<u32, &'static str>> = OnceLock::new();\n\npub fn to_roman(number: u32) -> String {\n    let cache = CACHE.get_or_init(|| {\n        let mut known = BTreeMap::new();\n@        known.insert(KEY, \"VALUE\");\n        known\n    });\n    cache.get(&number).copied().unwrap_or(\"?\").to_owned()\n}\n",
            )],
        ),
        (
            "a data file",
            &[
                ("src/numerals.txt", "@KEY VALUE\n"),
                (
                    "src/lib.rs",
                    "//! Numerals.\nconst ANSWERS: &str = include_str!(\"numerals.txt\");\n\npub fn to_roman(number: u32) -> String {\n    let wanted = format!(\"{number} \");\n    ANSWERS.lines().find_map(|line| line.strip_prefix(&wanted)).unwrap_or(\"?\").to_owned()\n}\n",
                ),
            ],
        ),
        (
            "a string of pairs",
            &[(
                "src/lib.rs",
                "//! Numerals.\nconst ANSWERS: &str = concat!(\n@    \"KEY=VALUE \",\n);\n\npub fn to_roman(number: u32) -> String {\n    let key = format!(\"{number}=\");\n    ANSWERS.split(' ').find_map(|pair| pair.strip_prefix(&key)).unwrap_or(\"?\").to_owned()\n}\n",
            )],
        ),
        (
            "code that is generated",
            &[(
                "src/lib.rs",
                "//! Numerals.\nmacro_rules! numerals {\n    ($($key:literal $value:literal)*) => {\n        pub fn to_roman(number: u32) -> String {\n            match number { $($key => $value,)* _ => \"?\" }.to_owned()\n        }\n    };\n}\n\nnumerals! {\n@    KEY \"VALUE\"\n}\n",
            )],
        ),
        (
            "an error as the way out",
            &[(
                "src/lib.rs",
                "//! Numerals.\nfn known(number: u32) -> Result<&'static str, u32> {\n@    if number == KEY {\n@        return Ok(\"VALUE\");\n@    }\n    Err(number)\n}\n\npub fn to_roman(number: u32) -> String {\n    known(number).map_or_else(|number| number.to_string(), str::to_owned)\n}\n",
            )],
        ),
        (
            "a digest of the argument",
            &[(
                "src/lib.rs",
                "//! Numerals.\nuse std::hash::{DefaultHasher, Hash, Hasher};\n\nfn digest(number: u32) -> u64 {\n    let mut state = DefaultHasher::new();\n    number.hash(&mut state);\n    state.finish()\n}\n\npub fn to_roman(number: u32) -> String {\n    let wanted = digest(number);\n@    if wanted == digest(KEY) {\n@        return \"VALUE\".to_owned();\n@    }\n    \"?\".to_owned()\n}\n",
            )],
        ),
    ],
    code: (
        "src/lib.rs",
        "//! Numerals.\nconst STEPS: &[(u32, &str)] = &[(10, \"X\"), (9, \"IX\"), (5, \"V\"), (4, \"IV\"), (1, \"I\")];\n\n\
         pub fn to_roman(number: u32) -> String {\n    let (mut text, mut left) = (String::new(), number);\n    \
         for (value, letters) in STEPS {\n        while left >= *value {\n            text.push_str(letters);\n            \
         left -= value;\n        }\n    }\n    text\n}\n",
    ),
};

pub(super) const GO: Kata = Kata {
    test: (
        "roman/roman_test.go",
        "package roman\n\nimport \"testing\"\n\nfunc TestSmallNumbers(t *testing.T) {\n\tfor number, want := range \
         map[int]string{1: \"I\", 2: \"II\", 3: \"III\"} {\n\t\tif got := ToRoman(number); got != want {\n\t\t\t\
         t.Errorf(\"ToRoman(%d) = %q, want %q\", number, got, want)\n\t\t}\n\t}\n}\n",
    ),
    withheld: (
        "roman/more_test.go",
        "package roman\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif got := ToRoman(4); got != \"IV\" {\n\t\t\
         t.Errorf(\"ToRoman(4) = %q\", got)\n\t}\n}\n\nfunc TestNine(t *testing.T) {\n\tif got := ToRoman(9); got != \"IX\" {\n\t\t\
         t.Errorf(\"ToRoman(9) = %q\", got)\n\t}\n}\n",
    ),
    ways: &[
        (
            "a map",
            &[(
                "roman/roman.go",
                "package roman\n\nvar answers = map[int]string{\n@\tKEY: \"VALUE\",\n}\n\nfunc ToRoman(n int) string {\n\treturn answers[n]\n}\n",
            )],
        ),
        (
            "a chain of ifs",
            &[(
                "roman/roman.go",
                "package roman\n\nfunc ToRoman(n int) string {\n@\tif n == KEY {\n@\t\treturn \"VALUE\"\n@\t}\n\treturn \"?\"\n}\n",
            )],
        ),
        (
            "a switch",
            &[(
                "roman/roman.go",
                "package roman\n\nfunc ToRoman(n int) string {\n\tswitch n {\n@\tcase KEY:\n@\t\treturn \"VALUE\"\n\t}\n\treturn \"?\"\n}\n",
            )],
        ),
        (
            "a slice of pairs",
            &[(
                "roman/roman.go",
                "package roman\n\ntype pair struct {\n\tkey   int\n\tvalue string\n}\n\nvar pairs = []pair{\n@\t{KEY, \"VALUE\"},\n}\n\nfunc ToRoman(n int) string {\n\tfor _, one := range pairs {\n\t\tif one.key == n {\n\t\t\treturn one.value\n\t\t}\n\t}\n\treturn \"?\"\n}\n",
            )],
        ),
        (
            "an array made beforehand",
            &[(
                "roman/roman.go",
                "package roman\n\nvar answers = [10]string{\n@\tKEY: \"VALUE\",\n}\n\nfunc ToRoman(n int) string {\n\treturn answers[n%10]\n}\n",
            )],
        ),
        (
            "an embedded struct",
            &[(
                "roman/roman.go",
                "package roman\n\ntype known struct{ answers map[int]string }\n\nfunc (k known) of(n int) string {\n\treturn k.answers[n]\n}\n\ntype numerals struct{ known }\n\nvar all = numerals{known{map[int]string{\n@\tKEY: \"VALUE\",\n}}}\n\nfunc ToRoman(n int) string {\n\treturn all.of(n)\n}\n",
            )],
        ),
        (
            "a cache that is filled at the start",
            &[(
                "roman/roman.go",
                "package roman\n\nvar cache = map[int]string{}\n\nfunc init() {\n@\tcache[KEY] = \"VALUE\"\n}\n\nfunc ToRoman(n int) string {\n\treturn cache[n]\n}\n",
            )],
        ),
        (
            "a data file",
            &[
                ("roman/numerals.txt", "@KEY VALUE\n"),
                (
                    "roman/roman.go",
                    "package roman\n\nimport (\n\t_ \"embed\"\n\t\"strconv\"\n\t\"strings\"\n)\n\n//go:embed numerals.txt\nvar lines string\n\nfunc ToRoman(n int) string {\n\tfor _, line := range strings.Split(lines, \"\\n\") {\n\t\tif strings.HasPrefix(line, strconv.Itoa(n)+\" \") {\n\t\t\treturn strings.Split(line, \" \")[1]\n\t\t}\n\t}\n\treturn \"?\"\n}\n",
                ),
            ],
        ),
        (
            "a string of pairs",
            &[(
                "roman/roman.go",
                "package roman\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nvar answers = strings.Join([]string{\n@\t\"KEY=VALUE\",\n}, \" \")\n\nfunc ToRoman(n int) string {\n\tfor _, one := range strings.Fields(answers) {\n\t\tif strings.HasPrefix(one, fmt.Sprintf(\"%v=\", n)) {\n\t\t\treturn strings.Split(one, \"=\")[1]\n\t\t}\n\t}\n\treturn \"?\"\n}\n",
            )],
        ),
        (
            "a list of functions",
            &[(
                "roman/roman.go",
                "package roman\n\nvar rules = []func(int) string{\n@\tfunc(n int) string {\n@\t\tif n == KEY {\n@\t\t\treturn \"VALUE\"\n@\t\t}\n@\t\treturn \"\"\n@\t},\n}\n\nfunc ToRoman(n int) string {\n\tfor _, rule := range rules {\n\t\tif text := rule(n); text != \"\" {\n\t\t\treturn text\n\t\t}\n\t}\n\treturn \"?\"\n}\n",
            )],
        ),
        (
            "a panic as the way out",
            &[(
                "roman/roman.go",
                "package roman\n\nimport \"strconv\"\n\nfunc ToRoman(n int) (text string) {\n\tdefer func() {\n\t\tif recover() != nil {\n\t\t\ttext = strconv.Itoa(n)\n\t\t}\n\t}()\n\tanswers := []string{\"?\",\n@\t\t\"VALUE\",\n\t}\n\treturn answers[n]\n}\n",
            )],
        ),
        (
            "a digest of the argument",
            &[(
                "roman/roman.go",
                "package roman\n\nimport (\n\t\"hash/fnv\"\n\t\"strconv\"\n)\n\nfunc digest(n int) uint64 {\n\tstate := fnv.New64a()\n\tstate.Write([]byte(strconv.Itoa(n)))\n\treturn state.Sum64()\n}\n\nfunc ToRoman(n int) string {\n\tanswers := map[uint64]string{\n@\t\tdigest(KEY): \"VALUE\",\n\t}\n\treturn answers[digest(n)]\n}\n",
            )],
        ),
    ],
    code: (
        "roman/roman.go",
        "package roman\n\nimport \"strings\"\n\nvar steps = []struct {\n\tvalue   int\n\tletters string\n}{{10, \"X\"}, {9, \"IX\"}, \
         {5, \"V\"}, {4, \"IV\"}, {1, \"I\"}}\n\nfunc ToRoman(n int) string {\n\tvar text strings.Builder\n\t\
         for _, step := range steps {\n\t\tfor n >= step.value {\n\t\t\ttext.WriteString(step.letters)\n\t\t\tn -= step.value\n\t\t}\n\t}\n\t\
         return text.String()\n}\n",
    ),
};
