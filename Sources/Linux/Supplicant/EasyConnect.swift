import AgentModel

/// A line of wpa_supplicant about Easy Connect (hostap, src/common/wpa_ctrl.h, `DPP_EVENT_*`).
enum EasyConnectLine: Sendable, Equatable {
    case authenticated
    case received
    /// Key management, as in `psk`, `sae` or `psk+sae`.
    case keyManagement(String)
    case ssid(SSID)
    case password(Secret)
    /// A DPP credential, for networks that authenticate by DPP.
    case connector
    case failed(String)
    /// A line that is not used.
    case other

    /// - Returns: nil for a line that is not about Easy Connect.
    init?(_ line: Substring) {
        guard line.hasPrefix("DPP-") else { return nil }
        let name = line.prefix { $0 != " " }
        // SSIDs may contain spaces.
        let rest = line.dropFirst(name.count + 1)
        self =
            switch name {
            case "DPP-AUTH-SUCCESS": .authenticated
            case "DPP-CONF-RECEIVED": .received
            case "DPP-CONFOBJ-AKM": .keyManagement(PrintableLine.of(rest))
            case "DPP-CONFOBJ-SSID":
                (try? SSID(bytes: SSID.bytes(printedBySupplicant: rest))).map { .ssid($0) } ?? .other
            case "DPP-CONFOBJ-PASS": Self.secret(rest).map { .password($0) } ?? .other
            case "DPP-CONFOBJ-PSK": Self.digits(rest).map { .password($0) } ?? .other
            case "DPP-CONNECTOR": .connector
            case "DPP-CONF-FAILED", "DPP-NOT-COMPATIBLE", "DPP-AUTH-INIT-FAILED", "DPP-FAIL":
                .failed(PrintableLine.of(line))
            default: .other
            }
    }

    /// Parses a passphrase of 1 to 128 bytes in hexadecimal digits.
    private static func secret(_ digits: Substring) -> Secret? {
        guard var bytes = Hex.bytes(digits), Passphrase.saeLength.contains(bytes.count) else { return nil }
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        return Secret(bytes)
    }

    /// Validates a key of 32 bytes and returns its digits.
    private static func digits(_ digits: Substring) -> Secret? {
        guard digits.utf8.count == Passphrase.keyDigits, Hex.bytes(digits) != nil else { return nil }
        return Secret(digits.utf8)
    }
}

/// Combines the lines of a received network.
struct EasyConnectReception: Sendable {
    private var ssid: SSID?
    private var keyManagement = ""
    private var isReceiving = false

    mutating func handle(_ line: EasyConnectLine) -> EasyConnectEvent? {
        switch line {
        case .authenticated:
            self = EasyConnectReception()
            return .authenticated
        case .received:
            self = EasyConnectReception()
            isReceiving = true
        case .keyManagement(let words): if isReceiving { keyManagement = words }
        case .ssid(let name): if isReceiving { ssid = name }
        case .password(let password):
            guard isReceiving, let ssid else { break }
            let isForSAE = keyManagement == "sae"
            self = EasyConnectReception()
            return .network(EasyConnectNetwork(ssid: ssid, password: password, isForSAE: isForSAE))
        case .connector:
            // A network that accepts both DPP and a password may still send the password.
            guard isReceiving, keyManagement == "dpp" else { break }
            self = EasyConnectReception()
            return .failed("the configurator's network needs DPP authentication, which is not supported")
        case .failed(let reason):
            self = EasyConnectReception()
            return .failed(reason)
        case .other: break
        }
        return nil
    }
}

extension Supplicant {
    /// Frequency on which the device listens: channel 6 of 2.4 GHz. The device's Easy Connect code contains it.
    public static let easyConnectFrequency = Frequency(megahertz: 2437)

    /// Starts or stops listening for a configurator. While it listens, scans and joins wait for some seconds. Listening
    /// ends after a network or a failure.
    /// - Parameter key: the device's private key (RFC 5915, DER), whose public key is in its code; nil to stop.
    public func listenForConfigurator(_ key: Secret?) async throws(SupplicantError) {
        try await sequences.pass { [self] () throws(SupplicantError) in
            let channel = try readyChannel()
            try await channel.askLeniently(ControlCommand("DPP_STOP_LISTEN"))
            try await channel.askLeniently(ControlCommand("DPP_BOOTSTRAP_REMOVE *"))
            guard let key else { return }
            try await channel.ask(ControlCommand(easyConnectKey: key))
            let megahertz = Self.easyConnectFrequency.megahertz
            try await channel.ask(ControlCommand("DPP_LISTEN \(megahertz) role=enrollee"))
        }
    }
}
