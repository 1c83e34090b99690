//! What tests need from outside the clean room: variables, and services on this machine's loopback.

use std::ffi::OsString;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::{FILE, Fence, Test};
use crate::failure::Failure;

/// Variables set by the room. With other values the tests would use other tools, or write
/// elsewhere.
const SET_BY_THE_ROOM: &[&str] = &["PATH", "HOME", "TMPDIR", "CARGO_TARGET_DIR"];
/// The prefix of our own variables.
const OURS: &str = "REDGREEN_";
/// The maximum number of forwarded services.
const SERVICES_MAX: usize = 32;
/// Shorter values appear in too many words by chance, so they are not removed from texts.
const SECRET_CHARS_MIN: usize = 4;
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1"];

/// What tests get in addition to their environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestInputs {
    pub variables: Vec<(OsString, OsString)>,
    /// Values that no report may contain.
    pub secrets: Vec<String>,
    /// Loopback ports of this machine.
    pub services: Vec<u16>,
    /// Variables to pass that are not set.
    pub unset: Vec<String>,
}

impl Test {
    /// What the settings give the tests. `doctor` reports variables that are not set.
    pub fn provided(&self) -> Result<TestInputs> {
        let mut provided = self.for_agents()?;
        for name in &self.env_pass {
            check_name(name, "test.env-pass")?;
            match super::variable(name) {
                Some(value) => {
                    let text = value.to_string_lossy().into_owned();
                    provided
                        .secrets
                        .extend(Some(text).filter(|text| text.chars().count() >= SECRET_CHARS_MIN));
                    provided.variables.push((name.into(), value));
                }
                None => provided.unset.push(name.clone()),
            }
        }
        Ok(provided)
    }

    /// Like `provided`, for tests run by an agent that sees their output and files: without the
    /// user's own variables.
    pub fn for_agents(&self) -> Result<TestInputs> {
        for name in self.env.keys() {
            check_name(name, "test.env")?;
        }
        let services =
            self.services.iter().map(|service| port(service)).collect::<Result<Vec<u16>>>()?;
        if services.len() > SERVICES_MAX {
            return Err(wrong(&format!(
                "test.services has {} ports; at most {SERVICES_MAX} are allowed",
                services.len()
            )));
        }
        let variables = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Ok(TestInputs { variables, services, ..TestInputs::default() })
    }

    /// Identifies settings under which the same tree may have different results; empty for the
    /// default settings.
    pub fn key(&self) -> Result<String> {
        let Self {
            command,
            report,
            format,
            fence,
            env,
            env_pass,
            services,
            max_pass_ratio: _,
            mutants: _,
        } = self;
        let is_usual =
            command.is_none() && *fence == Fence::Auto && env.is_empty() && services.is_empty();
        if is_usual && env_pass.is_empty() {
            return Ok(String::new());
        }
        let mut hash = Sha256::new();
        hash.update(format!("{command:?} {report:?} {format:?} {fence:?} {services:?}"));
        for (name, value) in self.provided()?.variables {
            hash.update([name.as_encoded_bytes(), b"=", value.as_encoded_bytes(), b"\0"].concat());
        }
        let name: String =
            hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(name)
    }
}

fn wrong(what: &str) -> anyhow::Error {
    Failure::usage(what.to_owned())
        .next(format!("correct [test] in {FILE}; redgreen config shows where it is set"))
        .into()
}

fn check_name(name: &str, key: &str) -> Result<()> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty()
        || !name.chars().all(is_letter)
        || name.starts_with(|first: char| first.is_ascii_digit())
    {
        return Err(wrong(&format!("{key} has {name:?}, which is not a valid variable name")));
    }
    if SET_BY_THE_ROOM.contains(&name) || name.starts_with(OURS) {
        return Err(wrong(&format!("{key} has {name}, which redgreen sets itself")));
    }
    Ok(())
}

/// Parses `5432`, `localhost:5432` or `127.0.0.1:5432`.
fn port(service: &str) -> Result<u16> {
    let (host, number) = service.rsplit_once(':').unwrap_or(("localhost", service));
    let number = number.parse::<u16>().ok().filter(|port| *port > 0 && LOOPBACK.contains(&host));
    number.ok_or_else(|| {
        wrong(&format!(
            "test.services has {service:?}; it must be a port of this machine: \"5432\" or \"localhost:5432\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::File;

    fn test(text: &str) -> Test {
        File::parse(&format!("[test]\n{text}")).unwrap().test
    }

    #[test]
    fn parses_services() {
        let provided =
            test("services = [\"5432\", \"localhost:6379\", \"127.0.0.1:80\"]").provided().unwrap();
        assert_eq!(provided.services, [5432, 6379, 80]);
        for wrong in ["db:5432", "0", "70000", "example.com:80", "localhost:", ""] {
            assert!(test(&format!("services = [\"{wrong}\"]")).provided().is_err(), "{wrong}");
        }
    }

    #[test]
    fn refuses_reserved_variables() {
        for (text, words) in [
            ("env = { PATH = \"/x\" }", "test.env has PATH, which redgreen sets itself"),
            ("env = { \"A B\" = \"1\" }", "test.env has \"A B\", which is not a valid"),
            ("env-pass = [\"REDGREEN_KILL_AT\"]", "test.env-pass has REDGREEN_KILL_AT"),
        ] {
            let error = test(text).provided().unwrap_err().to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
        let provided =
            test("env = { A = \"1\" }\nenv-pass = [\"NOBODY_SETS_THIS\"]").provided().unwrap();
        assert_eq!((provided.variables.len(), provided.unset.len()), (1, 1));
    }

    #[test]
    fn the_key_depends_on_settings_that_change_verdicts() {
        let keys: Vec<String> = [
            "",
            "mutants = 3",
            "env = { A = \"1\" }",
            "env = { A = \"2\" }",
            "services = [\"80\"]",
        ]
        .iter()
        .map(|text| test(text).key().unwrap())
        .collect();
        assert_eq!((keys[0].as_str(), keys[1].as_str()), ("", ""));
        assert!(keys[2] != keys[3] && keys[3] != keys[4] && !keys[2].is_empty(), "{keys:?}");
    }
}
