//! The network and the sockets of a sandbox, with every mechanism of this machine: allowed hosts
//! are reachable, everything else is not. The tests use only loopback.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use redgreen::config::Models;
use redgreen::egress::{Proxy, Rules};
use redgreen::process::{Limits, Program, Stop};
use redgreen::sandbox::{Fence, Mechanism, Network, OUTLET_PORT, Outlet, Sandbox, Strength};
use redgreen_core::egress::{AllowList, Entry};

use crate::sandbox::each;
use crate::skip::skipped;
use crate::story::Story;

const LIMITS: Limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 1 << 20 };
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const FENCES: &[Mechanism] = &[Mechanism::Bubblewrap, Mechanism::Namespaces, Mechanism::Landlock];
const PYTHON: &str = "/usr/bin/python3";
/// Asks a proxy for a tunnel to `host:port` and prints the response.
const ASK: &str = r#"
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
s.sendall(b"CONNECT %s HTTP/1.1\r\n\r\n" % sys.argv[2].encode())
s.settimeout(10)
got = b""
while True:
    piece = s.recv(4096)
    if not piece: break
    got += piece
print(got.decode())
"#;

/// Starts a server that answers every request with `words`, until the tests end.
fn server(words: &'static str) -> u16 {
    serve(TcpListener::bind("127.0.0.1:0").unwrap(), words)
}

fn serve(listener: TcpListener, words: &'static str) -> u16 {
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { continue };
            let mut asked = [0; 1024];
            client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            // The client of a tunnel may send nothing, and the request does not matter.
            let _heard = client.read(&mut asked).unwrap_or(0);
            let length = words.len();
            write!(
                client,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}"
            )
            .ok();
        }
    });
    port
}

/// A sandbox whose only way out is a proxy.
struct Place<'a> {
    sandbox: &'a Sandbox,
    folder: tempfile::TempDir,
    proxy: Proxy,
    fence: Fence,
}

impl<'a> Place<'a> {
    fn new(sandbox: &'a Sandbox, allowed: &[String]) -> Self {
        Self::with(sandbox, allowed, Models::default())
    }

    fn with(sandbox: &'a Sandbox, allowed: &[String], upstream: Models) -> Self {
        let folder = folder();
        fs::create_dir(folder.path().join("in")).unwrap();
        let allowed = AllowList::new(allowed.iter().map(|entry| Entry::parse(entry).unwrap()));
        let tunnels = allowed.loopback().cloned().collect();
        let rules = Rules { allowed, upstream };
        let proxy =
            Proxy::start(sandbox.outlet().unwrap(), rules, &folder.path().join("log")).unwrap();
        let fence = Fence {
            writable: vec![folder.path().join("in")],
            shown: vec![folder.path().to_owned()],
            network: Network::Loopback,
            outlet: Some(Outlet { proxy: proxy.address().clone(), tunnels }),
            ..Fence::default()
        };
        Self { sandbox, folder, proxy, fence }
    }

    fn port(&self) -> u16 {
        match self.proxy.address() {
            redgreen::egress::Address::Socket(_) => OUTLET_PORT,
            redgreen::egress::Address::Port(port) => *port,
        }
    }

    fn run(&self, line: &str) -> (bool, String) {
        let program =
            Program::shell(line).cwd(self.folder.path().join("in")).env_clear().env("PATH", PATH);
        let output =
            self.sandbox.run(&program, &self.fence, LIMITS, &Stop::default()).unwrap().output;
        (output.success(), format!("{}{}", output.stdout_text(), output.stderr_text()))
    }

    fn python(&self, code: &str, words: &str) -> (bool, String) {
        fs::write(self.folder.path().join("in/code.py"), code).unwrap();
        self.run(&format!("{PYTHON} code.py {words}"))
    }

    fn ask(&self, target: &str) -> String {
        self.python(ASK, &format!("{} {target}", self.port())).1
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// A folder that other sandboxes cannot see: each has a `/var/tmp` of its own.
fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("egress-").tempdir_in("/var/tmp").unwrap()
}

fn has_python() -> bool {
    Path::new(PYTHON).exists() || {
        skipped("no /usr/bin/python3");
        false
    }
}

#[test]
fn held_an_allowed_host_is_reached_and_another_refused_and_both_are_logged() {
    if !has_python() {
        return;
    }
    let (good, bad) = (server("the model"), server("somebody else"));
    each(FENCES, |sandbox| {
        let by = sandbox.by();
        let place = Place::new(sandbox, &[format!("localhost:{good}")]);
        let got = place.ask(&format!("localhost:{good}"));
        assert!(got.starts_with("HTTP/1.1 200") && got.contains("the model"), "{by:?}: {got}");
        let got = place.ask(&format!("localhost:{bad}"));
        assert!(
            got.starts_with("HTTP/1.1 403") && got.contains("agent.allow-hosts"),
            "{by:?}: {got}"
        );
        let got = place.ask("metadata.invalid:443");
        assert!(got.starts_with("HTTP/1.1 403"), "{by:?}: {got}");
        // Another name of the same address is not allowed: only the configured name counts.
        let got = place.ask(&format!("127.0.0.1:{good}"));
        assert!(got.starts_with("HTTP/1.1 403"), "{by:?}: {got}");
        let refused: Vec<String> =
            place.proxy.refusals().iter().map(|one| one.target.to_string()).collect();
        assert_eq!(
            refused,
            [
                format!("localhost:{bad}"),
                "metadata.invalid:443".into(),
                format!("127.0.0.1:{good}")
            ]
        );
        let log = place.log();
        let line = log
            .lines()
            .find(|line| line.contains("\"allowed\""))
            .unwrap_or_else(|| panic!("{log}"));
        assert!(
            line.contains("\"host\":\"localhost\"") && !line.contains("\"bytesReceived\":0"),
            "{line}"
        );
        assert_eq!(log.matches("\"refused\"").count(), 3, "{log}");
    });
}

#[test]
fn held_a_name_that_leads_to_a_private_address_is_refused_unless_its_port_is_configured() {
    if !has_python() {
        return;
    }
    each(FENCES, |sandbox| {
        let by = sandbox.by();
        // The name is allowed on the default ports, but resolves to this machine.
        let place = Place::new(sandbox, &["localhost".to_owned()]);
        let got = place.ask("localhost:443");
        assert!(
            got.starts_with("HTTP/1.1 403") && got.contains("private address"),
            "{by:?}: {got}"
        );
    });
}

#[test]
fn held_plain_requests_and_services_of_this_machine_are_reached_too() {
    if !has_python() {
        return;
    }
    let port = server("the model");
    each(FENCES, |sandbox| {
        let by = sandbox.by();
        let place = Place::new(sandbox, &[format!("127.0.0.1:{port}")]);
        let open = "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())";
        let url = format!("http://127.0.0.1:{port}/v1");
        let proxied = format!(
            "import os\nos.environ['http_proxy'] = 'http://127.0.0.1:{}'\n{open}",
            place.port()
        );
        assert_eq!(place.python(&proxied, &url).1.trim(), "the model", "{by:?}");
        // A program that does not use the proxy still reaches the service at its configured
        // address.
        assert_eq!(place.python(open, &url).1.trim(), "the model", "{by:?}");
    });
}

/// Each way is first tried without a sandbox, where it must reach a server. This shows that no way
/// fails because of a mistake in the test.
#[test]
fn held_nothing_is_reached_around_the_proxy() {
    const TRIES: &str = r#"
import socket, sys
tcp, udp, six = (int(word) for word in sys.argv[1:])
MULTIPATH = 262
def tried(name, act):
    try:
        s = act()
        s.settimeout(5)
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        if s.recv(9): print("REACHED", name)
    except OSError:
        pass
def early():
    s = socket.socket()
    s.sendto(b"GET", socket.MSG_FASTOPEN, ("127.0.0.1", tcp))
    return s
def multipath():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MULTIPATH)
    s.connect(("127.0.0.1", tcp))
    return s
tried("tcp", lambda: socket.create_connection(("127.0.0.1", tcp), 2))
tried("another-address", lambda: socket.create_connection(("127.0.0.2", tcp), 2))
tried("early", early)
tried("multipath", multipath)
tried("ipv6", lambda: socket.create_connection(("::1", six), 2))
tried("ipv4-in-ipv6", lambda: socket.create_connection(("::ffff:127.0.0.1", tcp), 2))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", udp))
except OSError:
    pass
"#;
    if !has_python() {
        return;
    }
    let tcp = serve(TcpListener::bind("0.0.0.0:0").unwrap(), "somebody else");
    let six = TcpListener::bind("[::1]:0").map_or(1, |listener| serve(listener, "somebody else"));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let words = format!("{tcp} {} {six}", udp.local_addr().unwrap().port());
    let beside = folder();
    fs::write(beside.path().join("code.py"), TRIES).unwrap();
    let outside = Program::shell(&format!("{PYTHON} code.py {words}")).cwd(beside.path());
    let outside = outside.output(LIMITS, &Stop::default()).unwrap().stdout_text();
    for way in ["tcp", "another-address", "early"] {
        assert!(
            outside.contains(&format!("REACHED {way}\n")),
            "{way} is there without a sandbox: {outside}"
        );
    }
    for way in ["multipath", "ipv6", "ipv4-in-ipv6"]
        .iter()
        .filter(|way| !outside.contains(&format!("{way}\n")))
    {
        skipped(&format!("this machine does not have {way}"));
    }
    assert!(udp.recv(&mut [0; 9]).is_ok(), "a datagram arrives without a sandbox");
    udp.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    each(FENCES, |sandbox| {
        let by = sandbox.by();
        let place = Place::new(sandbox, &["example.com".to_owned()]);
        let (done, said) = place.python(TRIES, &words);
        assert!(done && !said.contains("REACHED"), "{by:?}: {said}");
        assert!(udp.recv(&mut [0; 9]).is_err(), "{by:?}: a datagram came through");
    });
}

#[test]
fn held_sockets_of_this_machine_cannot_be_reached() {
    const TRY: &str = r#"
import socket, sys
for name in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            s = socket.socket(socket.AF_UNIX, kind)
            s.connect("\0" + name[1:] if name[0] == "@" else name)
            print("REACHED", name)
        except OSError:
            pass
a, b = socket.socketpair()
a.sendall(b"x")
print("paired", b.recv(1).decode())
"#;
    if !has_python() {
        return;
    }
    let name = format!("redgreen-egress-{}", std::process::id());
    let abstract_one = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&abstract_one).unwrap();
    each(FENCES, |sandbox| {
        let by = sandbox.by();
        let place = Place::new(sandbox, &["example.com".to_owned()]);
        let mut paths =
            vec![place.folder.path().join("beside.sock"), place.folder.path().join("in/own.sock")];
        for folder in ["/tmp", "/var/tmp", "/run", "/run/user/0", "/dev/shm"] {
            paths.push(PathBuf::from(folder).join(format!("{name}-{}.sock", by as u8)));
        }
        let bound: Vec<_> =
            paths.iter().filter_map(|path| Some((path, UnixListener::bind(path).ok()?))).collect();
        let words: Vec<String> = bound.iter().map(|(path, _)| path.display().to_string()).collect();
        assert!(words.len() >= 4, "{words:?}");
        let asked = format!("@{name} {}", words.join(" "));
        let (_, said) = place.python(TRY, &asked);
        let outside = Program::shell(&format!("{PYTHON} code.py {asked}"))
            .cwd(place.folder.path().join("in"));
        let outside = outside.output(LIMITS, &Stop::default()).unwrap().stdout_text();
        assert_eq!(
            outside.matches("REACHED").count(),
            words.len() + 1,
            "without a sandbox they are there: {outside}"
        );
        bound.iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
        assert_eq!(place.sandbox.held(&place.fence).sockets, Strength::Firm, "{by:?}");
        assert_eq!(said, "paired x\n", "{by:?}");
    });
}

/// If the user opens the network, abstract sockets are still closed, as far as the kernel supports
/// it.
#[test]
fn held_abstract_sockets_are_closed_in_an_open_network() {
    const TRY: &str =
        "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + sys.argv[1])";
    if !has_python() {
        return;
    }
    let name = format!("redgreen-open-{}", std::process::id());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    each(FENCES, |sandbox| {
        let mut place = Place::new(sandbox, &["example.com".to_owned()]);
        place.fence = Fence { network: Network::Full, outlet: None, ..place.fence };
        let is_told = |grip| matches!(grip, Strength::Loose(words) if words == "abstract sockets of this machine are reachable");
        let expected = is_told(sandbox.held(&place.fence).sockets);
        assert_eq!(place.python(TRY, &name).0, expected, "{:?}", sandbox.by());
    });
}

#[test]
fn held_tests_reach_no_abstract_socket_either() {
    const TRY: &str =
        "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + sys.argv[1])";
    if !has_python() {
        return;
    }
    let name = format!("redgreen-tests-{}", std::process::id());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    each(FENCES, |sandbox| {
        let mut place = Place::new(sandbox, &["example.com".to_owned()]);
        place.fence = Fence { outlet: None, ..place.fence };
        assert!(!place.python(TRY, &name).0, "{:?}", sandbox.by());
    });
}

#[test]
fn held_more_processes_than_allowed_are_ended() {
    // Not a fork bomb: without a limit, it ends by itself.
    const BRANCHES: &str =
        "i=0; while [ $i -lt 400 ]; do sleep 5 & i=$((i+1)); done; wait; echo all";
    each(&Mechanism::ALL, |sandbox| {
        let folder = folder();
        let shown = vec![folder.path().to_owned()];
        let fence = Fence { shown, processes_max: Some(301), ..Fence::default() };
        let run = |line: &str| {
            let program = Program::shell(line).cwd(folder.path()).env_clear().env("PATH", PATH);
            sandbox.run(&program, &fence, LIMITS, &Stop::default()).unwrap().output
        };
        let output = run(BRANCHES);
        assert!(!output.success() || !output.stdout_text().contains("all"), "{:?}", sandbox.by());
        assert!(
            run("for i in 1 2 3 4 5 6 7 8; do sleep 0.5 & done; wait").success(),
            "{:?}",
            sandbox.by()
        );
    });
}

/// Our proxy connects through the user's own proxy, with its credentials.
#[test]
fn a_proxy_of_the_users_is_on_the_way() {
    if !has_python() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() > 0 {
            head.extend(byte);
        }
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\nthrough both").unwrap();
        String::from_utf8(head).unwrap()
    });
    let sandbox = Sandbox::probe(Path::new(env!("CARGO_BIN_EXE_redgreen")));
    if sandbox.outlet().is_none() {
        return skipped("nothing here keeps a program to a proxy");
    }
    let upstream = Models::default().with_proxy(&format!("http://user:pass@127.0.0.1:{port}"));
    let place = Place::with(&sandbox, &["api.example.com".to_owned()], upstream);
    let got = place.ask("api.example.com:443");
    assert!(got.contains("through both"), "{got}");
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("CONNECT api.example.com:443 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{asked}");
}

/// Clients that send endless headers, or nothing at all, do not block the proxy for others.
#[test]
fn a_client_that_floods_is_turned_away() {
    if !has_python() {
        return;
    }
    const FLOOD: &str = r#"
import socket, sys
quiet = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(20)]
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    s.sendall(b"CONNECT a:1 HTTP/1.1\r\nA: " + b"x" * (1 << 20))
    print(s.recv(99).decode().split(" ")[1:2])
except OSError:
    print([])
"#;
    let port = server("the model");
    let sandbox = Sandbox::probe(Path::new(env!("CARGO_BIN_EXE_redgreen")));
    if sandbox.outlet().is_none() {
        return skipped("nothing here keeps a program to a proxy");
    }
    let place = Place::new(&sandbox, &[format!("localhost:{port}")]);
    let started = Instant::now();
    let (_, said) = place.python(FLOOD, &place.port().to_string());
    // The connection may be cut before the client reads the answer.
    assert!(["['400']", "[]"].contains(&said.trim()), "{said}");
    assert!(place.ask(&format!("localhost:{port}")).contains("the model"));
    drop(place);
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
}

/// An agent that tries forbidden and allowed connections.
const PROBE: &str = r#"
import os, socket, sys, urllib.request
said = open(os.path.join(os.environ["HOME"], ".probe", "said"), "a")
good, bad, sock = sys.argv[1:4]
def tried(name, act):
    try:
        act()
        print("reached", name, file=said)
    except Exception as why:
        print("missed", name, file=said)
tried("model", lambda: urllib.request.urlopen("http://127.0.0.1:%s/" % good, timeout=10))
tried("allowed", lambda: urllib.request.urlopen("http://localhost:%s/" % good, timeout=10))
def through():
    proxy = os.environ["HTTPS_PROXY"].rsplit(":", 1)
    s = socket.create_connection(("127.0.0.1", int(proxy[1])), 10)
    s.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
    if b" 200 " not in s.recv(99): raise OSError()
tried("evil", through)
tried("direct", lambda: socket.create_connection(("127.0.0.1", int(bad)), 2))
tried("socket", lambda: socket.socket(socket.AF_UNIX).connect(sock))
said.close()
print("Done.")
"#;

fn probing(settings: &str, url: &str, words: &str) -> Story {
    let story = Story::new();
    fs::create_dir_all(story.place("home/.probe")).unwrap();
    fs::write(story.place("home/probe.py"), PROBE).unwrap();
    let script = story.place("home/probe.py").display().to_string();
    story.file(
        "redgreen.toml",
        &format!(
            "max-retries = 0\nbackoff = 0.0\n[agent]\nname = \"probe\"\n{settings}\n[agent.custom.probe]\n\
             command = \"python {script} {words}\"\nenv = [\"PROBE_*\"]\nfolders = [\".probe\"]\n"
        ),
    );
    story.commit("an agent");
    story.env("PROBE_BASE_URL", url)
}

/// The agent's output, and all network logs of the run.
fn told(story: &Story) -> (String, String) {
    let said = fs::read_to_string(story.place("home/.probe/said")).unwrap();
    let runs =
        fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap().map(|run| run.unwrap().path());
    let turns = runs.flat_map(|run| fs::read_dir(run.join("turns")).unwrap());
    let logs = turns
        .filter_map(|turn| fs::read_to_string(turn.unwrap().path().join("network.jsonl")).ok());
    (said, logs.collect())
}

#[test]
fn an_agents_program_reaches_its_model_and_what_is_allowed_and_the_user_learns_of_the_rest() {
    let (good, bad) = (server("the model"), server("somebody else"));
    let beside = folder();
    let path = beside.path().join("s");
    let _socket = UnixListener::bind(&path).unwrap();
    let words = format!("{good} {bad} {}", path.display());
    let story = probing("", &format!("http://127.0.0.1:{good}"), &words);
    let run = story.redgreen("run \"a calculator\"");
    assert!(run.stderr.contains("no connection to evil.example:443"), "{}", run.stderr);
    assert!(run.stderr.contains("add \"evil.example:443\" to agent.allow-hosts"), "{}", run.stderr);
    assert!(
        run.stderr.contains("they connect only to their model's hosts and package registries"),
        "{}",
        run.stderr
    );
    let (said, log) = told(&story);
    assert_eq!(said, "reached model\nreached allowed\nmissed evil\nmissed direct\nmissed socket\n");
    assert!(
        log.contains("\"host\":\"evil.example\",\"port\":443,\"outcome\":\"refused\""),
        "{log}"
    );
    let shown = story.redgreen("agents").exits(0);
    assert!(shown.stdout.contains(&format!("model hosts: 127.0.0.1:{good}")), "{}", shown.stdout);
    assert!(shown.stdout.contains("package registries"), "{}", shown.stdout);
}

/// The user's registry is reachable, except with `network = "model"`.
#[test]
fn registries_are_out_of_reach_where_the_network_is_for_the_model_alone() {
    for (setting, reached) in [("", "reached"), ("network = \"model\"", "missed")] {
        let (good, registry) = (server("the model"), server("packages"));
        let story = probing(
            setting,
            &format!("http://127.0.0.1:{good}"),
            &format!("{good} {registry} /nowhere"),
        );
        fs::write(story.place("home/.npmrc"), format!("registry=http://127.0.0.1:{registry}/\n"))
            .unwrap();
        story.redgreen("run \"a calculator\"");
        let (said, _) = told(&story);
        let rest = "missed evil\n";
        assert_eq!(
            said,
            format!("reached model\nreached allowed\n{rest}{reached} direct\nmissed socket\n"),
            "{setting}"
        );
    }
}

#[test]
fn an_open_network_is_a_choice_and_said() {
    let (good, bad) = (server("the model"), server("somebody else"));
    let story = probing("network = \"open\"", "", &format!("{good} {bad} /nowhere"));
    let run = story.redgreen("run \"a calculator\"");
    assert!(run.stderr.contains("agents' network is open (agent.network)"), "{}", run.stderr);
    let (said, log) = told(&story);
    assert_eq!(
        said,
        "reached model\nreached allowed\nmissed evil\nreached direct\nmissed socket\n"
    );
    assert_eq!(log, "");
}

#[test]
fn a_host_that_is_none_is_reported_with_its_setting() {
    let story = probing("allow-hosts = [\"*\"]", "", "1 2 3");
    story.redgreen("run \"x\"").exits(2).says("agent.allow-hosts has \"*\"").says("example.com");
}
