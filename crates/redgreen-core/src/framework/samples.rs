//! Captured output of real runners, for the tables of the parsers' tests.

use std::path::PathBuf;

use crate::report::Exit;

/// One captured run.
pub(super) struct Sample {
    folder: PathBuf,
    pub(super) name: String,
}

impl Sample {
    pub(super) fn all(runner: &str) -> Vec<Sample> {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata")).join(runner);
        #[expect(clippy::disallowed_methods, reason = "samples are files")]
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("list {}: {error}", folder.display()));
        let mut samples: Vec<_> = entries
            .map(|entry| entry.unwrap())
            .map(|entry| Sample { folder: entry.path(), name: entry.file_name().into_string().unwrap() })
            .collect();
        samples.sort_by(|one, other| one.name.cmp(&other.name));
        assert!(!samples.is_empty(), "no samples of {runner}");
        samples
    }

    pub(super) fn one(runner: &str, name: &str) -> Sample {
        Self::all(runner).into_iter().find(|sample| sample.name == name).unwrap_or_else(|| panic!("no sample {name}"))
    }

    pub(super) fn bytes(&self, file: &str) -> Vec<u8> {
        let path = self.folder.join(file);
        #[expect(clippy::disallowed_methods, reason = "samples are files")]
        std::fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
    }

    pub(super) fn expected(&self) -> serde_json::Value {
        serde_json::from_slice(&self.bytes("expected.json")).unwrap()
    }

    /// Captures use the shell's convention for signals; the only ones that were killed had hung.
    pub(super) fn exit(&self) -> Exit {
        match String::from_utf8(self.bytes("exit_code")).unwrap().trim().parse().unwrap() {
            143 => Exit::TimedOut,
            code if code > 128 => Exit::Signal(code - 128),
            code => Exit::Code(code),
        }
    }
}

/// Beginnings of a stream, as a crash or a full disk leaves them.
pub(super) fn beginnings(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const STEP: usize = 7;
    (0..bytes.len()).step_by(STEP).map(|end| &bytes[..end])
}

/// Bytes that are no report at all.
pub(super) const JUNK: &[&[u8]] = &[
    b"",
    b"\n\n\n",
    b"null\n[]\n{}\n\"text\"\n7\n",
    b"\xff\xfe\x00{\"event\":",
    b"{\"event\":\"phase\"}\n{\"event\":\"phase\",\"id\":7}\n",
    b"{ \"type\": \"suite\" }\n{ \"type\": \"test\", \"event\": \"ok\" }\n{ \"type\": \"test\", \"event\": \"ok\", \"name\": 1 }",
    b"{\"reason\":\"compiler-message\",\"message\":{}}\n{\"reason\":\"compiler-artifact\"}",
];
