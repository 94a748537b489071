//! Settings of an endpoint.

use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser::policy::PathStatus;
use hawser::{
    ClientConfig, Composition, Identity, Links, PathSpec, Pin, PolicyKind, PolicySpec, ServerConfig,
    TransportConfig, Trust, default_transport, policies,
};

use crate::pointer::{free, give, handle_mut, text};
use crate::result::{Failure, HawserResult, guard};

/// Settings of an endpoint. Several endpoints may be made with the same.
#[derive(Debug, Default)]
pub struct HawserConfig {
    pub(crate) alpn: Vec<String>,
    pub(crate) links: Vec<PathSpec>,
    trust: Option<Trust>,
    identity: Option<Known>,
    policies: Composition,
    idle_timeout: Option<Duration>,
    keep_alive: Option<Duration>,
}

/// Where a server's identity comes from.
#[derive(Debug)]
enum Known {
    Fresh(String),
    Folder(PathBuf, String),
    Files(PathBuf, PathBuf),
}

/// Of each kind of setting that may be given several times.
const MAX_EACH: usize = 64;

fn configuration(error: impl std::fmt::Display) -> Failure {
    Failure::new(HawserResult::Configuration, error)
}

impl HawserConfig {
    fn add<T>(list: &mut Vec<T>, value: T) -> Result<HawserResult, Failure> {
        if list.len() == MAX_EACH {
            return Err(Failure::argument(format_args!("more than {MAX_EACH} of them")));
        }
        list.push(value);
        Ok(HawserResult::Ok)
    }

    fn transport(&self) -> Result<TransportConfig, Failure> {
        let mut transport = default_transport();
        if self.policies != Composition::default() {
            transport.policies = policies().set(&self.policies).map_err(configuration)?;
        }
        transport.max_idle_timeout = self.idle_timeout.or(transport.max_idle_timeout);
        transport.keep_alive_interval = self.keep_alive.or(transport.keep_alive_interval);
        Ok(transport)
    }

    pub(crate) fn client(&self) -> Result<(ClientConfig, Links), Failure> {
        let builder = ClientConfig::builder().trust(self.trust.clone().unwrap_or_default()).alpn(&self.alpn);
        let client = builder.transport(self.transport()?).build().map_err(configuration)?;
        let links = if self.links.is_empty() { Links::All } else { Links::Only(self.links.clone()) };
        Ok((client, links))
    }

    pub(crate) fn server(&self) -> Result<(ServerConfig, Pin), Failure> {
        let identity = match &self.identity {
            Some(Known::Fresh(name)) => Identity::self_signed(&[name]),
            Some(Known::Folder(folder, name)) => Identity::load_or_create(folder, &[name]),
            Some(Known::Files(certificates, key)) => Identity::from_pem_files(certificates, key),
            None => return Err(configuration("a server needs an identity: hawser_config_set_identity_*")),
        };
        let identity = identity.map_err(configuration)?;
        let pin = identity.pin().map_err(configuration)?;
        let builder = ServerConfig::builder(identity).alpn(&self.alpn);
        let server = builder.transport(self.transport()?).build().map_err(configuration)?;
        Ok((server, pin))
    }
}

/// Makes settings: all links, the authorities of this machine, the default policies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_new(config: *mut *mut HawserConfig) -> HawserResult {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { give(config, HawserConfig::default()) })
}

/// Frees settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_free(config: *mut HawserConfig) {
    // SAFETY: the contract of the crate.
    unsafe { free(config) }
}

/// Adds an application protocol (ALPN) that both ends must share; at least one is needed. At most 64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_add_alpn(
    config: *mut HawserConfig,
    protocol: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, protocol) = unsafe { (handle_mut(config, "config")?, text(protocol, "protocol")?) };
        if !(1..=255).contains(&protocol.len()) {
            return Err(Failure::argument("a protocol has 1 to 255 bytes"));
        }
        HawserConfig::add(&mut config.alpn, protocol.to_owned())
    })
}

/// Adds a link for a client: an interface (`wlan0`) or a local address (`192.0.2.7`). `backup`: only when no other works. Without any, all
/// links of the host are used. At most 64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_add_link(
    config: *mut HawserConfig,
    link: *const c_char,
    backup: bool,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, link) = unsafe { (handle_mut(config, "config")?, text(link, "link")?) };
        let selector = link.parse().map_err(Failure::argument)?;
        let status = if backup { PathStatus::Backup } else { PathStatus::Available };
        HawserConfig::add(&mut config.links, PathSpec::new(selector, status))
    })
}

/// Believes servers that hold the key of this pin, as a server prints it (SHA-256 in base64), whatever their name. May be called for several.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_add_pin(
    config: *mut HawserConfig,
    pin: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, pin) = unsafe { (handle_mut(config, "config")?, text(pin, "pin")?) };
        let pin: Pin = pin.parse().map_err(Failure::argument)?;
        if let Some(Trust::Pins(pins)) = &mut config.trust {
            return HawserConfig::add(pins, pin);
        }
        config.trust = Some(Trust::Pins(vec![pin]));
        Ok(HawserResult::Ok)
    })
}

/// Believes servers whose certificate an authority in this PEM file signed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_authorities(
    config: *mut HawserConfig,
    file: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, file) = unsafe { (handle_mut(config, "config")?, text(file, "file")?) };
        config.trust = Some(Trust::authorities_from_file(Path::new(file)).map_err(configuration)?);
        Ok(HawserResult::Ok)
    })
}

/// Serves with a fresh key, and a certificate for `name` signed by itself: clients need the pin (`hawser_endpoint_pin`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_identity_fresh(
    config: *mut HawserConfig,
    name: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, name) = unsafe { (handle_mut(config, "config")?, text(name, "name")?) };
        config.identity = Some(Known::Fresh(name.to_owned()));
        Ok(HawserResult::Ok)
    })
}

/// The same, with a key that is kept in `folder`, and made there the first time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_identity_folder(
    config: *mut HawserConfig,
    folder: *const c_char,
    name: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, folder) = unsafe { (handle_mut(config, "config")?, text(folder, "folder")?) };
        // SAFETY: the contract of the crate.
        let name = unsafe { text(name, "name")? };
        config.identity = Some(Known::Folder(folder.into(), name.to_owned()));
        Ok(HawserResult::Ok)
    })
}

/// Serves with a chain of certificates and its key, in PEM files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_identity_files(
    config: *mut HawserConfig,
    certificates: *const c_char,
    key: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, chain) = unsafe { (handle_mut(config, "config")?, text(certificates, "certificates")?) };
        // SAFETY: the contract of the crate.
        let key = unsafe { text(key, "key")? };
        config.identity = Some(Known::Files(chain.into(), key.into()));
        Ok(HawserResult::Ok)
    })
}

/// Chooses a policy: `kind` is `policy`, `scheduler`, `congestion`, `acks`, `paths` or `protection`, `choice` a name with parameters, such as
/// `ecf,beta=0.5`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_policy(
    config: *mut HawserConfig,
    kind: *const c_char,
    choice: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (config, kind) = unsafe { (handle_mut(config, "config")?, text(kind, "kind")?) };
        // SAFETY: the contract of the crate.
        let spec: PolicySpec = unsafe { text(choice, "choice")? }.parse().map_err(Failure::argument)?;
        let found = PolicyKind::named(kind);
        let known = PolicyKind::ALL.map(|known| known.field()).join(", ");
        let kind = found.ok_or_else(|| Failure::argument(format_args!("`{kind}` is none of: {known}")))?;
        policies().check(kind, &spec).map_err(Failure::argument)?;
        config.policies.set(kind, spec);
        Ok(HawserResult::Ok)
    })
}

/// Sets after how many milliseconds without a word of the peer a connection ends (1 or more), and how often it is kept alive (0: not).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_config_set_idle(
    config: *mut HawserConfig,
    timeout_ms: u64,
    keep_alive_ms: u64,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let config = unsafe { handle_mut(config, "config")? };
        if timeout_ms == 0 {
            return Err(Failure::argument("timeout_ms is 0; 1 or more"));
        }
        config.idle_timeout = Some(Duration::from_millis(timeout_ms));
        config.keep_alive = (keep_alive_ms > 0).then(|| Duration::from_millis(keep_alive_ms));
        Ok(HawserResult::Ok)
    })
}
