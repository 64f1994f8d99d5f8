import AgentModel

/// What a radio allows of an access point, as the kernel tells it.
package struct RescueRadio: Sendable, Equatable {
    /// The place of the access point.
    package enum Place: String, Sendable, CaseIterable {
        /// On the station's radio, at the same time.
        case beside
        /// On the station's radio, whose interface is down meanwhile.
        case instead
        /// On a radio of its own.
        case second
    }

    package var place: Place
    /// On how many channels the radio can be at a time.
    package var channels: Int
    /// Channels that an access point may be opened on now: allowed, not shared with radar, and to be sent on first.
    package var usable: [Frequency]

    package init(place: Place, channels: Int, usable: [Frequency]) {
        (self.place, self.channels, self.usable) = (place, channels, usable)
    }

    /// Whether links on other channels are of no concern to the access point.
    var isIndependent: Bool { place == .second || place == .beside && channels > 1 }
}

/// An access point to open.
package struct RescueOrder: Sendable, Equatable {
    /// The station that it is beside, or in the place of.
    package var station: StationID
    package var place: RescueRadio.Place
    package var frequency: Frequency
    /// What is looked for before the station's interface goes down for it, where the kernel knows of nothing in range.
    package var look: Look

    package enum Look: Sendable, Equatable {
        /// The channels of 2.4 GHz, which takes less than a second: a user waits for the access point.
        case quick
        case everywhere
    }

    package init(station: StationID, place: RescueRadio.Place, frequency: Frequency, look: Look = .quick) {
        (self.station, self.place, self.frequency, self.look) = (station, place, frequency, look)
    }
}

/// What becomes of the access point. The number is that of the order.
package enum RescueReport: Sendable, Equatable {
    /// The answer to `Effect.askRescueRadio`; nil where there is no radio that can.
    case radio(RescueRadio?)
    case opened
    /// What was in range before the station's interface went down for it.
    case seen([BSS])
    /// It could not be opened, or has ended by itself.
    case failed(String)
    /// The answer to `Effect.closeRescue`: it is gone, and the station's interface is up again.
    case closed
    /// So many devices are associated.
    case stations(Int)
}
