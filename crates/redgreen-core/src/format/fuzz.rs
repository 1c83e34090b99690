//! Feeds the parsers bytes that no runner writes: damaged reports, and noise made of a format's
//! keywords. Deterministic, so that failures are reproducible.

use super::{
    MESSAGE_BYTES_MAX, cobertura, go_cover, go_json, gtest_json, jacoco, junit, lcov, phpunit_list,
    stream, tap,
};
use crate::framework::samples;

/// How many damaged copies of each seed to try.
const ROUNDS: usize = 10;
const SEED_BYTES_MAX: usize = 16 << 10;

/// Integer limits, values just beyond them, and texts that some parsers read as numbers.
const NUMBERS: &[&str] = &[
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "-1",
    "1e999",
    "nan",
    "2147483648",
];

/// A small random number generator (xorshift) with the same results on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

/// A copy with one bit flipped.
pub(crate) fn flipped(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    let at = random.below(copy.len());
    if let Some(byte) = copy.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
    copy
}

/// A copy with a few pieces flipped, dropped, doubled, moved or enlarged.
pub(crate) fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let start = random.below(copy.len());
        let end = (start + random.below(64)).min(copy.len());
        let piece = copy[start..end].to_vec();
        match random.below(6) {
            0 => copy = flipped(&copy, random),
            1 => drop(copy.drain(start..end)),
            2 => drop(copy.splice(start..start, piece.repeat(3))),
            3 => copy.truncate(start),
            4 => drop(copy.splice(start..start, [0xff, 0xfe, 0, b'<', b'"', b'&', b'{', b'\n'])),
            _ => renumber(&mut copy, start, random),
        }
    }
    copy
}

/// Replaces the next number with a problematic one.
fn renumber(bytes: &mut Vec<u8>, from: usize, random: &mut Random) {
    let number = NUMBERS[random.below(NUMBERS.len())];
    let Some(start) = bytes.iter().skip(from).position(u8::is_ascii_digit).map(|at| from + at)
    else {
        return;
    };
    let length = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(start..start + length, number.bytes());
}

/// All captured reports and stdouts with one of these endings.
fn seeds(endings: &[&str]) -> Vec<Vec<u8>> {
    let samples = samples::every();
    let reports = samples.iter().flat_map(|sample| &sample.reports);
    let fitting = reports.filter(|report| endings.iter().any(|end| report.name.ends_with(end)));
    let seeds: Vec<Vec<u8>> = fitting.map(|report| report.text.as_bytes().to_vec()).collect();
    assert!(!seeds.is_empty(), "no sample ends with {endings:?}");
    seeds.into_iter().filter(|seed| seed.len() <= SEED_BYTES_MAX).collect()
}

/// Damages each seed repeatedly; `parse` returns the length of the longest text it kept.
fn attack(seeds: &[Vec<u8>], parse: impl Fn(&[u8]) -> usize) {
    let mut random = Random::new(0x5eed);
    for seed in seeds {
        for _ in 0..ROUNDS {
            let kept = parse(&damaged(seed, &mut random));
            assert!(kept <= 2 * MESSAGE_BYTES_MAX, "kept {kept} bytes of one text");
        }
    }
}

fn longest<'a>(texts: impl IntoIterator<Item = &'a str>) -> usize {
    texts.into_iter().map(str::len).max().unwrap_or_default()
}

fn junit_keeps(bytes: &[u8]) -> usize {
    let document = junit::parse(bytes);
    let details = document
        .cases
        .telling()
        .flat_map(|case| [&case.failure, &case.error, &case.skipped])
        .flatten();
    let texts = details.flat_map(|detail| {
        [detail.text.head.as_str(), detail.text.tail.as_str(), detail.class.as_str()]
    });
    let outputs = document
        .cases
        .telling()
        .filter_map(|case| case.system_out.as_deref())
        .map(|kept| kept.tail.as_str());
    let names = document.cases.iter().filter_map(|case| Some(case.name.as_ref()?.len()));
    longest(texts.chain(outputs)).max(names.max().unwrap_or_default())
}

fn tap_keeps(bytes: &[u8]) -> usize {
    let tap = tap::parse(bytes);
    longest(
        tap.points.iter().flat_map(|point| [point.description.as_str(), point.diagnostic.as_str()]),
    )
}

fn go_keeps(bytes: &[u8]) -> usize {
    let stream = go_json::parse(bytes);
    longest(stream.tests.iter().flat_map(|test| [test.output.as_str(), test.error.as_str()]))
}

#[test]
fn junit_survives() {
    attack(&seeds(&[".xml"]), junit_keeps);
    let text = "x&lt;".repeat(1 << 16);
    for place in ["failure", "error", "skipped", "system-out"] {
        let document = format!(
            "<testsuite><testcase name='a'><{place}>{text}</{place}></testcase></testsuite>"
        );
        assert!(junit_keeps(document.as_bytes()) <= 2 * MESSAGE_BYTES_MAX, "{place}");
    }
    assert!(!junit::parse("<testsuite>".repeat(10_000).as_bytes()).complete);
}

#[test]
fn lists_survive() {
    attack(&seeds(&[".xml"]), |bytes| phpunit_list::parse(bytes).len().min(1));
}

#[test]
fn gtest_json_survives() {
    attack(&seeds(&[".json"]), |bytes| {
        let tests = gtest_json::parse(bytes, str::to_owned).unwrap_or_default();
        longest(
            tests
                .iter()
                .flat_map(|test| [test.id.as_str(), test.message.as_deref().unwrap_or_default()]),
        )
    });
}

#[test]
fn tap_survives() {
    attack(&seeds(&[".tap"]), tap_keeps);
    let comment = format!("ok 1\n# {}\n", "x".repeat(1 << 20)).repeat(3);
    assert!(tap_keeps(comment.as_bytes()) <= MESSAGE_BYTES_MAX);
}

#[test]
fn go_json_survives() {
    let samples = samples::all("go-test127");
    attack(
        &samples.iter().map(|sample| sample.stdout.as_bytes().to_vec()).collect::<Vec<_>>(),
        go_keeps,
    );
}

#[test]
fn the_stream_survives() {
    attack(&seeds(&[".jsonl"]), |bytes| {
        let stream = stream::Stream::read(bytes);
        let tests = stream.tests(crate::report::Exit::Code(0), |_| crate::report::Status::Passed);
        longest(tests.iter().filter_map(|test| test.message.as_deref()))
    });
}

#[test]
fn coverage_survives() {
    attack(&seeds(&["lcov", ".info"]), |bytes| lcov::parse(bytes).files.len().min(1));
    attack(&seeds(&["cobertura-coverage.xml", "cobertura.xml"]), |bytes| {
        cobertura::parse(bytes).files.len().min(1)
    });
    attack(&[jacoco::SAMPLE.as_bytes().to_vec()], |bytes| jacoco::parse(bytes).files.len().min(1));
    attack(&seeds(&[".out"]), |bytes| go_cover::parse(bytes).files.len().min(1));
}
