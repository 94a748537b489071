//! Interfaces by name.

use nix::net::if_::if_nameindex;

use hawser_command::exit::{Exit, Failure};

/// The number of an interface. A name that none has is a mistake, not something to wait for: wpa_supplicant may come, the interface would have to be
/// plugged in first.
///
/// # Errors
/// Names the interfaces that are there.
pub(super) fn known_interface(name: &str) -> Result<u32, Failure> {
    if let Ok(index) = nix::net::if_::if_nametoindex(name) {
        return Ok(index);
    }
    let known: Vec<String> = if_nameindex()
        .map(|list| list.iter().map(|known| known.name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    let others: Vec<&str> = known.iter().map(String::as_str).filter(|known| *known != "lo").collect();
    let hint = match others[..] {
        [] => "only the loopback exists".to_owned(),
        _ => format!("there are: {}", others.join(", ")),
    };
    Err(Failure::new(Exit::Failure, format!("{name}: there is no such interface; {hint}")))
}
