//! The review in the browser: which requests are allowed, and what a person sees and does in a real
//! headless browser.

mod browsing;
mod evidence;
mod guarding;
mod refactoring;
mod several;
mod size;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Story;
use super::steer::run_folder;

/// A server for the story's repository.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Server {
    fn start(story: &Story, options: &str) -> Self {
        let mut command = story.prepare(&format!("ui --json {options}"));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = said["url"].as_str().unwrap();
        let (place, token) = url.split_once("/?token=").unwrap();
        let port = place.rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port, token: token.to_owned() }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn url(&self) -> String {
        format!("http://{}/?token={}", self.host(), self.token)
    }

    /// The cookie of a browser that has opened the page before.
    fn cookie(&self) -> String {
        format!("Cookie: redgreen-{}={}", self.port, self.token)
    }

    /// Sends one request exactly as given. Returns the whole response.
    fn raw(&self, head: &str, headers: &[&str], body: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let text = format!(
            "{head} HTTP/1.1\r\nConnection: close\r\n{kind}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A request with the right host and cookie.
    fn get(&self, path: &str) -> String {
        self.raw(&format!("GET {path}"), &[&format!("Host: {}", self.host()), &self.cookie()], "")
    }

    fn post(&self, path: &str, body: &str) -> String {
        let (host, origin) =
            (format!("Host: {}", self.host()), format!("Origin: http://{}", self.host()));
        self.raw(&format!("POST {path}"), &[&host, &origin, &self.cookie()], body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::TERM).ok();
        self.child.wait().ok();
    }
}

/// The id of the only run.
fn id(story: &Story) -> String {
    run_folder(story).file_name().unwrap().to_str().unwrap().to_owned()
}

#[track_caller]
fn status(answer: &str, code: u16) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {code} ")),
        "{code} is not the status of\n{answer}"
    );
}
