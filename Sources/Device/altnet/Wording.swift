import AgentModel
import AppProtocol

/// How values of the protocol read in a table or a sentence.
enum Wording {
    /// How long ago that was. What lies ahead of a clock that has been set reads as now.
    static func ago(_ time: Timestamp, now: Timestamp) -> String {
        let age = duration(milliseconds: now.millisecondsSince1970 - time.millisecondsSince1970)
        return age.map { "\($0) ago" } ?? "just now"
    }

    /// A duration in its largest whole unit, nil below a second.
    static func duration(milliseconds: Int64) -> String? {
        switch milliseconds / 1000 {
        case ..<1: nil
        case let seconds where seconds < 120: "\(seconds) s"
        case let seconds where seconds < 7200: "\(seconds / 60) min"
        case let seconds where seconds < 172_800: "\(seconds / 3600) h"
        case let seconds: "\(seconds / 86_400) d"
        }
    }

    /// A duration in seconds, as in `4.2 s`.
    static func seconds(_ duration: Duration) -> String {
        let tenths = max(0, duration.milliseconds) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// Up to four bars, from -85 dBm in steps of 10 dB.
    static func bars(_ signal: Int, _ style: Style) -> String {
        // A device may say anything.
        let count = min(max((min(max(signal, -1000), 1000) + 95) / 10, 0), 4)
        return style.isUnicode
            ? "▂▄▆█".prefix(count) + String(repeating: "·", count: 4 - count)
            : String(repeating: "#", count: count) + String(repeating: ".", count: 4 - count)
    }

    /// The colour for a signal: where it is strong, where it is weak by the failover's thresholds.
    static func paint(_ signal: Int) -> Style.Paint {
        signal >= -65 ? .green : signal >= -75 ? .yellow : .red
    }

    static func channel(_ frequency: Frequency) -> String {
        frequency.channel.map { "channel \($0), \(frequency)" } ?? "\(frequency)"
    }

    static func security(_ security: Security) -> String {
        switch security {
        case .open: "open"
        case .owe: "OWE"
        case .wpa2: "WPA2"
        case .wpa3: "WPA3"
        case .wpa2wpa3: "WPA2/WPA3"
        case .enterprise: "enterprise"
        case .wep: "WEP (insecure)"
        case .legacy: "WPA/TKIP (insecure)"
        case .unknown: "unknown"
        }
    }

    static func name(_ ssid: SSID?) -> String { ssid?.description ?? "(hidden)" }

    /// - Parameter carrier: what is underneath a tunnel.
    static func uplink(_ uplink: Uplink, over carrier: Uplink? = nil) -> String {
        if let carrier { return "a tunnel over \(Self.uplink(carrier))" }
        return switch uplink {
        case .wifi: "Wi-Fi"
        case .wired: "a cable"
        case .cellular: "a cellular network"
        case .other: "another interface"
        }
    }

    static func failure(_ failure: JoinFailure) -> String {
        switch failure {
        case .wrongKey: "wrong password"
        case .accessPointFull: "access point full"
        case .notFound: "not found"
        case .lessSecure: "less secure than it was"
        case .unsupportedSecurity: "security not supported"
        case .rejected: "rejected"
        case .timeout: "no answer"
        case .linkLost: "link lost"
        case .noAddress: "no address"
        case .captive: "login page"
        case .noInternet: "no internet"
        case .unconfirmed: "not confirmed"
        case .interrupted: "interrupted"
        case .supplicantUnavailable: "no wpa_supplicant"
        case .interfaceDown: "interface down"
        }
    }

    static func gap(_ gap: Gap) -> String {
        switch gap.reason {
        case .expired: "\(gap.missed) events were missed"
        case .restarted: "the agent was restarted"
        }
    }

    /// The colour for a decision: green where it went well, red where something was lost, yellow where it is stuck.
    static func paint(_ kind: Decision.Kind) -> Style.Paint? {
        switch kind.rawValue {
        case "online", "usable": .green
        case "lost", "failed", "blocked": .red
        case "stay", "search", "unusable": .yellow
        default: nil
        }
    }

    /// Where the device is, in a few words.
    static func headline(_ status: NetworkStatus) -> (text: String, paint: Style.Paint) {
        let name = status.ssid?.description ?? "a network"
        return switch status.state {
        case .online: ("Online on \(name)", .green)
        case .joining: ("Joining \(name)", .yellow)
        case .waitingForAddress: ("Waiting for an address on \(name)", .yellow)
        case .offline: status.uplink == nil ? ("Offline", .red) : ("Not on Wi-Fi", .yellow)
        }
    }

    /// The same with the signal in words, as the beginning of a sentence.
    static func connection(_ status: NetworkStatus) -> (text: String, paint: Style.Paint?) {
        guard status.state == .online else { return headline(status) }
        let signal = status.signal.map { " (\($0) dBm, \(strength($0)))" } ?? ""
        return ("Connected to \(status.ssid?.description ?? "a network")\(signal)", .green)
    }

    /// By the same thresholds as the colour.
    private static func strength(_ signal: Int) -> String {
        switch paint(signal) {
        case .green: "good"
        case .yellow: "fair"
        default: "weak"
        }
    }

    static func phase(_ phase: SwitchPhase) -> String {
        switch phase {
        case .accepted: "accepted"
        case .joining: "joining"
        case .waitingForAddress: "waiting for an address"
        case .validating: "trying where the network leads"
        case .waitingForConfirmation: "waiting to be confirmed"
        case .committed: "connected"
        case .rolledBack: "rolled back"
        case .failed: "failed"
        }
    }
}
