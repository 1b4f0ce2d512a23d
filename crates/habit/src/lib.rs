//! What agents used to do, kept so that a departure from it is seen ([`history::History`]).

pub mod history;
