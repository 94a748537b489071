//! What programs ask and resolvers answer, for fuzzing (feature `fuzzing`).

use std::net::IpAddr;

use crate::names;

/// The number of a question, and whether it is for a name of these domains; `None` if it is no question.
pub fn question(message: &[u8], domains: &[String]) -> Option<(u16, bool)> {
    names::understand(message, domains)
}

/// The addresses of hosts elsewhere in an answer.
pub fn addresses(answer: &[u8]) -> Vec<IpAddr> {
    names::addresses(answer)
}
