//! Asks a model through the real broker, as the monitor would, and prints outcome and account: to try a provider's configuration.
//!
//!     cargo build --package countersign-broker
//!     cargo run --package countersign-broker --example ask -- broker.yaml < request.json
//!
//! The request is `{"messages": [{"role": "user", "content": "…"}], "schema": {…}, "max_tokens": 100}`. Environment variables that the
//! configuration names are passed on by descriptor. The case is `example`, its data are `public`.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use command_fds::{CommandFdExt as _, FdMapping};
use countersign_wire::broker::to_broker::{Boot, Infer, Kind};
use countersign_wire::broker::{FromBroker, ToBroker, from_broker};
use countersign_wire::frame;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("name a configuration (countersign.broker/v1)")?;
    let configuration = std::fs::read(&path).with_context(|| path)?;
    let mut request = Vec::new();
    std::io::stdin().read_to_end(&mut request)?;
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("where is the broker?")?;
    let program = folder.join("countersign-broker");

    let (socket, theirs) = UnixStream::pair()?;
    let mut variables = File::from(rustix::fs::memfd_create("variables", rustix::fs::MemfdFlags::CLOEXEC)?);
    for name in named(&program, &configuration)? {
        let value = std::env::var(&name).with_context(|| format!("the configuration names the variable {name}"))?;
        write!(variables, "{name}={value}\0")?;
    }
    let mappings = vec![
        FdMapping { parent_fd: OwnedFd::from(theirs), child_fd: 3 },
        FdMapping { parent_fd: OwnedFd::from(variables), child_fd: 4 },
    ];
    let mut broker = Command::new(&program).env_clear().stdin(Stdio::null()).fd_mappings(mappings)?.spawn()?;

    let gate_key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes().to_vec();
    tell(
        &socket,
        Kind::Boot(Boot { gate_key, epoch: 1, configuration, state: String::new(), print_key: vec![7; 32] }),
    )?;
    let case = "example".to_owned();
    let (provider, secrecy) = (String::new(), "public".to_owned());
    tell(&socket, Kind::Infer(Infer { id: 1, case, provider, secrecy, request, ..Infer::default() }))?;
    loop {
        let message: FromBroker = frame::read(&mut &socket, frame::FRAME_LIMIT)?;
        match message.kind.context("the broker said nothing")? {
            from_broker::Kind::Booted(booted) => ensure!(booted.error.is_empty(), "{}", booted.error),
            from_broker::Kind::Inferred(inferred) => {
                let (outcome, account) = (String::from_utf8(inferred.outcome)?, String::from_utf8(inferred.account)?);
                writeln!(std::io::stdout(), "{outcome}\n{account}")?;
                break;
            }
            other => writeln!(std::io::stderr(), "{other:?}")?,
        }
    }
    drop(socket);
    broker.wait()?;
    Ok(())
}

/// The variables that a configuration names, by the broker's own account.
fn named(program: &Path, configuration: &[u8]) -> anyhow::Result<Vec<String>> {
    let mut asked = Command::new(program)
        .arg("--variables")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{}: build it first", program.display()))?;
    asked.stdin.take().context("no standard input")?.write_all(configuration)?;
    let printed = asked.wait_with_output()?;
    ensure!(printed.status.success(), "the broker refuses the configuration");
    Ok(String::from_utf8(printed.stdout)?.lines().map(str::to_owned).collect())
}

fn tell(mut socket: &UnixStream, kind: Kind) -> anyhow::Result<()> {
    frame::write(&mut socket, &ToBroker { kind: Some(kind) })?;
    Ok(())
}
