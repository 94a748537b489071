//! What of a scenario the emulator can carry.

use hawser_scenario::{FlowKind, Scenario};

use crate::error::EmuError;

/// Refuses what exists only in the simulator.
pub(crate) fn check(scenario: &Scenario) -> Result<(), EmuError> {
    let refuse = |what: String, remedy: &'static str| {
        Err(EmuError::Simulated { scenario: scenario.name.clone(), what, remedy })
    };
    let name = |host: usize| scenario.hosts.get(host).map_or("?", String::as_str);
    let Some(first) = scenario.links.first() else {
        return refuse("it has no link".to_owned(), "add a [[link]]");
    };
    if let Some(other) = scenario.links.iter().find(|link| link.between != first.between) {
        let [from, to] = other.between.map(name);
        let [client, server] = first.between.map(name);
        return refuse(
            format!(
                "link {:?} joins {from:?} and {to:?}, but the emulator has two hosts, here {client:?} and {server:?}",
                other.name
            ),
            "leave out the other hosts, or their traffic to the commands that you run",
        );
    }
    if let Some(link) = scenario.links.iter().find(|link| !link.nat_rebinding.is_empty()) {
        return refuse(
            format!("the NAT of link {:?} forgets its mappings, and the emulator has no NAT", link.name),
            "leave out `nat_rebinding`",
        );
    }
    Ok(())
}

/// What of a scenario is left to the commands that are run, in sentences: flows other than UDP, for example. Empty when
/// nothing is.
pub fn remarks(scenario: &Scenario) -> Vec<String> {
    let mut remarks = Vec::new();
    let is_ours = |kind: &FlowKind| matches!(kind, FlowKind::Udp { .. });
    let flows: Vec<&str> =
        scenario.flows.iter().filter(|flow| !is_ours(&flow.kind)).map(|flow| flow.name.as_str()).collect();
    if !flows.is_empty() {
        remarks.push(format!(
            "the emulator sends only the UDP flows of {:?} itself; what the flows {} are to send is for the commands to do",
            scenario.name,
            flows.join(", ")
        ));
    }
    let backups: Vec<&str> =
        scenario.links.iter().filter(|link| link.backup).map(|link| link.name.as_str()).collect();
    if !backups.is_empty() {
        remarks.push(format!(
            "a link carries what is sent over it: tell the commands that {} are for backup only",
            backups.join(", ")
        ));
    }
    let detaching: Vec<&str> =
        scenario.links.iter().filter(|link| link.detaches).map(|link| link.name.as_str()).collect();
    if !detaching.is_empty() {
        remarks.push(format!(
            "{} keep their addresses in outages here: `detaches` is for the simulator",
            detaching.join(", ")
        ));
    }
    let capped: Vec<String> =
        scenario.links.iter().filter_map(|link| Some(format!("{}={}", link.name, link.cap?))).collect();
    if !capped.is_empty() {
        remarks.push(format!(
            "a link carries what is sent over it: tell the commands what links may carry (--cap {})",
            capped.join(" --cap ")
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(text: &str) -> Scenario {
        let text = format!("version = 1\n[[link]]\nname = \"a0\"\nrate = \"9 Mbit/s\"\n{text}");
        Scenario::parse(&text, "test.toml", &mut |_| Err(String::new()))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn other_hosts_and_nat_rebinding_are_refused_with_a_remedy() {
        let other = "[[link]]\nname = \"b0\"\nbetween = [\"phone\", \"server\"]\nrate = \"9 Mbit/s\"";
        let message = check(&scenario(other)).unwrap_err().to_string();
        assert!(message.contains("\"b0\"") && message.contains("sim run"), "{message}");
        let message = check(&scenario("nat_rebinding = [\"3 s\"]")).unwrap_err().to_string();
        assert!(message.contains("`nat_rebinding`"), "{message}");
        assert!(check(&scenario("")).is_ok());
    }

    #[test]
    fn what_is_left_to_the_commands_is_said() {
        let flows = "[[flow]]\nname = \"video\"\nkind = \"bulk\"\n[[flow]]\nname = \"noise\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"";
        let said = remarks(&scenario(flows));
        assert!(said.len() == 1 && said[0].contains("video") && !said[0].contains("noise"), "{said:?}");
        assert!(remarks(&scenario("")).is_empty());
    }
}
