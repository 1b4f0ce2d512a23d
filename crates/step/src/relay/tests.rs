//! The relay with real programs and a broker that is not real.

use std::collections::BTreeMap;

use countersign_plan::egress::HostGrant;
use countersign_wire::egress::{Ask, Reply, STREAM_CHUNK, ask, reply};
use serde_json::json;

use crate::tools::Seen;
use crate::tools::testing::{Fake, Scene, Told, alone};

/// A far side that answers each connection: it tells back what it was told first, in upper case, once it has heard `until`; then,
/// asked for it, floods within the window; and closes.
fn far(until: &'static str, flood: usize) -> impl FnMut(&Ask) -> Vec<Reply> + Send {
    struct Stream {
        heard: Vec<u8>,
        left: usize,
        credit: usize,
        answered: bool,
    }
    let mut streams: BTreeMap<u64, Stream> = BTreeMap::new();
    move |ask| {
        let id = ask.id;
        let mut out = Vec::new();
        let mut say = |kind| out.push(Reply { id, kind: Some(kind) });
        match ask.kind.as_ref().unwrap() {
            ask::Kind::Open(open) if open.host == "down.example" => {
                let message = "cannot reach down.example".to_owned();
                say(reply::Kind::Refused(reply::Refused { violation: false, indeterminate: false, message }));
            }
            ask::Kind::Open(_) => {
                streams.insert(id, Stream { heard: vec![], left: flood, credit: 256 << 10, answered: false });
                say(reply::Kind::Opened(reply::Opened {}));
            }
            ask::Kind::Data(bytes) => {
                say(reply::Kind::Took(bytes.len() as u64));
                if let Some(stream) = streams.get_mut(&id) {
                    stream.heard.extend(bytes);
                }
            }
            ask::Kind::Took(bytes) => {
                if let Some(stream) = streams.get_mut(&id) {
                    stream.credit += *bytes as usize;
                }
            }
            _ => {}
        }
        if let Some(stream) = streams.get_mut(&id)
            && String::from_utf8_lossy(&stream.heard).contains(until)
        {
            if !stream.answered {
                stream.answered = true;
                let told = stream.heard.get(..1000).unwrap_or(&stream.heard).to_ascii_uppercase();
                let length = told.len() + flood;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let answer = [head.into_bytes(), told].concat();
                stream.credit -= answer.len();
                say(reply::Kind::Data(answer));
            }
            while stream.left > 0 && stream.credit > 0 {
                let next = stream.left.min(stream.credit).min(STREAM_CHUNK);
                (stream.left, stream.credit) = (stream.left - next, stream.credit - next);
                say(reply::Kind::Data(vec![b'.'; next]));
            }
            if stream.left == 0 {
                say(reply::Kind::Shut(ask::Shut {}));
                streams.remove(&id);
            }
        }
        out
    }
}

fn granted(hosts: &[&str]) -> Scene {
    let mut scene = Scene::new();
    scene.spec.loopback = true;
    let grant = |host: &&str| HostGrant { host: (*host).to_owned(), port: 80, private: false };
    scene.spec.egress.connect = hosts.iter().map(grant).collect();
    scene
}

fn line(scene: &Scene, far: impl FnMut(&Ask) -> Vec<Reply> + Send + 'static, command: &str) -> (Seen, Told) {
    let mut fake = Fake::new(far);
    let order = scene.order("execute_command", json!({"command": command, "timeout_s": 60}), None);
    let seen = scene.ordered(&order, &mut fake.channel).unwrap();
    (seen, fake.told())
}

fn opened(told: &Told) -> Vec<String> {
    told.asks
        .iter()
        .filter_map(|ask| match &ask.kind {
            Some(ask::Kind::Open(open)) => Some(format!("{}:{}", open.host, open.port)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_program_reaches_a_granted_host_by_its_proxy_variables_and_nothing_else() {
    let _alone = alone();
    let scene = granted(&["a.example"]);
    let (seen, told) = line(&scene, far("\r\n\r\n", 0), "curl -sS http://a.example/path?q; env | grep -i proxy | sort");
    let stdout = seen.output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("GET /PATH?Q HTTP/1.1\r\nHOST: A.EXAMPLE\r\nCONNECTION: CLOSE\r\n"), "{stdout}");
    let names: Vec<&str> = stdout.lines().filter_map(|l| l.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy"]
    );
    assert_eq!(opened(&told), ["a.example:80"]);
    let tries = "for url in http://b.example/ http://a.example:81/ http://169.254.169.254/ http://a.example.evil.example/ \
                 https://a.example/ http://167772161/; do curl -sS -o /dev/null -w '%{http_code} %{http_connect}\\n' $url 2>&1 | tail -n1; done";
    let (seen, told) = line(&scene, far("\r\n\r\n", 0), tries);
    let codes: Vec<&str> = seen.output["stdout"].as_str().unwrap().lines().collect();
    assert_eq!(codes, ["403 000", "403 000", "403 000", "403 000", "000 403", "403 000"]);
    assert_eq!(opened(&told), Vec::<String>::new(), "what was not granted is not even asked for");
    let said = String::from_utf8(told.output).unwrap();
    assert!(said.contains("countersign: b.example:80 is not among the hosts"), "{said}");
}

#[test]
fn a_tunnel_carries_bytes_both_ways_and_a_far_side_that_is_down_is_told() {
    let _alone = alone();
    let scene = granted(&["a.example", "down.example"]);
    let (seen, told) = line(&scene, far("PING", 0), "curl -sS -p -x $HTTP_PROXY -d PING http://a.example/");
    assert!(seen.output["stdout"].as_str().unwrap().ends_with("\r\n\r\nPING"), "{}", seen.output);
    assert_eq!(opened(&told), ["a.example:80"]);
    let (seen, _) = line(&scene, far("PING", 0), "curl -sS http://down.example/");
    assert!(seen.output["stdout"].as_str().unwrap().contains("cannot reach down.example"), "{}", seen.output);
}

#[test]
fn a_body_of_many_windows_goes_up_and_comes_down() {
    let _alone = alone();
    let scene = granted(&["a.example"]);
    let up = "head -c 3000000 /dev/zero | tr '\\0' x > f; printf END >> f; curl -sS -H Expect: --data-binary @f http://a.example/ | wc -c";
    let (seen, _) = line(&scene, far("END", 2_000_000), up);
    let counted: usize = seen.output["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!(counted == 2_001_000, "{counted}: {}", seen.output);
}

/// SANDBOX probe 94: a real client whose tunnel leads to one host and whose handshake names another.
#[test]
fn a_handshake_for_another_host_than_the_tunnels_does_not_leave_the_step() {
    let _alone = alone();
    let mut scene = granted(&["a.example"]);
    scene.spec.egress.connect.iter_mut().for_each(|grant| grant.port = 443);
    let bytes = |told: &Told| told.asks.iter().filter(|ask| matches!(ask.kind, Some(ask::Kind::Data(_)))).count();
    let (_, told) = line(&scene, far("\r\n\r\n", 0), "curl -sS --max-time 2 https://a.example/");
    assert!(opened(&told) == ["a.example:443"] && bytes(&told) > 0, "{told:?}");
    let fronting = "curl -sS --max-time 2 --connect-to b.example:443:a.example:443 https://b.example/";
    let (_, told) = line(&scene, far("\r\n\r\n", 0), fronting);
    assert_eq!((opened(&told), bytes(&told)), (vec!["a.example:443".to_owned()], 0));
    let said = String::from_utf8(told.output).unwrap();
    assert!(said.contains("a connection to a.example asked it for b.example"), "{said}");
}

/// One connection that nobody reads must not hold up the others.
#[test]
fn a_stalled_stream_starves_nobody() {
    let _alone = alone();
    let scene = granted(&["a.example", "b.example"]);
    let stalled = "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf 'CONNECT b.example:80 HTTP/1.1\\r\\n\\r\\nEND' >&3; sleep 0.3; \
                   for i in 1 2 3; do curl -sS -d END http://a.example/ | wc -c; done";
    let bash = format!("bash -c '{}'", stalled.replace('\'', "'\\''"));
    let (seen, told) = line(&scene, far("END", 4_000_000), &bash);
    let counts: Vec<usize> =
        seen.output["stdout"].as_str().unwrap().lines().map(|l| l.trim().parse().unwrap()).collect();
    assert!(counts.len() == 3 && counts.iter().all(|count| *count > 4_000_000), "{counts:?}");
    let kept = told.asks.iter().filter(|ask| ask.id == 1 && matches!(ask.kind, Some(ask::Kind::Took(_)))).count();
    assert!(kept < 2000, "the stalled stream was given no more than fits");
}

#[test]
fn more_connections_than_are_served_at_once_wait_their_turn() {
    let _alone = alone();
    let scene = granted(&["a.example"]);
    let many = "p=${HTTP_PROXY##*:}; for i in $(seq 70); do (exec 3<>/dev/tcp/127.0.0.1/$p; \
                printf 'CONNECT a.example:80 HTTP/1.1\\r\\n\\r\\nEND' >&3; sleep 0.5; cat <&3 | tail -c3; echo) & done; wait";
    let bash = format!("bash -c '{}'", many.replace('\'', "'\\''"));
    let (seen, told) = line(&scene, far("END", 0), &bash);
    assert_eq!(seen.output["stdout"].as_str().unwrap().matches("END").count(), 70);
    assert_eq!(opened(&told).len(), 70);
}

#[test]
fn hosts_for_a_program_that_can_make_no_connection_are_a_failure_and_not_a_silence() {
    let mut scene = granted(&["a.example"]);
    scene.spec.loopback = false;
    assert!(scene.refused("execute_command", json!({"command": "true"})).contains("loopback"));
}

#[test]
fn a_broker_that_goes_away_leaves_an_unknown_outcome() {
    let _alone = alone();
    let scene = granted(&["a.example"]);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(theirs);
    let order = scene.order("execute_command", json!({"command": "sleep 5"}), None);
    let seen = scene.ordered(&order, &mut crate::channel::Channel::new(ours));
    assert!(matches!(seen, Err(crate::failure::Failure::Unknown(_))), "{seen:?}");
}
