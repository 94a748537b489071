//! What each set is for, measured over two links.

mod frames;
mod sharing;
mod steering;

use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Connection, FourTuple, TransportConfig};
use hawser_policy::{Composition, PathId, PathStatus, Time};

use crate::gauntlet::{Case, Setting};
use crate::testing::{SERVER, client, client_address, client_config, server};
use crate::{Download, Host, Network, Serve};

/// Each set does what it is for. The scheduler of the setting plays no part in them.
pub const CASES: &[Case] = &[
    Case {
        name: "set-shares-state",
        about: "controllers spend one budget, of which one path loses its share and another is closed",
        run: sharing::windows_share_a_budget,
    },
    Case {
        name: "set-steers-the-sender",
        about: "the receiver tells the sender to leave a path that begins to lose every tenth packet",
        run: steering::a_receiver_steers_the_sender,
    },
    Case {
        name: "set-leaves-exact-gaps",
        about: "6 Mbit/s of frames over links of 5 Mbit/s: late frames are left out as a whole",
        run: frames::late_frames_are_gaps,
    },
];

type Net = Network<Host<Download>, Host<Serve>>;

/// The transport of a set by name.
fn policy(setting: &Setting<'_>, text: &str) -> TransportConfig {
    let mut registry = setting.registry.clone();
    super::register(&mut registry);
    let wanted = Composition::of(text.parse().expect("it is a policy"));
    TransportConfig::with_policies(registry.set(&wanted).expect("it is registered"))
}

/// A download with sets of their own at both ends, client and server.
fn download(setting: &Setting<'_>, ends: [&str; 2], length: u64) -> Net {
    let [client_set, server_set] = ends.map(|set| Arc::new(policy(setting, set)));
    let mut host = client(Download::default(), setting.seed);
    host.connect(Time::ZERO, client_config(client_set), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    Network::new(host, server(server_set, Serve::new(length), setting.seed), setting.seed)
}

/// Opens a path over the client's second link.
fn open_second(network: &mut Net) -> PathId {
    let tuple = FourTuple { local: client_address(1), remote: SERVER };
    let mut opened = None;
    network.run_until(network.now() + Duration::from_secs(5), |network| {
        let now = network.now();
        let connection = network.client.first_connection();
        opened = connection.and_then(|c| c.open_path(now, tuple, PathStatus::Available, None).ok());
        opened.is_some()
    });
    opened.expect("the path can be opened within five seconds")
}

fn client_side(network: &mut Net) -> &mut Connection {
    network.client.first_connection().expect("the connection lives")
}

fn server_side(network: &mut Net) -> &mut Connection {
    network.server.first_connection().expect("the connection lives")
}
