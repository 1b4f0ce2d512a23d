//! What goes on beside a program while it runs: its road to granted hosts, and the conversation of an MCP server with the broker.

use std::os::fd::OwnedFd;

use countersign_wire::egress::{ask, reply};
use rustix::event::PollFd;

use crate::channel::{Channel, Silence};
use crate::relay::Relay;
use crate::tunnel::Tunnel;

/// What goes on beside a program.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Its road to granted hosts.
    pub(crate) relay: Option<Relay>,
    /// The program is an MCP server whose standard input and output the broker speaks with.
    pub(crate) served: Option<Served>,
}

/// One call of an MCP server that runs here.
#[derive(Debug)]
pub(crate) struct Served {
    call: Option<ask::Mcp>,
    tunnel: Option<Tunnel>,
    answer: Option<reply::Kind>,
}

impl Served {
    /// This call.
    pub(crate) const fn new(call: ask::Mcp) -> Self {
        Self { call: Some(call), tunnel: None, answer: None }
    }
}

impl Beside {
    /// Begins the conversation over the program's pipes, which do not block; gives them back where there is none.
    pub(crate) fn begin(
        &mut self,
        channel: Option<&mut Channel>,
        input: OwnedFd,
        output: OwnedFd,
    ) -> Result<Option<(OwnedFd, OwnedFd)>, Silence> {
        let Some(served) = &mut self.served else { return Ok(Some((input, output))) };
        let channel = channel.ok_or(Silence::Closed)?;
        let id = channel.fresh();
        if let Some(call) = served.call.take() {
            channel.ask(id, ask::Kind::Mcp(call))?;
        }
        served.tunnel = Some(Tunnel::new(id, output, input));
        Ok(None)
    }

    /// Whether there is nothing beside the program.
    pub(crate) const fn is_empty(&self) -> bool {
        self.relay.is_none() && self.served.is_none()
    }

    /// Whether an answer is still to come, so that the program's end is not the step's.
    pub(crate) fn awaits(&self) -> bool {
        self.served.as_ref().is_some_and(|served| served.answer.is_none())
    }

    /// The broker's answer to the call.
    pub(crate) fn answer(self) -> Option<reply::Kind> {
        self.served?.answer
    }

    /// What it waits for.
    pub(crate) fn interest<'a>(&'a self, channel: &'a Channel, fds: &mut Vec<PollFd<'a>>) {
        let (socket, flags) = channel.interest();
        fds.push(PollFd::from_borrowed_fd(socket, flags));
        if let Some(relay) = &self.relay {
            relay.interest(channel.has_room(), fds);
        }
        if let Some(tunnel) = self.served.as_ref().and_then(|served| served.tunnel.as_ref()) {
            tunnel.interest(channel.has_room(), fds);
        }
    }

    /// One turn: replies first, then every stream.
    pub(crate) fn turn(&mut self, channel: &mut Channel) -> Result<(), Silence> {
        channel.push()?;
        while let Some(reply) = channel.next()? {
            match &mut self.served {
                Some(served) if served.tunnel.as_ref().is_some_and(|tunnel| tunnel.id() == reply.id) => {
                    served.reply(channel, reply.kind)?;
                }
                _ => {
                    if let Some(relay) = &mut self.relay {
                        relay.reply(channel, reply)?;
                    }
                }
            }
        }
        if let Some(relay) = &mut self.relay {
            relay.turn(channel)?;
        }
        match self.served.as_mut().and_then(|served| served.tunnel.as_mut()) {
            // Only tunnels of the relay are guarded; nothing is refused here.
            Some(tunnel) => tunnel.turn(channel).map(drop),
            None => Ok(()),
        }
    }

    /// What the relay refused since the last call, for people who watch.
    pub(crate) fn refusals(&mut self) -> Vec<String> {
        self.relay.as_mut().map(Relay::refusals).unwrap_or_default()
    }
}

impl Served {
    fn reply(&mut self, channel: &mut Channel, kind: Option<reply::Kind>) -> Result<(), Silence> {
        let Some(tunnel) = &mut self.tunnel else { return Ok(()) };
        let kept = match kind {
            Some(reply::Kind::Data(bytes)) => tunnel.write(channel, &bytes)?,
            Some(reply::Kind::Took(bytes)) => tunnel.took(bytes),
            Some(reply::Kind::Shut(_)) => {
                tunnel.shut();
                Ok(())
            }
            Some(kind) => {
                self.answer.get_or_insert(kind);
                Ok(())
            }
            None => Ok(()),
        };
        kept.map_err(|overrun| Silence::Malformed(overrun.to_string()))
    }
}
