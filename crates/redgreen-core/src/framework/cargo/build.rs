//! Parses cargo's JSON messages: the test binaries, the compile errors, and the environment that
//! cargo sets when it starts a test binary.

use serde::Deserialize;

use crate::format::{bounded_head, bounded_tail};
use crate::report::{Exit, LoadError, LoadErrorKind, Stage};

/// rustc's codes for an item that is missing or has another signature: the usual first failure of a
/// test written before the code.
const MISSING_SYMBOL_CODES: &[&str] = &[
    "E0405", // trait
    "E0407", // item of a trait
    "E0046", // item missing in an impl
    "E0412", // type
    "E0422", // struct literal
    "E0423", // value where only a type has the name
    "E0425", // function or value
    "E0432", // import
    "E0433", // path
    "E0437", "E0438", // type or constant of a trait
    "E0531", "E0532", // pattern
    "E0560", "E0609", "E0026", // field
    "E0574", "E0576", // variant or associated item
    "E0583", // module file
    "E0599", // method, associated function, variant
    "E0061", "E0107", "E0277", "E0308", "E0618", // there, with another signature
    "E0057", "E0593", "E0631", // it takes or gives a closure of another form
    "E0023", "E0027", "E0063", // a variant or struct with other fields
    "E0050", "E0053", "E0185", "E0186", "E0220", "E0271", // a trait that has another form
    "E0368", "E0369", "E0600", "E0608", "E0614", // operator
    "E0451", "E0603", "E0616", "E0624", // there, but private
];

/// Errors without a code come from the parser, except for those that start like this.
const WITHOUT_CODE: &[(&str, LoadErrorKind)] = &[
    ("cannot find macro", LoadErrorKind::MissingSymbol),
    ("cannot find attribute", LoadErrorKind::MissingSymbol),
    ("cannot find derive macro", LoadErrorKind::MissingSymbol),
    ("linking with", LoadErrorKind::Other),
    ("proc macro panicked", LoadErrorKind::Other),
    ("proc-macro derive panicked", LoadErrorKind::Other),
    ("custom attribute panicked", LoadErrorKind::Other),
];

/// rustc's summary after the errors that it has already reported.
const SUMMARY: &str = "aborting due to";

/// One build.
#[derive(Debug, Default)]
pub struct Build {
    pub exit: Exit,
    /// `None` if cargo ended without a message about the build.
    pub succeeded: Option<bool>,
    pub binaries: Vec<TestBinary>,
    pub errors: Vec<LoadError>,
    pub scripts: Vec<BuildScript>,
    /// The programs that integration tests can start.
    pub programs: Vec<BuiltProgram>,
    /// The end of cargo's stderr, for the user.
    pub words: String,
    /// The reason why some messages cannot be cargo's.
    pub doubt: Option<String>,
    /// How many messages say that the build finished.
    pub ends: u32,
    /// The toolchain's shared libraries, where a package needs them.
    pub std_folder: Option<String>,
}

/// A test binary that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBinary {
    pub package_id: String,
    pub manifest_path: String,
    pub kind: TargetKind,
    pub target: String,
    pub executable: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Any crate type, including macros.
    Lib,
    Bin,
    Test,
    Example,
    Bench,
}

/// The settings of a package's build script.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildScript {
    pub package_id: String,
    #[serde(default)]
    pub linked_paths: Vec<String>,
    #[serde(default)]
    pub env: Vec<(String, String)>,
    #[serde(default)]
    pub out_dir: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltProgram {
    pub package_id: String,
    pub name: String,
    pub executable: String,
}

/// A package of the workspace.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    targets: Vec<Target>,
}

impl Package {
    pub fn has_doc_tests(&self) -> bool {
        self.targets.iter().any(|target| target.doctest)
    }

    /// Whether programs of the package are linked with the toolchain's shared libraries.
    pub fn links_std(&self) -> bool {
        self.targets.iter().any(|target| {
            target.kind.iter().any(|kind| matches!(kind.as_str(), "proc-macro" | "dylib"))
        })
    }
}

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line {
    CompilerArtifact {
        package_id: String,
        manifest_path: String,
        target: Target,
        profile: Profile,
        executable: Option<String>,
    },
    CompilerMessage {
        message: Diagnostic,
    },
    BuildScriptExecuted(BuildScript),
    BuildFinished {
        success: bool,
    },
}

#[derive(Clone, Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    #[serde(default)]
    doctest: bool,
    #[serde(default)]
    test: bool,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    is_primary: bool,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

/// Reads the messages of `cargo build --message-format=json` and skips other lines.
pub fn parse(stdout: &[u8], stderr: &str, exit: Exit) -> Build {
    // The clean room has no network, so the user has to download missing crates.
    let wants_network =
        exit != Exit::Code(0) && stderr.lines().any(|line| line.contains("offline"));
    let help = if wants_network {
        "\nerror: a crate is not on this machine yet; download it with: cargo fetch"
    } else {
        ""
    };
    let mut build =
        Build { exit, words: format!("{}{help}", bounded_tail(stderr)), ..Build::default() };
    for line in stdout.split(|&byte| byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::CompilerArtifact {
                package_id,
                manifest_path,
                target,
                profile,
                executable: Some(executable),
            }) => {
                let kind = target.kind();
                if profile.test {
                    build.binaries.push(TestBinary {
                        package_id,
                        manifest_path,
                        kind,
                        target: target.name,
                        executable,
                    });
                } else if kind == TargetKind::Bin {
                    build.programs.push(BuiltProgram { package_id, name: target.name, executable });
                }
            }
            Ok(Line::CompilerArtifact { executable: None, .. }) | Err(_) => {}
            Ok(Line::CompilerMessage { message }) => build.errors.extend(load_error(message)),
            Ok(Line::BuildScriptExecuted(script)) => build.scripts.push(script),
            Ok(Line::BuildFinished { success }) => {
                build.succeeded = Some(success);
                build.ends += 1;
            }
        }
    }
    // Cargo compiles a library twice, with and without its tests, and reports the same error twice.
    let mut known: Vec<LoadError> = Vec::new();
    build.errors.retain(|error| {
        let new = !known.contains(error);
        if new {
            known.push(error.clone());
        }
        new
    });
    build
}

/// Reads `cargo metadata --no-deps --format-version 1`.
pub fn parse_packages(stdout: &[u8]) -> Vec<Package> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    serde_json::from_slice(stdout).map(|metadata: Metadata| metadata.packages).unwrap_or_default()
}

impl Build {
    /// Cargo forwards the compiler's output, and the project's macros run in the compiler. They can
    /// print lines like cargo's own that name other programs as tests. They cannot change the
    /// manifests: each target has one test program, and a build finishes once, with the result that
    /// the exit code says.
    #[must_use]
    pub fn compared_with(mut self, packages: &[Package]) -> Self {
        let is_of = |binary: &TestBinary, package: &Package, target: &Target| {
            binary.package_id == package.id
                && binary.kind == target.kind()
                && binary.target == target.name
        };
        let same = |one: &TestBinary, other: &TestBinary| {
            one.package_id == other.package_id
                && one.kind == other.kind
                && one.target == other.target
        };
        let twice = self.binaries.iter().enumerate().find(|(at, one)| {
            self.binaries
                .iter()
                .take(*at)
                .any(|other| same(one, other) && one.executable != other.executable)
        });
        let whole = self.succeeded == Some(true) && self.exit == Exit::Code(0);
        let targets = packages
            .iter()
            .flat_map(|package| package.targets.iter().map(move |target| (package, target)));
        let mut tested = targets.filter(|(_, target)| target.is_tested());
        let missing = tested.find(|(package, target)| {
            whole && !self.binaries.iter().any(|binary| is_of(binary, package, target))
        });
        let unknown = self.binaries.iter().find(|binary| {
            let is_known = |package: &Package| {
                package.targets.iter().any(|target| is_of(binary, package, target))
            };
            !packages.is_empty() && !packages.iter().any(is_known)
        });
        let lied =
            self.succeeded.is_some_and(|succeeded| succeeded != (self.exit == Exit::Code(0)));
        self.doubt = if let Some((_, binary)) = twice {
            Some(format!("cargo's output names two programs with the tests of {}", binary.target))
        } else if let Some((_, target)) = missing {
            Some(format!("cargo's output names no program with the tests of {}", target.name))
        } else if let Some(binary) = unknown {
            Some(format!(
                "cargo's output names a program with the tests of {}, which is in no manifest",
                binary.target
            ))
        } else if self.ends > 1 {
            Some("cargo's output says more than once that the build finished".to_owned())
        } else if lied {
            Some(format!(
                "cargo's output and its {} do not agree whether the build succeeded",
                self.exit
            ))
        } else {
            None
        };
        self
    }
}

/// A build that failed without a diagnostic: a build script, or a missing linker.
pub(super) fn unexplained(words: &str) -> LoadError {
    LoadError {
        stage: Stage::Build,
        file: None,
        line: None,
        kind: LoadErrorKind::Other,
        code: None,
        message: words.to_owned(),
    }
}

impl Target {
    /// Whether every build has a separate test program for this target.
    fn is_tested(&self) -> bool {
        let is_script = self.kind.iter().any(|kind| kind == "custom-build");
        self.test && !is_script && self.required_features.is_empty()
    }

    fn kind(&self) -> TargetKind {
        match self.kind.first().map(String::as_str) {
            Some("bin") => TargetKind::Bin,
            Some("test") => TargetKind::Test,
            Some("example") => TargetKind::Example,
            Some("bench") => TargetKind::Bench,
            // lib, rlib, dylib, cdylib, staticlib, proc-macro
            _ => TargetKind::Lib,
        }
    }
}

fn load_error(diagnostic: Diagnostic) -> Option<LoadError> {
    if !diagnostic.level.starts_with("error") || diagnostic.message.starts_with(SUMMARY) {
        return None;
    }
    let code = diagnostic.code.map(|code| code.code);
    let kind = kind_of(code.as_deref(), &diagnostic.message);
    let primary = diagnostic.spans.iter().find(|span| span.is_primary).or(diagnostic.spans.first());
    let label = primary.and_then(|span| span.label.as_deref());
    let place = primary.map(written);
    let message = match label {
        Some(label) => bounded_head(&format!("{}: {label}", diagnostic.message)),
        None => bounded_head(&diagnostic.message),
    };
    Some(LoadError {
        stage: Stage::Build,
        file: place.map(|span| span.file_name.clone()),
        line: place.map(|span| span.line_start),
        kind,
        code,
        message,
    })
}

fn kind_of(code: Option<&str>, message: &str) -> LoadErrorKind {
    match code {
        Some(code) if MISSING_SYMBOL_CODES.contains(&code) => LoadErrorKind::MissingSymbol,
        Some(_) => LoadErrorKind::Other,
        None => {
            let known = WITHOUT_CODE.iter().find(|(beginning, _)| message.starts_with(beginning));
            known.map_or(LoadErrorKind::Syntax, |&(_, kind)| kind)
        }
    }
}

/// The place in the project's source: an error in a macro of another crate is shown where the macro
/// is used.
fn written(span: &Span) -> &Span {
    let foreign = span.file_name.starts_with('/') || span.file_name.starts_with('<');
    match &span.expansion {
        Some(expansion) if foreign => written(&expansion.span),
        Some(_) | None => span,
    }
}
