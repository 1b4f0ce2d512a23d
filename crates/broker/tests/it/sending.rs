//! Mail and messages: exactly to whom they were granted, once, and with nothing in them that is a secret.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use countersign_plan::egress::Egress;
use countersign_wire::egress::{ask, reply};

use crate::house::House;
use crate::server::{Server, ok};

/// A mail server that does as little as it can.
struct Post {
    address: SocketAddr,
    said: Arc<Mutex<Vec<String>>>,
}

impl Post {
    /// `greeting` are the lines after EHLO; `last` answers the mail itself, or hangs up if it is empty.
    fn start(extensions: &'static [&'static str], last: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let mut from = BufReader::new(socket.try_clone().unwrap());
                let mut to = socket;
                to.write_all(b"220 test\r\n").unwrap();
                let mut data = false;
                let mut line = String::new();
                while from.read_line(&mut line).is_ok_and(|got| got > 0) {
                    let said = std::mem::take(&mut line).trim_end_matches(['\r', '\n']).to_owned();
                    heard.lock().unwrap().push(said.clone());
                    let answer = if data {
                        if said != "." {
                            continue;
                        }
                        data = false;
                        if last.is_empty() {
                            break;
                        }
                        format!("{last}\r\n")
                    } else if said.starts_with("EHLO") {
                        let mut lines = vec!["test"];
                        lines.extend(extensions);
                        let end = lines.len() - 1;
                        lines
                            .iter()
                            .enumerate()
                            .map(|(at, text)| format!("250{}{text}\r\n", if at == end { ' ' } else { '-' }))
                            .collect()
                    } else if said == "DATA" {
                        data = true;
                        "354 go\r\n".to_owned()
                    } else if said.starts_with("AUTH") {
                        "235 in\r\n".to_owned()
                    } else {
                        "250 ok\r\n".to_owned()
                    };
                    to.write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        Self { address, said }
    }

    fn house(&self, tls: &str) -> House {
        let configuration = format!(
            "schema: countersign.broker/v1\nsecrets: {{mail: {{from: {{env: PASSWORD}}}}}}\nmail: {{server: 127.0.0.1, port: {}, tls: {tls}, from: 'Agent <agent@house.example>', password: mail}}\n",
            self.address.port()
        );
        House::start(&configuration, &[("PASSWORD", "mail-password-1")])
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

const AUTH: &[&str] = &["AUTH PLAIN", "8BITMIME"];

fn mail(to: &[&str]) -> ask::Mail {
    ask::Mail {
        to: to.iter().map(|address| (*address).to_owned()).collect(),
        subject: "Über the limit".to_owned(),
        body: "Hello\n.\nstill the body".to_owned(),
        attachments: vec![ask::Attachment { name: "a.txt".to_owned(), content: b"content".to_vec() }],
    }
}

fn granted(to: &[&str]) -> Egress {
    Egress { mail: to.iter().map(|address| (*address).to_owned()).collect(), ..Egress::default() }
}

#[test]
fn a_mail_goes_to_exactly_the_granted_recipients_once() {
    let post = Post::start(AUTH, "250 taken");
    let mut house = post.house("none");
    let to = ["a@one.example", "B@two.example"];
    let id = house.lease(granted(&to));
    for others in [vec!["a@one.example"], vec!["a@one.example", "b@two.example", "c@evil.example"], vec![]] {
        assert!(house.refusal(id, ask::Kind::Mail(mail(&others))).violation, "{others:?}");
    }
    assert_eq!(post.said().len(), 0);
    let (kind, _) = house.ask(id, ask::Kind::Mail(mail(&to)));
    let reply::Kind::Sent(sent) = kind else { panic!("{kind:?}") };
    let said = post.said();
    let recipients: Vec<_> = said.iter().filter(|line| line.starts_with("RCPT")).cloned().collect();
    assert_eq!(recipients, ["RCPT TO:<a@one.example>", "RCPT TO:<B@two.example>"]);
    assert!(said.iter().any(|line| line.starts_with("MAIL FROM:<agent@house.example>")));
    assert!(said.iter().any(|line| *line == format!("Message-ID: {}", sent.message_id)), "{sent:?}: {said:#?}");
    assert!(said.iter().any(|line| line.starts_with("AUTH PLAIN")));
    assert!(said.iter().any(|line| line == "still the body"), "a dot in the body ends nothing");
    assert!(house.refusal(id, ask::Kind::Mail(mail(&to))).violation, "a second mail");
    // One text with several addresses is what it says.
    let id = house.lease(granted(&to));
    let (kind, _) = house.ask(id, ask::Kind::Mail(mail(&["\"A, B\" <a@one.example>, b@two.example"])));
    assert!(matches!(kind, reply::Kind::Sent(_)), "{kind:?}");
    assert!(post.said().iter().any(|line| line == "To: a@one.example, b@two.example"), "{:?}", post.said());
}

#[test]
fn what_would_split_a_mail_or_carry_a_secret_is_not_sent() {
    let post = Post::start(AUTH, "250 taken");
    let mut house = post.house("none");
    let to = ["a@one.example"];
    let attacks = [
        ask::Mail { subject: "x\r\nBcc: c@evil.example".to_owned(), ..mail(&to) },
        ask::Mail { attachments: vec![ask::Attachment { name: "a\r\nX: y".to_owned(), content: vec![] }], ..mail(&to) },
        ask::Mail { body: "the password is mail-password-1".to_owned(), ..mail(&to) },
        ask::Mail { to: vec!["a@one.example>\r\nRCPT TO:<c@evil.example".to_owned()], ..mail(&to) },
    ];
    for attack in attacks {
        let id = house.lease(granted(&to));
        house.refusal(id, ask::Kind::Mail(attack));
    }
    assert_eq!(post.said().len(), 0);
}

#[test]
fn without_the_tls_that_is_configured_nothing_is_said() {
    let post = Post::start(AUTH, "250 taken");
    let mut house = post.house("starttls");
    let id = house.lease(granted(&["a@one.example"]));
    let refused = house.refusal(id, ask::Kind::Mail(mail(&["a@one.example"])));
    assert!(!refused.indeterminate, "{refused:?}");
    assert!(post.said().iter().all(|line| line.starts_with("EHLO") || line == "QUIT"), "{:?}", post.said());
    // In clear only to this machine.
    let mut house = House::start(
        "schema: countersign.broker/v1\nmail: {server: mail.example, port: 25, tls: none, from: a@b.example}\nhosts: {mail.example: [10.1.2.3]}\n",
        &[],
    );
    let id = house.lease(granted(&["a@one.example"]));
    assert!(house.refusal(id, ask::Kind::Mail(mail(&["a@one.example"]))).message.contains("loopback"));
}

#[test]
fn a_mail_that_was_refused_is_refused_and_one_that_may_have_been_taken_is_indeterminate() {
    let refusing = Post::start(AUTH, "554 no thanks, mail-password-1");
    let mut house = refusing.house("none");
    let id = house.lease(granted(&["a@one.example"]));
    let refused = house.refusal(id, ask::Kind::Mail(mail(&["a@one.example"])));
    assert!(!refused.indeterminate && refused.message.contains("no thanks, [secret mail]"), "{refused:?}");
    let silent = Post::start(AUTH, "");
    let mut house = silent.house("none");
    let id = house.lease(granted(&["a@one.example"]));
    assert!(house.refusal(id, ask::Kind::Mail(mail(&["a@one.example"]))).indeterminate);
}

fn message(channel: &str, body: &str) -> ask::Kind {
    ask::Kind::Message(ask::ChannelMessage { channel: channel.to_owned(), body: body.to_owned() })
}

fn channels(server: &Server) -> House {
    let configuration = format!(
        "schema: countersign.broker/v1\nsecrets: {{hook: {{from: {{env: HOOK}}}}}}\nchannels: {{'#ops': {{webhook: hook}}, '#dev': {{webhook: '{}'}}}}\n",
        server.url("/dev")
    );
    House::start(&configuration, &[("HOOK", &server.url("/services/T0/B0/abcdefgh"))])
}

fn to(channel: &str) -> Egress {
    Egress { channel: Some(channel.to_owned()), ..Egress::default() }
}

#[test]
fn a_message_goes_to_the_granted_channel_once() {
    let server = Server::saying(&ok("ok"));
    let mut house = channels(&server);
    let id = house.lease(to("#ops"));
    assert!(house.refusal(id, message("#dev", "hi")).violation);
    assert!(matches!(house.ask(id, message("#ops", "hi \"there\"")).0, reply::Kind::Sent(_)));
    assert!(house.refusal(id, message("#ops", "again")).violation);
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].line.as_str()), (1, "POST /services/T0/B0/abcdefgh HTTP/1.1"));
    assert_eq!(seen[0].body, br#"{"text":"hi \"there\""}"#);
    let id = house.lease(to("#unknown"));
    assert!(!house.refusal(id, message("#unknown", "hi")).violation);
}

/// An address that was replaced is read again when the old one is refused, and the message goes out once.
#[test]
fn a_webhook_that_was_replaced_is_read_again() {
    let server = Server::start(|seen, out| {
        let gone = seen.line.contains("/old/");
        let answer = if gone { "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n".to_owned() } else { ok("ok") };
        drop(out.write_all(answer.as_bytes()));
    });
    let folder = tempfile::tempdir().unwrap();
    let hook = folder.path().join("hook");
    let write = |path: &str| {
        std::fs::write(&hook, server.url(path)).unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    write("/services/old/abcdefgh");
    let mut house = House::start(
        &format!(
            "schema: countersign.broker/v1\nsecrets: {{hook: {{from: {{file: '{}'}}}}}}\nchannels: {{'#ops': {{webhook: hook}}}}\n",
            hook.display()
        ),
        &[],
    );
    let id = house.lease(to("#ops"));
    assert!(house.refusal(id, message("#ops", "one")).message.contains("410"));
    write("/services/new/abcdefgh");
    let id = house.lease(to("#ops"));
    assert!(matches!(house.ask(id, message("#ops", "two")).0, reply::Kind::Sent(_)));
    let asked = server.seen().iter().filter(|seen| seen.line.contains("/new/")).count();
    assert_eq!(asked, 1);
}

/// INV-10: the address of a webhook is itself a secret.
#[test]
fn a_channel_that_refuses_tells_nothing_of_its_address() {
    let server = Server::start(|seen, out| {
        let path = seen.line.split(' ').nth(1).unwrap();
        let body = format!("no_service at http://{}{path}", seen.header("host").unwrap());
        let answer = format!("HTTP/1.1 404 No\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        drop(out.write_all(answer.as_bytes()));
    });
    let mut house = channels(&server);
    let id = house.lease(to("#ops"));
    let refused = house.refusal(id, message("#ops", "hi"));
    assert!(refused.message.contains("404") && !refused.message.contains("abcdefgh"), "{refused:?}");
    assert!(!refused.indeterminate);
}
