//! What a step asks of the network, from inside its real sandbox; the broker here is not real.

use std::collections::BTreeMap;
use std::fs;

use countersign_plan::confinement::Profile;
use countersign_plan::egress::HostGrant;
use countersign_plan::observation::Ending;
use countersign_plan::permit::Phase;
use countersign_plan::tool::Driver;
use countersign_sandbox::{Exit, StepSeal, Variant};
use countersign_wire::egress::{Ask, Reply, ask, reply};
use serde_json::json;

use super::Work;

fn reply(ask: &Ask, kind: reply::Kind) -> Reply {
    Reply { id: ask.id, kind: Some(kind) }
}

fn refused(violation: bool, indeterminate: bool) -> reply::Kind {
    reply::Kind::Refused(reply::Refused { violation, indeterminate, message: "it broke".to_owned() })
}

pub(crate) fn the_broker_is_asked_from_inside() {
    let w = Work::new();
    fs::write(w.work.join("figures.txt"), "figures").unwrap();
    let get = w.order(Profile::None, Phase::Act, "http_request", json!({"method": "GET", "url": "https://h.example/"}));
    let answer = |ask: Ask| {
        let fetched = reply::Fetched { status: 200, body: vec![b'x'; 2 << 20], dropped: 1, ..Default::default() };
        vec![reply(&ask, reply::Kind::Fetched(fetched))]
    };
    let seen = w.run_sealed(&get, StepSeal::Builtin, &mut { answer }).observation.unwrap();
    assert_eq!((&seen.ending, &seen.output["status"], seen.dropped["body"]), (&Ending::Returned, &json!(200), 1));
    let args = json!({"to": "a@b.example", "subject": "s", "body": "b", "attachments": [w.path("figures.txt")]});
    let mail = w.order(Profile::None, Phase::Act, "send_email", args);
    let mut attached = Vec::new();
    let mut take = |ask: Ask| {
        if let Some(ask::Kind::Mail(mail)) = &ask.kind {
            attached.clone_from(&mail.attachments[0].content);
        }
        vec![reply(&ask, reply::Kind::Sent(reply::Sent { message_id: "m".to_owned() }))]
    };
    let seen = w.run_sealed(&mail, StepSeal::Builtin, &mut take).observation.unwrap();
    assert_eq!((seen.output["message_id"].as_str(), attached.as_slice()), (Some("m"), &b"figures"[..]));
    let refuse = |ask: Ask| vec![reply(&ask, refused(true, false))];
    let seen = w.run_sealed(&get, StepSeal::Builtin, &mut { refuse }).observation.unwrap();
    assert!(matches!(seen.ending, Ending::Violation { .. }), "{seen:?}");
}

/// INV-2: the gate takes a step that says nothing for lost, and a person decides.
pub(crate) fn what_nobody_knows_ends_without_an_observation() {
    let w = Work::new();
    let post =
        w.order(Profile::None, Phase::Act, "http_request", json!({"method": "POST", "url": "https://h.example/"}));
    let refuse = |ask: Ask| vec![reply(&ask, refused(false, true))];
    let ended = w.run_sealed(&post, StepSeal::Builtin, &mut { refuse });
    assert_eq!((ended.observation, ended.exit), (None, Exit::Code(1)));
    assert_eq!(ended.output, b"it broke", "people who watch read why");
}

/// A far side for each connection: it answers what it hears, in upper case.
fn far(opened: &mut Vec<String>) -> impl FnMut(Ask) -> Vec<Reply> {
    let mut heard: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    move |ask: Ask| match ask.kind.as_ref().unwrap() {
        ask::Kind::Open(open) => {
            opened.push(format!("{}:{}", open.host, open.port));
            heard.insert(ask.id, Vec::new());
            vec![reply(&ask, reply::Kind::Opened(reply::Opened {}))]
        }
        ask::Kind::Data(bytes) => {
            let took = reply(&ask, reply::Kind::Took(bytes.len() as u64));
            let all = heard.get_mut(&ask.id).unwrap();
            all.extend(bytes);
            if !all.ends_with(b"\r\n\r\n") {
                return vec![took];
            }
            let answer = [b"HTTP/1.1 200 OK\r\n\r\n", all.to_ascii_uppercase().as_slice()].concat();
            vec![took, reply(&ask, reply::Kind::Data(answer)), reply(&ask, reply::Kind::Shut(ask::Shut {}))]
        }
        _ => vec![],
    }
}

/// SANDBOX probe 94: other host, other port, address literals, private and metadata addresses, names that only look alike, a
/// second request on the same connection, and every road that is not the relay.
pub(crate) fn probe_94_programs_reach_granted_hosts_only() {
    let grant = |host: &str| HostGrant { host: host.to_owned(), port: 80, private: false };
    let mut w = Work::new();
    w.egress.connect = vec![grant("a.example"), grant("b.example")];
    let run = |line: &str| {
        let order =
            w.order(Profile::Toolchain, Phase::Act, "execute_command", json!({"command": line, "timeout_s": 120}));
        let mut opened = Vec::new();
        let ended = w.run_sealed(&order, StepSeal::Program(Variant::Toolchain), &mut far(&mut opened));
        let seen = ended.observation.expect("an observation");
        assert_eq!(seen.ending, Ending::Returned, "{seen:?}");
        (seen.output["stdout"].as_str().unwrap().to_owned(), opened)
    };
    let (said, opened) = run("curl -sS http://a.example/x http://b.example/y");
    assert!(said.contains("GET /X HTTP/1.1") && said.contains("GET /Y HTTP/1.1"), "{said}");
    assert_eq!(opened, ["a.example:80", "b.example:80"]);
    let status = "curl -sS -o /dev/null -w '%{http_code}%{http_connect} ' --max-time 60";
    for url in [
        "http://c.example/",
        "http://a.example:8080/",
        "https://a.example/",
        "http://a.example.evil.example/",
        "http://xa.example/",
        "http://93.184.216.34/",
        "http://10.0.0.1/",
        "http://0xa9fea9fe/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:169.254.169.254]/",
    ] {
        let (said, opened) = run(&format!("{status} '{url}' 2>/dev/null; true"));
        assert!(said.contains("403") && opened.is_empty(), "{url}: {said} {opened:?}");
    }
    // Whatever a second request on the connection says, it is the first one's connection, and nothing of it gets there.
    let pipelined =
        "printf 'GET http://a.example/1 HTTP/1.1\\r\\n\\r\\nGET http://c.example/2 HTTP/1.1\\r\\n\\r\\n' >&3";
    let (said, opened) =
        run(&format!("bash -c \"exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; {pipelined}; timeout 60 cat <&3\""));
    assert!(said.contains("GET /1") && !said.contains("/2"), "{said}");
    assert_eq!(opened, ["a.example:80"]);
    // Not by the relay: there is no other road.
    for road in [
        "curl -sS --noproxy '*' --max-time 60 http://93.184.216.34/",
        "bash -c 'exec 3<>/dev/tcp/93.184.216.34/80'",
        "bash -c 'exec 3<>/dev/udp/93.184.216.34/53 && echo x >&3'",
        "curl -sS --noproxy '*' --max-time 60 http://a.example/",
    ] {
        let (said, opened) = run(&format!("{road} 2>/dev/null && echo reached"));
        assert!(!said.contains("reached") && opened.is_empty(), "{road}: {said}");
    }
    let nothing = Work::new();
    let seen =
        nothing.returned(Profile::Toolchain, "execute_command", json!({"command": "env | grep -ci proxy; true"}));
    assert_eq!(seen["stdout"], "0\n", "without a grant there is no relay");
}

/// A hand-written server: JSON-RPC in lines, as MCP's stdio transport has it.
const SERVER: &str = r#"
import json, os, socket, sys
def reach(address):
    try:
        socket.create_connection((address, 80), 2)
        return "reached"
    except OSError:
        return "nothing"
for line in sys.stdin:
    ask = json.loads(line)
    if ask["method"] == "tools/call":
        open("trace", "w").write("here")
        seen = {"pid": os.getpid(), "network": reach("93.184.216.34"), "home": os.path.exists("/root/.ssh"), "x": ask["params"]["arguments"]["x"]}
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": {"structuredContent": seen}}), flush=True)
"#;

pub(crate) fn an_mcp_server_runs_in_the_step() {
    let w = Work::new();
    fs::write(w.work.join("server.py"), SERVER).unwrap();
    let driver = json!({"server": "s", "tool": "t", "argv": ["/usr/bin/python3", "server.py"]});
    let mut order = w.order(Profile::Toolchain, Phase::Act, "t", json!({"x": "y"}));
    order.driver = Some(Driver::Mcp(serde_json::from_value(driver).unwrap()));
    let mut heard = Vec::new();
    let mut broker = |ask: Ask| match ask.kind.as_ref().unwrap() {
        ask::Kind::Mcp(call) => {
            assert!(call.stdio);
            let arguments: serde_json::Value = serde_json::from_slice(&call.arguments).unwrap();
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": call.tool, "arguments": arguments}});
            vec![reply(&ask, reply::Kind::Data(format!("{call}\n").into_bytes()))]
        }
        ask::Kind::Data(bytes) => {
            heard.extend(bytes);
            let took = reply(&ask, reply::Kind::Took(bytes.len() as u64));
            if !heard.ends_with(b"\n") {
                return vec![took];
            }
            let said: serde_json::Value = serde_json::from_slice(&heard).unwrap();
            let result = said["result"]["structuredContent"].to_string().into_bytes();
            vec![took, reply(&ask, reply::Kind::Result(reply::ToolResult { result, failed: false }))]
        }
        ask::Kind::Shut(_) => vec![reply(&ask, refused(false, true))],
        _ => vec![],
    };
    let ended = w.run_sealed(&order, StepSeal::Program(Variant::Toolchain), &mut broker);
    let seen = ended.observation.expect("an observation");
    assert_eq!(seen.output, json!({"pid": 2, "network": "nothing", "home": false, "x": "y"}), "{seen:?}");
    assert!(w.work.join("trace").exists());
}
