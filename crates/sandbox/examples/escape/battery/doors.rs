//! Where bytes that leave a sandbox would arrive: listeners of the harness, and the terminal.

use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::probe::{Door, LEAKED_SOCKET, LEAKED_TTY, World};
use super::sys::call;

const TCP_FASTOPEN: i32 = 23;
const TIOCSPTLCK: u32 = 0x4004_5431;
const TIOCGPTPEER: u32 = 0x5441;
const DNS_PORT: u16 = 53;
const PATIENCE: Duration = Duration::from_millis(400);

/// All doors, open.
#[derive(Debug)]
pub(crate) struct Doors {
    tcp: TcpListener,
    udp: UdpSocket,
    dns: Option<UdpSocket>,
    path: UnixListener,
    work: UnixListener,
    work_datagram: UnixDatagram,
    named: UnixListener,
    datagram: UnixDatagram,
    leaked: TcpStream,
}

impl Doors {
    /// Opens them, and leaks one end of a connection and of a terminal as descriptors 63 and 62.
    pub(crate) fn open(base: &Path, world: &mut World) -> Result<Self> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("TCP door")?;
        let _ = call!(SYS_setsockopt, tcp.as_raw_fd(), libc::IPPROTO_TCP, TCP_FASTOPEN, &[16], 4);
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("UDP door")?;
        let dns = UdpSocket::bind((Ipv4Addr::LOCALHOST, DNS_PORT)).ok();
        world.tcp = tcp.local_addr()?.port();
        world.udp = udp.local_addr()?.port();
        let listener = |name: &str| -> Result<UnixListener> {
            let path = base.join(name);
            let door = UnixListener::bind(&path).with_context(|| format!("door {}", path.display()))?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o777))?;
            Ok(door)
        };
        let path = listener("socket")?;
        let work = listener("work/socket")?;
        let work_datagram = UnixDatagram::bind(base.join("work/datagram")).context("datagram door in work")?;
        std::fs::set_permissions(base.join("work/datagram"), Permissions::from_mode(0o777))?;
        let name = world.abstract_name();
        let named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?).context("abstract door")?;
        let datagram =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("{name}d"))?).context("datagram door")?;
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let client = TcpStream::connect(server.local_addr()?)?;
        let (leaked, _) = server.accept()?;
        leak(client.as_raw_fd(), LEAKED_SOCKET)?;
        terminal()?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        if let Some(dns) = &dns {
            dns.set_nonblocking(true)?;
        }
        for door in [&path, &work, &named] {
            door.set_nonblocking(true)?;
        }
        datagram.set_nonblocking(true)?;
        work_datagram.set_nonblocking(true)?;
        leaked.set_nonblocking(true)?;
        Ok(Self { tcp, udp, dns, path, work, work_datagram, named, datagram, leaked })
    }

    /// Throws away what has arrived.
    pub(crate) fn drain(&self) {
        for door in [
            Door::Tcp,
            Door::Udp,
            Door::Dns,
            Door::Path,
            Door::Work,
            Door::WorkDatagram,
            Door::Abstract,
            Door::Datagram,
            Door::Leaked,
        ] {
            while self.look(door) {}
        }
        while self.typed() {}
    }

    /// Whether a byte has arrived; with `wait`, it may still be on its way.
    pub(crate) fn arrived(&self, door: Door, wait: bool) -> bool {
        let until = Instant::now() + if wait { PATIENCE } else { Duration::ZERO };
        loop {
            if self.look(door) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn look(&self, door: Door) -> bool {
        let mut byte = [0_u8; 16];
        let datagram = |socket: &UdpSocket, byte: &mut [u8]| socket.recv(byte).is_ok();
        match door {
            Door::Tcp => speaks(|| self.tcp.accept(), |stream, patience| stream.set_read_timeout(patience)),
            Door::Path => accepts(&self.path),
            Door::Work => accepts(&self.work),
            Door::Abstract => accepts(&self.named),
            Door::Udp => datagram(&self.udp, &mut byte),
            Door::Dns => self.dns.as_ref().is_some_and(|dns| datagram(dns, &mut byte)),
            Door::Datagram => self.datagram.recv(&mut byte).is_ok(),
            Door::WorkDatagram => self.work_datagram.recv(&mut byte).is_ok(),
            Door::Leaked => matches!((&self.leaked).read(&mut byte), Ok(count) if count > 0),
            Door::Channel => false,
        }
    }

    /// Whether a character waits in the terminal's input.
    pub(crate) fn typed(&self) -> bool {
        let mut byte = [0_u8; 16];
        matches!(call!(SYS_read, LEAKED_TTY, &mut byte, 16), Ok(count) if count > 0)
    }
}

/// Whether one of the waiting connections has sent something. A connection that was made and broken off is skipped.
fn speaks<S: Read, A>(
    accept: impl Fn() -> std::io::Result<(S, A)>,
    limit: impl Fn(&S, Option<Duration>) -> std::io::Result<()>,
) -> bool {
    loop {
        match accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => {}
            Ok((mut stream, _)) => {
                let mut byte = [0_u8; 16];
                if limit(&stream, Some(PATIENCE)).is_ok() && matches!(stream.read(&mut byte), Ok(count) if count > 0) {
                    return true;
                }
            }
        }
    }
}

fn accepts(listener: &UnixListener) -> bool {
    speaks(|| listener.accept(), |stream, patience| stream.set_read_timeout(patience))
}

/// Makes `fd` inheritable under the number `number`.
pub(crate) fn leak(fd: i32, number: i32) -> Result<()> {
    call!(SYS_dup2, fd, number).map(drop).map_err(|errno| anyhow!("leak descriptor {number}: {errno}"))
}

/// A terminal that is the controlling terminal of the harness; its slave side, without line editing, is leaked. It stays
/// open until the harness ends: closing it would hang up the session.
fn terminal() -> Result<()> {
    let fail = |what: &'static str| move |errno| anyhow!("{what}: {errno}");
    let master = OpenOptions::new().read(true).write(true).open("/dev/ptmx").context("open /dev/ptmx")?;
    call!(SYS_ioctl, master.as_raw_fd(), TIOCSPTLCK, &[0_i32]).map_err(fail("unlock the terminal"))?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    let slave = call!(SYS_ioctl, master.as_raw_fd(), TIOCGPTPEER, flags).map_err(fail("open the terminal"))?;
    let slave = i32::try_from(slave)?;
    let mut settings = [0_u32; 16];
    call!(SYS_ioctl, slave, libc::TCGETS as u32, &mut settings).map_err(fail("read the terminal's settings"))?;
    let [_, _, _, local, ..] = &mut settings;
    *local &= !(libc::ICANON | libc::ECHO);
    call!(SYS_ioctl, slave, libc::TCSETS as u32, &settings).map_err(fail("set the terminal"))?;
    call!(SYS_ioctl, slave, libc::TIOCSCTTY as u32, 0).map_err(fail("take the terminal"))?;
    call!(SYS_fcntl, slave, libc::F_SETFL, libc::O_NONBLOCK).map_err(fail("set the terminal"))?;
    leak(slave, LEAKED_TTY)?;
    let _ = call!(SYS_close, slave);
    std::mem::forget(master);
    Ok(())
}
