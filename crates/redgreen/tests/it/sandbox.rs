//! Runs real programs in sandboxes, with every mechanism of this machine. Other mechanisms are
//! skipped by name.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::skip::skipped;
use redgreen::process::{Limits, Program, Stop};
use redgreen::sandbox::{BindMount, Fence, Mechanism, Network, Sandbox, SandboxResult, Strength};
use redgreen_core::report::Exit;

const LIMITS: Limits = Limits { wall: Duration::from_secs(30), output_bytes_max: 1 << 20 };
const NOBODY: &str = "65534";
/// The system's own programs in these folders are enough for every test here.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A place with `in` (writable), `out` (readable) and `secret`.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["in", "out", "secret/shown"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("file"), "text").unwrap();
        }
        fs::write(root.join("secret/file"), "text").unwrap();
        Self { _folder: folder, root }
    }

    fn fence(&self) -> Fence {
        Fence {
            writable: vec![self.root.join("in")],
            hidden: vec![self.root.join("secret")],
            shown: vec![self.root.clone(), self.root.join("secret/shown")],
            ..Fence::default()
        }
    }

    fn run(&self, sandbox: &Sandbox, fence: &Fence, line: &str) -> SandboxResult {
        let program = Program::shell(line).cwd(self.root.join("in")).env("PATH", PATH);
        sandbox.run(&program, fence, LIMITS, &Stop::default()).unwrap()
    }

    /// Whether a command line succeeds in the usual sandbox.
    fn works(&self, sandbox: &Sandbox, line: &str) -> bool {
        self.run(sandbox, &self.fence(), line).output.success()
    }
}

fn helper() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_redgreen"))
}

/// A `bwrap` only for these tests. If the machine had it, every other test would run in a different
/// sandbox.
fn own_bwrap() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bwrap").canonicalize().ok()
}

fn sandbox(means: Mechanism) -> anyhow::Result<Sandbox> {
    match (means, own_bwrap()) {
        (Mechanism::Bubblewrap, Some(own)) => Sandbox::with_tool(means, helper(), Some(own)),
        _ => Sandbox::with(means, helper()),
    }
}

/// Hides the programs of stronger mechanisms, and puts the tests' own `bwrap` into a system folder.
/// Only this command sees the mounts.
const ALONE: &str = r#"
for name in $1; do
    for file in /usr/bin/$name /bin/$name /usr/sbin/$name /sbin/$name; do
        if [ -f $file ]; then mount --bind /dev/null $file || exit 125; fi
    done
done
if [ -n "$2" ]; then
    folder=/run/current-system/sw/bin
    mount -t tmpfs tmpfs /run && mkdir -p $folder && cp "$2" $folder/bwrap || exit 125
fi
shift 2
exec "$@"
"#;

/// The command prefix that makes `means` the strongest mechanism found, or an error if that is
/// impossible.
pub(crate) fn alone(means: Mechanism) -> anyhow::Result<Vec<OsString>> {
    sandbox(means)?;
    anyhow::ensure!(
        Sandbox::probe(helper()).by() != means,
        "on this machine every other test is behind it"
    );
    let (away, own) = match means {
        Mechanism::Bubblewrap => ("", own_bwrap()),
        Mechanism::Namespaces => ("bwrap", None),
        Mechanism::Landlock => ("bwrap unshare", None),
        Mechanism::Seatbelt => anyhow::bail!("that is for macOS"),
        Mechanism::Nothing => anyhow::bail!("that is a setting"),
    };
    // An ordinary user can be root in a user namespace, which is enough for these mounts.
    let user = if rustix_is_root() { "--mount" } else { "--map-root-user" };
    let own = own.map(OsString::from).unwrap_or_default();
    let words = ["unshare", user, "--mount", "sh", "-c", ALONE, "alone", away].map(OsString::from);
    let words: Vec<OsString> = words.into_iter().chain([own]).collect();
    let tried = words.split_first().map(|(first, rest)| Program::new(first).args(rest).arg("true"));
    let tried = tried.map(|program| program.output(LIMITS, &Stop::default())).transpose()?;
    anyhow::ensure!(
        tried.is_some_and(|output| output.success()),
        "stronger means cannot be taken away here"
    );
    Ok(words)
}

pub(crate) fn say(words: &str) {
    writeln!(std::io::stderr(), "{words}").ok();
}

pub(crate) fn each(means: &[Mechanism], check: impl Fn(&Sandbox)) {
    for means in means {
        match sandbox(*means) {
            Ok(sandbox) => check(&sandbox),
            Err(error) => skipped(&format!("{}: {error:#}", means.as_str())),
        }
    }
}

const FENCES: &[Mechanism] = &[Mechanism::Bubblewrap, Mechanism::Namespaces, Mechanism::Landlock];
const MOUNTS: &[Mechanism] = &[Mechanism::Bubblewrap, Mechanism::Namespaces];

#[test]
fn held_what_is_outside_cannot_be_changed() {
    each(FENCES, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        assert!(place.works(sandbox, "echo x > new && mkdir d && mv new d && rm file"), "{by:?}");
        assert!(place.works(sandbox, "cat ../out/file && ls /usr/bin > /dev/null"), "{by:?}");
        for line in [
            "echo x > ../out/file",
            "echo x > ../new",
            "rm ../out/file",
            "mv ../out/file .",
            "> /usr/x",
        ] {
            assert!(!place.works(sandbox, line), "{by:?}: {line}");
        }
        assert_eq!(fs::read_to_string(place.root.join("out/file")).unwrap(), "text");
        // What Landlock cannot hold.
        let is_landlock = by == Mechanism::Landlock;
        assert_eq!(place.works(sandbox, "chmod 600 ../out/file"), is_landlock, "{by:?}");
        assert_eq!(place.works(sandbox, "touch -d 2001-01-01 ../out/file"), is_landlock, "{by:?}");
    });
}

#[test]
fn held_what_is_hidden_cannot_be_read_and_what_is_shown_in_it_can() {
    each(FENCES, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        assert!(!place.works(sandbox, "cat ../secret/file"), "{by:?}");
        assert!(!place.works(sandbox, "echo x > ../secret/new"), "{by:?}");
        assert!(place.works(sandbox, "cat ../secret/shown/file"), "{by:?}");
        assert!(!place.works(sandbox, "echo x > ../secret/shown/file"), "{by:?}");
        assert!(!place.works(sandbox, "ls ../secret | grep -qx file"), "{by:?}");
        let is_landlock = by == Mechanism::Landlock;
        assert_eq!(place.works(sandbox, "[ -e ../secret/file ]"), is_landlock, "{by:?}");
    });
}

#[test]
fn held_a_root_that_is_hidden_has_only_what_is_named() {
    each(MOUNTS, |sandbox| {
        let place = Place::new();
        let shown = ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(PathBuf::from).into();
        let fence = Fence {
            hidden: vec!["/".into()],
            shown,
            writable: vec![place.root.join("in")],
            ..Fence::default()
        };
        let output = place.run(sandbox, &fence, "cat file; ls / ..; ls /home; ls /var").output;
        let seen = output.stdout_text();
        assert!(
            seen.contains("text") && seen.contains("usr") && seen.contains("dev"),
            "{}",
            output.stderr_text()
        );
        for hidden in ["home", "log", "out", "secret"] {
            assert!(
                !seen.lines().any(|line| line == hidden),
                "{:?}: {hidden} in {seen}",
                sandbox.by()
            );
        }
    });
}

#[test]
fn held_a_folder_appears_elsewhere_and_cannot_be_changed() {
    each(MOUNTS, |sandbox| {
        let place = Place::new();
        let to = place.root.join("in/packages");
        fs::create_dir(&to).unwrap();
        let bound = vec![BindMount { from: place.root.join("secret"), to }];
        let fence = Fence { bound, ..place.fence() };
        let line = "cat packages/file && ! (echo x > packages/file) && ! rm -r packages";
        assert!(place.run(sandbox, &fence, line).output.success(), "{:?}", sandbox.by());
    });
}

#[test]
fn held_nobody_outside_can_be_talked_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Bash can open sockets itself.
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    each(FENCES, |sandbox| {
        let place = Place::new();
        let with = |network| Fence { network, ..place.fence() };
        let works = |network| place.run(sandbox, &with(network), &connect).output.success();
        assert!(!works(Network::None), "{:?}", sandbox.by());
        assert!(works(Network::Full), "{:?}", sandbox.by());
        if sandbox.binds() {
            assert!(!works(Network::Loopback), "{:?}", sandbox.by());
        }
    });
}

/// Needs a program with a listening socket, which a shell cannot open.
#[test]
fn held_a_loopback_of_its_own_can_be_used() {
    const ECHO: &str = "import socket; s = socket.create_server(('127.0.0.1', 0)); \
                        c = socket.create_connection(s.getsockname()); print('connected')";
    if !Path::new("/usr/bin/python3").exists() {
        return skipped("no /usr/bin/python3");
    }
    each(FENCES, |sandbox| {
        let place = Place::new();
        let fence = Fence { network: Network::Loopback, ..place.fence() };
        let output = place.run(sandbox, &fence, &format!("/usr/bin/python3 -c \"{ECHO}\"")).output;
        assert_eq!(
            output.stdout_text(),
            "connected\n",
            "{:?}: {}",
            sandbox.by(),
            output.stderr_text()
        );
    });
}

/// Processes that still run, found by a word of their command line.
fn left(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
fn held_no_process_is_left_however_it_hides() {
    each(&Mechanism::ALL, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        // A sleep time that no other process uses marks ours.
        let mark = format!("4{}{}.25", std::process::id(), by as u8);
        let line = format!(
            "setsid sleep {mark} & (setsid sh -c '(sleep {mark} &) ; sleep {mark}' &) ; nohup sleep {mark} & sleep 0.1; echo up"
        );
        let fenced = place.run(sandbox, &place.fence(), &line);
        assert_eq!(
            (fenced.output.exit, fenced.output.stdout_text().as_str()),
            (Exit::Code(0), "up\n"),
            "{by:?}"
        );
        assert_eq!(left(&mark), Vec::<String>::new(), "{by:?}");
    });
}

#[test]
fn held_no_process_is_left_at_the_time_limit() {
    each(&Mechanism::ALL, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        let mark = format!("5{}{}.25", std::process::id(), by as u8);
        let program =
            Program::shell(&format!("trap '' TERM; setsid sleep {mark} & setsid sleep {mark}"));
        let program = program.cwd(place.root.join("in")).env("PATH", PATH);
        let limits = Limits { wall: Duration::from_millis(700), ..LIMITS };
        let started = Instant::now();
        let fenced = sandbox.run(&program, &place.fence(), limits, &Stop::default()).unwrap();
        assert_eq!(fenced.output.exit, Exit::TimedOut, "{by:?}");
        assert!(started.elapsed() < Duration::from_secs(60), "{by:?}: {:?}", started.elapsed());
        // The kernel may need a moment to remove the last processes.
        let deadline = Instant::now() + Duration::from_secs(30);
        while !left(&mark).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(left(&mark), Vec::<String>::new(), "{by:?}");
    });
}

#[test]
fn held_a_runaway_is_stopped_at_the_limit() {
    // Not a fork bomb: without a limit, it ends by itself.
    const BRANCHES: &str =
        "i=0; while [ $i -lt 400 ]; do sleep 1 & i=$((i+1)); done; wait; echo all";
    each(&[Mechanism::Namespaces], |sandbox| {
        let place = Place::new();
        let fence = Fence { processes_max: Some(301), ..place.fence() };
        let output = place.run(sandbox, &fence, BRANCHES).output;
        assert!(!output.stdout_text().contains("all"), "{}", output.stderr_text());
    });
    each(FENCES, |sandbox| {
        let place = Place::new();
        let fence = Fence { file_bytes_max: Some(1 << 16), ..place.fence() };
        let output =
            place.run(sandbox, &fence, "head -c 1000000 /dev/zero > big; stat -c %s big").output;
        assert_eq!(output.stdout_text(), "65536\n", "{:?}", sandbox.by());
    });
}

#[test]
fn held_exits_signals_input_and_surroundings_come_through() {
    each(&Mechanism::ALL, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        let run = |line: &str| place.run(sandbox, &place.fence(), line).output;
        assert_eq!(run("exit 3").exit, Exit::Code(3), "{by:?}");
        assert_eq!(run("kill -9 $$").exit, Exit::Signal(9), "{by:?}");
        assert_eq!(run("kill -ABRT $$").exit, Exit::Signal(6), "{by:?}");
        let folder = format!("{}\n", place.root.join("in").display());
        assert_eq!(run("pwd; echo err >&2").stdout_text(), folder, "{by:?}");
        let program =
            Program::new("/bin/sh").args(["-c", "cat; echo $A$HOME"]).cwd(place.root.join("in"));
        let program = program.env_clear().env("PATH", PATH).env("A", "b").stdin("in ");
        let fenced = sandbox.run(&program, &place.fence(), LIMITS, &Stop::default()).unwrap();
        assert_eq!(fenced.output.stdout_text(), "in b\n", "{by:?}");
        let missing = Program::new("/no/such/program").cwd(place.root.join("in"));
        let error = sandbox.run(&missing, &place.fence(), LIMITS, &Stop::default()).unwrap_err();
        let cause = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        assert_eq!(cause, Some(std::io::ErrorKind::NotFound), "{by:?}: {error:#}");
    });
}

#[test]
fn held_nothing_is_won_back_inside() {
    each(FENCES, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        let secret = place.root.join("secret/file").display().to_string();
        // Neither rights, nor those of a program with the bit that gives them.
        for right in ["CapEff:.*0000000000000000$", "NoNewPrivs:.*1$"] {
            assert!(
                place.works(sandbox, &format!("grep -q '^{right}' /proc/self/status")),
                "{by:?}: {right}"
            );
        }
        let environment = format!("/proc/{}/environ", std::process::id());
        for line in [
            format!("cat {environment} || cat /proc/1/environ"),
            format!(
                "unshare -Urm cat {secret} || unshare -Urm sh -c 'mount --bind /etc {}; cat {secret}'",
                place.root.display()
            ),
            "exec 3>>/proc/sys/kernel/hostname".to_owned(),
        ] {
            assert!(!place.works(sandbox, &line), "{by:?}: {line}");
        }
    });
    each(MOUNTS, |sandbox| {
        let place = Place::new();
        let by = sandbox.by();
        let secret = place.root.join("secret");
        let undo = format!("umount {0}; unshare -Urm umount {0}; cat {0}/file", secret.display());
        assert!(!place.works(sandbox, &undo), "{by:?}");
        assert!(
            !place.works(sandbox, "mount -o remount,rw / || [ -w /proc/sys/kernel/hostname ]"),
            "{by:?}"
        );
        assert!(
            !place.works(sandbox, "[ -w /proc/sysrq-trigger ] || [ -w /sys/kernel/uevent_helper ]"),
            "{by:?}"
        );
        assert!(!place.works(sandbox, "ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg)'"), "{by:?}");
        assert!(!place.works(sandbox, "cat /proc/1/environ || readlink /proc/1/root"), "{by:?}");
    });
}

/// Tries system calls that leave state in the kernel. Prints those that should have failed, and any
/// state of an earlier run. `key` names a segment of shared memory.
const KERNEL: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
key = int(sys.argv[1])
for keyring in (-2, -3, -4, -5):
    if libc.syscall({add_key}, b"user", b"redgreen", b"x", 1, keyring) != -1:
        print("add_key", keyring)
    if libc.syscall({keyctl}, 0, keyring, 1) != -1:
        print("keyctl", keyring)
if libc.syscall({request_key}, b"user", b"redgreen", None, -4) != -1 or ctypes.get_errno() != 1:
    print("request_key", ctypes.get_errno())
if libc.shmget(key, 16, 0) != -1:
    print("shared memory of an earlier run")
libc.shmget(key, 16, 0o1600)
if libc.semget(key, 1, 0) != -1 or libc.msgget(key, 0) != -1:
    print("semaphores or queues of an earlier run")
libc.semget(key, 1, 0o1600), libc.msgget(key, 0o1600)
for device in ("null", "zero", "full", "random", "urandom"):
    try:
        os.utime("/dev/" + device, (1, 1))
        print("times of", device)
    except OSError:
        pass
open("/dev/null", "w").write("x")
"#;

#[test]
fn held_the_kernel_remembers_nothing_of_a_run() {
    let (add_key, request_key, keyctl) =
        if cfg!(target_arch = "x86_64") { (248, 249, 250) } else { (217, 218, 219) };
    let script = KERNEL.replace("{add_key}", &add_key.to_string());
    let script = script.replace("{request_key}", &request_key.to_string());
    let script = script.replace("{keyctl}", &keyctl.to_string());
    each(FENCES, |sandbox| {
        let place = Place::new();
        fs::write(place.root.join("in/kernel.py"), &script).unwrap();
        let line = format!("/usr/bin/python3 kernel.py 7{}", std::process::id());
        for run in ["first", "second"] {
            let output = place.run(sandbox, &place.fence(), &line).output;
            // With other mechanisms, root can change the times: only these mounts are ours.
            let has_own = sandbox.by() == Mechanism::Namespaces;
            let seen = output.stdout_text();
            let seen: Vec<_> =
                seen.lines().filter(|line| has_own || !line.starts_with("times of")).collect();
            assert!(output.success(), "{:?}: {}", sandbox.by(), output.stderr_text());
            assert_eq!(seen, Vec::<&str>::new(), "{run} run, {:?}", sandbox.by());
        }
    });
}

/// Simulates the user's terminal: writes its name to a file, and at the end what was typed into it.
const TERMINAL: &str = r#"
import os, pathlib, select, time
master, slave = os.openpty()
pathlib.Path("name.new").write_text(os.ttyname(slave))
os.rename("name.new", "name")
for _ in range(3000):
    if os.path.exists("done"):
        break
    time.sleep(0.01)
typed = select.select([slave], [], [], 0)[0]
shown = select.select([master], [], [], 0)[0]
print("typed" if typed else "", os.read(master, 100) if shown else "")
"#;

const TYPING: &str = r#"
import fcntl, os, sys
try:
    terminal = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
    os.write(terminal, b"shown")
    fcntl.ioctl(terminal, 0x5412, b"t")
except OSError:
    pass
try:
    os.open("/dev/tty", os.O_RDWR)
    print("/dev/tty is", os.ttyname(os.open("/dev/tty", os.O_RDWR)))
except OSError:
    pass
try:
    fcntl.ioctl(os.openpty()[1], 0x5412, b"t")
    print("typed into its own terminal")
except OSError as error:
    if error.errno == 5:
        print("only this kernel's setting refuses to type")
"#;

#[test]
fn held_the_users_terminal_cannot_be_written_to() {
    each(FENCES, |sandbox| {
        let place = Place::new();
        let outside = place.root.join("out");
        fs::write(outside.join("terminal.py"), TERMINAL).unwrap();
        fs::write(place.root.join("in/typing.py"), TYPING).unwrap();
        let (typing, seen) = std::thread::scope(|scope| {
            let terminal = Program::shell("/usr/bin/python3 terminal.py").cwd(&outside);
            let terminal = scope.spawn(move || terminal.output(LIMITS, &Stop::default()).unwrap());
            let name = loop {
                if let Ok(name) = fs::read_to_string(outside.join("name")) {
                    break name;
                }
                assert!(!terminal.is_finished(), "no terminal");
                std::thread::sleep(Duration::from_millis(5));
            };
            let typing =
                place.run(sandbox, &place.fence(), &format!("/usr/bin/python3 typing.py {name}"));
            fs::write(outside.join("done"), "").unwrap();
            (typing.output, terminal.join().unwrap())
        });
        assert!(typing.success(), "{}", typing.stderr_text());
        assert_eq!(typing.stdout_text(), "", "{:?}", sandbox.by());
        assert_eq!(seen.stdout_text().trim(), "", "{:?}", sandbox.by());
        assert!(seen.success(), "{}", seen.stderr_text());
    });
}

#[test]
fn a_verdict_can_say_what_held() {
    let fence = Fence { network: Network::Loopback, ..Fence::default() };
    let words = |means| sandbox(means).map(|sandbox| sandbox.held(&fence));
    if let Ok(held) = words(Mechanism::Namespaces) {
        assert!(held.is_firm());
        assert_eq!(held.to_string(), "sandboxed by namespaces");
    }
    let nothing = words(Mechanism::Nothing).unwrap();
    assert_eq!(nothing.network, Strength::Not("open"));
    assert!(nothing.to_string().starts_with("sandboxed by nothing; files not: "), "{nothing}");
    let best = Sandbox::probe(helper());
    say(&format!("this machine: {}; {:?}", best.by().as_str(), best.passed_over));
}

#[test]
#[ignore = "measures: cargo test --release --test it -- --ignored --nocapture cost"]
fn cost_of_a_fence() {
    const ROUNDS: u32 = 40;
    let place = Place::new();
    let program = Program::new("/bin/true").cwd("/").env_clear();
    let time = |act: &dyn Fn()| {
        let started = Instant::now();
        (0..ROUNDS).for_each(|_| act());
        started.elapsed() / ROUNDS
    };
    let bare = time(&|| drop(program.output(LIMITS, &Stop::default()).unwrap()));
    say(&format!("bare: {bare:?}; probe: {:?}", time(&|| drop(Sandbox::probe(helper())))));
    each(&Mechanism::ALL, |sandbox| {
        let fence = place.fence();
        let fenced =
            time(&|| drop(sandbox.run(&program, &fence, LIMITS, &Stop::default()).unwrap()));
        say(&format!(
            "{}: {fenced:?}, {:?} more",
            sandbox.by().as_str(),
            fenced.saturating_sub(bare)
        ));
    });
}

/// Repeats all tests above as a user without rights.
#[test]
fn an_ordinary_user_is_held_as_well() {
    if !rustix_is_root() {
        return skipped("not root, so every other test is this one");
    }
    if !Path::new("/usr/bin/setpriv").exists() {
        return skipped("setpriv is not installed");
    }
    let own = std::env::current_exe().unwrap();
    let line = ["/usr/bin/setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
    let as_nobody =
        |program: Program| program.through(line).cwd("/").output(LIMITS, &Stop::default()).unwrap();
    if !as_nobody(Program::new(&own).arg("--list")).success() {
        return skipped("an ordinary user cannot read the test program");
    }
    let program = Program::new(&own)
        .args(["sandbox::held", "egress::held", "--test-threads=2"])
        .env("TMPDIR", "/tmp");
    let limits = Limits { wall: Duration::from_secs(120), ..LIMITS };
    let output = program.through(line).cwd("/").output(limits, &Stop::default()).unwrap();
    assert!(output.success(), "{}{}", output.stdout_text(), output.stderr_text());
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}
