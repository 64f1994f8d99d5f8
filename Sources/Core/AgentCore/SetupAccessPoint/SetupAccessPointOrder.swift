import AgentModel

/// Capabilities of a radio for the access point.
package struct SetupAccessPointRadio: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// On the station's radio, simultaneously.
        case beside
        /// On the station's radio, with the station down.
        case instead
        /// On a separate radio.
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

    /// Whether links on other channels do not affect the access point.
    var isIndependent: Bool { mode == .second || mode == .beside && channels > 1 }
}

package struct SetupAccessPointOrder: Sendable, Equatable {
    /// Station that it runs beside or replaces.
    package var station: StationID
    package var mode: SetupAccessPointRadio.Mode
    package var frequency: Frequency
    /// Scan to run before the station goes down, if the kernel has no results.
    package var look: Look

    package enum Look: Sendable, Equatable {
        /// 2.4 GHz only, less than a second: a user waits for the access point.
        case quick
        case everywhere
    }

    package init(station: StationID, mode: SetupAccessPointRadio.Mode, frequency: Frequency, look: Look = .quick) {
        (self.station, self.mode, self.frequency, self.look) = (station, mode, frequency, look)
    }
}

/// State of the access point, reported with the number of its order.
package enum SetupAccessPointReport: Sendable, Equatable {
    /// Answer to `Effect.askSetupAccessPointRadio`; nil if no radio supports it.
    case radio(SetupAccessPointRadio?)
    case opened
    /// Access points in range before the station went down.
    case seen([BSS])
    /// It could not be opened, or ended unexpectedly.
    case failed(String)
    /// Answer to `Effect.closeSetupAccessPoint`: it is closed and the station is up again.
    case closed
    case stations(Int)
}
