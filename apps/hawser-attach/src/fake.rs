//! `hawser wifi fake`: a drive in virtual time.

use std::time::Duration;

use hawser_lab::data::table::write_file;
use hawser_lab::data::wifi::WifiReport;
use hawser_wifi::Profile;
use hawser_wifi::air::{Drive, Encounter, Run};

use super::{Fake, show};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::{print, to_json};

/// Drives with one client after the other.
pub(super) async fn run(arguments: &Fake, output: Output, mut interrupt: Interrupt) -> Result<(), Failure> {
    let profiles: Vec<Profile> =
        arguments.client.iter().map(|name| profile(name)).collect::<Result<_, _>>()?;
    let drive = Drive::in_city(arguments.city.into(), arguments.hours, arguments.seed)
        .map_err(|error| Failure::usage(error.to_string()))?
        .with_choice(arguments.choose.into());
    output.remark("the air is a fake one, in virtual time: no radio, no wpa_supplicant and no DHCP server of this machine take part");
    let mut all = Vec::new();
    for profile in &profiles {
        if !output.json {
            output.remark(format_args!("{}:", profile.name));
        }
        let is_over = drive_with(&drive, profile, arguments.pace, output, &mut interrupt, &mut all).await;
        if !is_over {
            break;
        }
    }
    if let Some(file) = &arguments.output {
        let text: String = all.iter().map(|encounter| to_json(encounter) + "\n").collect();
        write_file(file, text.as_bytes()).map_err(|error| Failure::of_table(&error))?;
        output.remark(format_args!("{} written: {} attempts", file.display(), all.len()));
    }
    if interrupt.is_raised() {
        return Err(Failure::new(Exit::Signal, "interrupted"));
    }
    summarize(&all, output);
    Ok(())
}

fn profile(name: &str) -> Result<Profile, Failure> {
    let known = || Profile::ALL.map(|profile| profile.name).join(", ");
    Profile::named(name)
        .ok_or_else(|| Failure::usage(format!("--client: there is no `{name}`; there are {}", known())))
}

/// Shows the encounters of one client as they come; whether it reached the end of the drive.
async fn drive_with(
    drive: &Drive,
    profile: &Profile,
    pace: Option<f64>,
    output: Output,
    interrupt: &mut Interrupt,
    all: &mut Vec<Encounter>,
) -> bool {
    let mut run = Run::new(drive, profile);
    let start = tokio::time::Instant::now();
    while let Some(encounter) = run.next_encounter() {
        if let Some(pace) = pace {
            let due = start + Duration::from_secs_f64(run.now().as_secs_f64() / pace);
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = interrupt.raised() => return false,
            }
        }
        if output.json {
            print(to_json(&encounter));
        } else if !output.quiet {
            print(show::line(&encounter));
        }
        all.push(encounter);
        if interrupt.is_raised() {
            return false;
        }
    }
    true
}

/// What each client needed, in a line.
fn summarize(all: &[Encounter], output: Output) {
    for client in WifiReport::of(all).clients {
        let Some(times) = client.to_address_s else {
            output.remark(format_args!("{}: {} attempts, none succeeded", client.client, client.attempts));
            continue;
        };
        output.remark(format_args!(
            "{}: {} of {} attempts succeeded; to an address {:.2} s (median), {:.2} s (90 %); usable for {:.0} s",
            client.client, client.attached, client.attempts, times.median, times.p90, client.usable_s
        ));
    }
}
