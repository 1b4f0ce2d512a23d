//! What is seen in lines, code, statements and texts: classes of attacks and their look-alikes, the page of findings, slow input.

mod builds;
mod carried;
mod classes;
mod corpus;
mod deeds;
mod embedded;
mod findings;
mod given;
mod grave;
mod handed;
mod hidden_ends;
mod listed;
mod mobile;
mod ordinary;
mod other_ways;
mod procedures;
mod put_together;
mod recipes;
mod reviewed;
mod roundabout;
mod scopes;
mod seen;
mod settled;
mod told;
mod tools;
mod written;
