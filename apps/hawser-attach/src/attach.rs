//! `hawser wifi attach`: the client on a real interface, in one session with wpa_supplicant after the other.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Attach;
use super::driver::Driver;
use super::interface::{Claim, known_interface, number};
use super::leases::LeaseFile;
use super::names::{NameServers, Names};
use super::trouble::Trouble;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;

/// wpa_supplicant that has died is looked for after this time, then after twice as long, and so on up to [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
const GONE: &str = "the interface is gone";

/// Attaches whenever there is an access point, until Ctrl-C.
pub(super) async fn run(arguments: &Attach, output: Output, interrupt: Interrupt) -> Result<(), Failure> {
    let interface = &arguments.interface;
    known_interface(interface)?;
    let _claim = Claim::of(interface)?;
    let names = (!arguments.no_names).then(|| {
        let record = arguments.record_file("names");
        Names::start(NameServers::new(&arguments.resolv_conf, interface, record, output))
    });
    let result = attach(arguments, output, interrupt, names.as_ref()).await;
    if let Some(names) = names {
        names.end().await;
    }
    result
}

/// One session with wpa_supplicant after the other.
async fn attach(
    arguments: &Attach,
    output: Output,
    mut interrupt: Interrupt,
    names: Option<&Names>,
) -> Result<(), Failure> {
    let interface = &arguments.interface;
    let start = Instant::now();
    let mut leases = LeaseFile::open(arguments.lease_file(), output);
    let (mut backoff, mut is_told) = (FIRST_BACKOFF, false);
    loop {
        let result = match Driver::connect(arguments, output, &mut leases, start, names).await {
            Ok(mut driver) => {
                if is_told {
                    output.remark(format_args!("{interface}: wpa_supplicant is back"));
                }
                (backoff, is_told) = (FIRST_BACKOFF, false);
                let result = driver.drive(&mut interrupt).await;
                driver.leave().await;
                result
            }
            Err(error) => Err(error),
        };
        let reason = match result {
            Ok(()) => return Ok(()),
            // It was there at the start: it may be plugged in again.
            Err(Trouble::Removed) => GONE.to_owned(),
            Err(_) if number(interface).is_none() => GONE.to_owned(),
            Err(Trouble::Control(error)) if error.is_transient() => error.to_string(),
            Err(Trouble::Control(error)) => return Err(Failure::new(Exit::Failure, error.to_string())),
            Err(Trouble::Failure(failure)) => return Err(failure),
        };
        if !is_told {
            output.remark(format_args!("{interface}: {reason}; waiting for it"));
            is_told = true;
        }
        tokio::select! {
            () = interrupt.raised() => return Ok(()),
            () = sleep(backoff) => backoff = (2 * backoff).min(MAX_BACKOFF),
        }
    }
}
