import AppProtocol

extension ProtocolError {
    /// The refusal as one sentence for the user of this program, with what to do.
    var sentence: String {
        guard let advice else { return message }
        return message + (message.contains(": ") ? "; " : ": ") + advice
    }

    /// Advice for the user of this program; nil if the device's message says it.
    private var advice: String? {
        switch code {
        case .unsupported: option.map { "leave out \($0), or update the device" }
        case .malformed: option.map { "correct \($0)" }
        default: code.advice
        }
    }

    /// The option whose value the device refused; nil if no option sets it.
    private var option: String? {
        guard case .text(let field)? = details["field"], let member = field.split(separator: ".").last else {
            return nil
        }
        return Self.options[String(member)]
    }

    /// Options by the members of requests that they set.
    private static let options = [
        "allowTkip": "--allow-tkip", "automatic": "--automatic", "metered": "--metered", "band": "--band",
        "bssid": "--bssid", "ipv6": "--ipv6", "address": "--address", "hidden": "--hidden",
        "confirmWithin": "--confirm-within", "joinOnce": "--join-once", "besideUplink": "--beside-uplink",
        "expiresIn": "--expires", "claimWithin": "--claim-within", "role": "--role", "keepFor": "--keep-for",
        "changeId": "--change", "limit": "--limit",
    ]
}

extension ErrorCode {
    /// Advice for the user of this program; nil if the device's message says it. Apps show ``remedy`` instead.
    var advice: String? {
        switch self {
        case .malformed, .unsupported, .alreadyAssociated, .tooManyRequests, .busy: nil
        case .unsupportedVersion, .unknownType: "update altnet on the device or here, whichever is older"
        case .lineTooLong: "give fewer or shorter values"
        case .tooManyNetworks: "remove one first with 'altnet backups remove'"
        case .duplicateNetwork: "name each network once"
        case .unknownNetwork: "'altnet backups' shows the stored networks"
        case .passwordMissing: "give the password, or --open if the network has none"
        case .invalidSsid: "an SSID has 1 to 32 bytes"
        case .invalidPassword: "give 8 to 63 printable ASCII characters, or with --wpa3 1 to 128 bytes of text"
        case .invalidAddress:
            "give --address or --ipv6 with its prefix length, such as 192.168.1.20/24, and a gateway in that network"
        case .invalidEnterprise:
            "give --eap and --identity, a password or --client-cert, and --ca-cert or --system-ca with --server-name"
        case .keyRotated, .sealUsed, .revisionConflict: "try again"
        case .sealRequired, .sealInvalid, .keyRefused: "pair again with the code that 'altnet pair --show' shows there"
        case .proofRequired: "give --device with its address and --key-file"
        case .keyExpired, .keyRevoked: "ask the device's owner for another key"
        case .unknownKey: "'altnet keys' shows the names"
        case .duplicateKey: "choose another name, or revoke that key first"
        case .tooManyKeys: "revoke one first with 'altnet keys revoke'"
        case .switchInProgress: "wait until it has ended"
        case .cannotSwitch: "give --beside-uplink to move Wi-Fi anyway"
        case .unknownSwitch, .notWaiting: "'altnet status' shows where the device is"
        case .unknownPortal: "'altnet portal' shows the sign-in that is open"
        case .storageFailed: "nothing was changed, check that the key file's disk is writable and not full"
        case .radioFailed: "try again; if it fails again, see 'journalctl -u altnet'"
        case .interfaceMissing: "check that the Wi-Fi interface exists, is not blocked and has its driver"
        case .scanBusy: "wait until it has ended, or give --no-scan"
        case .notPermitted: "run as root or in the socket's group, or use a key whose role permits this"
        case .internalError: "report this as a bug, with the agent's log"
        }
    }
}
