import AgentModel
import AppProtocol

/// Missing part of the system that may appear later. The agent waits for it, and reports once how to help.
package enum MissingPart: Hashable, Sendable {
    case wifi
    case interface
    case blocked(RadioBlock)
    case supplicant

    package func summary(of station: StationID) -> String {
        switch self {
        case .wifi: "waiting for Wi-Fi in the kernel"
        case .interface: "waiting for the interface \(station)"
        case .blocked(.soft): "the radio of \(station) is blocked (rfkill): set ALTNET_COUNTRY"
        case .blocked(.hard): "the radio of \(station) is switched off (rfkill)"
        case .supplicant: "waiting for wpa_supplicant"
        }
    }

    package func relief(of station: StationID) -> String {
        switch self {
        case .wifi: "the kernel has nl80211 now"
        case .interface: "the interface \(station) has appeared"
        case .blocked: "the radio of \(station) is no longer blocked"
        case .supplicant: "wpa_supplicant answers"
        }
    }

    /// Whether this obstacle is over if `missing` is missing now. Each part needs the parts before it.
    package func isOver(given missing: MissingPart?) -> Bool {
        switch (self, missing) {
        case (_, nil), (.wifi, _), (.interface, .blocked), (.interface, .supplicant), (.blocked, .supplicant): true
        case (_, _): false
        }
    }

    /// Time before a report. A restart of wpa_supplicant takes a second, and at boot it may start after the agent.
    var patience: Duration {
        switch self {
        case .wifi, .interface, .blocked: .zero
        case .supplicant: .seconds(5)
        }
    }
}

/// Missing part that was reported, or will be after its `patience`.
struct TroubleWatch: Sendable {
    /// Missing part that was reported and has not appeared yet.
    var lastReported: MissingPart?
    var since: Timestamp?
    /// Missing part that has not been reported yet.
    var waiting: MissingPart?
}

extension AgentCore {
    private var missingPart: MissingPart? {
        let station = kernel.stations[inUse]
        guard station?.isSupported == true else { return .wifi }
        guard station?.hasLink == true else { return .interface }
        if let block = station?.block { return .blocked(block) }
        return isSupplicantAvailable ? nil : .supplicant
    }

    mutating func reviewTroubles() {
        let missing = missingPart
        if let reported = troubles.lastReported {
            guard missing != reported else { return }
            if reported.isOver(given: missing) { log(.notice, reported.relief(of: inUse)) }
            troubles.lastReported = nil
        }
        guard let missing else {
            if troubles.waiting != nil { wait(.trouble, until: nil) }
            troubles.waiting = nil
            return
        }
        guard missing.patience > .zero else { return explain(missing) }
        guard troubles.waiting != missing else { return }
        troubles.waiting = missing
        wait(.trouble, until: now.instant + missing.patience)
    }

    /// Reports the part that is still missing after its `patience`.
    mutating func explainTrouble() {
        guard let missing = missingPart else { return }
        explain(missing)
        sendToPolicy(.tick)
    }

    private mutating func explain(_ missing: MissingPart) {
        emit(.explain(missing, inUse))
        if troubles.waiting != nil { wait(.trouble, until: nil) }
        (troubles.lastReported, troubles.waiting) = (missing, nil)
        troubles.since = now.time
    }

    /// Compares the kernel's regulatory domain with the configured country.
    mutating func checkRules(of found: String) {
        guard let country = settings.country, found != country else { return }
        log(
            .error,
            """
            the kernel uses the radio rules of \(found.printable) instead of \(country) (ALTNET_COUNTRY): \
            install the package wireless-regdb, or correct the country
            """)
    }
}
