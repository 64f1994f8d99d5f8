import AgentModel

/// A command of wpa_supplicant's control interface, and the form of its answer.
struct ControlCommand: Sendable {
    /// Command in error messages, without values that may be secret.
    let name: String
    let answerForm: AnswerForm
    private let text: String
    private let secret: Secret?

    /// Form of a successful answer. Another form means that commands and answers are out of step.
    enum AnswerForm: Sendable {
        case ok
        case number
        case text
    }

    init(_ text: String, answer: AnswerForm = .ok) {
        name = text
        answerForm = answer
        self.text = text
        secret = nil
    }

    init(network: Int, _ setting: NetworkBlock.Setting) {
        name = "SET_NETWORK \(setting.name)"
        answerForm = .ok
        switch setting.value {
        case .plain(let value):
            text = "SET_NETWORK \(network) \(setting.name) \(value)"
            secret = nil
        case .secret(let value):
            text = "SET_NETWORK \(network) \(setting.name) "
            secret = value
        case .blob:
            text = "SET_NETWORK \(network) \(setting.name) \"blob://\(setting.blobName(ofNetwork: network) ?? "")\""
            secret = nil
        }
    }

    /// Stores or replaces a blob.
    init(blob name: String, _ content: Secret) {
        self.name = "SET blob \(name)"
        answerForm = .ok
        text = "SET blob \(name) "
        secret = content
    }

    /// Registers the device's private key for Easy Connect. The answer is the number of the key.
    init(easyConnectKey key: Secret) {
        name = "DPP_BOOTSTRAP_GEN"
        answerForm = .number
        text = "DPP_BOOTSTRAP_GEN type=qrcode key="
        secret = key
    }

    /// Passes the bytes of the command to `body` and wipes them afterwards. Secrets are sent as hexadecimal digits, so
    /// that no byte of a password ends the string (hostap, wpa_config_parse_string).
    func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(SupplicantError) -> Value
    ) throws(SupplicantError) -> Value {
        let plain = text.utf8
        let length = plain.count + 2 * (secret?.count ?? 0)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
        defer {
            wipe(buffer)
            buffer.deallocate()
        }
        buffer.copyBytes(from: plain)
        secret?.withBytes { bytes in
            for (index, byte) in bytes.enumerated() {
                buffer[plain.count + 2 * index] = Self.digit(byte >> 4)
                buffer[plain.count + 2 * index + 1] = Self.digit(byte & 0xf)
            }
        }
        return try body(UnsafeRawBufferPointer(buffer))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension ControlCommand {
    static let attach = ControlCommand("ATTACH")
    static let status = ControlCommand("STATUS", answer: .text)
    static let addNetwork = ControlCommand("ADD_NETWORK", answer: .number)
    static let listNetworks = ControlCommand("LIST_NETWORKS", answer: .text)
    static let keyManagement = ControlCommand("GET_CAPABILITY key_mgmt", answer: .text)
    static let authentication = ControlCommand("GET_CAPABILITY auth_alg", answer: .text)
    static let ciphers = ControlCommand("GET_CAPABILITY pairwise", answer: .text)
    static let disconnect = ControlCommand("DISCONNECT")
    static let removeAllNetworks = ControlCommand("REMOVE_NETWORK all")
    /// Repeats IEEE 802.1X on the current link.
    static let authenticateAgain = ControlCommand("REAUTHENTICATE")

    static func selectNetwork(_ id: Int) -> ControlCommand { ControlCommand("SELECT_NETWORK \(id)") }
    /// Roams to this access point over the air (hostap, `ROAM`).
    static func roam(to bssid: BSSID) -> ControlCommand { ControlCommand("ROAM \(bssid)") }
    /// Roams by fast transition over the distribution system (hostap, `FT_DS`).
    static func fastTransition(to bssid: BSSID) -> ControlCommand { ControlCommand("FT_DS \(bssid)") }
    /// Asks the access point for its neighbours (IEEE 802.11-2020, 9.6.6.6).
    static let neighbours = ControlCommand("NEIGHBOR_REP_REQUEST")
    static func removeNetwork(_ id: Int) -> ControlCommand { ControlCommand("REMOVE_NETWORK \(id)") }
    static func variable(_ name: String, ofNetwork id: Int) -> ControlCommand {
        ControlCommand("GET_NETWORK \(id) \(name)", answer: .text)
    }
}

enum ControlAnswer: Sendable, Equatable {
    case ok
    case number(Int)
    case text(String)

    /// - Throws: `refused` for `FAIL` and `UNKNOWN COMMAND`, `malformedReply` for an answer of the wrong form.
    init(_ bytes: some Collection<UInt8>, to command: ControlCommand) throws(SupplicantError) {
        // Invalid UTF-8 becomes replacement characters, which match no expected answer.
        let text = String(decoding: bytes, as: UTF8.self)
        let line = text.last == "\n" ? text.dropLast() : text[...]
        if line.hasPrefix("FAIL") || line == "UNKNOWN COMMAND" {
            throw .refused(command: command.name, reply: PrintableLine.of(line))
        }
        switch command.answerForm {
        case .ok where line == "OK":
            self = .ok
        case .number:
            guard let number = Int(line), number >= 0 else { throw .malformedReply(command: command.name) }
            self = .number(number)
        case .text where line != "OK":
            self = .text(text)
        default:
            throw .malformedReply(command: command.name)
        }
    }
}

/// Makes external text safe for terminals and logs.
enum PrintableLine {
    static let maximumLength = 200

    /// Returns at most 200 bytes of `text`, with `?` for everything but printable ASCII.
    static func of(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.prefix(maximumLength).map { (0x20...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}
