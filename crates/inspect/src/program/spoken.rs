//! What a text says to the service that it is sent to as it is, through `nc`, `telnet` or the shell's own sockets: requests of the
//! protocols that are lines of words (RFC 9112; RFC 5321; the Redis, memcached and ZooKeeper documentation).

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;

/// What a service is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// The most that it is asked for.
    pub(crate) asks: Effect,
    /// Whether all that it holds goes.
    pub(crate) empties: bool,
}

const READS: Spoken = Spoken { asks: Effect::Read, empties: false };

/// Reads a text line by line; what is no request that is known here asks for nothing.
pub(crate) fn spoken(text: &str) -> Spoken {
    // As commands or as arrays of strings, which stand on lines of their own.
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['*', '$']) && !line.is_empty());
    lines.at_most(MOST_LINES).map(line).fold(READS, |all, one| Spoken {
        asks: if all.asks.is_harmless() { one.asks } else { all.asks.max(one.asks) },
        empties: all.empties || one.empties,
    })
}

/// Requests stand at the beginning of what is sent; the rest is what they send.
const MOST_LINES: usize = 256;

fn line(line: &str) -> Spoken {
    let mut words = line.split_ascii_whitespace();
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let http = line.contains(" HTTP/");
    let upper = first.to_ascii_uppercase();
    let with = |asks| Spoken { asks, empties: false };
    match (upper.as_str(), second.to_ascii_uppercase().as_str()) {
        ("DELETE" | "POST" | "PUT" | "PATCH", _) if http => {
            with(if upper == "DELETE" { Effect::Delete } else { Effect::Update })
        }
        ("FLUSHALL" | "FLUSHDB" | "FLUSH_ALL", _) => Spoken { asks: Effect::Delete, empties: true },
        (
            "DEL" | "UNLINK" | "HDEL" | "SREM" | "ZREM" | "LPOP" | "RPOP" | "GETDEL" | "SPOP" | "LREM" | "XDEL"
            | "XTRIM",
            _,
        )
        | ("DELETE", _) => with(Effect::Delete),
        ("SHUTDOWN" | "SLAVEOF" | "REPLICAOF" | "FAILOVER" | "DEBUG" | "SWAPDB" | "KILL" | "EVAL" | "FCALL", _)
        | ("CONFIG", "SET" | "REWRITE" | "RESETSTAT")
        | ("ACL", "SETUSER" | "DELUSER" | "LOAD")
        | ("MODULE", "LOAD" | "LOADEX" | "UNLOAD")
        | ("SCRIPT", "FLUSH" | "KILL" | "LOAD")
        | ("FUNCTION", "LOAD" | "FLUSH" | "DELETE" | "RESTORE")
        | ("CLUSTER", "RESET" | "FORGET" | "FAILOVER" | "FLUSHSLOTS" | "DELSLOTS")
        | ("CLIENT", "KILL") => with(Effect::Admin),
        ("MAIL", from) if from.starts_with("FROM:") => with(Effect::Send),
        ("RCPT", to) if to.starts_with("TO:") => with(Effect::Send),
        _ => READS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_in_the_words_of_its_protocol() {
        for (text, asks, empties) in [
            ("AUTH app\r\nFLUSHALL ASYNC\r\n", Effect::Delete, true),
            ("*1\r\n$8\r\nFLUSHALL\r\n", Effect::Delete, true),
            ("flush_all\r\nquit\r\n", Effect::Delete, true),
            ("DELETE /users/3 HTTP/1.1\r\nHost: h\r\n\r\n", Effect::Delete, false),
            ("config set dir /tmp", Effect::Admin, false),
            ("EHLO x\nMAIL FROM:<a@b.c>\nRCPT TO:<d@e.f>\n", Effect::Send, false),
        ] {
            assert_eq!(spoken(text), Spoken { asks, empties }, "{text:?}");
        }
        for text in
            ["stats\n", "ruok", "GET / HTTP/1.0\r\n\r\n", "PING\r\n", "deploys:1|c", "", "hello, delete nothing"]
        {
            assert_eq!(spoken(text), READS, "{text:?}");
        }
    }
}
