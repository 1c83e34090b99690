//! TLS: the scripted server behind a small forwarder with a test certificate made by openssl.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use redgreen::agent::model::Client;
use redgreen::config::Models;
use redgreen::process::{self, Program, Stop};

use super::{ENOUGH, Limits, ModelErrorKind, QUICK, RetryLimits, ask, provider, request, text};
use crate::server::{Server, Turn, Wire};
use crate::skip::skipped;

/// Takes the port of the server behind it, and prints its own port.
const FORWARDER: &str = r#"
import socket, ssl, sys, threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client):
    try:
        client = context.wrap_socket(client, server_side=True)
    except OSError:
        return
    behind = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=pump, args=(client, behind), daemon=True).start()
    pump(behind, client)


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"#;

struct Forwarder {
    url: String,
    child: Child,
}

impl Forwarder {
    fn start(folder: &Path, server: &Server) -> Self {
        let port = server.url.rsplit(':').next().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a server that runs next to the test")]
        let mut child = Command::new("python3")
            .args(["-c", FORWARDER, port])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut own = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut own).unwrap();
        Self { url: format!("https://127.0.0.1:{}", own.trim()), child }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Makes `cert.pem` and `key.pem` in the folder with openssl, and returns whether that worked.
fn has_certificate(folder: &Path) -> bool {
    let make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here \
        -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";
    let limits = process::Limits { wall: ENOUGH, output_bytes_max: 1 << 16 };
    Program::shell(make)
        .cwd(folder)
        .output(limits, &Stop::default())
        .is_ok_and(|made| made.success())
}

#[test]
fn a_server_is_believed_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    if !has_certificate(folder.path()) {
        return skipped("no openssl that makes a certificate");
    }
    let server = Server::start(vec![Turn::say("in secret")]);
    let forwarder = Forwarder::start(folder.path(), &server);
    let provider = provider(Wire::Chat, &forwarder.url);
    let limits = Limits { patience: RetryLimits { tries_max: 2, ..QUICK.patience }, ..QUICK };
    let trusting = |name: &str| {
        let mut models = Models::default();
        models.certificates = Some(folder.path().join(name));
        models
    };

    let stranger = Client::new(provider.clone(), &Models::default(), limits).unwrap();
    let error = ask(&stranger, &request()).0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::BadRequest, "{error:?}");
    assert!(error.message.contains("certificate"), "{error:?}");
    assert_eq!(server.requests().len(), 0);

    let friend = Client::new(provider.clone(), &trusting("cert.pem"), limits).unwrap();
    assert_eq!(text(&ask(&friend, &request()).0.unwrap()), "in secret");

    let error = Client::new(provider, &trusting("key.pem"), limits).unwrap_err();
    assert!(error.to_string().starts_with("SSL_CERT_FILE cannot be used: "), "{error}");
}
