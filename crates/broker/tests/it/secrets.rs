//! Where values come from, and when they are gone.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use countersign_plan::egress::Egress;
use countersign_secret::handover::Asking;
use countersign_wire::broker::from_broker;
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::egress::{ask, reply};

use crate::house::{CASE, House, bearer, get, handle, http, requests};
use crate::server::{Server, ok};

const VALUE: &str = "value-0123456789";

fn egress(server: &Server) -> Egress {
    Egress { secrets: vec![handle("s", &["127.0.0.1"])], ..requests(vec![http("GET", server.port(), "/")]) }
}

fn ask(server: &Server) -> ask::Fetch {
    ask::Fetch { auth: bearer("s"), ..get(&server.url("/")) }
}

/// What `from` gives: the value that a server saw, or why there is none.
fn from(from: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let server = Server::saying(&ok("x"));
    let configuration = format!("schema: countersign.broker/v1\nsecrets: {{s: {{from: {from}}}}}\n");
    let mut house = House::start(&configuration, variables);
    let id = house.lease(egress(&server));
    match house.ask(id, ask::Kind::Fetch(ask(&server))).0 {
        reply::Kind::Fetched(_) => {
            let seen = server.seen();
            Ok(seen[0].header("authorization").unwrap().trim_start_matches("Bearer ").to_owned())
        }
        reply::Kind::Refused(refused) => {
            assert_eq!(server.seen().len(), 0);
            Err(refused.message)
        }
        other => panic!("{other:?}"),
    }
}

fn file(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_variable_comes_from_the_descriptor_and_from_nowhere_else() {
    assert_eq!(from("{env: GIVEN}", &[("GIVEN", VALUE)]).unwrap(), VALUE);
    assert!(from("{env: HTTP_PROXY}", &[("GIVEN", VALUE)]).unwrap_err().contains("not set"));
    assert!(from("{env: PATH}", &[]).unwrap_err().contains("not set"));
    assert!(from("{env: SHORT}", &[("SHORT", "abc")]).unwrap_err().contains("8 to"));
}

#[test]
fn a_file_counts_only_if_nobody_else_can_read_or_swap_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let said = |name: &str| from(&format!("{{file: {}}}", at(name).display()), &[]);
    file(&at("good"), &format!("{VALUE}\n"), 0o600);
    assert_eq!(said("good").unwrap(), VALUE);
    file(&at("open"), VALUE, 0o644);
    assert!(said("open").unwrap_err().contains("chmod 600"));
    file(&at("group"), VALUE, 0o620);
    assert!(said("group").unwrap_err().contains("chmod 600"));
    symlink(at("good"), at("link")).unwrap();
    assert!(said("link").unwrap_err().contains("symbolic link"));
    assert!(said("absent").is_err());
    fs::create_dir(at("folder")).unwrap();
    assert!(said("folder").unwrap_err().contains("ordinary"));
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(said("pipe").unwrap_err().contains("ordinary"));
    file(&at("long"), &"x".repeat(70_000), 0o600);
    assert!(said("long").unwrap_err().contains("65536"));
    file(&at("lines"), "two\nlines\n", 0o600);
    assert!(said("lines").unwrap_err().contains("cannot stand in a header"));
}

#[test]
fn a_program_is_run_without_environment_input_and_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("print");
    let text = "#!/bin/sh\nprintf 'seen:%s:%s:%s' \"$(env | grep -cv -e ^PWD -e ^SHLVL -e ^_= -e ^OLDPWD)\" \"$(cat | wc -c)\" \"$(ls -l /proc/$$/fd | grep -c -e socket: -e memfd:)\"\n";
    file(&script, text, 0o700);
    // Neither a variable, nor a byte of input, nor the monitor's socket, nor the file with the variables.
    let seen = from(&format!("{{command: [{}]}}", script.display()), &[("X", "abcdefgh")]).unwrap();
    assert_eq!(seen, "seen:0:0:0");
    assert!(from("{command: [/bin/false]}", &[]).unwrap_err().contains("exit status: 1"));
    assert!(from("{command: [/nonexistent]}", &[]).is_err());
    assert!(from("{command: [/bin/sh, -c, 'yes secret-output']}", &[]).unwrap_err().contains("more than"));
}

#[test]
fn the_keyring_of_the_kernel_is_asked_by_service_and_account() {
    // Where the kernel lets nobody add keys (most containers), the refusal is what is tested.
    let ring = linux_keyutils::KeyRing::from_special_id(linux_keyutils::KeyRingIdentifier::Session, false);
    let added = ring.and_then(|ring| ring.add_key("countersign-test:me", VALUE));
    let outcome = from("{keyring: {service: countersign-test, account: me}}", &[]);
    match added {
        Ok(key) => {
            assert_eq!(outcome.unwrap(), VALUE);
            key.invalidate().unwrap();
        }
        Err(error) => {
            println!("no keyring here: {error}");
            assert!(outcome.unwrap_err().contains("countersign-test:me"));
        }
    }
}

/// Answers as Vault's documentation has them; no Vault runs here.
struct Vault {
    server: Server,
    made: Arc<AtomicUsize>,
    token: Arc<Mutex<String>>,
}

impl Vault {
    fn start(lease_seconds: u64, renewable: bool) -> Self {
        let made = Arc::new(AtomicUsize::new(0));
        let token = Arc::new(Mutex::new("hvs.token-0123456789".to_owned()));
        let (counted, wanted) = (Arc::clone(&made), Arc::clone(&token));
        let server = Server::start(move |seen, out| {
            let answer = if seen.header("x-vault-token") != Some(wanted.lock().unwrap().as_str()) {
                "HTTP/1.1 403 Forbidden\r\nContent-Length: 34\r\n\r\n{\"errors\":[\"permission denied\"]}  ".to_owned()
            } else {
                match seen.line.as_str() {
                    "GET /v1/secret/data/app/api HTTP/1.1" => ok(
                        r#"{"request_id":"9d","lease_id":"","renewable":false,"lease_duration":0,"data":{"data":{"key":"value-0123456789"},"metadata":{"created_time":"2026-01-01T00:00:00Z","version":3,"destroyed":false}},"wrap_info":null,"warnings":null,"auth":null}"#,
                    ),
                    "GET /v1/database/creds/reader HTTP/1.1" => {
                        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
                        ok(&format!(
                            r#"{{"request_id":"e2","lease_id":"database/creds/reader/{number}","renewable":{renewable},"lease_duration":{lease_seconds},"data":{{"username":"v-reader-{number}","password":"A1a-password-{number}"}},"wrap_info":null,"warnings":null,"auth":null}}"#
                        ))
                    }
                    "PUT /v1/sys/leases/renew HTTP/1.1" => ok(&format!(
                        r#"{{"request_id":"a1","lease_id":"database/creds/reader/1","renewable":true,"lease_duration":{},"data":null}}"#,
                        3600
                    )),
                    "PUT /v1/sys/leases/revoke HTTP/1.1" => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
                    other => panic!("{other}"),
                }
            };
            drop(out.write_all(answer.as_bytes()));
        });
        Self { server, made, token }
    }

    fn house(&self, from: &str, token: &str) -> House {
        let configuration = format!(
            "schema: countersign.broker/v1\nsecrets:\n  t: {{from: {token}}}\n  s: {{from: {{vault: {{address: 'http://{}', token: t, {from}}}}}}}\n",
            self.server.address
        );
        House::start(&configuration, &[("TOKEN", "hvs.token-0123456789")])
    }

    fn lines(&self) -> Vec<String> {
        self.server.seen().into_iter().map(|seen| seen.line.replace(" HTTP/1.1", "")).collect()
    }
}

const DYNAMIC: &str =
    "path: creds/reader, field: [username, password], kind: dynamic, mount: database, namespace: team-a";

/// INV-6, INV-10: made for the case, and dead with it.
#[test]
fn dynamic_credentials_live_as_long_as_their_case() {
    let vault = Vault::start(3600, true);
    let server = Server::saying(&ok("x"));
    let mut house = vault.house(DYNAMIC, "{env: TOKEN}");
    for _ in 0..2 {
        let id = house.lease(egress(&server));
        assert_eq!(house.fetched(id, ask(&server)).status, 200);
    }
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer v-reader-1:A1a-password-1"));
    }
    assert_eq!(vault.server.seen()[0].header("x-vault-namespace"), Some("team-a"));
    house.send(Kind::CaseEnded(to_broker::CaseEnded { case: CASE.to_owned(), goes_on: false }));
    while vault.lines().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(vault.lines(), ["GET /v1/database/creds/reader", "PUT /v1/sys/leases/revoke"]);
    let body: serde_json::Value = serde_json::from_slice(&vault.server.seen()[1].body).unwrap();
    assert_eq!(body, serde_json::json!({"lease_id": "database/creds/reader/1"}));
    assert_eq!(vault.made.load(Ordering::SeqCst), 1);
    // A case that is resumed under a new permit gets others.
    let id = house.lease(egress(&server));
    assert_eq!(house.fetched(id, ask(&server)).status, 200);
    assert_eq!(server.seen()[2].header("authorization"), Some("Bearer v-reader-2:A1a-password-2"));
}

/// INV-6: a broker that is killed leaves the ids of its leases, and no value, to the next one, which takes them back.
#[test]
fn inv_6_credentials_of_a_broker_that_was_killed_are_taken_back_by_the_next() {
    let vault = Vault::start(3600, true);
    let server = Server::saying(&ok("x"));
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("broker");
    let configuration = format!(
        "schema: countersign.broker/v1\nsecrets:\n  t: {{from: {{env: TOKEN}}}}\n  s: {{from: {{vault: {{address: 'http://{}', token: t, {DYNAMIC}}}}}}}\n",
        vault.server.address
    );
    let start = || {
        let mut house = House::bare(&[("TOKEN", "hvs.token-0123456789")]);
        assert_eq!(house.boot_in(&configuration, state.to_str().unwrap()).error, "");
        house
    };
    let mut first = start();
    let id = first.lease(egress(&server));
    assert_eq!(first.fetched(id, ask(&server)).status, 200);
    let left = fs::read_to_string(state.join("leases.json")).unwrap();
    assert!(left.contains("database/creds/reader/1") && !left.contains("password"), "{left}");
    assert_eq!(fs::metadata(state.join("leases.json")).unwrap().permissions().mode() & 0o777, 0o600);
    first.kill();
    assert_eq!(vault.lines(), ["GET /v1/database/creds/reader"]);
    let second = start();
    while vault.lines().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(vault.lines()[1], "PUT /v1/sys/leases/revoke");
    let body: serde_json::Value = serde_json::from_slice(&vault.server.seen()[1].body).unwrap();
    assert_eq!(body, serde_json::json!({"lease_id": "database/creds/reader/1"}));
    while fs::read_to_string(state.join("leases.json")).unwrap() != "[]" {
        std::thread::yield_now();
    }
    drop(second);
    drop(start());
    assert_eq!(vault.lines().len(), 2, "what was taken back is not taken back again");
}

/// INV-6: a model is asked for the answer when the credentials of the run are gone, and what the case spent is still counted.
#[test]
fn credentials_die_with_the_plan_before_its_answer_is_written() {
    let vault = Vault::start(3600, true);
    let server = Server::saying(&ok("x"));
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "schema: countersign.script/v1\nanswers: [{text: done}]\n").unwrap();
    let configuration = format!(
        "schema: countersign.broker/v1\nsecrets:\n  t: {{from: {{env: TOKEN}}}}\n  s: {{from: {{vault: {{address: 'http://{}', token: t, {DYNAMIC}}}}}}}\nproviders: {{p: {{kind: scripted, script: '{}'}}}}\n",
        vault.server.address,
        script.display()
    );
    let mut house = House::start(&configuration, &[("TOKEN", "hvs.token-0123456789")]);
    let id = house.lease(egress(&server));
    assert_eq!(house.fetched(id, ask(&server)).status, 200);
    house.send(Kind::CaseEnded(to_broker::CaseEnded { case: CASE.to_owned(), goes_on: true }));
    let request = serde_json::json!({"messages": [{"role": "user", "content": "the answer"}], "max_tokens": 10});
    let infer = to_broker::Infer {
        id: 5,
        case: CASE.to_owned(),
        provider: String::new(),
        secrecy: "public".to_owned(),
        request: request.to_string().into_bytes(),
        ..to_broker::Infer::default()
    };
    house.send(Kind::Infer(infer));
    house.wait(|kind| matches!(kind, from_broker::Kind::Inferred(_)).then_some(()));
    assert_eq!(vault.lines(), ["GET /v1/database/creds/reader", "PUT /v1/sys/leases/revoke"]);
}

#[test]
fn credentials_that_are_still_held_are_taken_back_when_the_broker_ends() {
    let vault = Vault::start(3600, true);
    let server = Server::saying(&ok("x"));
    let mut house = vault.house(DYNAMIC, "{env: TOKEN}");
    let id = house.lease(egress(&server));
    assert_eq!(house.fetched(id, ask(&server)).status, 200);
    house.hang_up();
    assert!(house.child.wait().unwrap().success());
    assert_eq!(vault.lines().last().unwrap(), "PUT /v1/sys/leases/revoke");
}

#[test]
fn a_lease_that_runs_out_is_renewed_and_one_that_cannot_be_is_replaced_and_revoked() {
    for (renewable, lines) in [
        (true, vec!["GET /v1/database/creds/reader", "PUT /v1/sys/leases/renew"]),
        (false, vec!["GET /v1/database/creds/reader", "GET /v1/database/creds/reader", "PUT /v1/sys/leases/revoke"]),
    ] {
        // A lease of no time has run out at once.
        let vault = Vault::start(0, renewable);
        let server = Server::saying(&ok("x"));
        let mut house = vault.house(DYNAMIC, "{env: TOKEN}");
        let id = house.lease(egress(&server));
        for _ in 0..2 {
            assert_eq!(house.fetched(id, ask(&server)).status, 200);
        }
        assert_eq!(vault.lines(), lines);
        let last = server.seen().pop().unwrap();
        let of = if renewable { "Bearer v-reader-1:A1a-password-1" } else { "Bearer v-reader-2:A1a-password-2" };
        assert_eq!(last.header("authorization"), Some(of));
    }
}

#[test]
fn a_key_and_value_secret_is_read_and_its_token_read_again_when_it_was_rotated() {
    let vault = Vault::start(0, false);
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    file(&token, "hvs.token-0123456789", 0o600);
    let server = Server::saying(&ok("x"));
    let mut house =
        vault.house("path: app/api, field: key, kind: kv2", &format!("{{file: {}}}, ttl: 3600", token.display()));
    let id = house.lease(egress(&server));
    assert_eq!(house.fetched(id, ask(&server)).status, 200);
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer value-0123456789"));
    // Another case reads for itself, with the new token.
    *vault.token.lock().unwrap() = "hvs.other-0123456789".to_owned();
    file(&token, "hvs.other-0123456789", 0o600);
    house.send(Kind::CaseEnded(to_broker::CaseEnded { case: CASE.to_owned(), goes_on: false }));
    let spec = crate::house::spec(egress(&server));
    let mut claims = crate::house::claims(&spec, "other");
    claims.case = "c2".parse().unwrap();
    let mut lease = crate::house::lease(99, &claims, &spec, &crate::house::key());
    lease.case = "c2".to_owned();
    house.send(Kind::Lease(lease));
    assert_eq!(house.fetched(99, ask(&server)).status, 200);
    assert_eq!(vault.lines().len(), 3, "read, refused, read");
}

#[test]
fn what_vault_says_beyond_its_protocol_reaches_nobody() {
    let server = Server::saying(&ok("x"));
    for answer in [
        "HTTP/1.1 500 Oops\r\nContent-Length: 27\r\n\r\nhvs.token-0123456789 failed".to_owned(),
        "HTTP/1.1 307 Moved\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n".to_owned(),
        ok("{}"),
        ok(r#"{"data":{"data":{"key":7}}}"#),
        ok(&"[".repeat(10_000)),
    ] {
        let vault = Server::saying(&answer);
        let configuration = format!(
            "schema: countersign.broker/v1\nsecrets:\n  t: {{from: {{env: TOKEN}}}}\n  s: {{from: {{vault: {{address: '{}', token: t, path: a, field: key, kind: kv2}}}}}}\n",
            vault.url("")
        );
        let mut house = House::start(&configuration, &[("TOKEN", "hvs.token-0123456789")]);
        let id = house.lease(egress(&server));
        let refused = house.refusal(id, ask::Kind::Fetch(ask(&server)));
        assert!(!refused.message.contains("hvs."), "{refused:?}");
    }
    assert_eq!(server.seen().len(), 0);
}

/// INV-10: only a grant that says so shows a value to a step, sealed to its ask, and the ledger hears of it.
#[test]
fn a_value_is_shown_only_to_a_step_whose_grant_exposes_it() {
    let mut house = House::start("schema: countersign.broker/v1\nsecrets: {s: {from: {env: V}}}\n", &[("V", VALUE)]);
    let reveal = |name: &str, key: &[u8]| ask::Kind::Reveal(ask::Reveal { name: name.to_owned(), key: key.to_vec() });
    let asking = Asking::begin().unwrap();
    let id = house.lease(Egress { secrets: vec![handle("s", &[])], ..Egress::default() });
    assert!(house.refusal(id, reveal("s", &asking.public())).violation);
    let mut exposed = handle("s", &[]);
    exposed.exposed = true;
    let id = house.lease(Egress { secrets: vec![exposed], ..Egress::default() });
    assert!(house.refusal(id, reveal("other", &asking.public())).violation);
    for wrong in [&[][..], &[0; 32], &[7; 31]] {
        let refused = house.refusal(id, reveal("s", wrong));
        assert!(!refused.violation && refused.message.contains("no key"), "{refused:?}");
    }
    assert!(!house.events.iter().any(|event| event.message.contains("was shown")));
    let (kind, _) = house.ask(id, reveal("s", &asking.public()));
    let reply::Kind::Revealed(sealed) = kind else { panic!("{kind:?}") };
    assert!(!sealed.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()), "whoever passes it on has nothing");
    assert_eq!(asking.open("s", &sealed).unwrap().as_slice(), VALUE.as_bytes());
    assert!(house.events.iter().any(|event| event.message.contains("was shown the value of secret `s`")));
}
