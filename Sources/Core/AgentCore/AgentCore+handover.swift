import AppProtocol
import Failover

struct HandoverState: Sendable {
    var found: Handover?
    var reviews: UInt64 = 0
    /// Whether the spare station is ready, as last sent to the policy.
    var isSpareReady = false
    /// Number of the last review that created the spare interface. Each review creates it at most once.
    var added: UInt64 = 0
    /// Spare interface from the settings. After a handover, it may be the interface in use.
    let ownSpare: StationID?
    var standby: StationID?

    init(ownSpare: StationID?) { self.ownSpare = ownSpare }
}

package struct HandoverRadios: Sendable, Equatable {
    package struct Radio: Sendable, Equatable {
        package var index: Int
        /// Maximum number of simultaneous station links.
        package var links: Int
        /// Maximum number of channels in use at the same time.
        package var channels: Int

        package init(index: Int, links: Int, channels: Int) {
            (self.index, self.links, self.channels) = (index, links, channels)
        }

        var obstacle: Handover.Obstacle? { links < 2 ? .oneLink : channels < 2 ? .oneChannel : nil }
    }

    /// Radio in use; nil if the station has none at present.
    package var inUse: Radio?
    package var spare: Radio?

    package init(inUse: Radio?, spare: Radio? = nil) { (self.inUse, self.spare) = (inUse, spare) }
}

extension AgentCore {
    mutating func reviewHandover() {
        handover.reviews += 1
        emit(
            .reviewHandover(
                handover.reviews, inUse: inUse, spare: spare,
                isSpareAnswering: spare.flatMap { stations[$0] }?.isSupplicantAvailable ?? false))
    }

    mutating func radiosFound(_ number: UInt64, _ radios: HandoverRadios) {
        guard number == handover.reviews else { return }
        if let spare, wantsInterface(spare, radios) {
            handover.added = number
            return emit(.addInterface(number, spare, beside: inUse))
        }
        handoverFound(number, handover(with: radios))
    }

    /// Whether to create the configured spare interface. The agent never creates the first one: its radio may return.
    private func wantsInterface(_ spare: StationID, _ radios: HandoverRadios) -> Bool {
        guard spare == handover.ownSpare, handover.added != handover.reviews else { return false }
        return radios.inUse.map { $0.obstacle == nil } ?? false && kernel.stations[spare]?.isPresent == false
    }

    private func handover(with radios: HandoverRadios) -> Handover {
        guard let radio = radios.inUse else { return .breakBeforeMake(.radioMissing) }
        guard let spare else { return .breakBeforeMake(radio.obstacle ?? .notSet) }
        guard let other = radios.spare else { return .breakBeforeMake(.spareMissing) }
        if other.index == radio.index, let obstacle = radio.obstacle { return .breakBeforeMake(obstacle) }
        guard kernel.stations[spare]?.isUp == true, stations[spare]?.isSupplicantAvailable == true else {
            return .breakBeforeMake(.spareNotReady)
        }
        return .makeBeforeBreak
    }

    mutating func handoverFound(_ number: UInt64, _ found: Handover) {
        guard number == handover.reviews else { return }
        if found != handover.found {
            log(.info, "moving to another network: \(found)")
            handover.found = found
        }
        sendSpare(isReady: found == .makeBeforeBreak)
        updateStatus()
    }

    /// Enables power save on a station whose link is only on standby.
    mutating func reviewStandby() {
        let standby = policy.isStandingBy ? spare : nil
        guard standby != handover.standby else { return }
        if let before = handover.standby { emit(.standsBy(before, false)) }
        if let standby { emit(.standsBy(standby, true)) }
        handover.standby = standby
    }

    mutating func sendSpare(isReady: Bool) {
        guard spare != nil, isReady != handover.isSpareReady else { return }
        handover.isSpareReady = isReady
        sendToPolicy(.spare(isReady: isReady))
    }
}
