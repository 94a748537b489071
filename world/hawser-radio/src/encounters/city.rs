use super::quality::{self, Quality};
use crate::RadioError;
use crate::error::Check;
use crate::math::exp;
use crate::random::{Draws as _, Random};

/// A lognormal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Lognormal {
    /// Median.
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
}

impl Lognormal {
    pub(crate) const fn new(median: f64, sigma: f64) -> Self {
        Lognormal { median, sigma }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.median * exp(0.5 * self.sigma * self.sigma)
    }

    /// The value of a standard normal draw.
    pub(crate) fn value(&self, score: f64) -> f64 {
        self.median * exp(self.sigma * score)
    }

    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.value(random.normal())
    }

    fn check(&self, check: Check, what: &'static str) -> Result<(), RadioError> {
        let valid = self.median > 0.0 && self.median.is_finite() && (0.0..=5.0).contains(&self.sigma);
        check.that(valid, what, format!("{self:?}"), "a median above 0 and a sigma from 0 to 5")
    }
}

/// A WiFi provider.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Provider {
    /// Name.
    pub name: String,
    /// Share of associations.
    pub share: f64,
    /// Probability of a new address at a change of access point within this provider.
    pub new_address: f64,
}

/// The measured statistics of a city.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct CityStatistics {
    /// Share of associations in the 5 GHz band.
    pub high_band_share: f64,
    /// Life of an association at 5 GHz, seconds.
    pub duration_high: Lognormal,
    /// Life of an association at 2.4 GHz, seconds.
    pub duration_low: Lognormal,
    /// Factor on the median life of associations that work, so that the mean over all is kept.
    pub success_factor: f64,
    /// Gap between associations, seconds.
    pub hole: Lognormal,
    /// Probability that an attempt becomes an association.
    pub attempt_succeeds: f64,
    /// Probability that an association gets an address.
    pub address_succeeds: f64,
    /// Probability that an address carries.
    pub transport_succeeds: f64,
    /// Mean life of an association without an address, seconds.
    pub life_without_address: f64,
    /// Mean life of an address without transport, seconds.
    pub life_without_transport: f64,
    /// Seconds until layer 2 works.
    pub association_time: Lognormal,
    /// Seconds until the address is there.
    pub address_time: Lognormal,
    /// Mean seconds until the first acknowledgement.
    pub transport_time: f64,
    /// Goodput towards the network at 5 GHz, bit/s.
    pub up_high: Lognormal,
    /// At 2.4 GHz.
    pub up_low: Lognormal,
    /// Goodput from the network at 5 GHz, bit/s.
    pub down_high: Lognormal,
    /// At 2.4 GHz.
    pub down_low: Lognormal,
    /// The most that was seen, towards and from the network, bit/s.
    pub cap: (f64, f64),
    /// Round-trip time to the server, seconds.
    pub rtt: f64,
    /// What happens within an association.
    pub quality: Quality,
    /// Providers.
    pub providers: Vec<Provider>,
    /// Mean coverage of an access point, metres (mode 2).
    pub coverage: f64,
    /// Mean speed, m/s (mode 2).
    pub speed: f64,
}

/// The cities of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum City {
    /// Short encounters, poor links, silent address servers.
    Paris,
    /// Many short encounters.
    #[default]
    Bologna,
    /// Long encounters, good links.
    LosAngeles,
    /// Macao with the mean hole of the statistics, 112 s (preset `hole112`).
    Macao,
    /// Macao with a mean hole of 186 s, which gives the measured associations per hour (preset `rate17`).
    MacaoRate17,
}

impl City {
    /// All of them.
    pub const ALL: [City; 5] = [City::Paris, City::Bologna, City::LosAngeles, City::Macao, City::MacaoRate17];

    /// Its statistics (F. Yang 2022, chapter 3).
    pub fn statistics(self) -> CityStatistics {
        match self {
            City::Paris => paris(),
            City::Bologna => bologna(),
            City::LosAngeles => los_angeles(),
            City::Macao => macao(),
            City::MacaoRate17 => {
                let base = macao();
                // Where long holes are cut at the end of a run, the statistics of holes are too short.
                let hole = Lognormal { median: base.hole.median * 186.0 / base.hole.mean(), ..base.hole };
                CityStatistics { hole, ..base }
            }
        }
    }
}

/// In a file, a city is a name of [`City`] or a table of all its statistics.
#[cfg(feature = "serde")]
pub(super) fn named_or_table<'de, D: serde::Deserializer<'de>>(from: D) -> Result<CityStatistics, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(
        untagged,
        expecting = "paris, bologna, los-angeles, macao, macao-rate17, or a table of statistics"
    )]
    enum Choice {
        Named(City),
        Table(Box<CityStatistics>),
    }
    let choice = <Choice as serde::Deserialize>::deserialize(from)?;
    Ok(match choice {
        Choice::Named(city) => city.statistics(),
        Choice::Table(statistics) => *statistics,
    })
}

fn provider(name: &str, share: f64, new_address: f64) -> Provider {
    Provider { name: name.to_owned(), share, new_address }
}

fn paris() -> CityStatistics {
    let goodput = Lognormal::new(0.38e6, 1.3);
    CityStatistics {
        high_band_share: 0.0,
        duration_high: Lognormal::new(9.89, 1.016),
        duration_low: Lognormal::new(9.89, 1.016),
        success_factor: 1.110,
        hole: Lognormal::new(4.38, 0.724),
        attempt_succeeds: 0.400,
        address_succeeds: 0.436,
        transport_succeeds: 0.840,
        life_without_address: 16.5,
        life_without_transport: 6.9,
        association_time: Lognormal::new(0.35, 0.60),
        address_time: Lognormal::new(0.30, 0.75),
        transport_time: 0.29,
        up_high: goodput,
        up_low: goodput,
        down_high: goodput,
        down_low: goodput,
        cap: (14e6, 14e6),
        rtt: 0.025,
        quality: quality::PARIS,
        providers: vec![provider("Free", 1.0, 0.10)],
        coverage: 59.0,
        speed: 12.8 / 3.6,
    }
}

fn bologna() -> CityStatistics {
    let (up, down) = (Lognormal::new(4.3e6 / 1.57, 0.95), Lognormal::new(3.7e6 / 1.57, 0.95));
    CityStatistics {
        high_band_share: 0.189,
        duration_high: Lognormal::new(14.47, 1.090),
        duration_low: Lognormal::new(8.67, 1.016),
        success_factor: 1.146,
        hole: Lognormal::new(3.06, 1.665),
        attempt_succeeds: 0.270,
        address_succeeds: 0.867,
        transport_succeeds: 0.906,
        life_without_address: 6.6,
        life_without_transport: 9.0,
        association_time: Lognormal::new(0.35, 0.60),
        address_time: Lognormal::new(0.30, 0.75),
        transport_time: 0.27,
        up_high: up,
        up_low: up,
        down_high: down,
        down_low: down,
        cap: (103e6, 90e6),
        rtt: 0.040,
        quality: quality::BOLOGNA,
        // The shares of the providers are not printed.
        providers: vec![
            provider("Fastweb", 0.5, 0.0),
            provider("EmiliaWifi", 0.35, 0.16),
            provider("ALMAWIFI", 0.15, 0.04),
        ],
        coverage: 72.0,
        speed: 15.39 / 3.6,
    }
}

fn los_angeles() -> CityStatistics {
    let (up, down) = (Lognormal::new(3.3e6 / 1.57, 0.95), Lognormal::new(7.7e6 / 1.57, 0.95));
    CityStatistics {
        high_band_share: 0.742,
        // Refitted for associations that work, in place of a factor on the median: keeps the standard deviations.
        duration_high: Lognormal::new(27.7, 0.77),
        duration_low: Lognormal::new(24.4, 0.79),
        success_factor: 1.0,
        hole: Lognormal::new(8.27, 1.665),
        attempt_succeeds: 0.275,
        address_succeeds: 0.853,
        transport_succeeds: 0.941,
        life_without_address: 0.7,
        life_without_transport: 0.5,
        association_time: Lognormal::new(0.80, 0.60),
        address_time: Lognormal::new(1.00, 0.80),
        transport_time: 0.42,
        up_high: up,
        up_low: up,
        down_high: down,
        down_low: down,
        cap: (103e6, 90e6),
        rtt: 0.025,
        quality: quality::LOS_ANGELES,
        providers: vec![
            provider("Spectrum", 0.6, 0.04),
            provider("CableWifi", 0.3, 0.02),
            provider("Eduroam", 0.1, 0.59),
        ],
        coverage: 180.0,
        speed: 21.69 / 3.6,
    }
}

fn macao() -> CityStatistics {
    CityStatistics {
        high_band_share: 0.753,
        duration_high: Lognormal::new(9.06, 1.267),
        duration_low: Lognormal::new(12.46, 1.164),
        success_factor: 1.137,
        hole: Lognormal::new(28.07, 1.665),
        attempt_succeeds: 0.251,
        address_succeeds: 0.931,
        transport_succeeds: 0.939,
        life_without_address: 0.5,
        life_without_transport: 0.5,
        association_time: Lognormal::new(0.45, 0.60),
        address_time: Lognormal::new(0.40, 0.70),
        transport_time: 0.43,
        up_high: Lognormal::new(12.61e6, 0.712),
        up_low: Lognormal::new(2.64e6, 0.995),
        down_high: Lognormal::new(7.03e6, 0.870),
        down_low: Lognormal::new(2.45e6, 0.911),
        cap: (103e6, 90e6),
        rtt: 0.060,
        quality: quality::MACAO,
        providers: vec![provider("CTM", 1.0, 0.0)],
        coverage: 87.0,
        speed: 14.66 / 3.6,
    }
}

impl CityStatistics {
    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.share("high_band_share", self.high_band_share)?;
        self.duration_high.check(check, "duration_high")?;
        self.duration_low.check(check, "duration_low")?;
        check.positive("success_factor", self.success_factor)?;
        self.hole.check(check, "hole")?;
        for (what, share) in [
            ("attempt_succeeds", self.attempt_succeeds),
            ("address_succeeds", self.address_succeeds),
            ("transport_succeeds", self.transport_succeeds),
        ] {
            check.share(what, share)?;
            check.positive(what, share)?;
        }
        check.positive("life_without_address", self.life_without_address)?;
        check.positive("life_without_transport", self.life_without_transport)?;
        self.association_time.check(check, "association_time")?;
        self.address_time.check(check, "address_time")?;
        check.that(
            self.transport_time >= self.rtt,
            "transport_time",
            self.transport_time,
            "a round-trip time or more",
        )?;
        self.up_high.check(check, "up_high")?;
        self.up_low.check(check, "up_low")?;
        self.down_high.check(check, "down_high")?;
        self.down_low.check(check, "down_low")?;
        check.positive("cap.0", self.cap.0)?;
        check.positive("cap.1", self.cap.1)?;
        check.not_negative("rtt", self.rtt)?;
        self.quality.check(check)?;
        let shares: f64 = self.providers.iter().map(|provider| provider.share).sum();
        let sound = self.providers.iter().all(|provider| {
            (0.0..=1.0).contains(&provider.share) && (0.0..=1.0).contains(&provider.new_address)
        });
        check.that(sound && (shares - 1.0).abs() < 1e-6, "providers", shares, "shares that add up to 1")?;
        check.positive("coverage", self.coverage)?;
        check.positive("speed", self.speed)
    }

    pub(crate) fn duration(&self, band: super::Band) -> Lognormal {
        match band {
            super::Band::High => self.duration_high,
            super::Band::Low => self.duration_low,
        }
    }
}
