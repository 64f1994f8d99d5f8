import AgentModel
import AppProtocol
import Failover

/// How the device would move to another network.
struct HandoverState: Sendable {
    /// Nil until that is known.
    var found: Handover?
    var reviews: UInt64 = 0
    /// The last value told to the policy.
    var isSpareReady = false
    /// The review for which the spare interface was made last: once for each.
    var added: UInt64 = 0
    /// The spare interface that the settings name. A move makes it the one in use.
    let ownSpare: StationID?
    /// The station whose link stands by.
    var standby: StationID?

    init(ownSpare: StationID?) { self.ownSpare = ownSpare }
}

/// Capabilities of the radios.
package struct HandoverRadios: Sendable, Equatable {
    package struct Radio: Sendable, Equatable {
        /// The kernel's number of it.
        package var index: Int
        /// Number of station links at a time, and of channels that they may be on.
        package var links: Int
        package var channels: Int

        package init(index: Int, links: Int, channels: Int) {
            (self.index, self.links, self.channels) = (index, links, channels)
        }

        /// Why it cannot carry the next link beside the present one.
        var obstacle: Handover.Obstacle? { links < 2 ? .oneLink : channels < 2 ? .oneChannel : nil }
    }

    /// Of the station in use, and of the spare one; nil where there is none at the moment.
    package var inUse: Radio?
    package var spare: Radio?

    package init(inUse: Radio?, spare: Radio? = nil) { (self.inUse, self.spare) = (inUse, spare) }
}

// The way to move that the hardware allows.
extension AgentCore {
    mutating func reviewHandover() {
        handover.reviews += 1
        order(
            .reviewHandover(
                handover.reviews, inUse: inUse, spare: spare,
                isSpareAnswering: spare.flatMap { stations[$0] }?.isSupplicantAvailable ?? false))
    }

    mutating func radiosFound(_ number: UInt64, _ radios: HandoverRadios) {
        guard number == handover.reviews else { return }
        if let spare, wantsInterface(spare, radios) {
            handover.added = number
            return order(.addInterface(number, spare, beside: inUse))
        }
        handoverFound(number, handover(with: radios))
    }

    /// Whether the spare interface is to be made: where the radio in use has room for it. The first interface is of a
    /// radio that may come back.
    private func wantsInterface(_ spare: StationID, _ radios: HandoverRadios) -> Bool {
        guard spare == handover.ownSpare, handover.added != handover.reviews else { return false }
        return radios.inUse.map { $0.obstacle == nil } ?? false && surroundings.stations[spare]?.isPresent == false
    }

    private func handover(with radios: HandoverRadios) -> Handover {
        guard let radio = radios.inUse else { return .breakBeforeMake(.radioMissing) }
        guard let spare else { return .breakBeforeMake(radio.obstacle ?? .notSet) }
        guard let other = radios.spare else { return .breakBeforeMake(.spareMissing) }
        if other.index == radio.index, let obstacle = radio.obstacle { return .breakBeforeMake(obstacle) }
        guard surroundings.stations[spare]?.isUp == true, stations[spare]?.isSupplicantAvailable == true else {
            return .breakBeforeMake(.spareNotReady)
        }
        return .makeBeforeBreak
    }

    mutating func handoverFound(_ number: UInt64, _ found: Handover) {
        guard number == handover.reviews else { return }
        if found != handover.found {
            say(.info, "moving to another network: \(found)")
            handover.found = found
        }
        tellSpare(isReady: found == .makeBeforeBreak)
        updateStatus()
    }

    /// The radio may sleep between beacons while its link only stands by.
    mutating func reviewStandby() {
        let standby = policy.isStandingBy ? spare : nil
        guard standby != handover.standby else { return }
        if let before = handover.standby { order(.standsBy(before, false)) }
        if let standby { order(.standsBy(standby, true)) }
        handover.standby = standby
    }

    mutating func tellSpare(isReady: Bool) {
        guard spare != nil, isReady != handover.isSpareReady else { return }
        handover.isSpareReady = isReady
        tell(.spare(isReady: isReady))
    }
}
