//! A git repository to push to: a directory, or a server of this machine that a test starts.

use std::cell::RefCell;
use std::ffi::OsString;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Git, Sandbox};

pub struct Remote {
    url: String,
    place: PathBuf,
    git: Git,
    /// Variables that git needs to reach it.
    env: Vec<(&'static str, OsString)>,
    servers: RefCell<Vec<Child>>,
}

/// The text of a path.
pub fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

impl Remote {
    /// A bare repository in a directory; `None` where there is no git.
    pub fn bare_directory(sandbox: &Sandbox) -> Option<Self> {
        let place = sandbox.top().join("server").join("project.git");
        let remote = Self {
            url: text(&place),
            git: Git::find(&sandbox.top())?.with("GIT_DIR", &place),
            place,
            env: Vec::new(),
            servers: RefCell::default(),
        };
        std::fs::create_dir_all(&remote.place).expect("a folder");
        remote.git.run(&["init", "-q", "--bare"]).success();
        Some(remote)
    }

    /// The same, behind `git daemon`, which lets everybody write.
    pub fn daemon(sandbox: &Sandbox) -> Option<Self> {
        let mut remote = Self::bare_directory(sandbox)?;
        let port = free_port();
        let base = format!("--base-path={}", text(remote.place.parent()?));
        let arguments = [
            "daemon",
            "--export-all",
            "--enable=receive-pack",
            "--reuseaddr",
        ];
        let place = ["--listen=127.0.0.1", &format!("--port={port}"), &base];
        remote.start(remote.git.command(&[&arguments[..], &place].concat()), port);
        remote.url = format!("git://127.0.0.1:{port}/project.git");
        Some(remote)
    }

    /// The same, behind `sshd` with a key; `None` where that is missing.
    pub fn ssh(sandbox: &Sandbox) -> Option<Self> {
        let sshd = program("/usr/sbin/sshd")?;
        let keygen = program("/usr/bin/ssh-keygen")?;
        let mut remote = Self::bare_directory(sandbox)?;
        let (dir, port) = (sandbox.top().join("ssh"), free_port());
        std::fs::create_dir_all(&dir).expect("a folder");
        for key in ["host", "user"] {
            let mut make = Command::new(keygen);
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(dir.join(key));
            let done = super::limit::output(&mut make).expect("it starts");
            assert!(done.status.success(), "{done:?}");
        }
        let authorized = dir.join("user.pub");
        super::os::set_mode(&authorized, 0o600).expect("its mode can be set");
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nAuthorizedKeysFile {0}/user.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
             SetEnv PATH={1}\nSetEnv GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*\n",
            text(&dir),
            std::env::var("PATH").unwrap_or_default()
        );
        std::fs::write(dir.join("sshd_config"), settings).expect("it is written");
        if std::fs::create_dir_all("/run/sshd").is_err() && !Path::new("/run/sshd").is_dir() {
            super::skipped("needs /run/sshd");
            return None;
        }
        let mut serve = Command::new(sshd);
        serve.args(["-D", "-e", "-f"]).arg(dir.join("sshd_config"));
        remote.start(serve, port);
        let user = super::limit::output(Command::new("id").arg("-un")).expect("it starts");
        let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
        remote.url = format!("ssh://{user}@127.0.0.1:{port}{}", remote.url);
        let ssh = format!(
            "ssh -F none -i {0}/user -o IdentitiesOnly=yes -o UserKnownHostsFile={0}/known \
             -o StrictHostKeyChecking=accept-new",
            text(&dir)
        );
        remote.env.push(("GIT_SSH_COMMAND", ssh.into()));
        Some(remote)
    }

    /// The same, behind nginx with a password, `fcgiwrap` and `git http-backend`; `None` where one
    /// of them is missing.
    pub fn http(sandbox: &Sandbox) -> Option<Self> {
        let nginx = program("/usr/sbin/nginx")?;
        let fcgiwrap = program("/usr/sbin/fcgiwrap")?;
        let mut remote = Self::bare_directory(sandbox)?;
        remote
            .git
            .run(&["config", "http.receivepack", "true"])
            .success();
        let exec_path = remote.git.output(&["--exec-path"]);
        let (dir, port) = (sandbox.top().join("http"), free_port());
        std::fs::create_dir_all(&dir).expect("a folder");
        // The user `me`, whose password is `secret`.
        std::fs::write(dir.join("users"), "me:{PLAIN}secret\n").expect("it is written");
        let settings = HTTP_SETTINGS
            .replace("@DIR@", &text(&dir))
            .replace("@PORT@", &port.to_string())
            .replace("@BACKEND@", &format!("{exec_path}/git-http-backend"))
            .replace("@PROJECTS@", &text(remote.place.parent()?))
            .replace(
                "@USER@",
                if super::os::is_root() {
                    "user root;"
                } else {
                    ""
                },
            );
        std::fs::write(dir.join("nginx.conf"), settings).expect("it is written");
        let socket = dir.join("socket");
        let mut wrap = Command::new(fcgiwrap);
        wrap.arg("-s").arg(format!("unix:{}", text(&socket)));
        remote.spawn(wrap);
        within(|| socket.exists());
        let mut serve = Command::new(nginx);
        serve
            .arg("-p")
            .arg(&dir)
            .arg("-c")
            .arg(dir.join("nginx.conf"));
        remote.start(serve, port);
        remote.url = format!("http://me:secret@127.0.0.1:{port}/project.git");
        Some(remote)
    }

    fn start(&self, command: Command, port: u16) {
        self.spawn(command);
        within(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    fn spawn(&self, mut command: Command) {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().expect("a server can be started");
        self.servers.borrow_mut().push(child);
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn place(&self) -> &Path {
        &self.place
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Gives a sandbox what it needs to reach this.
    pub fn reach_from(&self, sandbox: &Sandbox) {
        sandbox.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        sandbox.env("GIT_CONFIG_NOSYSTEM", "1");
        for (name, value) in &self.env {
            sandbox.env(name, value);
        }
    }

    pub fn add_to(&self, sandbox: &Sandbox) {
        self.reach_from(sandbox);
        sandbox
            .run(&["remote", "add", "origin", &self.url])
            .success();
    }

    /// A later machine that cloned this.
    pub fn cloned(&self) -> Sandbox {
        let to = Sandbox::bare();
        to.at("2026-05-01T00:00:00Z");
        self.reach_from(&to);
        let clone = ["clone", &self.url, &text(to.root())];
        to.run_in(to.home(), &clone).success();
        to
    }

    /// The lines, with their newest carriers.
    pub fn refs(&self) -> String {
        self.git
            .output(&["for-each-ref", "--format=%(objectname) %(refname)"])
    }

    /// Fails unless git finds nothing wrong with it.
    #[track_caller]
    pub fn assert_sound(&self) {
        self.git.run(&["fsck", "--full", "--strict"]).success();
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        for server in self.servers.get_mut() {
            #[cfg(unix)]
            if let Some(group) = i32::try_from(server.id())
                .ok()
                .and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = server.kill();
            within(|| !matches!(server.try_wait(), Ok(None)));
        }
    }
}

const HTTP_SETTINGS: &str = "@USER@
daemon off;
pid @DIR@/pid;
error_log @DIR@/errors;
events {}
http {
  access_log off;
  client_body_temp_path @DIR@/body;
  fastcgi_temp_path @DIR@/fastcgi;
  proxy_temp_path @DIR@/proxy;
  scgi_temp_path @DIR@/scgi;
  uwsgi_temp_path @DIR@/uwsgi;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:@PORT@;
    location /moved/ { return 302 file://@PROJECTS@$request_uri; }
    location / {
      auth_basic checkpoints;
      auth_basic_user_file @DIR@/users;
      fastcgi_pass unix:@DIR@/socket;
      fastcgi_param SCRIPT_FILENAME @BACKEND@;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_PROJECT_ROOT @PROJECTS@;
      fastcgi_param GIT_CONFIG_COUNT 1;
      fastcgi_param GIT_CONFIG_KEY_0 safe.directory;
      fastcgi_param GIT_CONFIG_VALUE_0 *;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
      fastcgi_param GIT_PROTOCOL $http_git_protocol;
      fastcgi_param REMOTE_USER $remote_user;
    }
  }
}
";

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Waits for something that a server does.
fn within(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "a server does not start or end"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program of the system; a test without it is skipped.
fn program(path: &'static str) -> Option<&'static str> {
    if Path::new(path).is_file() {
        return Some(path);
    }
    super::skipped(&format!("needs {path}"));
    None
}
