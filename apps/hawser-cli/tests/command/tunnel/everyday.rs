//! What people do with a machine whose traffic goes through a tunnel, with the programs that they have; those that are not installed are
//! left out.

use super::{CLIENT, GATEWAY, SCENARIO, can_run, prepared, run_in};

/// The same host, whose own file of resolvers is that of the tunnel: in a namespace of mounts, so that nobody else sees it.
const WITH_RESOLVERS: &str = "
if [ -z \"$PRIVATE\" ]; then PRIVATE=1 exec unshare -m sh \"$0\"; fi
cd \"$WORK\"
cp resolv.conf own-resolv.conf; mount --bind own-resolv.conf /etc/resolv.conf
RESOLV=/etc/resolv.conf
mkdir -p .ssh; chmod 700 . .ssh; ssh-keygen -q -t ed25519 -N '' -f user.key 2>/dev/null && cp user.key.pub .ssh/authorized_keys
";

#[test]
fn programs_work_while_links_and_gateway_come_and_go() {
    if !can_run() {
        return;
    }
    let work = prepared();
    let gateway = format!("{GATEWAY}{}", include_str!("steps/far-services.sh"));
    let client = format!("{WITH_RESOLVERS}{CLIENT}");
    let printed = run_in(work.path(), SCENARIO, &gateway, &client, include_str!("steps/everyday.sh"));
    assert!(printed.ends_with("done\n"), "{printed}");
}
