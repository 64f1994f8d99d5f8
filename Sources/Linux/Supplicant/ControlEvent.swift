import AgentModel

/// Events of wpa_supplicant about its link (hostap, src/common/wpa_ctrl.h, wpa_supplicant/sme.c and
/// wpa_supplicant/events.c). Lines are untrusted: they contain text from access points. Invalid fields and unknown
/// lines become `other` or nil.
enum ControlEvent: Sendable, Equatable {
    case scanStarted
    case networkNotFound
    /// An authentication frame is sent. SAE takes two; the second follows an answer to the first.
    case authenticating
    case associating
    case associated
    case authenticationRejected(Authentication)
    /// The association was refused; `timedOut` if the access point did not answer.
    case associationRejected(status: Int, timedOut: Bool)
    case authenticationTimedOut
    case connected(network: Int?, BSSID)
    case disconnected(reason: Int, locallyGenerated: Bool)
    /// wpa_supplicant stops using a network for some time.
    case temporarilyDisabled(network: Int, DisabledReason)
    /// The access point disables weaker security methods, in an authenticated part of the handshake.
    case transitionDisabled(TransitionDisable)
    /// The access point will end the link after this number of beacons.
    case disassociationImminent(beacons: Int)
    /// The access point requests a move to others that it lists (IEEE 802.11-2020, 9.6.13.9).
    case transitionRequested
    /// A neighbour of the access point in use (9.6.6.7), and its channel.
    case neighbour(BSSID, Frequency)
    /// wpa_supplicant has rejected the server's certificate and ended the authentication.
    case certificateRefused(CertificateFault)
    /// EAP authentication failed (`CTRL-EVENT-EAP-FAILURE`). The server or wpa_supplicant ended it.
    case userRefused
    case accessPointEnabled
    case accessPointDisabled
    /// The driver has refused the access point, or its channel is not allowed.
    case accessPointFailed
    /// A station with the right password has joined the access point.
    case stationJoined(HardwareAddress)
    case stationLeft(HardwareAddress)
    case easyConnect(EasyConnectLine)
    case other

    /// Reasons to reject a certificate (hostap, `enum tls_fail_reason`).
    enum CertificateFault: Sendable, Equatable {
        case unknownAuthority, revoked, notYetValid, expired, otherName, other

        fileprivate init(reason: Int) {
            self =
                switch reason {
                case 1: .unknownAuthority
                case 2: .revoked
                case 3: .notYetValid
                case 4: .expired
                case 5, 6, 9, 10, 12: .otherName
                default: .other
                }
        }
    }

    /// Explanation for events with unclear lines; nil for others.
    var explanation: String? {
        switch self {
        case .certificateRefused(let fault):
            switch fault {
            case .unknownAuthority: "the server's certificate is not signed by the stored authority"
            case .revoked: "the server's certificate is revoked"
            case .notYetValid: "the server's certificate is not valid yet"
            case .expired: "the server's certificate has expired"
            case .otherName: "the server's certificate is for another name than the stored one"
            case .other: nil
            }
        case .userRefused: "the server refused the user: check the password, identity or client certificate"
        default: nil
        }
    }

    /// A refused authentication (IEEE 802.11-2020, 9.3.3.11).
    struct Authentication: Sendable, Equatable {
        let algorithm: Int
        let transaction: Int
        let status: Int

        /// SAE's algorithm number (IEEE 802.11-2020, 9.4.1.1).
        static let sae = 3
    }

    enum DisabledReason: String, Sendable {
        case wrongKey = "WRONG_KEY"
        case connectionFailed = "CONN_FAILED"
        case other
    }

    init(_ line: Substring) {
        if let line = EasyConnectLine(line) {
            self = .easyConnect(line)
            return
        }
        let words = line.split(separator: " ", maxSplits: Self.maximumWords)
        self = words.first.flatMap { Self.event(named: $0, words) } ?? .other
    }

    /// True for an event, which begins with its level, as in `<3>`; false for an answer.
    static func isEvent(_ bytes: some Collection<UInt8>) -> Bool { bytes.first == UInt8(ascii: "<") }

    static func text(of bytes: ArraySlice<UInt8>) -> Substring? {
        guard let end = bytes.prefix(4).firstIndex(of: UInt8(ascii: ">")) else { return nil }
        return String(decoding: bytes[(end + 1)...], as: UTF8.self)[...]
    }

    /// Maximum number of words, sufficient for all used lines, except for SSIDs with many spaces.
    private static let maximumWords = 64

    private static func event(named name: Substring, _ words: [Substring]) -> ControlEvent? {
        switch name {
        case "CTRL-EVENT-SCAN-STARTED": .scanStarted
        case "CTRL-EVENT-NETWORK-NOT-FOUND": .networkNotFound
        case "CTRL-EVENT-CONNECTED": connected(words)
        case "CTRL-EVENT-DISCONNECTED": disconnected(words)
        case "CTRL-EVENT-AUTH-REJECT": authenticationRejected(words)
        case "CTRL-EVENT-ASSOC-REJECT": associationRejected(words)
        case "CTRL-EVENT-SSID-TEMP-DISABLED": temporarilyDisabled(words)
        case "TRANSITION-DISABLE": transitionDisabled(words)
        case "WNM:" where words.starts(with: ["WNM:", "Disassociation", "Imminent"]): disassociationImminent(words)
        case "WNM:" where words == ["WNM:", "Preferred", "List", "Available"]: .transitionRequested
        case "RRM-NEIGHBOR-REP-RECEIVED": neighbour(words)
        case "CTRL-EVENT-EAP-TLS-CERT-ERROR": certificateRefused(words)
        case "CTRL-EVENT-EAP-FAILURE": .userRefused
        case "AP-ENABLED": .accessPointEnabled
        case "AP-DISABLED": .accessPointDisabled
        case "Failed" where words.starts(with: ["Failed", "to", "start", "AP"]): .accessPointFailed
        case "AP-STA-CONNECTED": station(words).map { .stationJoined($0) }
        case "AP-STA-DISCONNECTED": station(words).map { .stationLeft($0) }
        case "SME:" where words.starts(with: ["SME:", "Trying", "to", "authenticate"]): .authenticating
        case "Trying" where words.starts(with: ["Trying", "to", "associate"]): .associating
        case "Associated" where words.dropFirst().first == "with": .associated
        case "Authentication" where words.suffix(2) == ["timed", "out."]: .authenticationTimedOut
        default: nil
        }
    }

    /// Parses `CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]`.
    private static func connected(_ words: [Substring]) -> ControlEvent? {
        guard words.count > 4, let bssid = BSSID(words[4]) else { return nil }
        return .connected(network: words.number("[id"), bssid)
    }

    /// Parses `AP-STA-CONNECTED 02:00:00:00:01:00`, followed by more in some versions.
    private static func station(_ words: [Substring]) -> HardwareAddress? {
        words.dropFirst().first.flatMap { BSSID($0) }.flatMap { HardwareAddress(bytes: $0.bytes) }
    }

    /// Parses `CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=3 locally_generated=1`.
    private static func disconnected(_ words: [Substring]) -> ControlEvent? {
        .disconnected(
            reason: words.number("reason") ?? 0, locallyGenerated: words.contains { $0 == "locally_generated=1" })
    }

    /// Parses `CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=0 auth_transaction=2 status_code=17`.
    private static func authenticationRejected(_ words: [Substring]) -> ControlEvent? {
        guard let status = words.number("status_code") else { return nil }
        return .authenticationRejected(
            Authentication(
                algorithm: words.number("auth_type") ?? 0, transaction: words.number("auth_transaction") ?? 0,
                status: status))
    }

    /// Parses `CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=1 timeout=assoc`.
    private static func associationRejected(_ words: [Substring]) -> ControlEvent? {
        guard let status = words.number("status_code") else { return nil }
        return .associationRejected(
            status: status, timedOut: words.contains { $0 == "timeout" || $0.hasPrefix("timeout=") })
    }

    /// Parses `TRANSITION-DISABLE 01`.
    private static func transitionDisabled(_ words: [Substring]) -> ControlEvent? {
        guard words.count > 1, let bitmap = UInt8(words[1], radix: 16) else { return nil }
        return .transitionDisabled(TransitionDisable(rawValue: bitmap))
    }

    /// Parses `WNM: Disassociation Imminent - Disassociation Timer 20`.
    private static func disassociationImminent(_ words: [Substring]) -> ControlEvent? {
        words.last.flatMap { UInt16($0) }.map { .disassociationImminent(beacons: Int($0)) }
    }

    /// Parses `RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=81 chan=6 phy_type=7`, with optional
    /// further fields.
    private static func neighbour(_ words: [Substring]) -> ControlEvent? {
        guard words.count > 4, let bssid = words[1].value("bssid").flatMap({ BSSID($0) }),
            let operatingClass = words[3...3].number("op_class"), let channel = words[4...4].number("chan"),
            let frequency = Frequency(channel: channel, ofClass: operatingClass)
        else { return nil }
        return .neighbour(bssid, frequency)
    }

    /// Parses `CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=1 subject='/CN=authority' err='self-signed certificate'`.
    /// The server chooses the subject, so the reason is read before it.
    private static func certificateRefused(_ words: [Substring]) -> ControlEvent? {
        .certificateRefused(CertificateFault(reason: words.dropFirst().prefix(1).number("reason") ?? 0))
    }

    /// Parses `CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="Home" auth_failures=1 duration=10 reason=WRONG_KEY`. The SSID
    /// may look like fields, so the number is read before it and the reason after it.
    private static func temporarilyDisabled(_ words: [Substring]) -> ControlEvent? {
        guard words.count > 2, let network = words[1...1].number("id") else { return nil }
        return .temporarilyDisabled(
            network: network, words.last?.value("reason").flatMap { DisabledReason(rawValue: String($0)) } ?? .other)
    }
}

extension Collection<Substring> {
    /// Returns the number in the first word `key=number`; nil outside 0 to 65535.
    fileprivate func number(_ key: String) -> Int? {
        for word in self {
            if let value = word.value(key) { return Int(value).flatMap { (0...0xffff).contains($0) ? $0 : nil } }
        }
        return nil
    }
}

extension Substring {
    fileprivate func value(_ key: String) -> Substring? {
        hasPrefix(key) && dropFirst(key.count).first == "=" ? dropFirst(key.count + 1) : nil
    }
}
