//! TLS: the certificate has to be the name's, by an authority that is trusted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use countersign_plan::egress::{Egress, HostGrant, HttpGrant};
use countersign_wire::egress::{ask, reply};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};

use crate::house::{House, bearer, get, handle};

/// What a server of one name shows, and the file of the authority that vouches for it.
fn certified(name: &str, folder: &tempfile::TempDir) -> (Arc<ServerConfig>, PathBuf) {
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (Arc::new(config), file)
}

/// A server for one name, and the file of the authority that vouches for it.
fn serve(name: &str, folder: &tempfile::TempDir) -> (SocketAddr, PathBuf) {
    let (config, file) = certified(name, folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket);
            let mut head = [0; 4096];
            let Ok(got) = stream.read(&mut head) else { continue };
            let said = String::from_utf8_lossy(&head[..got]).into_owned();
            let body = format!("{:?} {}", stream.conn.server_name(), said.lines().next().unwrap());
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            drop(stream.write_all(answer.as_bytes()));
            stream.conn.send_close_notify();
            drop(stream.flush());
        }
    });
    (address, file)
}

fn granted(host: &str, port: u16) -> Egress {
    let at = HostGrant { host: host.to_owned(), port, private: true };
    let http = vec![HttpGrant { method: "GET".to_owned(), tls: true, at, path: "/".to_owned() }];
    Egress { http, secrets: vec![handle("s", &["*.example"])], ..Egress::default() }
}

fn house(authority: Option<&PathBuf>) -> House {
    let authorities = authority.map_or(String::new(), |file| format!("authorities: {}\n", file.display()));
    let text = format!(
        "schema: countersign.broker/v1\nsecrets: {{s: {{from: {{env: S}}}}}}\nhosts: {{good.example: [127.0.0.1], bad.example: [127.0.0.1]}}\n{authorities}"
    );
    House::start(&text, &[("S", "value-0123456789")])
}

#[test]
fn the_name_that_was_granted_is_the_name_of_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (address, authority) = serve("good.example", &folder);
    let mut trusting = house(Some(&authority));
    let fetch = |host: &str| ask::Fetch { auth: bearer("s"), ..get(&format!("https://{host}:{}/", address.port())) };
    let id = trusting.lease(granted("good.example", address.port()));
    let fetched = trusting.fetched(id, fetch("good.example"));
    assert_eq!(fetched.body, b"Some(\"good.example\") GET / HTTP/1.1");
    // The same server under another name, and the same name without trust in its authority.
    let id = trusting.lease(granted("bad.example", address.port()));
    let refused = trusting.refusal(id, ask::Kind::Fetch(fetch("bad.example")));
    assert!(!refused.violation && refused.message.contains("certificate"), "{refused:?}");
    let mut wary = house(None);
    let id = wary.lease(granted("good.example", address.port()));
    let refused = wary.refusal(id, ask::Kind::Fetch(fetch("good.example")));
    assert!(refused.message.contains("certificate"), "{refused:?}");
}

/// A line that a mail server heard, and whether by TLS.
type Heard = Arc<Mutex<Vec<(bool, String)>>>;

/// A mail server for one name that offers an account by TLS only.
fn post(config: Arc<ServerConfig>, implicit: bool) -> (SocketAddr, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Heard::default();
    let noted = Arc::clone(&heard);
    std::thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            if !implicit {
                socket.write_all(b"220 test\r\n").unwrap();
                if !converse(&mut socket, false, &noted) {
                    continue;
                }
            }
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket);
            // A client that does not like the certificate says so and goes.
            if !implicit || stream.write_all(b"220 test\r\n").is_ok() {
                converse(&mut stream, true, &noted);
            }
            stream.conn.send_close_notify();
            drop(stream.flush());
        }
    });
    (address, heard)
}

/// Speaks SMTP until the client goes, or wants to go on by TLS.
fn converse(stream: &mut (impl Read + Write), tls: bool, heard: &Heard) -> bool {
    let mut data = false;
    loop {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => line.push(byte[0]),
                _ => return false,
            }
        }
        let line = String::from_utf8(line).unwrap().trim_end().to_owned();
        heard.lock().unwrap().push((tls, line.clone()));
        let answer = match line.split(' ').next().unwrap() {
            "." if data => {
                data = false;
                "250 taken"
            }
            _ if data => continue,
            "EHLO" if tls => "250-test\r\n250 AUTH PLAIN",
            "EHLO" => "250-test\r\n250 STARTTLS",
            "STARTTLS" => "220 go",
            "AUTH" => "235 in",
            "DATA" => {
                data = true;
                "354 go"
            }
            _ => "250 ok",
        };
        if stream.write_all(format!("{answer}\r\n").as_bytes()).and_then(|()| stream.flush()).is_err() {
            return false;
        }
        if answer == "220 go" {
            return true;
        }
    }
}

/// INV-10: neither password nor mail is said before the server has shown that it is the one that is configured.
#[test]
fn mail_by_tls_goes_to_the_server_of_the_configured_name_alone() {
    let mail = || {
        let to = vec!["a@one.example".to_owned()];
        ask::Kind::Mail(ask::Mail { to, subject: "s".to_owned(), body: "the body".to_owned(), attachments: vec![] })
    };
    let granted = || Egress { mail: vec!["a@one.example".to_owned()], ..Egress::default() };
    for (tls, implicit) in [("starttls", false), ("implicit", true)] {
        let folder = tempfile::tempdir().unwrap();
        let (config, authority) = certified("good.example", &folder);
        let (address, heard) = post(config, implicit);
        let house = |name: &str, trusts: bool| {
            let trusts = if trusts { format!("authorities: {}\n", authority.display()) } else { String::new() };
            let text = format!(
                "schema: countersign.broker/v1\nsecrets: {{mail: {{from: {{env: PASSWORD}}}}}}\n\
                 mail: {{server: {name}, port: {}, tls: {tls}, from: agent@house.example, password: mail}}\n\
                 hosts: {{good.example: [127.0.0.1], bad.example: [127.0.0.1]}}\n{trusts}",
                address.port()
            );
            House::start(&text, &[("PASSWORD", "mail-password-1")])
        };
        for (name, trusts) in [("bad.example", true), ("good.example", false)] {
            let mut house = house(name, trusts);
            let id = house.lease(granted());
            let refused = house.refusal(id, mail());
            assert!(!refused.violation && refused.message.contains("certificate"), "{tls} {name}: {refused:?}");
            let said = std::mem::take(&mut *heard.lock().unwrap());
            assert!(
                said.iter().all(|(_, line)| line.starts_with("EHLO") || line == "STARTTLS"),
                "{tls} {name}: {said:?}"
            );
        }
        let mut house = house("good.example", true);
        let id = house.lease(granted());
        let (kind, _) = house.ask(id, mail());
        assert!(matches!(kind, reply::Kind::Sent(_)), "{tls}: {kind:?}");
        let said = heard.lock().unwrap().clone();
        let clear: Vec<&str> = said.iter().filter(|(tls, _)| !tls).map(|(_, line)| line.as_str()).collect();
        assert!(clear.iter().all(|line| line.starts_with("EHLO") || *line == "STARTTLS"), "{tls}: {clear:?}");
        let by_tls = |begins: &str| said.iter().any(|(tls, line)| *tls && line.starts_with(begins));
        assert!(by_tls("AUTH PLAIN") && by_tls("RCPT TO:<a@one.example>") && by_tls("the body"), "{tls}: {said:?}");
    }
}

#[test]
fn authorities_that_are_none_make_nothing_reachable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let mut house = House::bare(&[]);
    let booted = house.boot(&format!("schema: countersign.broker/v1\nauthorities: {}\n", file.display()));
    assert!(booted.error.contains("/authorities"), "{}", booted.error);
}

/// A secret goes to a public host by TLS only.
#[test]
fn a_secret_is_not_sent_in_clear_to_a_public_host() {
    let mut house = House::start(
        "schema: countersign.broker/v1\nsecrets: {s: {from: {env: S}}}\nhosts: {api.example: [93.184.215.14]}\n",
        &[("S", "value-0123456789")],
    );
    let at = HostGrant { host: "api.example".to_owned(), port: 80, private: false };
    let http = vec![HttpGrant { method: "GET".to_owned(), tls: false, at, path: "/".to_owned() }];
    let id = house.lease(Egress { http, secrets: vec![handle("s", &["api.example"])], ..Egress::default() });
    let fetch = ask::Fetch { auth: bearer("s"), ..get("http://api.example/") };
    assert!(house.refusal(id, ask::Kind::Fetch(fetch)).message.contains("https only"));
}
