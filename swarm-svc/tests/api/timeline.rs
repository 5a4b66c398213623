//! Whose turn it is, over the wire: what the timeline promises when replicas race, brakes are held in between, and rows are lost.

mod bodies;
mod charges;
mod closed;
mod fairness;
mod holds;
mod losses;
mod minted;
mod races;
mod reading;
mod steps;
mod streams;
mod wallets;
mod whys;
mod writes;
