//! A whole document, and every fault with its place.

use super::{Configuration, Fields, SCHEMA, Secrecy, Source};

const WHOLE: &str = r##"
schema: countersign.broker/v1
default: claude
providers:
  claude: {kind: anthropic, model: m-1, key: anthropic, clearance: internal, prices: {input_per_million: 3, output_per_million: 15}}
  local: {kind: openai, url: "http://127.0.0.1:8080/v1", model: m-2, clearance: restricted, private: true, structured: json_schema}
secrets:
  anthropic: {from: {env: ANTHROPIC_API_KEY}}
  file: {from: {file: /etc/countersign/key}, ttl: 60}
  ring: {from: {keyring: {service: mail, account: me}}}
  printed: {from: {command: [/usr/bin/pass, show, mail]}}
  token: {from: {env: VAULT_TOKEN}}
  database: {from: {vault: {address: "https://vault.example.com:8200", path: creds/reader, field: [username, password], token: token, kind: dynamic, mount: database}}}
mail: {server: smtp.example.com, port: 587, tls: starttls, from: "Me <me@example.com>", password: ring}
channels: {"#ops": {webhook: printed}, "#dev": {webhook: "https://hooks.example.com/T/B/x"}}
mcp: {files: {argv: [/usr/bin/server]}, remote: {url: "https://mcp.example.com/mcp", key: token}}
budget: {tokens_per_case: 100000, dollars_per_day: 20}
hosts: {api.internal.example: [10.0.0.7]}
"##;

fn error(text: &str) -> String {
    Configuration::read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_whole_document_is_read() {
    let read = Configuration::read(WHOLE.as_bytes()).unwrap();
    assert_eq!(read.default_provider(), Some("claude"));
    assert_eq!(read.variables().into_iter().collect::<Vec<_>>(), ["ANTHROPIC_API_KEY", "VAULT_TOKEN"]);
    assert!(read.providers["local"].clearance > Secrecy::Internal);
    assert_eq!(read.own_secrets(), ["anthropic", "printed", "ring", "token"], "plans hear of the others alone");
    let Source::Vault(vault) = &read.secrets["database"].from else { panic!("{:?}", read.secrets) };
    assert_eq!(vault.field, Fields::Several(vec!["username".into(), "password".into()]));
}

#[test]
fn no_bytes_are_a_configuration_in_which_nothing_is_reachable() {
    let read = Configuration::read(b"").unwrap();
    assert_eq!(read, Configuration { schema: SCHEMA.to_owned(), ..Configuration::default() });
}

#[test]
fn every_fault_is_refused_with_its_place() {
    let faults = [
        ("schema: other", "/schema"),
        ("schema: countersign.broker/v1\nproxy: x", "proxy"),
        ("schema: countersign.broker/v1\nproviders: {a: {kind: openai, model: m, key: nope}}", "/providers/a/key"),
        ("schema: countersign.broker/v1\nproviders: {a: {kind: openai}}", "/providers/a/model"),
        ("schema: countersign.broker/v1\nproviders: {a: {kind: scripted}}", "/providers/a/script"),
        ("schema: countersign.broker/v1\nproviders: {a: {kind: openai, model: m, url: 'ftp://x'}}", "/providers/a/url"),
        (
            "schema: countersign.broker/v1\nproviders: {a: {kind: openai, model: m, url: 'https://u:p@x'}}",
            "/providers/a/url",
        ),
        (
            "schema: countersign.broker/v1\nproviders: {a: {kind: openai, model: m}, b: {kind: openai, model: m}}",
            "/default",
        ),
        ("schema: countersign.broker/v1\ndefault: x", "/default"),
        ("schema: countersign.broker/v1\nsecrets: {a: {from: {file: key.txt}}}", "/secrets/a/from"),
        ("schema: countersign.broker/v1\nsecrets: {a: {from: {command: [pass]}}}", "/secrets/a/from"),
        ("schema: countersign.broker/v1\nsecrets: {a: {from: {command: []}}}", "/secrets/a/from"),
        ("schema: countersign.broker/v1\nsecrets: {'a b': {from: {env: X}}}", "/secrets/a b"),
        ("schema: countersign.broker/v1\nsecrets: {a: {from: {env: 'X=Y'}}}", "/secrets/a/from"),
        (
            "schema: countersign.broker/v1\nsecrets: {t: {from: {env: X}}, a: {from: {vault: {address: 'https://v', path: ../sys, field: x, token: t, kind: kv2}}}}",
            "/secrets/a/from",
        ),
        (
            "schema: countersign.broker/v1\nsecrets: {a: {from: {vault: {address: 'https://v', path: x, field: x, token: a, kind: kv2}}}}",
            "/secrets/a/from",
        ),
        ("schema: countersign.broker/v1\nmail: {server: s, port: 25, tls: none, from: nobody}", "/mail/from"),
        ("schema: countersign.broker/v1\nmail: {server: s, port: 25, tls: maybe, from: a@b.c}", "/mail/tls"),
        ("schema: countersign.broker/v1\nchannels: {c: {webhook: nope}}", "/channels/c/webhook"),
        ("schema: countersign.broker/v1\nmcp: {m: {}}", "/mcp/m"),
        ("schema: countersign.broker/v1\nmcp: {m: {url: 'https://x', argv: [/x]}}", "/mcp/m"),
        ("schema: countersign.broker/v1\nbudget: {dollars_per_day: -1}", "/budget/dollars_per_day"),
    ];
    for (text, place) in faults {
        let said = error(text);
        assert!(said.contains(place), "{text}: {said}");
    }
}
