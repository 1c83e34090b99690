//! The machines of a test: network namespaces that reach each other over virtual cables. Each cable
//! can be unplugged. One namespace is for the server and the users.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::skip::skipped;

/// The server's address, which is the same for every worker.
pub(super) const SERVER: &str = "10.99.255.1";
const PREFIX: &str = "redgreen-test-";

/// Network namespaces. They are removed at the end.
pub(super) struct Network {
    prefix: String,
    workers: usize,
}

impl Network {
    /// `None` with a message where namespaces are not available.
    pub(super) fn new(workers: usize) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        remove_leftovers();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{PREFIX}{}-{count}-", std::process::id());
        let network = Self { prefix, workers };
        let made = network.make();
        if !made {
            skipped("network namespaces cannot be made: this needs root and iproute2");
        }
        made.then_some(network)
    }

    fn make(&self) -> bool {
        let hub = self.hub();
        let add = |number: usize| {
            let (name, cable) = (self.worker(number), cable(number));
            let (here, there) = (format!("10.99.{number}.1"), format!("10.99.{number}.2/24"));
            ip(&format!("netns add {name}"))
                && ip(&format!("-n {hub} link add {cable} type veth peer name eth0 netns {name}"))
                && ip(&format!("-n {hub} addr add {here}/24 dev {cable}"))
                && ip(&format!("-n {hub} link set {cable} up"))
                && ip(&format!("-n {name} link set lo up"))
                && ip(&format!("-n {name} addr add {there} dev eth0"))
                && ip(&format!("-n {name} link set eth0 up"))
                && ip(&format!("-n {name} route add default via {here}"))
        };
        ip(&format!("netns add {hub}"))
            && ip(&format!("-n {hub} link set lo up"))
            && ip(&format!("-n {hub} addr add {SERVER}/32 dev lo"))
            && (0..self.workers).all(add)
    }

    /// Unplugs a worker's cable: nothing arrives, and neither side gets an error.
    pub(super) fn cut(&self, worker: usize) {
        assert!(ip(&format!("-n {} link set {} down", self.hub(), cable(worker))));
    }

    pub(super) fn heal(&self, worker: usize) {
        assert!(ip(&format!("-n {} link set {} up", self.hub(), cable(worker))));
    }

    pub(super) fn hub(&self) -> String {
        format!("{}hub", self.prefix)
    }

    pub(super) fn worker(&self, number: usize) -> String {
        format!("{}{number}", self.prefix)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in (0..self.workers).map(|number| self.worker(number)).chain([self.hub()]) {
            ip(&format!("netns del {name}"));
        }
    }
}

/// The same command in a namespace. It keeps its process id.
pub(super) fn within(namespace: &str, command: &Command) -> Command {
    wrapped(&["ip", "netns", "exec", namespace], command)
}

/// The same command in a namespace, where this folder is a private small disk.
pub(super) fn on_small_disk(
    namespace: &str,
    folder: &Path,
    kibibytes: usize,
    command: &Command,
) -> Command {
    fs::create_dir_all(folder).unwrap();
    let folder = folder.to_str().unwrap();
    let mount = format!("mount -t tmpfs -o size={kibibytes}k tmpfs \"$0\" && exec \"$@\"");
    wrapped(&["ip", "netns", "exec", namespace, "sh", "-c", &mount, folder], command)
}

fn wrapped(words: &[&str], command: &Command) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts programs on other machines")]
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program()).args(command.get_args()).env_clear();
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    outer
}

fn cable(worker: usize) -> String {
    format!("cable{worker}")
}

/// Removes the namespaces of killed tests.
fn remove_leftovers() {
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            ip(&format!("netns del {name}"));
        }
    }
}

fn ip(line: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test makes its own network")]
    let mut command = Command::new("ip");
    command.args(line.split(' ')).output().is_ok_and(|output| output.status.success())
}
