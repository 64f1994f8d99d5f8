import AgentModel

/// What wpa_supplicant tells of Wi-Fi Easy Connect (DPP) while it listens for a configurator.
public enum EasyConnectEvent: Sendable, Equatable {
    /// A configurator has shown that it has read the device's code.
    case authenticated
    case network(EasyConnectNetwork)
    /// The conversation has ended without a network, and wpa_supplicant listens no more. With the reason, safe to print.
    case failed(String)
}

/// A network that a configurator has given.
public struct EasyConnectNetwork: Sendable, Equatable {
    public let ssid: SSID
    /// A passphrase, or a key of 64 hexadecimal digits in its place.
    public let password: Secret
    /// Whether the configurator says that it is for SAE alone.
    public let isForSAE: Bool
}

/// One line of wpa_supplicant about Easy Connect (hostap, src/common/wpa_ctrl.h, `DPP_EVENT_*`).
enum EasyConnectLine: Sendable, Equatable {
    case authenticated
    case received
    /// How the network authenticates, as in `psk`, `sae` or `psk+sae`.
    case keyManagement(String)
    case ssid(SSID)
    case password(Secret)
    /// A credential of DPP's own, for networks that authenticate by it.
    case connector
    case failed(String)
    /// What leads to nothing by itself.
    case other

    /// - Returns: nil for a line about something else.
    init?(_ line: Substring) {
        guard line.hasPrefix("DPP-") else { return nil }
        let name = line.prefix { $0 != " " }
        // The rest may have spaces, as SSIDs do.
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

    /// A passphrase of 1 to 128 bytes in hexadecimal digits.
    private static func secret(_ digits: Substring) -> Secret? {
        guard var bytes = Hex.bytes(digits), Passphrase.saeLength.contains(bytes.count) else { return nil }
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        return Secret(bytes)
    }

    /// A key of 32 bytes, as its digits.
    private static func digits(_ digits: Substring) -> Secret? {
        guard digits.utf8.count == Passphrase.keyDigits, Hex.bytes(digits) != nil else { return nil }
        return Secret(digits.utf8)
    }
}

/// Puts together what a configurator gives, which comes in several lines.
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
            // Beside it may come a password, where the network takes either.
            guard isReceiving, keyManagement == "dpp" else { break }
            self = EasyConnectReception()
            return .failed("the configurator gave a network that authenticates by DPP alone, which is not joined")
        case .failed(let reason):
            self = EasyConnectReception()
            return .failed(reason)
        case .other: break
        }
        return nil
    }
}

extension Supplicant {
    /// The channel on which the device listens: 6 of 2.4 GHz, which its code names.
    public static let easyConnectFrequency = Frequency(megahertz: 2437)

    /// Has wpa_supplicant listen for a configurator, or listen no more. While it listens, scans and joins wait for some
    /// seconds; a configurator that has given something, or has failed, ends it.
    /// - Parameter key: the device's private key (RFC 5915, DER), whose public half is in its code; nil to end it.
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
