import AgentModel

/// Capabilities of a radio for the access point.
package struct SetupAccessPointRadio: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// The access point runs beside the station on the same radio.
        case beside
        /// The access point replaces the station on the same radio.
        case instead
        /// The access point uses a separate radio.
        case second
    }

    package var mode: Mode
    /// Number of simultaneous channels.
    package var channels: Int
    /// Channels allowed for an access point now: no radar detection required, and active transmission permitted.
    package var usable: [Frequency]

    package init(mode: Mode, channels: Int, usable: [Frequency]) {
        (self.mode, self.channels, self.usable) = (mode, channels, usable)
    }

    /// Whether the access point can stay open while a link uses another channel.
    var isIndependent: Bool { mode == .second || mode == .beside && channels > 1 }
}

package struct SetupAccessPointOrder: Sendable, Equatable {
    /// Station that the access point runs beside or replaces.
    package var station: StationID
    package var mode: SetupAccessPointRadio.Mode
    package var frequency: Frequency
    /// Scan to run before the access point opens, if the kernel has no results.
    package var look = Look.quick

    package enum Look: Sendable, Equatable {
        /// Scan of 2.4 GHz only, in less than a second, because a user waits for the access point.
        case quick
        case everywhere
    }
}

/// State of the access point, reported with the number of its order.
package enum SetupAccessPointReport: Sendable, Equatable {
    /// Answer to `Effect.askSetupAccessPointRadio`; nil if no radio supports it.
    case radio(SetupAccessPointRadio?)
    case opened
    /// Access points in range before it opened.
    case seen([BSS])
    /// The access point could not be opened, or ended unexpectedly.
    case failed(String)
    /// Answer to `Effect.closeSetupAccessPoint`: the access point is closed and the station is up again.
    case closed
    case stations(Int)
}
