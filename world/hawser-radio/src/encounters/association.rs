/// The band of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Low,
    /// 5 GHz.
    High,
}

/// How far an association came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No address was given: the transport never learns of it.
    NoAddress,
    /// An address, but nothing comes through.
    NoTransport,
    /// It carries.
    Works,
}

/// One successful association with an access point. Times in seconds since the start of the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Association {
    /// Start of the exchange with the access point.
    pub start: f64,
    /// When the access point is lost.
    pub end: f64,
    /// Attempts since the association before, this one included.
    pub attempts: u32,
    /// Seconds until layer 2 works.
    pub association_time: f64,
    /// Seconds from there until the address is there.
    pub address_time: f64,
    /// Seconds from there until the first acknowledgement of a transport.
    pub transport_time: f64,
    /// How far it came.
    pub outcome: Outcome,
    /// Band.
    pub band: Band,
    /// The provider, by its index in the city's list.
    pub provider: usize,
    /// Number of the address: a host that keeps it can resume. 0: none, the provider had none for it.
    pub address: u64,
    /// Mean speed of the car, m/s.
    pub speed: f64,
    /// Signal strength before the association, dBm: says nothing about what follows.
    pub signal_dbm: f64,
    /// Goodput level towards the network, bit/s.
    pub goodput_up: f64,
    /// Goodput level from the network, bit/s.
    pub goodput_down: f64,
}

impl Association {
    /// Life of the association, seconds.
    pub fn duration(&self) -> f64 {
        self.end - self.start
    }

    /// When the address is there; `None` if it never was.
    pub fn address_from(&self) -> Option<f64> {
        (self.outcome != Outcome::NoAddress).then_some(self.start + self.association_time + self.address_time)
    }

    /// When the transport gets its first acknowledgement; `None` if it never did.
    pub fn transport_from(&self) -> Option<f64> {
        let works = self.outcome == Outcome::Works;
        works.then_some(self.start + self.association_time + self.address_time + self.transport_time)
    }
}
